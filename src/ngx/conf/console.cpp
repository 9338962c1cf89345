#include <algorithm>

#include "ngx/base/local_address.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/value.h"

namespace rate_limit {

namespace {

/// nginx goes on with the handler of the location around an `if` where that has none.
bool is_answered_by(const ngx_http_core_loc_conf_t& location, ngx_http_handler_pt handler) noexcept {
    const bool goes_on = location.noname != 0 && location.lmt_excpt == 0 && location.handler == nullptr;
    return goes_on || location.handler == handler;
}

/// False: no console has such a parameter.
bool take_parameter(std::string_view word, ConsoleConf& console) noexcept {
    if (word == "from=local" || word == "from=any") {
        console.from_any = word == "from=any";
        return true;
    }
    if (word == "keys=id" || word == "keys=plain") {
        console.rights.plain_keys = word == "keys=plain";
        return true;
    }
    return false;
}

/// Whether the server listens only where none but this machine can connect, as servers behind a proxy do.
bool is_heard_here_alone(const ngx_http_core_main_conf_t& core,
                         const ngx_http_core_srv_conf_t* server) noexcept {
    for (const ngx_http_conf_port_t& port : Elements<const ngx_http_conf_port_t>(*core.ports)) {
        for (const ngx_http_conf_addr_t& address : Elements<const ngx_http_conf_addr_t>(port.addrs)) {
            const Elements<const ngx_http_core_srv_conf_t* const> servers(address.servers);
            if (!is_local(*address.opt.sockaddr) &&
                std::find(servers.begin(), servers.end(), server) != servers.end()) {
                return false;
            }
        }
    }
    return true;
}

constexpr const char* beside_each_other =
    "\"rate_limit_console\" and \"rate_limit_report\" stand in one location: give each its own";

}  // namespace

/// The handler of a directive that stands before is left where it is: check_answers() finds it.
void answer_here(ngx_conf_t* cf, const ngx_command_t& command, OwnAnswer& answer) noexcept {
    answer.handler = reinterpret_cast<ngx_http_handler_pt>(command.post);
    answer.directive = command.name;
    answer.file = cf->conf_file->file.name;
    answer.line = cf->conf_file->line;
    auto* location =
        static_cast<ngx_http_core_loc_conf_t*>(ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
    if (location->handler == nullptr) {
        location->handler = answer.handler;
    }
}

ngx_int_t merge_answer(ngx_conf_t* cf, const LocationConf& prev, LocationConf& conf) noexcept {
    auto* location =
        static_cast<ngx_http_core_loc_conf_t*>(ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
    if (location->noname != 0) {
        conf.console = prev.console;
        conf.report = prev.report;
        conf.answer = prev.answer;
    } else if (conf.console.on && finish_console(cf, conf.console) != NGX_OK) {
        return NGX_ERROR;
    }
    if (conf.answer.handler == nullptr) {
        return NGX_OK;
    }
    if (location->lmt_excpt != 0 && location->handler == nullptr) {
        location->handler = conf.answer.handler;
    }
    auto* answering = push<Answering>(main_conf(cf)->answering);
    if (answering == nullptr) {
        return NGX_ERROR;
    }
    const auto* server =
        static_cast<ngx_http_core_srv_conf_t*>(ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module));
    *answering = {&conf, location, server};
    return NGX_OK;
}

ngx_int_t check_answers(ngx_conf_t* cf, const MainConf& main) noexcept {
    for (const Answering& each : Elements<const Answering>(main.answering)) {
        const OwnAnswer& answer = each.conf->answer;
        if (!is_answered_by(*each.location, answer.handler)) {
            return refuse_merged(cf,
                                 "\"%V\" in %V:%ui answers by itself, and so does another directive, such as "
                                 "\"proxy_pass\", of the same location, or of an \"if\" or \"limit_except\" "
                                 "in it: give each a location of its own",
                                 &answer.directive, &answer.file, answer.line);
        }
    }
    return NGX_OK;
}

char* set_report(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
    auto& location = *static_cast<LocationConf*>(conf);
    if (location.report) {
        return duplicate;
    }
    if (location.console.on) {
        return refuse(cf, beside_each_other);
    }
    location.report = true;
    answer_here(cf, *command, location.answer);
    return NGX_CONF_OK;
}

char* set_console(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
    auto& own = *static_cast<LocationConf*>(conf);
    ConsoleConf& console = own.console;
    if (console.on) {
        return duplicate;
    }
    if (own.report) {
        return refuse(cf, beside_each_other);
    }
    const ngx_str_t* words = words_of(cf);
    const std::string_view kind = view(words[1]);
    if (kind != "view" && kind != "manage") {
        return refuse_value(cf, "value", words[1], "it is \"view\" or \"manage\"");
    }
    console.rights.may_act = kind == "manage";
    for (ngx_uint_t i = 2; i < cf->args->nelts; ++i) {
        if (!take_parameter(view(words[i]), console)) {
            return refuse(cf,
                          "invalid parameter \"%V\" in \"rate_limit_console\": it takes \"from=local\" or "
                          "\"from=any\", and \"keys=id\" or \"keys=plain\"%s",
                          &words[i], ask_for_semicolon(cf, i));
        }
    }
    const auto* location =
        static_cast<ngx_http_core_loc_conf_t*>(ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
    const char* unfit = location->named != 0 ? "" : location->exact_match != 0 ? ", without \"=\"" : nullptr;
#if (NGX_PCRE)
    unfit = location->regex != nullptr ? ", not a regular expression" : unfit;
#endif
    if (unfit != nullptr) {
        return refuse(cf,
                      "\"rate_limit_console\" needs a location with a prefix, such as \"/limits/\"%s: its "
                      "pages are below it",
                      unfit);
    }
    console.on = true;
    main_conf(cf)->plain_keys = main_conf(cf)->plain_keys || console.rights.plain_keys;
    answer_here(cf, *command, own.answer);
    return NGX_CONF_OK;
}

ngx_int_t finish_console(ngx_conf_t* cf, ConsoleConf& console) noexcept {
    const auto* server =
        static_cast<ngx_http_core_srv_conf_t*>(ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module));
    const ngx_array_t& names = server->server_names;
    console.names = ngx_array_create(cf->pool, names.nelts + 1, sizeof(ngx_http_server_name_t));
    if (console.names == nullptr) {
        return NGX_ERROR;
    }
    for (const auto& name : Elements<const ngx_http_server_name_t>(names)) {
        *push<ngx_http_server_name_t>(*console.names) = name;  // there is room
    }
    return NGX_OK;
}

void warn_local_consoles(ngx_conf_t* cf, const MainConf& main) noexcept {
    const auto& core = *static_cast<const ngx_http_core_main_conf_t*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
    for (const Answering& each : Elements<const Answering>(main.answering)) {
        const ConsoleConf& console = each.conf->console;
        const OwnAnswer& answer = each.conf->answer;
        const ngx_uint_t level = console.rights.may_act ? NGX_LOG_WARN : NGX_LOG_NOTICE;
        if (console.on && !console.from_any && each.location->noname == 0 &&
            is_heard_here_alone(core, each.server)) {
            ngx_log_error(
                level, cf->log, 0,
                "\"%V\" in %V:%ui answers clients on this machine, and its server listens to this machine "
                "alone, as servers behind a proxy do: that proxy's clients would be answered, too; write "
                "\"from=any\" with \"auth_basic\", or with \"allow\" where realip restores the client "
                "(behind a local proxy \"allow 127.0.0.1\" admits the world)",
                &answer.directive, &answer.file, answer.line);
        }
    }
}

}  // namespace rate_limit
