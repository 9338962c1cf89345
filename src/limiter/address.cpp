#include "limiter/address.h"

#include <sys/un.h>

#include <cstring>

namespace rate_limit {

namespace {

const sockaddr_in& inet(const Address& address) noexcept {
    return reinterpret_cast<const sockaddr_in&>(address.sockaddr);
}

const sockaddr_in6& inet6(const Address& address) noexcept {
    return reinterpret_cast<const sockaddr_in6&>(address.sockaddr);
}

const char* path(const Address& address) noexcept {
    return reinterpret_cast<const sockaddr_un&>(address.sockaddr).sun_path;
}

}  // namespace

bool same_address(const Address& a, const Address& b) noexcept {
    if (a.sockaddr.ss_family != b.sockaddr.ss_family) {
        return false;
    }
    switch (a.sockaddr.ss_family) {
        case AF_INET:
            return inet(a).sin_addr.s_addr == inet(b).sin_addr.s_addr && inet(a).sin_port == inet(b).sin_port;
        case AF_INET6:
            return std::memcmp(&inet6(a).sin6_addr, &inet6(b).sin6_addr, sizeof(in6_addr)) == 0 &&
                   inet6(a).sin6_port == inet6(b).sin6_port;
        case AF_UNIX:
            return std::strncmp(path(a), path(b), sizeof(sockaddr_un::sun_path)) == 0;
        default:
            return a.length == b.length && std::memcmp(&a.sockaddr, &b.sockaddr, a.length) == 0;
    }
}

void set_port(Address& address, in_port_t port) noexcept {
    if (address.sockaddr.ss_family == AF_INET) {
        reinterpret_cast<sockaddr_in&>(address.sockaddr).sin_port = htons(port);
    } else if (address.sockaddr.ss_family == AF_INET6) {
        reinterpret_cast<sockaddr_in6&>(address.sockaddr).sin6_port = htons(port);
    }
}

}  // namespace rate_limit
