#include "ngx/wire/tls_stream.h"

#include <hiredis/sds.h>

namespace rate_limit {

namespace {

constexpr std::size_t pool_size = 512;  // nginx's layer takes one small structure from it

ngx_connection_t& connection_of(redisContext* context) noexcept {
    return *static_cast<ngx_connection_t*>(reinterpret_cast<redisAsyncContext*>(context)->ev.data);
}

ssize_t fail(redisContext& context, int error, const char* text) noexcept {
    context.err = error;
    ngx_cpystrn(reinterpret_cast<u_char*>(context.errstr), reinterpret_cast<u_char*>(const_cast<char*>(text)),
                sizeof context.errstr);
    return -1;
}

/// Returns what hiredis wants: 0 stands for "not now".
ssize_t read_some(redisContext* context, char* buffer, std::size_t size) noexcept {
    ngx_connection_t& connection = connection_of(context);
    if (connection.recv == nullptr) {
        return 0;  // hiredis reads as soon as the socket is connected, before the handshake
    }
    const ssize_t got = connection.recv(&connection, reinterpret_cast<u_char*>(buffer), size);
    if (got > 0) {
        return got;
    }
    if (got == NGX_AGAIN && !connection.write->error) {
        return 0;
    }
    return got == 0 ? fail(*context, REDIS_ERR_EOF, "Server closed the connection")
                    : fail(*context, REDIS_ERR_IO, "TLS failed");
}

/// Writes all that the socket takes: what is left then waits for an event, and without a full socket there
/// would be none.
ssize_t write_some(redisContext* context) noexcept {
    ngx_connection_t& connection = connection_of(context);
    const std::size_t size = sdslen(context->obuf);
    std::size_t written = 0;
    while (written < size) {
        const ssize_t took =
            connection.send(&connection, reinterpret_cast<u_char*>(context->obuf) + written, size - written);
        if (took == NGX_AGAIN) {
            break;
        }
        if (took <= 0) {
            // The server's last words, an alert perhaps, or answers, are still to be read.
            ngx_post_event(connection.read, &ngx_posted_events);
            break;
        }
        written += static_cast<std::size_t>(took);
    }
    return static_cast<ssize_t>(written);
}

/// The name as certificates and SNI have it: the dot that ends an absolute one belongs to DNS.
std::string without_final_dot(std::string name) {
    if (!name.empty() && name.back() == '.') {
        name.pop_back();
    }
    return name;
}

/// hiredis's own functions for what is not reading and writing; `close` is among them from 1.1 on.
const redisContextFuncs& functions(const redisContextFuncs& of_hiredis) noexcept {
    static const redisContextFuncs ours = [&of_hiredis] {
        redisContextFuncs functions = of_hiredis;
        functions.read = read_some;
        functions.write = write_some;
        return functions;
    }();
    return ours;
}

}  // namespace

TlsStream::TlsStream(const TlsConf& conf, const std::string& peer)
    : conf_(conf), peer_(without_final_dot(conf.name.empty() ? peer : conf.name)) {
    log_.log_level = NGX_LOG_INFO;
    log_.writer = capture;
    log_.wdata = this;
}

/// Keeps the text of a log line, which follows the time, the level and "PID#TID: ".
void TlsStream::capture(ngx_log_t* log, ngx_uint_t /*level*/, u_char* line, std::size_t size) noexcept {
    auto& self = *static_cast<TlsStream*>(log->wdata);
    std::string_view text(reinterpret_cast<char*>(line), size);
    text.remove_prefix(ngx_min(text.size(), text.find(": ", text.find('#')) + 2));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) {
        text.remove_suffix(1);
    }
    if (text.substr(0, 14) == "ignoring stale") {  // another module's error: nothing of this connection
        ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, 0, "%*s", text.size(), text.data());
        return;
    }
    const std::size_t kept = ngx_min(text.size(), sizeof self.failure_ - 1);
    ngx_memcpy(self.failure_, text.data(), kept);
    self.failure_[kept] = '\0';
}

bool TlsStream::attach(redisAsyncContext& context, ngx_connection_t& connection,
                       const Address& address) noexcept {
    failure_[0] = '\0';
    address_ = address;
    connection.pool = ngx_create_pool(pool_size, &log_);
    if (connection.pool == nullptr) {
        return false;
    }
    connection.log = &log_;
    context.c.funcs = &functions(*context.c.funcs);
    return true;
}

void TlsStream::watch_read(ngx_connection_t& connection) noexcept {
    ngx_handle_read_event(connection.read, 0);
}

void TlsStream::watch_write(ngx_connection_t& connection) noexcept {
    ngx_handle_write_event(connection.write, 0);
}

#if (NGX_SSL)

TlsStream::Handshake TlsStream::shake_hands(ngx_connection_t& connection,
                                            void (*done)(ngx_connection_t*)) noexcept {
    if (ngx_ssl_create_connection(conf_.ssl, &connection, NGX_SSL_CLIENT) != NGX_OK || !expect(connection)) {
        ERR_clear_error();
        return Handshake::failed;
    }
    resume_session(connection);
    connection.ssl->save_session = keep_session;
    connection.ssl->handler = done;
    return ngx_ssl_handshake(&connection) == NGX_AGAIN ? Handshake::goes_on : finish_handshake(connection);
}

/// Tells OpenSSL whom to expect, so that it ends the handshake with anybody else before a password is sent.
bool TlsStream::expect(ngx_connection_t& connection) noexcept {
    SSL* ssl = connection.ssl->connection;
    // hiredis moves what is not written yet. The buffers stay: there are few such connections.
    SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_clear_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
#ifdef SSL_OP_NO_RENEGOTIATION
    SSL_set_options(ssl, SSL_OP_NO_RENEGOTIATION);
#endif
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), peer_.c_str()) == 1) {
        return true;  // an IP address, which RFC 6066 keeps out of SNI
    }
    ERR_clear_error();
    return SSL_set1_host(ssl, peer_.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, peer_.c_str()) == 1;
}

/// The line names a remedy where another one helps than a certificate that is right, and valid now.
void TlsStream::tell_unfit(long verdict) noexcept {
    const char* remedy = "";
    switch (verdict) {
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            remedy = "; it has to be for \"%s\"";
            break;
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
            remedy = "; name its authority in \"ssl_trusted_certificate\"";
            break;
        default:
            break;
    }
    auto* const first = reinterpret_cast<u_char*>(failure_);
    auto* const last = first + sizeof failure_ - 1;
    u_char* const end =
        ngx_slprintf(first, last, "certificate verify failed: %s", X509_verify_cert_error_string(verdict));
    *ngx_slprintf(end, last, remedy, peer_.c_str()) = '\0';
}

TlsStream::Handshake TlsStream::finish_handshake(ngx_connection_t& connection) noexcept {
    const long verdict = conf_.verify ? SSL_get_verify_result(connection.ssl->connection) : X509_V_OK;
    if (connection.ssl->handshaked && verdict == X509_V_OK) {
        failure_[0] = '\0';
        return Handshake::done;
    }
    if (verdict != X509_V_OK) {
        tell_unfit(verdict);
    }
    ERR_clear_error();
    return Handshake::failed;
}

/// TLS 1.2 checks no certificate when a session is resumed: only the server that gave it gets it back.
void TlsStream::resume_session(ngx_connection_t& connection) noexcept {
    if (session_ == nullptr) {
        return;
    }
    auto* const now = reinterpret_cast<sockaddr*>(&address_.sockaddr);
    auto* const then = reinterpret_cast<sockaddr*>(&session_address_.sockaddr);
    if (ngx_cmp_sockaddr(now, address_.length, then, session_address_.length, 1) != NGX_OK) {
        forget_session();
        return;
    }
    ngx_ssl_set_session(&connection, static_cast<ngx_ssl_session_t*>(session_));
}

void TlsStream::keep_session(ngx_connection_t* connection) noexcept {
    auto& self = *static_cast<TlsStream*>(connection->log->wdata);
    ngx_ssl_session_t* session = ngx_ssl_get_session(connection);
    if (session != nullptr) {
        self.forget_session();
        self.session_ = session;
        self.session_address_ = self.address_;
    }
}

void TlsStream::forget_session() noexcept {
    if (session_ != nullptr) {
        ngx_ssl_free_session(static_cast<ngx_ssl_session_t*>(session_));
        session_ = nullptr;
    }
}

void TlsStream::detach(ngx_connection_t& connection) noexcept {
    if (connection.ssl != nullptr) {
        connection.ssl->no_wait_shutdown = 1;
        connection.ssl->no_send_shutdown = 1;
        ngx_ssl_shutdown(&connection);
    }
    if (connection.pool != nullptr) {
        ngx_destroy_pool(connection.pool);
        connection.pool = nullptr;
    }
}

#else

// Without SSL in nginx the configuration refuses "ssl on": there are no streams.

TlsStream::Handshake TlsStream::shake_hands(ngx_connection_t&, void (*)(ngx_connection_t*)) noexcept {
    return Handshake::failed;
}
TlsStream::Handshake TlsStream::finish_handshake(ngx_connection_t&) noexcept {
    return Handshake::failed;
}
void TlsStream::detach(ngx_connection_t&) noexcept {}
void TlsStream::forget_session() noexcept {}

#endif

}  // namespace rate_limit
