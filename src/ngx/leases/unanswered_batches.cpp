#include "ngx/leases/unanswered_batches.h"

namespace rate_limit {

bool UnansweredBatches::add(UnansweredBatch batch) noexcept {
    try {
        const WindowId id = batch.demand.id;
        if (const UnansweredBatch* before = find(id); before != nullptr && before->number == batch.number) {
            batch.until = before->until;
        }
        batches_.insert_or_assign(id, std::move(batch));
        return true;
    } catch (...) {
        return false;
    }
}

std::size_t UnansweredBatches::find_due(Millis now, std::array<WindowId, most_at_once>& due) noexcept {
    std::size_t count = 0;
    for (auto& [id, batch] : batches_) {
        if (count != due.size() && (batch.until <= now || now - batch.asked >= pause)) {
            batch.asked = now;
            due[count++] = id;
        }
    }
    return count;
}

const UnansweredBatch* UnansweredBatches::find(const WindowId& id) const noexcept {
    const auto found = batches_.find(id);
    return found != batches_.end() ? &found->second : nullptr;
}

}  // namespace rate_limit
