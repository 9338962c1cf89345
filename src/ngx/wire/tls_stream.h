#pragma once

#include <string>
#include <string_view>

#include "ngx/base/ngx.h"
#include "ngx/redis_block/store_block.h"
#include "redis/reply.h"

namespace rate_limit {

/// TLS under one hiredis connection, by nginx's own layer: hiredis_ssl checks no names, and leaves its errors
/// in OpenSSL's queue, where they end other connections of the worker.
///
/// nginx's functions change the events of the socket and exchange their handlers, so the owner leaves both to
/// them until the handshake has ended, and uses watch_read() and watch_write() throughout. One stream serves
/// the connections of one node, one after the other: a session is resumed with the server that gave it.
class TlsStream {
public:
    enum class Handshake : unsigned char { goes_on, done, failed };

    /// `peer`: what the certificate has to be for, unless `conf` names that: a host name, with or without a
    /// final dot, or an IP address. `conf` outlives the stream.
    TlsStream(const TlsConf& conf, const std::string& peer);
    ~TlsStream() { forget_session(); }
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    /// Makes hiredis read and write through TLS. False without memory; the connection then has nothing of it.
    bool attach(redisAsyncContext& context, ngx_connection_t& connection, const Address& address) noexcept;

    /// Begins the handshake on a socket that is connected. While it goes on nginx drives it, and calls `done`
    /// with the connection at its end: finish_handshake() tells how it went.
    Handshake shake_hands(ngx_connection_t& connection, void (*done)(ngx_connection_t*)) noexcept;
    Handshake finish_handshake(ngx_connection_t& connection) noexcept;

    /// Before the socket is closed. What is in flight is not waited for.
    void detach(ngx_connection_t& connection) noexcept;

    /// Why the handshake, a read or a write failed, in OpenSSL's words; empty: none has. Good until attach().
    const char* failure() const noexcept { return failure_; }

    static void watch_read(ngx_connection_t& connection) noexcept;
    static void watch_write(ngx_connection_t& connection) noexcept;

private:
    static void capture(ngx_log_t* log, ngx_uint_t level, u_char* line, std::size_t size) noexcept;
    static void keep_session(ngx_connection_t* connection) noexcept;

    bool expect(ngx_connection_t& connection) noexcept;
    void tell_unfit(long verdict) noexcept;
    void resume_session(ngx_connection_t& connection) noexcept;
    void forget_session() noexcept;

    const TlsConf& conf_;
    const std::string peer_;  // without the final dot
    ngx_log_t log_{};         // nginx's layer writes through it into failure_
    char failure_[256] = "";
    Address address_{};          // the server of the present connection
    Address session_address_{};  // the server that gave the session
    void* session_ = nullptr;    // an SSL_SESSION; ours
};

}  // namespace rate_limit
