#include "ngx/redis_block/redis_block.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "limiter/store_conf.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/value.h"
#include "ngx/redis_block/address.h"
#include "ngx/redis_block/block_reading.h"
#include "ngx/redis_block/redis_shards.h"
#include "ngx/redis_block/redis_tls.h"
#include "ngx/redis_block/regions.h"

namespace rate_limit {

namespace {

constexpr ngx_int_t longest_wait = 10'000;  // milliseconds; hardly anybody means a request to wait longer

/// Reads a time in milliseconds. `waits`: a request may have to wait that long.
char* set_time(ngx_conf_t* cf, ngx_msec_t& time, bool waits) {
    const ngx_str_t* words = words_of(cf);
    ngx_str_t text = words[1];
    const ngx_int_t parsed = ngx_parse_time(&text, 0);
    if (parsed == NGX_ERROR || parsed < 1) {
        return refuse_value(cf, "time", words[1], "write it as 100ms or 5s, at least 1ms");
    }
    if (view(words[1]).find_first_not_of("0123456789") == std::string_view::npos) {
        ngx_conf_log_error(
            NGX_LOG_WARN, cf, 0, "\"%V %V\" is %i second%s; for milliseconds write %Vms, for seconds %Vs",
            &words[0], &words[1], parsed / 1000, parsed == 1000 ? "" : "s", &words[1], &words[1]);
    } else if (waits && parsed > longest_wait) {
        ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                           "\"%V %V\" is long: requests may wait so long for a server that does not answer; "
                           "write 10s or less, such as 100ms",
                           &words[0], &words[1]);
    }
    time = static_cast<ngx_msec_t>(parsed);
    return NGX_CONF_OK;
}

char* set_fresh(ngx_conf_t* cf, StoreBlock& store) {
    ngx_str_t text = words_of(cf)[1];
    if (view(text) == "off") {
        store.fresh = 0;
    } else if (view(text) != "auto") {
        return ngx_parse_time(&text, 0) > 0
                   ? set_time(cf, store.fresh.emplace(0), false)
                   : refuse_word(cf, "it is \"auto\", \"off\" or a time such as 500ms");
    }
    return NGX_CONF_OK;
}

char* set_text(ngx_conf_t* cf, std::string& text) {
    const ngx_str_t* words = words_of(cf);
    if (words[1].len == 0) {
        return refuse(cf, "\"%V\" is empty: give it a value or remove the line", &words[0]);
    }
    text.assign(view(words[1]));
    return NGX_CONF_OK;
}

/// The path is the end of a word, which nginx ends by a zero byte. `file` becomes the whole path.
char* set_secret(ngx_conf_t* cf, std::string_view path, std::string& secret, std::string& file) {
    ngx_str_t name = str(path);
    if (ngx_conf_full_name(cf->cycle, &name, 1) != NGX_OK) {
        return failed;
    }
    file.assign(view(name));
    const SecretFile found = read_secret(file.c_str(), secret);
    const int reason = found == SecretFile::unreadable ? errno : 0;
    if (found != SecretFile::read) {
        ngx_conf_log_error(
            NGX_LOG_EMERG, cf, reason,
            "\"%V\": the file \"%V\" %s: give the path of a file that has the secret and nothing else",
            &words_of(cf)[0], &name, explain(found));
        return failed;
    }
    return NGX_CONF_OK;
}

char* set_password(ngx_conf_t* cf, Login& login) {
    const std::string_view text = view(words_of(cf)[1]);
    if (text.substr(0, 5) == "file:") {
        return set_secret(cf, text.substr(5), login.password, login.file);
    }
    return set_text(cf, login.password);
}

char* set_digest(ngx_conf_t* cf, StoreBlock& store) {
    const std::string_view text = view(words_of(cf)[1]);
    if (text == "off") {
        return NGX_CONF_OK;
    }
    if (text == "sha256") {
        store.digest = KeyDigest(KeyDigest::Kind::sha256);
        return NGX_CONF_OK;
    }
    if (text.substr(0, 5) == "hmac:") {
        std::string secret;
        std::string file;
        if (set_secret(cf, text.substr(5), secret, file) != NGX_CONF_OK) {
            return failed;
        }
        store.digest = KeyDigest(KeyDigest::Kind::hmac, secret);
        return NGX_CONF_OK;
    }
    return refuse_word(cf, "it is \"off\", \"sha256\" or \"hmac:FILE\"");
}

char* set_overrides(ngx_conf_t* cf, StoreBlock& store) {
    const ngx_str_t& text = words_of(cf)[1];
    store.shares_overrides = view(text) == "shared";
    return store.shares_overrides || view(text) == "machine"
               ? NGX_CONF_OK
               : refuse_word(cf, "it is \"machine\" or \"shared\"");
}

char* set_read_from(ngx_conf_t* cf, StoreBlock& store) {
    const std::string_view text = view(words_of(cf)[1]);
    store.read_from = text == "spread" ? StoreConf::ReadFrom::spread : StoreConf::ReadFrom::nearest;
    return text == "spread" || text == "nearest" ? NGX_CONF_OK
                                                 : refuse_word(cf, "it is \"nearest\" or \"spread\"");
}

char* set_database(ngx_conf_t* cf, StoreBlock& store) {
    const ngx_str_t& text = words_of(cf)[1];
    store.database = ngx_atoi(text.data, text.len);
    if (store.database < 0 || store.database > 1'000'000) {
        return refuse_word(cf, "it is a number from 0 to 1000000");
    }
    return NGX_CONF_OK;
}

char* set_prefix(ngx_conf_t* cf, StoreBlock& store) {
    const ngx_str_t& text = words_of(cf)[1];
    if (text.len > 64) {
        return refuse(cf, "\"prefix %V\" is too long: it takes up to 64 bytes", &text);
    }
    store.prefix.assign(view(text));
    return NGX_CONF_OK;
}

constexpr std::string_view region_directive = "region";

/// A directive that takes one value, once.
struct Directive {
    std::string_view name;
    char* (*set)(ngx_conf_t* cf, StoreBlock& store);
};

constexpr Directive directives[] = {
    {"check_timeout",
     [](ngx_conf_t* cf, StoreBlock& store) { return set_time(cf, store.check_timeout, true); }},
    {"charge_timeout",
     [](ngx_conf_t* cf, StoreBlock& store) { return set_time(cf, store.charge_timeout, false); }},
    {"connect_timeout",
     [](ngx_conf_t* cf, StoreBlock& store) { return set_time(cf, store.connect_timeout, true); }},
    {"read_from", set_read_from},
    {"fresh", set_fresh},
    {"prefix", set_prefix},
    {"key_digest", set_digest},
    {"username", [](ngx_conf_t* cf, StoreBlock& store) { return set_text(cf, store.login.username); }},
    {"password", [](ngx_conf_t* cf, StoreBlock& store) { return set_password(cf, store.login); }},
    {"database", set_database},
    {"overrides", set_overrides},
    {"here", set_here},
    {"ssl", set_ssl},
    {"ssl_trusted_certificate",
     [](ngx_conf_t* cf, StoreBlock& store) { return set_ssl_file(cf, store.tls.trusted); }},
    {"ssl_certificate",
     [](ngx_conf_t* cf, StoreBlock& store) { return set_ssl_file(cf, store.tls.certificate); }},
    {"ssl_certificate_key",
     [](ngx_conf_t* cf, StoreBlock& store) { return set_ssl_file(cf, store.tls.key); }},
    {"ssl_name", set_ssl_name},
    {"ssl_verify", set_ssl_verify},
    {"sentinel_username",
     [](ngx_conf_t* cf, StoreBlock& store) { return set_text(cf, store.sentinel_login.username); }},
    {"sentinel_password",
     [](ngx_conf_t* cf, StoreBlock& store) { return set_password(cf, store.sentinel_login); }},
};

/// A directive that takes several values, and may be repeated.
constexpr Directive lists[] = {
    {"shard", set_shard},
    {"sentinel", set_sentinel},
    {"cluster", set_cluster},
};

template <std::size_t size>
const Directive* find(const Directive (&in)[size], std::string_view name) {
    const auto* found =
        std::find_if(in, in + size, [name](const Directive& each) { return each.name == name; });
    return found != in + size ? found : nullptr;
}

char* set_directive(ngx_conf_t* cf, StoreBlock& store) {
    const ngx_str_t* words = words_of(cf);
    const std::string_view directive = view(words[0]);

    if (directive == region_directive) {
        return set_region(cf, store);
    }
    if (const Directive* list = find(lists, directive)) {
        return list->set(cf, store);
    }
    const Directive* known = find(directives, directive);
    if (cf->args->nelts != 2) {
        return refuse(cf, "\"%V\" in \"rate_limit_redis\" takes one value: \"%V VALUE;\"%s", &words[0],
                      &words[0], cf->args->nelts > 2 ? ask_for_semicolon(cf, 2) : "");
    }
    const unsigned bit = 1U << (known - directives);
    if ((store.written & bit) != 0) {
        return refuse(cf, "duplicate \"%V\" in \"rate_limit_redis\": keep one", &words[0]);
    }
    store.written |= bit;
    return known->set(cf, store);
}

bool is_known(std::string_view directive) noexcept {
    return find(lists, directive) != nullptr || find(directives, directive) != nullptr ||
           directive == region_directive || directive == "include";
}

/// nginx has refused a line of a region; a line more says what it takes.
void tell_unknown_of_region(ngx_conf_t* cf, const StoreBlock& region) noexcept {
    const ngx_str_t& word = words_of(cf)[0];
    const std::string_view text = view(word);
    const char* const name = region.region.c_str();
    if (text == "cluster") {
        refuse(cf, "\"cluster\" in \"region %s\": a cluster cannot be read so; name its shards by \"shard\"",
               name);
    } else if (text == region_directive || text == "here") {
        refuse(cf, "\"%V\" in \"region %s\": end that region by \"}\" before", &word, name);
    } else if (!is_known(text)) {
        refuse(cf, "unknown directive \"%V\" in \"region %s\": it takes shard, sentinel and include", &word,
               name);
    } else if (text != "shard" && text != "sentinel" && text != "include") {
        refuse(cf, "\"%V\" in \"region %s\" holds for all regions: move it behind the \"}\" of the region",
               &word, name);
    }
}

/// nginx has refused a directive that the block does not know; a line more says what it takes.
void tell_unknown(ngx_conf_t* cf, const StoreBlock& store) noexcept {
    const ngx_str_t& word = words_of(cf)[0];
    if (!store.regions.empty() && !store.regions.back()->ended) {
        tell_unknown_of_region(cf, *store.regions.back());
    } else if (!is_known(view(word))) {
        refuse(cf,
               "unknown directive \"%V\" in \"rate_limit_redis\": it takes shard, cluster, sentinel, "
               "sentinel_username, sentinel_password, region, here, check_timeout, charge_timeout, "
               "connect_timeout, read_from, fresh, "
               "prefix, key_digest, username, password, database, overrides, ssl, ssl_trusted_certificate, "
               "ssl_certificate, ssl_certificate_key, ssl_name and ssl_verify",
               &word);
    }
}

std::vector<std::string_view> names_of_lines() {
    std::vector<std::string_view> names;
    for (const Directive& directive : directives) {
        names.push_back(directive.name);
    }
    for (const Directive& list : lists) {
        names.push_back(list.name);
    }
    return names;
}

char* finish(ngx_conf_t* cf, MainConf& main, StoreBlock& store) {
    if (take_servers_here(cf, store) != NGX_CONF_OK || finish_shards(cf, store) != NGX_CONF_OK ||
        finish_tls(cf, store) != NGX_CONF_OK) {
        return failed;
    }
    compare_stores(cf, main, store);
    return add_regions(cf, main, store);
}

StoreBlock* add_store(ngx_conf_t* cf, MainConf& main, const ngx_str_t& name) {
    auto* store = make<StoreBlock>(*cf->pool);
    if (store == nullptr) {
        return nullptr;
    }
    main.stores.push_back(store);
    store->name.assign(view(name));
    store->file = cf->conf_file->file.name;
    store->line = cf->conf_file->line;
    return store;
}

}  // namespace

char* set_redis_block(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    try {
        auto& main = *static_cast<MainConf*>(conf);
        const ngx_str_t name = words_of(cf)[1];
        if (!is_name(view(name), 64) || view(name) == "local") {
            return refuse_value(cf, "name", name, "a name is 1 to 64 of A-Z a-z 0-9 _ . - and not \"local\"");
        }
        if (find_store(main, view(name)) != nullptr) {
            return refuse(cf, "duplicate \"rate_limit_redis %V\": every store needs a name of its own",
                          &name);
        }
        StoreBlock* store = add_store(cf, main, name);
        if (store == nullptr) {
            return failed;
        }
        char* const result = read_block(cf, *store, names_of_lines(), region_directive, set_directive);
        if (result != NGX_CONF_OK) {
            tell_unknown(cf, *store);
        }
        return result == NGX_CONF_OK ? finish(cf, main, *store) : result;
    } catch (const std::bad_alloc&) {
        return failed;
    }
}

}  // namespace rate_limit
