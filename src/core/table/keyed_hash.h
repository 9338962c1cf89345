#pragma once

#include <cstdint>
#include <string_view>

namespace rate_limit {

/// A secret of 128 bits: its 16 bytes, read as two little-endian numbers.
struct HashKey {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
};

/// The hash. The 16 bytes that the paper's authors print are `low`, then `high`, each little-endian.
struct Hash128 {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
};

/// SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012, and
/// its authors' extension to 128 bits): without the key nobody can choose bytes whose hashes are equal,
/// wholly or in part.
Hash128 keyed_hash(const HashKey& key, std::string_view bytes) noexcept;

}  // namespace rate_limit
