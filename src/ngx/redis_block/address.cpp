#include "ngx/redis_block/address.h"

#include "ngx/conf/conf.h"
#include "ngx/redis_block/store_block.h"

namespace rate_limit {

namespace {

bool is_number(std::string_view text) noexcept {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Refuses an address that is a URL, or has parts of one. The error does not repeat the text, which may hold
/// a password.
char* refuse_url(ngx_conf_t* cf, std::string_view parameter, const char* of, std::string_view url) noexcept {
    const auto scheme_end = url.find("://");
    const bool has_scheme = scheme_end != std::string_view::npos;
    const std::string_view scheme = has_scheme ? url.substr(0, scheme_end) : "";
    const std::string_view rest = has_scheme ? url.substr(scheme_end + 3) : url;
    const auto host_end = rest.find_first_of("/?#");
    const std::string_view path = host_end != std::string_view::npos ? rest.substr(host_end + 1) : "";
    const std::string_view authority = rest.substr(0, host_end);
    const auto at = authority.rfind('@');
    const bool has_user = at != std::string_view::npos;
    const std::string_view host = has_user ? authority.substr(at + 1) : authority;
    const std::string_view database = path.substr(0, path.find_first_of("/?#"));
    const bool has_tls = scheme == "rediss" || scheme == "valkeys";

    const ngx_str_t name = str(parameter);
    const ngx_str_t shown = str(host.empty() ? "HOST:PORT" : host);
    const ngx_str_t number = str(is_number(database) ? database : "");
    return refuse(cf, "the address%s%V%s of %s is no URL: write %V%V%s%s%V%s", name.len != 0 ? " of \"" : "",
                  &name, name.len != 0 ? "\"" : "", of, &name, &shown,
                  has_user ? ", and the user and password in \"username\" and \"password\"" : "",
                  number.len != 0 ? ", and the database in \"database\": " : "", &number,
                  has_tls ? "; and \"ssl on\" for TLS" : "");
}

/// `host`: as written, an IPv6 address within its brackets.
void name_host(ngx_conf_t* cf, std::string_view host, NodeConf& node) {
    const bool has_brackets = host.substr(0, 1) == "[";
    node.peer.assign(has_brackets ? host.substr(1, host.find(']') - 1) : host);
    ngx_addr_t literal;
    ngx_str_t text = str(node.peer);
    if (ngx_parse_addr(cf->pool, &literal, text.data, text.len) != NGX_OK) {
        node.host = node.peer;
    }
}

}  // namespace

char* parse_node(ngx_conf_t* cf, const ngx_str_t& word, const char* of, in_port_t default_port,
                 NodeConf& node) {
    const auto value = view(word).find('=') + 1;  // 0 where there is none
    const std::string_view text = view(word).substr(value);
    node.text.assign(text);

    const bool is_unix = text.substr(0, 5) == "unix:";
    if (!is_unix && text.find_first_of("/@") != std::string_view::npos) {
        return refuse_url(cf, view(word).substr(0, value), of, text);
    }
    ngx_url_t url{};
    url.url = str(text);
    url.default_port = default_port;

    if (ngx_parse_url(cf->pool, &url) != NGX_OK || url.naddrs == 0) {
        return refuse(cf,
                      "%s in the address \"%V\" of %s: write HOST:PORT, with a name that resolves, "
                      "[IPV6]:PORT or unix:/PATH",
                      url.err != nullptr ? url.err : "no address", &url.url, of);
    }
    if (is_unix && text.substr(5, 1) != "/") {
        return refuse(cf, "relative path in the address \"%V\" of %s: write unix:/PATH", &url.url, of);
    }
    node.port = url.port;
    for (ngx_uint_t i = 0; i < url.naddrs; ++i) {
        node.addresses.push_back(address_of(*url.addrs[i].sockaddr, url.addrs[i].socklen));
    }
    if (!is_unix) {
        name_host(cf, view(url.host), node);
    }
    return NGX_CONF_OK;
}

char* compare_nodes(ngx_conf_t* cf, const ShardConf& shard) {
    for (const NodeConf& replica : shard.replicas) {
        if (share_address(shard.primary, replica)) {
            return refuse(cf,
                          "\"replica=%s\" of shard \"%s\" is its primary, \"primary=%s\": give the address "
                          "of another server, or remove it",
                          replica.text.c_str(), shard.name.c_str(), shard.primary.text.c_str());
        }
    }
    return NGX_CONF_OK;
}

void compare_shards(ngx_conf_t* cf, const StoreBlock& store, const ShardConf& shard) {
    for (const ShardConf& other : store.shards) {
        if (share_address(other.primary, shard.primary)) {
            ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                               "shard \"%s\" has the primary of shard \"%s\", \"%s\": both are one server; "
                               "give each a server of its own, or keep one of them",
                               shard.name.c_str(), other.name.c_str(), shard.primary.text.c_str());
            return;
        }
    }
}

void compare_stores(ngx_conf_t* cf, const MainConf& main, const StoreBlock& store) {
    for (const StoreConf* before : main.stores) {
        const StoreBlock& other = block_of(*before);
        if (&other == &store) {
            return;
        }
        if (other.home != nullptr) {
            continue;
        }
        if (other.database == store.database && other.prefix == store.prefix && share_primary(other, store)) {
            warn_merged(cf,
                        "\"rate_limit_redis %s\" in %V:%ui has a primary, the database and the prefix of "
                        "\"rate_limit_redis %s\" in %V:%ui: limits of both count in the same keys; give one "
                        "of them another \"prefix\" or \"database\"",
                        store.name.c_str(), &store.file, store.line, other.name.c_str(), &other.file,
                        other.line);
            return;
        }
    }
}

}  // namespace rate_limit
