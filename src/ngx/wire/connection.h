#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ngx/base/ngx.h"
#include "ngx/conf/redis_conf.h"
#include "ngx/wire/tls_stream.h"
#include "redis/reply.h"
#include "redis/tree_reply.h"

namespace rate_limit {

/// hiredis's asynchronous context on nginx's event loop: one socket, many pipelined commands.
///
/// Knows nothing of commands' meaning. Commands sent in one turn of the loop leave in one write, from an
/// event posted behind everything that may still issue commands. Its owner outlives it and is told of four
/// things; after any call that may end the connection (close, and whatever hiredis reports) is_open() tells
/// what is left.
class Connection {
public:
    class Owner {
    public:
        /// The socket is connected, and over TLS the server is who it should be: commands may be sent.
        virtual void on_connected() noexcept = 0;

        /// The answer to the oldest command that has none yet; valid during the call.
        virtual void on_reply(const Reply& reply) noexcept = 0;

        /// The connection is gone and so is every command on it that has no answer. Never comes from within
        /// on_reply(), open() or send().
        virtual void on_closed(const char* reason) noexcept = 0;

        /// nginx asks for idle connections to be closed.
        virtual void on_close_idle() noexcept = 0;

    protected:
        ~Owner() = default;
    };

    /// `peer`: whom the server's certificate has to be for; empty: it speaks no TLS.
    Connection(Owner& owner, const TlsConf& tls, const std::string& peer);
    ~Connection() { close("destroyed"); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// From now on each reply has a tree. Throws std::bad_alloc.
    void record_trees();

    /// From the next reply on none has.
    void record_no_trees() noexcept { reply_.tree = nullptr; }

    /// Starts to connect. Null, or why that failed at once; the text is good until the next call.
    const char* open(const Address& address, ngx_log_t* log) noexcept;

    bool is_open() const noexcept { return context_ != nullptr; }

    /// The socket is connected, and TLS is not there yet.
    bool shakes_hands() const noexcept { return reached_ && !connected_; }

    /// The last connection ended in its TLS handshake. Good until open().
    bool broke_handshake() const noexcept { return broke_handshake_; }

    /// Queues one command. False when the connection takes no more, and then there is no answer to it.
    bool send(std::string_view command) noexcept;

    /// Writes what the socket takes now, and does not wait for the end of this turn.
    void write_now() noexcept;

    /// Reads all that lies in the socket at this moment. Not from within on_reply().
    void read_now() noexcept;

    /// Ends the connection and calls on_closed(reason): at once, or, within on_reply(), after that returns.
    /// `reason` is static text.
    void close(const char* reason) noexcept;

    /// Commands of this turn of the loop wait for its end, to leave in one write.
    bool gathers() const noexcept { return flush_.posted != 0; }

    /// Marks whether nginx may close the connection when it shuts down.
    void set_idle(bool idle) noexcept;

private:
    static void on_read(ngx_event_t* event) noexcept;
    static void on_write(ngx_event_t* event) noexcept;
    static void on_flush(ngx_event_t* event) noexcept;

    static void on_handshake(ngx_connection_t* connection) noexcept;

    static void add_write(void* socket) noexcept;
    static void detach(void* socket) noexcept;
    static void connected(const redisAsyncContext* context, int status) noexcept;
    static void gone(void* self) noexcept;
    static void on_replies(redisAsyncContext* context, void* first, void* unused) noexcept;

    const char* attach(redisAsyncContext& context, ngx_connection_t& connection, const Address& address,
                       ngx_log_t* log) noexcept;
    void set_hooks(redisAsyncContext& context) noexcept;
    void handle(void (*event)(redisAsyncContext*)) noexcept;
    void read_all() noexcept;
    void end_handshake(TlsStream::Handshake result) noexcept;
    bool waits_for_socket() const noexcept;
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
    ngx_event_t flush_{};
    std::unique_ptr<TreeReply> tree_;
    Reply reply_;
};

}  // namespace rate_limit
