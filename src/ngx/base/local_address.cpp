#include "ngx/base/local_address.h"

namespace rate_limit {

bool is_local(const sockaddr& address) noexcept {
    switch (address.sa_family) {
        case AF_UNIX:
            return true;
        case AF_INET: {
            const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
            return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
        }
        case AF_INET6: {
            const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
            return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
        }
        default:
            return false;
    }
}

bool is_local(const ngx_str_t& text) noexcept {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_addr.s_addr = ngx_inet_addr(text.data, text.len);
    if (v4.sin_addr.s_addr != INADDR_NONE) {
        return is_local(reinterpret_cast<const sockaddr&>(v4));
    }
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    return ngx_inet6_addr(text.data, text.len, v6.sin6_addr.s6_addr) == NGX_OK &&
           is_local(reinterpret_cast<const sockaddr&>(v6));
}

}  // namespace rate_limit
