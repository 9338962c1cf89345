#pragma once

#include <array>
#include <cstddef>
#include <optional>

namespace rate_limit {

using Ipv4 = std::array<unsigned char, 4>;
using Ipv6 = std::array<unsigned char, 16>;

constexpr unsigned ipv4_bits = 32;
constexpr unsigned ipv6_bits = 128;

/// The address with only its first `prefix` bits; the others are zero.
Ipv4 cut(const Ipv4& address, unsigned prefix) noexcept;
Ipv6 cut(const Ipv6& address, unsigned prefix) noexcept;

/// The IPv4 address that this one stands for: one in ::ffff:0:0/96 (RFC 4291, mapped), 64:ff9b::/96 (RFC
/// 6052, of a NAT64) or ::/96 (RFC 4291, compatible), but for :: and ::1. Empty: it stands for itself.
std::optional<Ipv4> ipv4_in(const Ipv6& address) noexcept;

/// The most bytes that append_network() writes: `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/127`.
constexpr std::size_t max_network = 50;

/// Writes an address as `203.0.113.7` at `out`, which has room for it, and returns the new end.
char* append_address(char* out, const Ipv4& address) noexcept;

/// Writes that of an address that has been cut to `prefix` bits, followed by the prefix, as in `/24`, unless
/// that is all of the address. `out` has room for max_network bytes. Returns the new end.
char* append_network(char* out, const Ipv4& address, unsigned prefix) noexcept;

/// Writes the canonical text (RFC 5952, as inet_ntop() does) of an address that has been cut to `prefix`
/// bits, followed by the prefix, as in `/64`, unless that is all of the address. `out` has room for
/// max_network bytes. Returns the new end.
char* append_network(char* out, const Ipv6& address, unsigned prefix) noexcept;

}  // namespace rate_limit
