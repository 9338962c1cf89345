#include "ngx/wire/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <new>

#include <hiredis/alloc.h>

#include "limiter/turn_clock.h"
#include "ngx/base/resume.h"
#include "redis/common_reply.h"
#include "redis/unread.h"

namespace rate_limit {

namespace {

/// A server whose machine is gone is found out even where nothing is asked: after a minute, and three tries.
void keep_alive(int fd, const Address& address) noexcept {
    if (address.sockaddr.ss_family == AF_UNIX) {
        return;
    }
    constexpr struct {
        int level;
        int name;
        int value;
    } options[] = {{SOL_SOCKET, SO_KEEPALIVE, 1},
                   {IPPROTO_TCP, TCP_KEEPIDLE, 60},
                   {IPPROTO_TCP, TCP_KEEPINTVL, 20},
                   {IPPROTO_TCP, TCP_KEEPCNT, 3}};
    for (const auto& option : options) {
        (void)setsockopt(fd, option.level, option.name, &option.value, sizeof option.value);
    }
}

/// hiredis takes addresses as text: numeric, so that it never asks a name server.
redisAsyncContext* start_connecting(const Address& address) noexcept {
    redisOptions options{};
    char text[INET6_ADDRSTRLEN] = "";
    switch (address.sockaddr.ss_family) {
        case AF_INET: {
            const auto& inet = reinterpret_cast<const sockaddr_in&>(address.sockaddr);
            inet_ntop(AF_INET, &inet.sin_addr, text, sizeof text);
            REDIS_OPTIONS_SET_TCP(&options, text, ntohs(inet.sin_port));
            break;
        }
        case AF_INET6: {
            const auto& inet = reinterpret_cast<const sockaddr_in6&>(address.sockaddr);
            inet_ntop(AF_INET6, &inet.sin6_addr, text, sizeof text);
            REDIS_OPTIONS_SET_TCP(&options, text, ntohs(inet.sin6_port));
#ifdef REDIS_OPT_PREFER_IPV6  // hiredis 1.0 tries IPv6 second
            options.options |= REDIS_OPT_PREFER_IPV6;
#endif
            break;
        }
        case AF_UNIX:
            REDIS_OPTIONS_SET_UNIX(&options, reinterpret_cast<const sockaddr_un&>(address.sockaddr).sun_path);
            break;
        default:
            return nullptr;
    }
    return redisAsyncConnectWithOptions(&options);
}

/// Bytes that are not parsed yet, or a reply whose type is read but not its end.
bool has_partial_reply(const redisReader& reader) noexcept {
    return reader.pos < reader.len || (reader.ridx >= 0 && reader.task[0]->type != -1);
}

/// Level-triggered: hiredis reads 16 KiB a call and no more.
void start(ngx_event_t* event, ngx_int_t kind) noexcept {
    if (!event->active) {
        ngx_add_event(event, kind, NGX_LEVEL_EVENT);
    }
}

void stop(ngx_event_t* event, ngx_int_t kind) noexcept {
    if (event->active) {
        ngx_del_event(event, kind, 0);
    }
}

ngx_connection_t& socket(void* opaque) noexcept {
    return *static_cast<ngx_connection_t*>(opaque);
}

/// How many reads of 16 KiB over TLS one turn of the event loop takes.
constexpr int most_reads = 32;

}  // namespace

void Connection::Socket::record_trees() {
    if (tree_ == nullptr) {
        tree_ = std::make_unique<TreeReply>();
    }
    reply_.tree = tree_.get();
}

const char* Connection::Socket::open(const Address& address) noexcept {
    broke_handshake_ = false;
    if (ngx_cycle->connections == nullptr) {  // nginx would say, as an alert, that all of them are in use
        return "nginx makes no connections any more after a reload without a master process";
    }
    redisAsyncContext* context = start_connecting(address);
    if (context == nullptr) {
        return "no memory";
    }
    if (context->err != 0) {
        keep_error(context->c);
        redisAsyncFree(context);
        return error_;
    }
    ngx_connection_t* connection = ngx_get_connection(context->c.fd, ngx_cycle->log);
    if (connection == nullptr) {
        redisAsyncFree(context);
        return "worker_connections are not enough";
    }
    keep_alive(context->c.fd, address);
    return attach(*context, *connection, address);
}

const char* Connection::Socket::attach(redisAsyncContext& context, ngx_connection_t& connection,
                                       const Address& address) noexcept {
    ngx_log_t* const log = ngx_cycle->log;
    connection.data = this;
    connection.log = log;
    connection.read->handler = on_read;
    connection.write->handler = on_write;
    connection.read->log = log;
    connection.write->log = log;
    connection.log_error = NGX_ERROR_ERR;
    if (tls_ && !tls_->attach(context, connection, address)) {
        ngx_free_connection(&connection);
        connection.fd = static_cast<ngx_socket_t>(-1);
        redisAsyncFree(&context);
        return "no memory";
    }
    context_ = &context;
    connection_ = &connection;
    reason_ = nullptr;
    reached_ = false;
    connected_ = false;
    flushing_ = false;
    flush_.data = &connection;
    flush_.handler = on_flush;
    flush_.log = log;
    set_hooks(context);
    use_reply(&context, reply_);
    redisAsyncSetConnectCallback(&context, connected);  // asks for the write event that tells the outcome
    return nullptr;
}

void Connection::Socket::set_hooks(redisAsyncContext& context) noexcept {
    context.data = this;
    context.dataCleanup = gone;
    context.ev.data = connection_;
    context.ev.addWrite = add_write;
    context.ev.cleanup = detach;
    if (tls_) {
        context.ev.addRead = [](void* opaque) noexcept { TlsStream::watch_read(socket(opaque)); };
        context.ev.delRead = context.ev.addRead;
        context.ev.delWrite = [](void* opaque) noexcept { TlsStream::watch_write(socket(opaque)); };
    } else {
        context.ev.addRead = [](void* opaque) noexcept { start(socket(opaque).read, NGX_READ_EVENT); };
        context.ev.delRead = [](void* opaque) noexcept { stop(socket(opaque).read, NGX_READ_EVENT); };
        context.ev.delWrite = [](void* opaque) noexcept { stop(socket(opaque).write, NGX_WRITE_EVENT); };
    }
}

bool Connection::Socket::send(std::string_view command) noexcept {
    if (context_ == nullptr || (context_->c.flags & (REDIS_DISCONNECTING | REDIS_FREEING)) != 0) {
        return false;
    }
    if (waiting_ == 0 && has_partial_reply(*context_->c.reader)) {
        return false;  // nobody waits for that reply: its rest would be this command's answer
    }
    if (!expect_reply() || !append(command)) {
        return false;
    }
    ++waiting_;
    return true;
}

/// hiredis gets all commands that leave at the end of a turn as one: it frees its buffer with each write, and
/// would let it grow anew with every few of them.
bool Connection::Socket::append(std::string_view command) noexcept {
    if (gathered_.empty() && (!connected_ || flushing_ || waits_for_socket())) {
        add_write(connection_);
        return redisAppendFormattedCommand(&context_->c, command.data(), command.size()) == REDIS_OK;
    }
    try {
        gathered_.append(command);
    } catch (...) {
        return false;
    }
    ngx_post_event(&flush_, &ngx_posted_events);
    return true;
}

/// False without memory.
bool Connection::Socket::pass_on_gathered() noexcept {
    constexpr std::size_t most_kept = 65'536;  // bytes of memory, for the next turn
    if (gathered_.empty()) {
        return true;
    }
    const bool passed =
        redisAppendFormattedCommand(&context_->c, gathered_.data(), gathered_.size()) == REDIS_OK;
    gathered_.clear();
    if (gathered_.capacity() > most_kept) {
        std::string().swap(gathered_);
    }
    return passed;
}

/// redisAsyncFormattedCommand() would parse every command anew, and allocate a callback for each. One is
/// enough for all that wait: that there is one tells hiredis, and use_reply(), that a reply is expected.
bool Connection::Socket::expect_reply() noexcept {
    redisCallbackList& callbacks = context_->replies;
    if (callbacks.head != nullptr) {
        return true;
    }
    void* memory = hi_malloc(sizeof(redisCallback));  // hiredis frees it
    if (memory == nullptr) {
        return false;
    }
    auto* callback = new (memory) redisCallback{};
    callback->fn = on_replies;
    callbacks.head = callback;
    callbacks.tail = callback;
    return true;
}

/// hiredis has read one reply and removed the callback. The replies still in its buffer are read here, except
/// that to the last command, which takes the next callback with it.
void Connection::Socket::on_replies(redisAsyncContext* context, void* first, void* /*unused*/) noexcept {
    auto& self = *static_cast<Socket*>(context->data);
    if (first == nullptr) {
        return;  // gone() follows
    }
    if (--self.waiting_ != 0 && !self.expect_reply()) {
        self.close("no memory");
    }
    self.owner_.on_reply(self.reply_);
    while (self.waiting_ > 1 && self.reason_ == nullptr && self.read_reply()) {
        if (self.reply_.head.type != REDIS_REPLY_PUSH) {  // no command's answer: as hiredis does
            --self.waiting_;
            self.owner_.on_reply(self.reply_);
        }
    }
}

/// False when hiredis has no whole reply in its buffer, or cannot go on.
bool Connection::Socket::read_reply() noexcept {
    redisContext& context = context_->c;
    if (read_common(*context.reader, reply_)) {
        return true;
    }
    void* reply = nullptr;
    return redisGetReplyFromReader(&context, &reply) == REDIS_OK && reply != nullptr;
}

void Connection::Socket::close(const char* reason) noexcept {
    if (context_ != nullptr && reason_ == nullptr) {
        reason_ = reason;
        redisAsyncFree(context_);
    }
}

void Connection::Socket::set_idle(bool idle) noexcept {
    if (connection_ != nullptr) {
        connection_->idle = idle;
    }
}

void Connection::Socket::on_read(ngx_event_t* event) noexcept {
    Socket& self = of(event);
    TurnClock::move_on();
    // worker_shutdown_timeout sets the same flag on connections that are not idle: those are still needed for
    // the charges of the requests it cuts.
    if (self.connection_->close && self.connection_->idle) {
        self.owner_.on_close_idle();
        return;
    }
    if (self.tls_) {
        self.read_all();
    } else {
        self.handle(redisAsyncHandleRead);
    }
}

/// Reads until there is no more, in this turn of the event loop and, if that is not enough, in the next: a
/// part of what came over TLS can lie in OpenSSL, where no event tells of it.
void Connection::Socket::read_all() noexcept {
    int left = most_reads;
    do {
        handle(redisAsyncHandleRead);
    } while (connected_ && connection_->read->ready && --left > 0);
    if (!connected_) {
        return;  // it is gone; its owner may have opened another by now
    }
    if (connection_->read->ready && !connection_->read->posted) {
        ngx_post_event(connection_->read, &ngx_posted_next_events);
    }
    TlsStream::watch_read(*connection_);
}

void Connection::Socket::read_now() noexcept {
    constexpr int a_read = 16 * 1024;  // bytes that hiredis reads at once
    int bytes = 0;
    if (connected_ && tls_) {
        read_all();
        return;
    }
    if (!connected_ || ioctl(connection_->fd, FIONREAD, &bytes) != 0) {
        return;
    }
    for (int left = bytes; left > 0 && connected_ && reason_ == nullptr; left -= a_read) {
        handle(redisAsyncHandleRead);
    }
}

void Connection::Socket::on_write(ngx_event_t* event) noexcept {
    Socket& self = of(event);
    if (self.tls_ && self.flush_.posted) {
        return;  // edge-triggered, it is told with every answer: commands still leave at the end of this turn
    }
    self.handle(redisAsyncHandleWrite);
}

/// The owner learns here that the connection is up, not in connected(): hiredis 1.0 goes on with a context
/// that is closed there.
void Connection::Socket::handle(void (*event)(redisAsyncContext*)) noexcept {
    const bool before = reached_;
    event(context_);
    if (context_ != nullptr) {
        const char* const endless = bound_unread(*context_->c.reader);
        if (endless != nullptr) {
            close(endless);
            return;
        }
    }
    if (before || !reached_) {
        return;
    }
    if (tls_) {
        end_handshake(tls_->shake_hands(*connection_, on_handshake));
    } else {
        connected_ = true;
        owner_.on_connected();
    }
}

void Connection::Socket::on_handshake(ngx_connection_t* connection) noexcept {
    Socket& self = of(*connection);
    connection->read->handler = on_read;
    connection->write->handler = on_write;
    self.end_handshake(self.tls_->finish_handshake(*connection));
}

void Connection::Socket::end_handshake(TlsStream::Handshake result) noexcept {
    if (result == TlsStream::Handshake::failed) {
        close(*tls_->failure() != '\0' ? tls_->failure() : "the TLS handshake failed");
    } else if (result == TlsStream::Handshake::done) {
        connected_ = true;
        // Bytes that came with the end of the handshake may lie in OpenSSL; and poll and select are asked to
        // watch only once there is nothing more to read.
        ngx_post_event(connection_->read, &ngx_posted_events);
        owner_.on_connected();
    }
}

/// Something could not be written: the socket's next event writes it.
bool Connection::Socket::waits_for_socket() const noexcept {
    return tls_ ? !connection_->write->ready : connection_->write->active != 0;
}

void Connection::Socket::on_flush(ngx_event_t* event) noexcept {
    Socket& self = of(event);
    if (has_resumable_requests()) {
        // Requests that go on in this turn may issue more commands: they leave in the same write.
        ngx_post_event(event, &ngx_posted_events);
        return;
    }
    self.write_now();
    TurnClock::move_on();
}

void Connection::Socket::write_now() noexcept {
    if (connected_ && reason_ == nullptr) {
        if (!pass_on_gathered()) {
            close("no memory");
            return;
        }
        flushing_ = true;
        redisAsyncHandleWrite(context_);
        flushing_ = false;
    }
}

/// For every command. hiredis calls it before the connection is up and after a partial write.
void Connection::Socket::add_write(void* opaque) noexcept {
    Socket& self = of(socket(opaque));
    if (self.tls_ && (!self.connected_ || self.flushing_)) {
        TlsStream::watch_write(*self.connection_);
    } else if (!self.connected_ || self.flushing_) {
        start(self.connection_->write, NGX_WRITE_EVENT);
    } else if (!self.waits_for_socket()) {
        ngx_post_event(&self.flush_, &ngx_posted_events);
    }
}

/// hiredis is about to close the descriptor: nginx forgets it. May run within our own read or write handler.
void Connection::Socket::detach(void* opaque) noexcept {
    ngx_connection_t* connection = &socket(opaque);
    Socket& self = of(*connection);
    if (self.tls_) {
        self.tls_->detach(*connection);
    }
    if (self.flush_.posted) {
        ngx_delete_posted_event(&self.flush_);
    }
    if (ngx_del_conn != nullptr) {
        ngx_del_conn(connection, NGX_CLOSE_EVENT);
    } else {
        stop(connection->read, NGX_READ_EVENT);
        stop(connection->write, NGX_WRITE_EVENT);
    }
    if (connection->read->posted) {
        ngx_delete_posted_event(connection->read);
    }
    if (connection->write->posted) {
        ngx_delete_posted_event(connection->write);
    }
    connection->read->closed = 1;
    connection->write->closed = 1;
    connection->idle = 0;
    ngx_free_connection(connection);
    connection->fd = static_cast<ngx_socket_t>(-1);
    self.connection_ = nullptr;
}

void Connection::Socket::connected(const redisAsyncContext* context, int status) noexcept {
    auto& self = *static_cast<Socket*>(context->data);
    self.reached_ = status == REDIS_OK;
}

void Connection::Socket::keep_error(const redisContext& context) noexcept {
    ngx_cpystrn(reinterpret_cast<u_char*>(error_),
                reinterpret_cast<u_char*>(const_cast<char*>(context.errstr)), sizeof error_);
}

/// The last thing hiredis does with a context, on every path.
void Connection::Socket::gone(void* opaque) noexcept {
    auto& self = *static_cast<Socket*>(opaque);
    const char* reason = self.reason_;
    if (reason == nullptr) {
        self.keep_error(self.context_->c);
        reason = self.tls_ && *self.tls_->failure() != '\0' ? self.tls_->failure() : self.error_;
    }
    self.broke_handshake_ = self.shakes_hands();
    self.context_ = nullptr;
    self.reason_ = nullptr;
    self.reached_ = false;
    self.connected_ = false;
    self.waiting_ = 0;
    self.gathered_.clear();
    self.owner_.on_closed(reason);
}

}  // namespace rate_limit
