#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

namespace rate_limit {

/// One socket address of a node: IPv4, IPv6 or a path.
struct Address {
    sockaddr_storage sockaddr;
    socklen_t length;
};

/// Whether both are of one family and lead to one server: host and port, or the path, are the same.
bool same_address(const Address& a, const Address& b) noexcept;

/// Changes the port of an address that has one.
void set_port(Address& address, in_port_t port) noexcept;

}  // namespace rate_limit
