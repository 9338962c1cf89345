#include "limiter/kinds/window.h"
#include "limiter/modes/local.h"
#include "limiter/modes/redis_charge.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

/// A request passes while anything is left, whatever it will cost.
constexpr std::int64_t need = 1;
constexpr Entry entry{need, Holding::Kind::in_flight};

/// The answer of a store to a check.
struct Checked {
    Window window;
    bool open = false;        ///< it has a window that is open
    bool by_primary = false;  ///< a node has said so that was the primary then
};

/// There is no room to remember the window: what the node answered decides.
Admission by_answer_alone(AppliedLimit& applied, const Window& answer, Millis now) noexcept {
    show(applied, applied.open ? answer : Window{0, terms_of(applied, now).proposed});
    const bool admitted = applied.verdict.window.used < applied.verdict.rate.limit;
    return admitted ? Admission::admitted : Admission::refused;
}

/// Reads the window on a replica, unless the primary's last answer to a charge is fresh, and charges the
/// primary when the request is over. Until then the request counts as one on this machine; other machines do
/// not see it.
class CheckCharge : public Mode {
public:
    bool recalls_first(const AppliedLimit& applied, bool /*alone*/) const noexcept override {
        return freshness_of(applied) != 0 || may_be_used_up(applied);
    }

    Recalled recall(AppliedLimit& applied, Millis now) const noexcept override {
        return recall_within(applied, freshness_of(applied), now);
    }

    void ask(AppliedLimit& applied, Answer::Owner& owner) const noexcept override {
        const Read::From from = reads_from(applied);
        applied.asked.emplace<Read>().start(applied.shard(), applied.key, from, owner);
    }

    Admission admit(AppliedLimit& applied, Millis now) const noexcept override {
        if (applied.answer()->failure() != nullptr) {
            return without_answer(applied, now);
        }
        const auto* read = std::get_if<Read>(&applied.asked);
        return admit_by(applied, checked(applied, read != nullptr && read->by_primary(), now), now);
    }

    void settle(AppliedLimit& applied, std::int64_t due, Millis now) const noexcept override {
        if (due != 0) {
            charge_redis(applied, due, now);
        } else {
            give_back_here(applied, applied.take_holding());
        }
    }

protected:
    constexpr CheckCharge() noexcept : Mode(windows_kind) {}
    ~CheckCharge() = default;

    static Millis freshness_of(const AppliedLimit& applied) noexcept {
        return applied.shard().freshness(applied.verdict.rate.period);
    }

    /// Decides from memory what it can. The primary's last answer to a charge may stand for a check for so
    /// many milliseconds; 0: it may not.
    static Recalled recall_within(AppliedLimit& applied, Millis freshness, Millis now) noexcept {
        const auto [admitted, known] = enter_fresh(applied, entry, freshness, now);
        applied.open = admitted;
        if (admitted) {
            return Recalled::admitted;
        }
        if (!known || !is_full(applied, *known, need)) {
            return Recalled::nothing;
        }
        // Requests in flight are known here, and nobody else knows better.
        return leaves(applied, known->used, need) ? reject_by(applied, *known, need)
                                                  : confirm_or_reject(applied, *known, need, now);
    }

    /// Which nodes are to be asked. Charges that wait for the primary go before.
    static Read::From reads_from(AppliedLimit& applied) noexcept {
        if (applied.recalled != Recalled::to_confirm) {
            return Read::From::any_node;
        }
        applied.shard().charges().go_before(applied.id);
        return Read::From::primary;
    }

    static Checked checked(AppliedLimit& applied, bool by_primary, Millis now) noexcept {
        const Window& window = applied.answer()->window();
        return {window, is_open(window, applied.verdict.rate.period, now), by_primary};
    }

    static Admission admit_by(AppliedLimit& applied, const Checked& answer, Millis now) noexcept {
        const Source source = applied.recalled == Recalled::to_confirm ? Source::primary : Source::node;
        const Millis known = answer.by_primary ? applied.known_reset : 0;
        applied.open = answer.open;
        const Admission admission = enter_window(applied, entry, {source, answer.window, known}, now);
        if (admission == Admission::unchecked) {
            return by_answer_alone(applied, answer.window, now);
        }
        // The script says which window is open if a replica knows another one than this machine.
        applied.open = applied.open && applied.verdict.window.reset == answer.window.reset;
        return admission;
    }
};

/// The store has no regions.
class CheckChargeOfOneRegion final : public CheckCharge {};

/// Reads the window in all regions, and charges the primary here. What other regions have used takes from the
/// limit; what one does not answer is what was last read of it.
class CheckChargeOverRegions final : public CheckCharge {
public:
    Recalled recall(AppliedLimit& applied, Millis now) const noexcept override {
        return recall_within(applied, applied.elsewhere->fresh ? freshness_of(applied) : 0, now);
    }

    void ask(AppliedLimit& applied, Answer::Owner& owner) const noexcept override {
        const Read::From from = reads_from(applied);
        applied.asked.emplace<RegionalRead>().start(applied, from, *applied.elsewhere, owner);
    }

    Admission admit(AppliedLimit& applied, Millis now) const noexcept override {
        learn_elsewhere(*applied.elsewhere, applied.route, now);
        if (applied.answer()->failure() != nullptr) {
            return without_answer(applied, now);
        }
        Checked answer = checked(applied, std::get<RegionalRead>(applied.asked).by_primary(), now);
        if (!answer.open && !leaves(applied, 0, need)) {
            // Others have used all of it: remembered as a window of which nothing is used, it rejects from
            // memory.
            answer.window = {0, terms_of(applied, now).proposed};
        }
        return admit_by(applied, answer, now);
    }
};

const CheckChargeOfOneRegion check_charge_with_redis;
const CheckChargeOverRegions check_charge_over_regions;

}  // namespace

extern const NamedMode check_charge_mode = {
    "check_charge",         check_charge_with_redis,   local_charge, nullptr, nullptr,
    "mode=lease asks less", &check_charge_over_regions};

}  // namespace rate_limit
