#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rate_limit {

/// XXH64 (xxHash, 64 bit, by its published specification): the hash in the definition of ShardChoice.
std::uint64_t xxh64(std::string_view bytes, std::uint64_t seed) noexcept;

/// Decides which shard owns a key, by weighted rendezvous hashing (Thaler and Ravishankar 1998; weights as in
/// draft-ietf-bess-weighted-hrw: score = -weight / ln(u), the highest wins).
///
///     h = xxh64(key, seed = xxh64(shard name, 0))
///     u = (top 52 bits of h + 0.5) / 2^52      (exact in a double, so u is never 0 or 1)
///
/// Every nginx with the same names and weights chooses the same shard, whatever the order of the
/// configuration's lines. A new shard takes from the others only the keys that it owns from then on. Of
/// shards with equal scores the one with the lexicographically smaller name wins. Constant once all shards
/// have been added.
class ShardChoice {
public:
    /// Adds a shard; `weight` is 1 to 1,000,000. Its index is the number of earlier calls. The name is not
    /// copied: its bytes must outlive this object.
    void add(std::string_view name, std::uint32_t weight);

    /// Index of the shard that owns `key`: the key's bytes as Redis gets them, without prefix and limit name.
    /// The caller has added at least one shard.
    std::size_t choose(std::string_view key) const noexcept {
        return shards_.size() == 1 ? 0 : choose_of_many(key);
    }

    std::size_t size() const noexcept { return shards_.size(); }

private:
    std::size_t choose_of_many(std::string_view key) const noexcept;

    struct Shard {
        std::uint64_t seed;
        double weight;
        std::uint32_t rank;  // how many shards have a lexicographically smaller name: breaks ties
    };
    std::vector<Shard> shards_;
    std::vector<std::string_view> names_;
    bool weighted_ = false;  // false: all weights are equal, and the greatest hash wins without a logarithm
};

/// Whether a limit that is enforced for so many of 100 keys is enforced for this one, as all machines agree:
/// the remainder of xxh64(key, seed = 0) by 100 is less than `percent`. `key` is as it reaches Redis. A key
/// that is in at one percentage is in at all greater ones.
inline bool is_enforced(std::string_view key, unsigned percent) noexcept {
    return xxh64(key, 0) % 100 < percent;
}

}  // namespace rate_limit
