#include "ngx/redis_block/redis_shards.h"

#include <algorithm>
#include <utility>

#include "ngx/conf/conf.h"
#include "ngx/conf/value.h"
#include "ngx/redis_block/address.h"

namespace rate_limit {

namespace {

constexpr in_port_t redis_port = 6379;
constexpr in_port_t sentinel_port = 26379;

/// The parameters of one `shard`, as they are read.
struct ShardLine {
    ShardConf shard;
    bool has_primary = false;
    bool has_master = false;
    bool has_weight = false;
};

char* set_weight(ngx_conf_t* cf, const ngx_str_t& word, ShardConf& shard) {
    const ngx_int_t weight = ngx_atoi(word.data + 7, word.len - 7);
    if (weight < 1 || weight > 1'000'000) {
        return refuse(cf, "invalid \"%V\" of shard \"%s\": a weight is 1 to 1000000", &word,
                      shard.name.c_str());
    }
    shard.weight = static_cast<std::uint32_t>(weight);
    return NGX_CONF_OK;
}

char* set_master(ngx_conf_t* cf, const ngx_str_t& word, ShardConf& shard) {
    const std::string_view master = view(word).substr(7);
    if (!is_name(master, 128)) {
        return refuse(cf,
                      "invalid \"%V\" of shard \"%s\": it is the name that the sentinels have for the "
                      "master, 1 to 128 of A-Z a-z 0-9 _ . -",
                      &word, shard.name.c_str());
    }
    shard.master.assign(master);
    return NGX_CONF_OK;
}

char* set_parameter(ngx_conf_t* cf, ngx_uint_t at, ShardLine& line) {
    const ngx_str_t& word = words_of(cf)[at];
    const std::string_view text = view(word);
    ShardConf& shard = line.shard;
    const std::string of = "shard \"" + shard.name + "\"";
    if (text.substr(0, 8) == "primary=" && !std::exchange(line.has_primary, true)) {
        return parse_node(cf, word, of.c_str(), redis_port, shard.primary);
    }
    if (text.substr(0, 8) == "replica=") {
        return parse_node(cf, word, of.c_str(), redis_port, shard.replicas.emplace_back());
    }
    if (text.substr(0, 7) == "master=" && !std::exchange(line.has_master, true)) {
        return set_master(cf, word, shard);
    }
    if (text.substr(0, 7) == "weight=" && !std::exchange(line.has_weight, true)) {
        return set_weight(cf, word, shard);
    }
    return refuse(cf,
                  "unknown or repeated parameter \"%V\" of shard \"%s\": it takes one primary=, any number "
                  "of replica= and weight=; or, with \"sentinel\", one master= and weight=%s",
                  &word, shard.name.c_str(), ask_for_semicolon(cf, at));
}

/// How a shard names its primary. If the block has no "sentinel" yet, one may still follow.
const char* named_primary(const StoreBlock& store) noexcept {
    if (!store.region.empty()) {
        return store.sentinels.empty()
                   ? "primary=HOST:PORT in the region here, else replica=HOST:PORT; or, with "
                     "\"sentinel\", master=MASTER"
                   : "master=MASTER";
    }
    return store.sentinels.empty() ? "primary=HOST:PORT; or, with \"sentinel\", master=MASTER"
                                   : "master=MASTER";
}

char* check_shard(ngx_conf_t* cf, const StoreBlock& store, const ShardLine& line) {
    const ShardConf& shard = line.shard;
    if (line.has_master && (line.has_primary || !shard.replicas.empty())) {
        return refuse(cf,
                      "shard \"%s\" has both \"master=\" and addresses: the sentinels tell the addresses; "
                      "keep \"master=%s\", or remove it",
                      shard.name.c_str(), shard.master.c_str());
    }
    const bool in_region = !store.region.empty();  // which one is here is not known yet
    if (!line.has_master && !line.has_primary && !in_region) {
        return refuse(cf, "shard \"%s\" has no primary: add %s", shard.name.c_str(), named_primary(store));
    }
    for (const ShardConf& other : store.shards) {
        if (other.discovered() != shard.discovered()) {
            return refuse(
                cf,
                "shard \"%s\" has %s and shard \"%s\" has %s: in one \"%s\" all shards have the one "
                "or the other; put them into two",
                shard.name.c_str(), shard.discovered() ? "\"master=\"" : "addresses", other.name.c_str(),
                other.discovered() ? "\"master=\"" : "addresses",
                store.region.empty() ? "rate_limit_redis" : "region");
        }
        if (shard.discovered() && other.master == shard.master) {
            ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                               "shard \"%s\" has the master of shard \"%s\", \"%s\": both are one server; "
                               "give each a master of its own, or keep one of them",
                               shard.name.c_str(), other.name.c_str(), shard.master.c_str());
        }
    }
    return NGX_CONF_OK;
}

/// NAME ADDRESS …, perhaps in several lines
char* add_addresses(ngx_conf_t* cf, in_port_t default_port, std::vector<NodeConf>& all) {
    const ngx_str_t* words = words_of(cf);
    const std::string of = "\"" + std::string(view(words[0])) + "\"";
    if (cf->args->nelts < 2) {
        return refuse(cf, "\"%V\" needs an address: %V HOST:PORT …", &words[0], &words[0]);
    }
    for (ngx_uint_t i = 1; i < cf->args->nelts; ++i) {
        NodeConf node;
        if (parse_node(cf, words[i], of.c_str(), default_port, node) != NGX_CONF_OK) {
            return failed;
        }
        if (std::any_of(all.begin(), all.end(),
                        [&node](const NodeConf& other) { return share_address(other, node); })) {
            return refuse(cf, "duplicate address \"%V\" of \"%V\": name each once", &words[i], &words[0]);
        }
        all.push_back(std::move(node));
    }
    return NGX_CONF_OK;
}

/// The slot of a key with {…} is that of what stands in the braces.
bool has_hash_tag(std::string_view prefix) {
    const std::size_t open = prefix.find('{');
    return open != std::string_view::npos && prefix.find('}', open) != std::string_view::npos &&
           prefix[open + 1] != '}';
}

/// A store whose routes are the slots of a cluster.
char* finish_cluster(ngx_conf_t* cf, StoreBlock& store) {
    const char* name = store.name.c_str();
    if (!store.shards.empty() || !store.sentinels.empty()) {
        return refuse(cf,
                      "\"rate_limit_redis %s\" has both \"cluster\" and \"%s\": a cluster itself says which "
                      "nodes it has; keep one of them",
                      name, store.shards.empty() ? "sentinel" : "shard");
    }
    if (store.database != 0) {
        return refuse(cf,
                      "\"rate_limit_redis %s\" has both \"cluster\" and \"database\": a cluster has one "
                      "database; remove \"database\"",
                      name);
    }
    if (has_hash_tag(store.prefix)) {
        ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                           "\"prefix %s\" has a hash tag: all windows of \"rate_limit_redis %s\" get one "
                           "slot, and one node of the cluster bears them all; take the braces out",
                           store.prefix.c_str(), name);
    }
    ShardConf& all = store.shards.emplace_back();
    all.name = "cluster";
    all.in_cluster = true;
    store.routes = Routes(store.name);
    store.routes.use_slots();
    return NGX_CONF_OK;
}

char* check_logins(ngx_conf_t* cf, const StoreBlock& store) {
    const char* name = store.name.c_str();
    const Login& of_sentinels = store.sentinel_login;
    const bool has_sentinels =
        !store.sentinels.empty() ||
        std::any_of(store.regions.begin(), store.regions.end(),
                    [](const StoreBlock* region) { return !region->sentinels.empty(); });
    if (!has_sentinels && !(of_sentinels.username.empty() && of_sentinels.password.empty())) {
        return refuse(cf,
                      "\"rate_limit_redis %s\" has a name or a password for sentinels, and no \"sentinel\": "
                      "add \"sentinel HOST:PORT …\", or remove the line",
                      name);
    }
    for (const Login* login : {&of_sentinels, &store.login}) {
        if (!login->username.empty() && login->password.empty()) {
            const char* of = login == &of_sentinels ? "sentinel_" : "";
            return refuse(cf, "\"rate_limit_redis %s\" has a \"%susername\" but no \"%spassword\": add one",
                          name, of, of);
        }
    }
    return NGX_CONF_OK;
}

bool has_discovered(const StoreBlock& store) {
    return !store.shards.empty() && store.shards.front().discovered();
}

}  // namespace

/// shard NAME primary=ADDRESS [replica=ADDRESS …] [weight=N], or shard NAME master=MASTER [weight=N]
char* set_shard(ngx_conf_t* cf, StoreBlock& store) {
    if (cf->args->nelts < 3) {
        return refuse(cf, "\"shard\" needs a name and a primary: shard NAME %s", named_primary(store));
    }
    const ngx_str_t* words = words_of(cf);
    ShardLine line;
    line.shard.name.assign(view(words[1]));
    if (!is_name(line.shard.name, 64)) {
        return refuse(cf, "invalid shard name \"%V\": a name is 1 to 64 of A-Z a-z 0-9 _ . -", &words[1]);
    }
    for (const ShardConf& other : store.shards) {
        if (other.name == line.shard.name) {
            return refuse(cf, "duplicate shard \"%V\": every shard needs a name of its own", &words[1]);
        }
    }
    for (ngx_uint_t i = 2; i < cf->args->nelts; ++i) {
        if (refuse_inner_quotes(cf, words[i]) != NGX_CONF_OK || set_parameter(cf, i, line) != NGX_CONF_OK) {
            return failed;
        }
    }
    if (check_shard(cf, store, line) != NGX_CONF_OK || compare_nodes(cf, line.shard) != NGX_CONF_OK) {
        return failed;
    }
    compare_shards(cf, store, line.shard);
    store.shards.push_back(std::move(line.shard));
    return NGX_CONF_OK;
}

char* set_sentinel(ngx_conf_t* cf, StoreBlock& store) {
    return add_addresses(cf, sentinel_port, store.sentinels);
}

char* set_cluster(ngx_conf_t* cf, StoreBlock& store) {
    return add_addresses(cf, redis_port, store.seeds);
}

char* finish_shards(ngx_conf_t* cf, StoreBlock& store) {
    const char* name = store.name.c_str();
    const bool has_sentinels = !store.sentinels.empty();
    if (check_logins(cf, store) != NGX_CONF_OK) {
        return failed;
    }
    if (!store.seeds.empty()) {
        return finish_cluster(cf, store);
    }
    if (store.shards.empty()) {
        return refuse(cf, "\"rate_limit_redis %s\" has no shard: add \"shard NAME %s\"", name,
                      has_sentinels ? "master=MASTER" : "primary=HOST:PORT");
    }
    if (has_discovered(store) && !has_sentinels) {
        return refuse(cf,
                      "\"rate_limit_redis %s\" has \"master=\" and no sentinels to ask for it: add "
                      "\"sentinel HOST:PORT …\"",
                      name);
    }
    if (!has_discovered(store) && has_sentinels) {
        return refuse(cf,
                      "\"rate_limit_redis %s\" has \"sentinel\", and its shards have addresses: write "
                      "\"shard NAME master=MASTER\", or remove \"sentinel\"",
                      name);
    }
    store.routes = Routes(store.name);
    for (const ShardConf& shard : store.shards) {
        store.routes.add_shard(shard.name, shard.weight);
    }
    return NGX_CONF_OK;
}

}  // namespace rate_limit
