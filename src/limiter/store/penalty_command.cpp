#include "limiter/store/penalty_command.h"

#include <algorithm>
#include <string>

#include "core/free_list.h"
#include "limiter/charges/write_blame.h"
#include "limiter/store/shard.h"
#include "limiter/wire/node/script_command.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

/// Belongs to the node until it is answered.
class PenaltyCommand final : public ScriptCommand {
public:
    std::string_view window_key() const noexcept override { return key; }
    void answered(Node& node, Delivery delivery, const Reply* reply) noexcept override;

    void begin() noexcept { begin_by_digest(); }

    Charges* charges = nullptr;  // those of this primary
    Zone* zone = nullptr;
    std::string key;
    WindowId id;
    PenaltyOrder order;
    Millis until = 0;  // as order_penalty() has it

private:
    std::string_view write(CommandWriter& writer) override {
        order.now = now_millis();
        order.life = until > 0 ? std::max<Millis>(until - order.now, 1) : until;
        return writer.penalty(key, order, with_text());
    }
};

void PenaltyCommand::answered(Node& node, Delivery delivery, const Reply* reply) noexcept {
    if (delivery == Delivery::answered && send_again(node, *reply)) {
        return;
    }
    // A former primary's word may be lost with it.
    if (delivery == Delivery::answered && node.is_primary()) {
        const Millis now = now_millis();
        ToldPenalty told;
        // The script counts the rest of a window's penalty from the time that the order names, which may have
        // been long on its way; a bucket's from when it runs.
        const Fault fault = read_penalty(*reply, order.of_bucket ? now : order.now, told);
        blame_write(node, *charges, fault, name(), *reply);
        if (fault == Fault::none && order.life != ends_penalty) {
            zone->windows().change(penalty_id_of(id), [&](PenaltyRecord& record) {
                confirm_penalty(record, told.until, told.ended, now);
            });
        }
    }
    FreeList<PenaltyCommand>::common().put_back(*this);
}

}  // namespace

void order_penalty(Shard& shard, Zone& zone, std::string_view key, const WindowId& id, WindowKind kind,
                   Millis until) noexcept {
    Node* const node = shard.nodes().choose_primary();
    if (node == nullptr) {
        return;
    }
    try {
        std::string copy(key);
        PenaltyCommand& command = FreeList<PenaltyCommand>::common().take();
        command.key.swap(copy);
        command.charges = &shard.charges();
        command.zone = &zone;
        command.id = id;
        command.order.of_bucket = kind == WindowKind::bucket;
        command.until = until;
        command.begin();
        node->submit(command);
    } catch (...) {
        // a later rejection sends it
    }
}

}  // namespace rate_limit
