#include "limiter/wire/connection/connection.h"

#include "ngx/wire/socket.h"

namespace rate_limit {

Connection::Connection(Owner& owner, const StoreConf& store, const std::string& peer)
    : socket_(std::make_unique<Socket>(owner, store, peer)) {}

Connection::~Connection() = default;

void Connection::record_trees() {
    socket_->record_trees();
}

void Connection::record_no_trees() noexcept {
    socket_->record_no_trees();
}

const char* Connection::open(const Address& address) noexcept {
    return socket_->open(address);
}

bool Connection::is_open() const noexcept {
    return socket_->is_open();
}

bool Connection::shakes_hands() const noexcept {
    return socket_->shakes_hands();
}

bool Connection::broke_handshake() const noexcept {
    return socket_->broke_handshake();
}

bool Connection::send(std::string_view command) noexcept {
    return socket_->send(command);
}

void Connection::write_now() noexcept {
    socket_->write_now();
}

void Connection::read_now() noexcept {
    socket_->read_now();
}

void Connection::close(const char* reason) noexcept {
    socket_->close(reason);
}

bool Connection::gathers() const noexcept {
    return socket_->gathers();
}

void Connection::set_idle(bool idle) noexcept {
    socket_->set_idle(idle);
}

}  // namespace rate_limit
