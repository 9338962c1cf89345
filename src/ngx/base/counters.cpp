#include "ngx/base/counters.h"

#include "redis/shard_choice.h"

namespace rate_limit {

CounterTable::Name counters_name(std::string_view counters, const Subject& subject,
                                 std::size_t group) noexcept {
    std::uint64_t digest = group;
    for (const std::string_view word : {counters, subject.store, subject.shard, subject.node}) {
        digest = xxh64(word, digest);
    }
    return CounterTable::Name(digest);
}

}  // namespace rate_limit
