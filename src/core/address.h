#pragma once

#include <array>
#include <cstddef>

namespace rate_limit {

using Ipv4 = std::array<unsigned char, 4>;
using Ipv6 = std::array<unsigned char, 16>;

constexpr unsigned ipv6_bits = 128;

/// The address with only its first `prefix` bits; the others are zero.
Ipv6 cut(const Ipv6& address, unsigned prefix) noexcept;

/// The most bytes that append_network() writes: `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/127`.
constexpr std::size_t max_network = 50;

/// Writes an address as `203.0.113.7` at `out`, which has room for it, and returns the new end.
char* append_address(char* out, const Ipv4& address) noexcept;

/// Writes the canonical text (RFC 5952, as inet_ntop() does) of an address that has been cut to `prefix`
/// bits, followed by the prefix, as in `/64`, unless that is all of the address. `out` has room for
/// max_network bytes. Returns the new end.
char* append_network(char* out, const Ipv6& address, unsigned prefix) noexcept;

}  // namespace rate_limit
