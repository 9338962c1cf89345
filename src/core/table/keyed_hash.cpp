#include "core/table/keyed_hash.h"

#include <cstddef>
#include <cstring>

namespace rate_limit {

namespace {

constexpr std::size_t word_size = 8;

std::uint64_t rotate(std::uint64_t x, unsigned bits) noexcept {
    return (x << bits) | (x >> (64 - bits));
}

struct State {
    std::uint64_t v0, v1, v2, v3;

    void round() noexcept {
        v0 += v1;
        v2 += v3;
        v1 = rotate(v1, 13) ^ v0;
        v3 = rotate(v3, 16) ^ v2;
        v0 = rotate(v0, 32);
        v2 += v1;
        v0 += v3;
        v1 = rotate(v1, 17) ^ v2;
        v3 = rotate(v3, 21) ^ v0;
        v2 = rotate(v2, 32);
    }

    void absorb(std::uint64_t word) noexcept {
        v3 ^= word;
        round();
        round();
        v0 ^= word;
    }

    std::uint64_t finish() noexcept {
        round();
        round();
        round();
        round();
        return v0 ^ v1 ^ v2 ^ v3;
    }
};

std::uint64_t little_endian_word(const char* bytes) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, word_size);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/// The last `count` bytes of `bytes`, fewer than a word has.
std::uint64_t little_endian_tail(std::string_view bytes, std::size_t count) noexcept {
    if (bytes.size() >= word_size && count != 0) {
        return little_endian_word(bytes.data() + bytes.size() - word_size) >> (8 * (word_size - count));
    }
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < count; ++i) {
        word |= std::uint64_t{static_cast<unsigned char>(bytes[bytes.size() - count + i])} << (8 * i);
    }
    return word;
}

}  // namespace

Hash128 keyed_hash(const HashKey& key, std::string_view bytes) noexcept {
    // The paper's constants, "somepseudorandomlygeneratedbytes"; 0xee marks the 128-bit output.
    State state{key.low ^ 0x736f6d6570736575, key.high ^ 0x646f72616e646f6d ^ 0xee,
                key.low ^ 0x6c7967656e657261, key.high ^ 0x7465646279746573};
    const std::size_t tail = bytes.size() % word_size;
    const std::size_t whole = bytes.size() - tail;
    for (std::size_t i = 0; i < whole; i += word_size) {
        state.absorb(little_endian_word(bytes.data() + i));
    }
    state.absorb(little_endian_tail(bytes, tail) | (std::uint64_t{bytes.size()} << 56));

    Hash128 hash;
    state.v2 ^= 0xee;
    hash.low = state.finish();
    state.v1 ^= 0xdd;
    hash.high = state.finish();
    return hash;
}

}  // namespace rate_limit
