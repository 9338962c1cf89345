#include "ngx/conf/conf.h"

namespace rate_limit {

namespace {

/// nginx goes on with the handler of the location around an `if` where that has none.
bool is_answered_by(const ngx_http_core_loc_conf_t& location, ngx_http_handler_pt handler) noexcept {
    const bool goes_on = location.noname != 0 && location.lmt_excpt == 0 && location.handler == nullptr;
    return goes_on || location.handler == handler;
}

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
    auto* answering = static_cast<Answering*>(ngx_array_push(&main_conf(cf)->answering));
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
            ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                          "\"%V\" in %V:%ui answers by itself, and so does another directive, such as "
                          "\"proxy_pass\", of the same location, or of an \"if\" or \"limit_except\" in it: "
                          "give each a location of its own",
                          &answer.directive, &answer.file, answer.line);
            return NGX_ERROR;
        }
    }
    return NGX_OK;
}

}  // namespace rate_limit
