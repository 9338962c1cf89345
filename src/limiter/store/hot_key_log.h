#pragma once

namespace rate_limit {

struct Configuration;

/// Adds up with the other workers, once a minute, of which keys the commands to each shard are, and logs each
/// key that makes more than a fifth of a shard's, by its limit and its id; one worker does that stays. Not
/// where a shard was sent fewer than 10,000 in the minute: about one of 16 is looked at, so that of 10,000
/// the share of a key is known to within 3% of them, in 19 of 20 cases; of 100,000 to within 1%. A key that
/// is not named has made at most a fifth and 1/HotKeys::most. To be called about once a second, in each
/// worker.
void tell_hot_keys(const Configuration& main) noexcept;

}  // namespace rate_limit
