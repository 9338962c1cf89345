#include "limiter/leases/unanswered_batches.h"

#include <algorithm>
#include <limits>

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

/// Those of a primary that is away come up again and again: they must not keep the others out.
std::size_t UnansweredBatches::find_due(Millis now, std::array<WindowId, most_at_once>& due) noexcept {
    struct Waiting {
        Msec for_so_long = 0;
        UnansweredBatch* batch = nullptr;
        bool operator<(const Waiting& other) const noexcept { return for_so_long > other.for_so_long; }
    };
    std::array<Waiting, most_at_once> longest;  // a heap, the shortest wait first
    std::size_t count = 0;
    for (auto& [id, batch] : batches_) {
        const Msec since = msec_now() - batch.asked;
        const Waiting waiting{batch.until <= now ? std::numeric_limits<Msec>::max() : since, &batch};
        if (waiting.for_so_long < pause || (count == longest.size() && !(waiting < longest.front()))) {
            continue;
        }
        if (count == longest.size()) {
            std::pop_heap(longest.begin(), longest.end());
            --count;
        }
        longest[count++] = waiting;
        std::push_heap(longest.begin(), longest.begin() + count);
    }
    for (std::size_t i = 0; i < count; ++i) {
        longest[i].batch->asked = msec_now();
        due[i] = longest[i].batch->demand.id;
    }
    return count;
}

const UnansweredBatch* UnansweredBatches::find(const WindowId& id) const noexcept {
    const auto found = batches_.find(id);
    return found != batches_.end() ? &found->second : nullptr;
}

}  // namespace rate_limit
