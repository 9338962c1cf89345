#include "redis/keys/shard_choice.h"

#include <cmath>

namespace rate_limit {
namespace {

constexpr std::uint64_t prime1 = 0x9E3779B185EBCA87;
constexpr std::uint64_t prime2 = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t prime3 = 0x165667B19E3779F9;
constexpr std::uint64_t prime4 = 0x85EBCA77C2B2AE63;
constexpr std::uint64_t prime5 = 0x27D4EB2F165667C5;

std::uint64_t rotate(std::uint64_t value, int bits) noexcept {
    return (value << bits) | (value >> (64 - bits));
}

template <int size>
std::uint64_t little_endian(const char* bytes) noexcept {
    std::uint64_t value = 0;
    for (int i = 0; i < size; ++i) {
        value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return value;
}

std::uint64_t mix(std::uint64_t lane, std::uint64_t input) noexcept {
    return rotate(lane + input * prime2, 31) * prime1;
}

std::uint64_t merge(std::uint64_t hash, std::uint64_t lane) noexcept {
    return (hash ^ mix(0, lane)) * prime1 + prime4;
}

/// The top 52 bits of the hash. They are in the same order as the u that is made from them.
std::uint64_t draw(std::uint64_t hash) noexcept {
    return hash >> 12;
}

double score(std::uint64_t drawn, double weight) noexcept {
    constexpr double steps = 1ULL << 52;
    return -weight / std::log((static_cast<double>(drawn) + 0.5) / steps);
}

}  // namespace

std::uint64_t xxh64(std::string_view bytes, std::uint64_t seed) noexcept {
    const char* at = bytes.data();
    std::size_t left = bytes.size();
    std::uint64_t hash = seed + prime5;

    if (left >= 32) {
        std::uint64_t lanes[] = {seed + prime1 + prime2, seed + prime2, seed, seed - prime1};
        for (; left >= 32; left -= 32) {
            for (std::uint64_t& lane : lanes) {
                lane = mix(lane, little_endian<8>(at));
                at += 8;
            }
        }
        hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
        for (std::uint64_t lane : lanes) {
            hash = merge(hash, lane);
        }
    }
    hash += bytes.size();

    for (; left >= 8; left -= 8, at += 8) {
        hash = rotate(hash ^ mix(0, little_endian<8>(at)), 27) * prime1 + prime4;
    }
    if (left >= 4) {
        hash = rotate(hash ^ (little_endian<4>(at) * prime1), 23) * prime2 + prime3;
        left -= 4;
        at += 4;
    }
    for (; left > 0; --left, ++at) {
        hash = rotate(hash ^ (little_endian<1>(at) * prime5), 11) * prime1;
    }

    hash = (hash ^ (hash >> 33)) * prime2;
    hash = (hash ^ (hash >> 29)) * prime3;
    return hash ^ (hash >> 32);
}

void ShardChoice::add(std::string_view name, std::uint32_t weight) {
    std::uint32_t rank = 0;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        if (name < names_[i]) {
            ++shards_[i].rank;
        } else {
            ++rank;
        }
    }
    names_.push_back(name);
    shards_.push_back({xxh64(name, 0), static_cast<double>(weight), rank});
    weighted_ = weighted_ || shards_.back().weight != shards_.front().weight;
}

std::size_t ShardChoice::choose_of_many(std::string_view key) const noexcept {
    std::size_t best = 0;
    std::uint64_t best_draw = 0;
    double best_score = 0;

    for (std::size_t i = 0; i < shards_.size(); ++i) {
        const Shard& shard = shards_[i];
        const std::uint64_t drawn = draw(xxh64(key, shard.seed));
        const double scored = weighted_ ? score(drawn, shard.weight) : 0;
        const bool greater = weighted_ ? scored > best_score : drawn > best_draw;
        const bool equal = weighted_ ? scored == best_score : drawn == best_draw;

        if (i == 0 || greater || (equal && shard.rank < shards_[best].rank)) {
            best = i;
            best_draw = drawn;
            best_score = scored;
        }
    }
    return best;
}

}  // namespace rate_limit
