#include "core/address.h"

#include <algorithm>
#include <iterator>

#include "core/decimal.h"

namespace rate_limit {
namespace {

constexpr std::size_t groups = 8;

/// Successive groups that are zero.
struct Run {
    std::size_t begin = groups;
    std::size_t length = 0;
};

unsigned group(const Ipv6& address, std::size_t i) noexcept {
    return static_cast<unsigned>(address[2 * i]) << 8 | address[2 * i + 1];
}

/// The longest run of an address, the first one of equals; a single zero group is no run.
Run longest_run(const Ipv6& address) noexcept {
    Run longest;
    Run run;
    for (std::size_t i = 0; i < groups; ++i) {
        if (group(address, i) != 0) {
            run = Run{};
            continue;
        }
        run = {run.length == 0 ? i : run.begin, run.length + 1};
        if (run.length > std::max<std::size_t>(1, longest.length)) {
            longest = run;
        }
    }
    return longest;
}

template <std::size_t size>
std::array<unsigned char, size> cut_bytes(const std::array<unsigned char, size>& address,
                                          unsigned prefix) noexcept {
    std::array<unsigned char, size> network{};
    for (unsigned i = 0; i < size; ++i) {
        const unsigned bits = prefix > i * 8 ? std::min(prefix - i * 8, 8U) : 0;
        network.at(i) = static_cast<unsigned char>(address.at(i) & 0xff00U >> bits);
    }
    return network;
}

char* append_prefix(char* out, unsigned prefix, unsigned whole) noexcept {
    return prefix < whole ? append(append(out, "/"), static_cast<std::int64_t>(prefix)) : out;
}

char* append_group(char* out, unsigned number) noexcept {
    constexpr std::string_view digits = "0123456789abcdef";
    for (unsigned shift = number > 0xfff ? 12 : number > 0xff ? 8 : number > 0xf ? 4 : 0;; shift -= 4) {
        *out++ = digits[number >> shift & 0xf];
        if (shift == 0) {
            return out;
        }
    }
}

}  // namespace

Ipv4 cut(const Ipv4& address, unsigned prefix) noexcept {
    return cut_bytes(address, prefix);
}

Ipv6 cut(const Ipv6& address, unsigned prefix) noexcept {
    return cut_bytes(address, prefix);
}

std::optional<Ipv4> ipv4_in(const Ipv6& address) noexcept {
    constexpr std::array<unsigned, 6> starts[] = {
        {0, 0, 0, 0, 0, 0xffff}, {0x64, 0xff9b, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}};
    const auto begins = [&address](const std::array<unsigned, 6>& start) {
        std::size_t same = 0;
        while (same < start.size() && group(address, same) == start.at(same)) {
            ++same;
        }
        return same == start.size();
    };
    const bool of_its_own = begins(starts[2]) && group(address, 6) == 0 && group(address, 7) <= 1;
    if (of_its_own || std::none_of(std::begin(starts), std::end(starts), begins)) {
        return std::nullopt;
    }
    return Ipv4{address[12], address[13], address[14], address[15]};
}

char* append_address(char* out, const Ipv4& address) noexcept {
    for (std::size_t i = 0; i < address.size(); ++i) {
        out = append(append(out, i == 0 ? "" : "."), static_cast<std::int64_t>(address.at(i)));
    }
    return out;
}

char* append_network(char* out, const Ipv4& address, unsigned prefix) noexcept {
    return append_prefix(append_address(out, address), prefix, ipv4_bits);
}

char* append_network(char* out, const Ipv6& address, unsigned prefix) noexcept {
    const Run zeros = longest_run(address);
    // The last four bytes are written as an IPv4 address: ::192.0.2.1 and ::ffff:192.0.2.1.
    const bool mixed =
        zeros.begin == 0 && (zeros.length == 6 || (zeros.length == 5 && group(address, 5) == 0xffff));
    const std::size_t end = mixed ? 6 : groups;
    for (std::size_t i = 0; i < end;) {
        if (i == zeros.begin) {
            out = append(out, "::");
            i += zeros.length;
            continue;
        }
        if (i != 0 && i != zeros.begin + zeros.length) {
            *out++ = ':';
        }
        out = append_group(out, group(address, i++));
    }
    if (mixed) {
        if (zeros.length == 5) {
            *out++ = ':';
        }
        out = append_address(out, {address[12], address[13], address[14], address[15]});
    }
    return append_prefix(out, prefix, ipv6_bits);
}

}  // namespace rate_limit
