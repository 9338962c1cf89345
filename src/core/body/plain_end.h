#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace rate_limit {

// Most of a body is plain text in strings: it is looked through in blocks.

/// Whether the byte ends a plain part of a string: a quote, a backslash, a control.
constexpr bool ends_plain(char c) noexcept {
    return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
}

#if defined(__SSE2__)

constexpr std::ptrdiff_t plain_block = 16;

/// The place in a block of the first byte that ends a plain part; plain_block: there is none.
inline std::ptrdiff_t plain_end_of_block(const char* at) noexcept {
    __m128i bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    const __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    const __m128i escapes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    const __m128i controls = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    const int ends = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, escapes), controls));
    return __builtin_ctz(static_cast<unsigned>(ends) | 1U << plain_block);
}

#else

constexpr std::ptrdiff_t plain_block = 8;

/// In the lowest byte of a word, which comes first, nothing is borrowed for another one.
inline std::ptrdiff_t plain_end_of_block(const char* at) noexcept {
    constexpr std::uint64_t each = 0x0101010101010101U;
    constexpr std::uint64_t highest = 0x80 * each;
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) {
        word = __builtin_bswap64(word);
    }
    const auto zeros = [](std::uint64_t of) noexcept { return (of - each) & ~of & highest; };
    const std::uint64_t controls = (word - 0x20 * each) & ~word & highest;
    const std::uint64_t ends = zeros(word ^ '"' * each) | zeros(word ^ '\\' * each) | controls;
    return ends != 0 ? __builtin_ctzll(ends) / 8 : plain_block;
}

#endif

/// The first byte that ends a plain part, or `end`.
inline const char* find_plain_end(const char* at, const char* end) noexcept {
    for (; end - at >= plain_block; at += plain_block) {
        const std::ptrdiff_t place = plain_end_of_block(at);
        if (place != plain_block) {
            return at + place;
        }
    }
    while (at != end && !ends_plain(*at)) {
        ++at;
    }
    return at;
}

}  // namespace rate_limit
