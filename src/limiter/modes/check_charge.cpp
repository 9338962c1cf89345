#include "limiter/kinds/window.h"
#include "limiter/modes/local.h"
#include "limiter/modes/redis_charge.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

/// There is no room to remember the window: what the node answered decides.
Admission by_answer_alone(AppliedLimit& applied, const Window& answer, Millis now) noexcept {
    show(applied, applied.open ? answer : Window{0, terms_of(applied, now).proposed});
    const bool admitted = applied.verdict.window.used < applied.verdict.rate.limit;
    return admitted ? Admission::admitted : Admission::refused;
}

/// Reads the window on a replica, unless the primary's last answer to a charge is fresh, and charges the
/// primary when the request is over. Until then the request counts as one on this machine; other machines do
/// not see it.
class CheckCharge final : public Mode {
public:
    constexpr CheckCharge() noexcept : Mode(windows_kind) {}

    bool recalls_first(const AppliedLimit& applied, bool /*alone*/) const noexcept override {
        return applied.shard().freshness(applied.verdict.rate.period) != 0 || may_be_used_up(applied);
    }

    Recalled recall(AppliedLimit& applied, Millis now) const noexcept override {
        const auto known = enter_fresh(applied, {need, Holding::Kind::in_flight}, now);
        if (applied.open) {
            return Recalled::admitted;
        }
        if (!known || !is_full(applied, *known, need)) {
            return Recalled::nothing;
        }
        // Requests in flight are known here, and nobody else knows better.
        return known->used < applied.verdict.rate.limit ? reject_by(applied, *known, need)
                                                        : confirm_or_reject(applied, *known, need, now);
    }

    void ask(AppliedLimit& applied, Answer::Owner& owner) const noexcept override {
        const bool confirms = applied.recalled == Recalled::to_confirm;
        if (confirms) {
            applied.shard().charges().go_before(applied.id);
        }
        applied.asked.emplace<Read>().start(applied.shard(), applied.key,
                                            confirms ? Read::From::primary : Read::From::any_node, owner);
    }

    Admission admit(AppliedLimit& applied, Millis now) const noexcept override {
        if (applied.answer()->failure() != nullptr) {
            return without_answer(applied, now);
        }
        const Window answer = applied.answer()->window();
        const Source source = applied.recalled == Recalled::to_confirm ? Source::primary : Source::node;
        const auto* read = std::get_if<Read>(&applied.asked);
        const Millis known = read != nullptr && read->by_primary() ? applied.known_reset : 0;
        applied.open = is_open(answer, applied.verdict.rate.period, now);
        const Admission admission =
            enter_window(applied, {need, Holding::Kind::in_flight}, {source, answer, known}, now);
        if (admission == Admission::unchecked) {
            return by_answer_alone(applied, answer, now);
        }
        // The script says which window is open if a replica knows another one than this machine.
        applied.open = applied.open && applied.verdict.window.reset == answer.reset;
        return admission;
    }

    void settle(AppliedLimit& applied, std::int64_t due, Millis now) const noexcept override {
        if (due != 0) {
            charge_redis(applied, due, now);
        } else {
            give_back_here(applied, applied.take_holding());
        }
    }

private:
    /// A request passes while anything is left, whatever it will cost.
    static constexpr std::int64_t need = 1;
};

const CheckCharge check_charge_with_redis;

}  // namespace

extern const NamedMode check_charge_mode = {"check_charge", check_charge_with_redis, local_charge, nullptr,
                                            nullptr,        "mode=lease asks less"};

}  // namespace rate_limit
