#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "limiter/wire/connection/connection.h"
#include "ngx/base/ngx.h"
#include "ngx/redis_block/store_block.h"
#include "ngx/wire/tls_stream.h"
#include "redis/tree_reply.h"

namespace rate_limit {

/// hiredis's asynchronous context on nginx's event loop.
class Connection::Socket {
public:
    Socket(Owner& owner, const StoreConf& store, const std::string& peer) : owner_(owner) {
        if (store.encrypted && !peer.empty()) {
            tls_.emplace(block_of(store).tls, peer);
        }
    }
    ~Socket() { close("destroyed"); }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    void record_trees();
    void record_no_trees() noexcept { reply_.tree = nullptr; }
    const char* open(const Address& address) noexcept;
    bool is_open() const noexcept { return context_ != nullptr; }
    bool shakes_hands() const noexcept { return reached_ && !connected_; }
    bool broke_handshake() const noexcept { return broke_handshake_; }
    bool send(std::string_view command) noexcept;
    void write_now() noexcept;
    void read_now() noexcept;
    void close(const char* reason) noexcept;
    bool gathers() const noexcept { return flush_.posted != 0; }
    void set_idle(bool idle) noexcept;

private:
    static Socket& of(const ngx_connection_t& socket) noexcept { return *static_cast<Socket*>(socket.data); }
    static Socket& of(const ngx_event_t* event) noexcept {
        return of(*static_cast<const ngx_connection_t*>(event->data));
    }

    static void on_read(ngx_event_t* event) noexcept;
    static void on_write(ngx_event_t* event) noexcept;
    static void on_flush(ngx_event_t* event) noexcept;

    static void on_handshake(ngx_connection_t* connection) noexcept;

    static void add_write(void* socket) noexcept;
    static void detach(void* socket) noexcept;
    static void connected(const redisAsyncContext* context, int status) noexcept;
    static void gone(void* self) noexcept;
    static void on_replies(redisAsyncContext* context, void* first, void* unused) noexcept;

    const char* attach(redisAsyncContext& context, ngx_connection_t& connection,
                       const Address& address) noexcept;
    void set_hooks(redisAsyncContext& context) noexcept;
    void handle(void (*event)(redisAsyncContext*)) noexcept;
    void read_all() noexcept;
    void end_handshake(TlsStream::Handshake result) noexcept;
    bool waits_for_socket() const noexcept;
    bool append(std::string_view command) noexcept;
    bool pass_on_gathered() noexcept;
    bool expect_reply() noexcept;
    bool read_reply() noexcept;
    void keep_error(const redisContext& context) noexcept;

    Owner& owner_;
    redisAsyncContext* context_ = nullptr;  // hiredis frees it; null from then on
    ngx_connection_t* connection_ = nullptr;
    const char* reason_ = nullptr;  // why we close it; null: hiredis's own error says
    char error_[128] = "";
    std::optional<TlsStream> tls_;  // none: clear text
    bool reached_ = false;          // the socket is connected
    bool connected_ = false;        // commands may be sent
    bool broke_handshake_ = false;
    bool flushing_ = false;
    std::size_t waiting_ = 0;  // commands without an answer: as many as the owner has in its queue
    std::string gathered_;     // commands of this turn, not given to hiredis yet
    ngx_event_t flush_{};
    std::unique_ptr<TreeReply> tree_;
    Reply reply_;
};

}  // namespace rate_limit
