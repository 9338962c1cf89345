#include "ngx/redis_block/redis_tls.h"

#include "ngx/conf/conf.h"

namespace rate_limit {

namespace {

char* set_flag(ngx_conf_t* cf, bool& flag) {
    const ngx_str_t* words = words_of(cf);
    const std::string_view value = view(words[1]);
    if (value != "on" && value != "off") {
        return refuse_word(cf, "it is \"on\" or \"off\"");
    }
    flag = value == "on";
    return NGX_CONF_OK;
}

TlsLine written_line(ngx_conf_t* cf) noexcept {
    return {words_of(cf)[1], cf->conf_file->file.name, cf->conf_file->line};
}

/// The block is read: the error names the place of the line, not of the block's end.
char* refuse_line(ngx_conf_t* cf, const char* directive, const TlsLine& written, const char* why) {
    ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "\"%s %V\" %s in %V:%ui", directive, &written.value, why,
                  &written.file, written.line);
    return failed;
}

/// Whether the value is no file, but a scheme that nginx's own directives take, or a certificate or key
/// itself.
bool is_no_file(std::string_view value) noexcept {
    for (const std::string_view scheme : {"data:", "engine:", "store:", "-----BEGIN"}) {
        if (value.substr(0, scheme.size()) == scheme) {
            return true;
        }
    }
    return value.find('\n') != std::string_view::npos;
}

bool is_written(const TlsLine& line) noexcept {
    return line.value.len != 0;
}

/// Lines that would do nothing without "ssl on", which their owner may believe to be there.
char* refuse_without_ssl(ngx_conf_t* cf, const TlsConf& tls) {
    const struct {
        const char* directive;
        const TlsLine& line;
    } lines[] = {{"ssl_trusted_certificate", tls.trusted},
                 {"ssl_certificate", tls.certificate},
                 {"ssl_certificate_key", tls.key},
                 {"ssl_name", tls.name_line},
                 {"ssl_verify", tls.verify_line}};
    for (const auto& each : lines) {
        if (is_written(each.line)) {
            return refuse_line(cf, each.directive, each.line,
                               "does nothing without TLS: add \"ssl on\", or remove the line");
        }
    }
    return NGX_CONF_OK;
}

#if (NGX_SSL)

constexpr ngx_uint_t protocols = NGX_SSL_TLSv1_2 | NGX_SSL_TLSv1_3;

/// The depth that OpenSSL has by itself: nginx's own default of 1 knows no intermediate certificates.
constexpr ngx_int_t deepest_chain = 100;

char* load_certificate(ngx_conf_t* cf, const TlsConf& tls) {
    ngx_str_t none = ngx_null_string;
    ngx_array_t passwords{};  // one, and empty: OpenSSL would ask for one on the terminal
    passwords.elts = &none;
    passwords.nelts = 1;
    passwords.size = sizeof none;
    passwords.nalloc = 1;
    ngx_str_t certificate = tls.certificate.value;
    ngx_str_t key = tls.key.value;
    if (ngx_ssl_certificate(cf, tls.ssl, &certificate, &key, &passwords) != NGX_OK) {
        return refuse_line(cf, "ssl_certificate_key", tls.key,
                           "cannot be used (the line before says why): name the key of \"ssl_certificate\", "
                           "both in PEM and the key not encrypted,");
    }
    return NGX_CONF_OK;
}

char* load_trusted(ngx_conf_t* cf, const TlsConf& tls) {
    ngx_str_t trusted = tls.trusted.value;
    if (ngx_ssl_trusted_certificate(cf, tls.ssl, &trusted, deepest_chain) != NGX_OK) {
        return refuse_line(
            cf, "ssl_trusted_certificate", tls.trusted,
            "cannot be used (the line before says why): name a file of CA certificates in PEM");
    }
    if (!is_written(tls.trusted) && SSL_CTX_set_default_verify_paths(tls.ssl->ctx) != 1) {
        return refuse(cf,
                      "the certificates that the system trusts cannot be used: name those of your CA in "
                      "\"ssl_trusted_certificate\"");
    }
    // The callback that nginx has just installed would let any certificate pass the handshake.
    SSL_CTX_set_verify(tls.ssl->ctx, tls.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    return NGX_CONF_OK;
}

char* make_context(ngx_conf_t* cf, TlsConf& tls) {
    auto* ssl = static_cast<ngx_ssl_t*>(ngx_pcalloc(cf->pool, sizeof(ngx_ssl_t)));
    if (ssl == nullptr) {
        return failed;
    }
    ssl->log = cf->log;
    if (ngx_ssl_create(ssl, protocols, nullptr) != NGX_OK) {
        return failed;
    }
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(cf->pool, 0);
    if (cleanup == nullptr) {
        ngx_ssl_cleanup_ctx(ssl);
        return failed;
    }
    cleanup->handler = ngx_ssl_cleanup_ctx;
    cleanup->data = ssl;
    tls.ssl = ssl;
    if (is_written(tls.certificate) && load_certificate(cf, tls) != NGX_CONF_OK) {
        return failed;
    }
    return load_trusted(cf, tls) == NGX_CONF_OK && ngx_ssl_client_session_cache(cf, ssl, 1) == NGX_OK
               ? NGX_CONF_OK
               : failed;
}

#else

char* make_context(ngx_conf_t* cf, TlsConf& /*tls*/) {
    return refuse(cf,
                  "\"ssl on\" needs an nginx that is built with SSL: use one with --with-http_ssl_module");
}

#endif

void warn_of_anybody(ngx_conf_t* cf, const TlsLine& verify) {
    warn_merged(
        cf,
        "\"ssl_verify off\": whoever answers at the address of a server gets the password and decides the "
        "limits; remove the line, and name the CA in \"ssl_trusted_certificate\" in %V:%ui",
        &verify.file, verify.line);
}

void warn_of_clear_text(ngx_conf_t* cf, const NodeConf& node) {
    if (node.peer.empty()) {
        ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                           "\"ssl on\" does not hold for \"%s\": Redis speaks no TLS on a unix socket, and "
                           "gets clear text there",
                           node.text.c_str());
    }
}

}  // namespace

char* set_ssl(ngx_conf_t* cf, StoreBlock& store) {
    return set_flag(cf, store.encrypted);
}

char* set_ssl_verify(ngx_conf_t* cf, StoreBlock& store) {
    store.tls.verify_line = written_line(cf);
    return set_flag(cf, store.tls.verify);
}

char* set_ssl_name(ngx_conf_t* cf, StoreBlock& store) {
    const ngx_str_t& name = words_of(cf)[1];
    if (name.len == 0 || name.len > 253 || name.data[0] == '.') {  // OpenSSL takes .x for any name below x
        return refuse_word(cf, "it is the host name or the IP address in the certificate");
    }
    store.tls.name.assign(view(name));
    store.tls.name_line = written_line(cf);
    return NGX_CONF_OK;
}

char* set_ssl_file(ngx_conf_t* cf, TlsLine& line) {
    const ngx_str_t* words = words_of(cf);
    if (words[1].len == 0) {
        return refuse(cf, "\"%V\" is empty: name a file, or remove the line", &words[0]);
    }
    if (is_no_file(view(words[1]))) {
        // The error does not repeat the text, which may be a key, or have the PIN of one.
        return refuse(cf,
                      "\"%V\" takes the name of a file: what nginx takes elsewhere as \"data:\", \"engine:\" "
                      "or \"store:\" has to be in one, in PEM",
                      &words[0]);
    }
    line = written_line(cf);
    return NGX_CONF_OK;
}

char* finish_tls(ngx_conf_t* cf, StoreBlock& store) {
    TlsConf& tls = store.tls;
    if (!store.encrypted) {
        return refuse_without_ssl(cf, tls);
    }
    if (is_written(tls.certificate) && !is_written(tls.key)) {
        return refuse_line(cf, "ssl_certificate", tls.certificate, "has no \"ssl_certificate_key\": add one");
    }
    if (is_written(tls.key) && !is_written(tls.certificate)) {
        return refuse_line(cf, "ssl_certificate_key", tls.key, "has no \"ssl_certificate\": add one");
    }
    if (!tls.verify) {
        warn_of_anybody(cf, tls.verify_line);
    }
    const auto warn = [cf](const NodeConf& node) { warn_of_clear_text(cf, node); };
    for_each_node(store, warn);
    for (const StoreBlock* region : store.regions) {
        for_each_node(*region, warn);
    }
    return make_context(cf, tls);
}

}  // namespace rate_limit
