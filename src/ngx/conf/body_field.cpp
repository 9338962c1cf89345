#include "ngx/conf/body_field.h"

#include <algorithm>

#include "core/text/readable.h"
#include "core/value_text.h"
#include "limiter/request/late_watch.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/value.h"
#include "ngx/values/variable_names.h"

namespace rate_limit {

namespace {

/// The variable of this name as the configuration knows it by now; null: it knows none.
ngx_http_variable_t* find_defined(const ngx_http_core_main_conf_t& core, std::string_view name) noexcept {
    for (const ngx_hash_key_t& known : Elements<const ngx_hash_key_t>(core.variables_keys->keys)) {
        if (equal_in_any_case(view(known.key), name)) {
            return static_cast<ngx_http_variable_t*>(known.value);
        }
    }
    return nullptr;
}

bool is_of_prefix(const ngx_http_core_main_conf_t& core, std::string_view name) noexcept {
    const Elements<const ngx_http_variable_t> prefixes(core.prefix_variables);
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [name](const auto& prefix) { return begins_with(name, view(prefix.name)); });
}

FieldVariable* find_variable(const std::vector<FieldVariable*>& known, std::string_view name) noexcept {
    const auto found = std::find_if(known.begin(), known.end(), [name](const FieldVariable* field) {
        return equal_in_any_case(view(field->name), name);
    });
    return found != known.end() ? *found : nullptr;
}

/// Calls fn(name) for each variable that the value names itself.
template <typename Fn>
void for_each_variable(const Value& value, Fn&& fn) {
    (void)find_variable(value, [&fn](std::string_view name) {
        fn(name);
        return false;
    });
}

/// The differences between the two directives.
struct Fields {
    FieldSet* LocationConf::*set;
    std::vector<FieldVariable*> MainConf::*known;
    bool of_request;
    const char* directive;
    const char* without;  // what a variable is where no line sets it
};

constexpr Fields responses = {&LocationConf::response_fields, &MainConf::response_fields, false,
                              "rate_limit_response_field", "empty"};
constexpr Fields requests = {&LocationConf::request_fields, &MainConf::request_fields, true,
                             "rate_limit_request_field", "\"unknown\""};

/// Defines the variable, unless a line before this has. Null where that fails; the error is logged.
FieldVariable* define(ngx_conf_t* cf, ngx_str_t name, const Fields& fields,
                      ngx_http_get_variable_pt handler) noexcept {
    const auto& core = *static_cast<const ngx_http_core_main_conf_t*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
    const ngx_http_variable_t* known = find_defined(core, view(name));
    if (known != nullptr && known->get_handler == handler) {
        return find_variable(main_conf(cf)->*fields.known, view(name));
    }
    if (known != nullptr || is_of_prefix(core, view(name))) {
        refuse(
            cf,
            "\"$%V\" in \"%V\" is a variable that nginx or another directive sets: give the field a name of "
            "its own",
            &name, &words_of(cf)[0]);
        return nullptr;
    }
    // The variable is not changeable: nginx refuses a map, set or geo that comes later and sets it.
    ngx_http_variable_t* variable = ngx_http_add_variable(cf, &name, NGX_HTTP_VAR_NOCACHEABLE);
    auto* field = make<FieldVariable>(*cf->pool);
    if (variable == nullptr || field == nullptr || !append(main_conf(cf)->*fields.known, field)) {
        return nullptr;
    }
    *field = {variable->name, cf->conf_file->file.name, cf->conf_file->line, false};
    variable->get_handler = handler;
    variable->data = reinterpret_cast<uintptr_t>(field);
    return field;
}

constexpr std::string_view default_word = "default=";

char* take_default(ngx_conf_t* cf, const ngx_str_t& word, const Fields& fields, FieldSet& set) noexcept {
    const std::string_view text = view(word).substr(default_word.size());
    if (!fields.of_request) {
        return refuse(
            cf,
            "\"%V\" does not take \"%V\": a variable of a response is empty until its field has been read",
            &words_of(cf)[0], &word);
    }
    if (text.empty() || text.find('$') != std::string_view::npos) {
        return refuse(
            cf,
            "invalid \"%V\" in \"%V\": it is a text without variables, and not empty, since a limit "
            "with an empty key does not apply",
            &word, &words_of(cf)[0]);
    }
    set.defaults.back() = text;
    return NGX_CONF_OK;
}

char* take_path(ngx_conf_t* cf, ngx_uint_t at, FieldSet& set) {
    const ngx_str_t& word = words_of(cf)[at];
    BodyPath path;
    if (const char* wrong = path.parse(view(word)); wrong != nullptr) {
        return refuse(cf, "invalid path \"%V\" in \"%V\": %s%s", &word, &words_of(cf)[0], wrong,
                      ask_for_semicolon(cf, at));
    }
    return set.fields.add(path)
               ? NGX_CONF_OK
               : refuse(cf, "more than 64 paths in the \"%V\" lines of one block: name only what is used",
                        &words_of(cf)[0]);
}

char* take_paths(ngx_conf_t* cf, const Fields& fields, FieldSet& set) {
    const ngx_str_t* words = words_of(cf);
    bool defaulted = false;
    for (ngx_uint_t i = 2; i < cf->args->nelts; ++i) {
        const bool is_default = view(words[i]).substr(0, default_word.size()) == default_word;
        if (is_default && (defaulted || i == 2)) {
            return defaulted
                       ? refuse(cf, "duplicate parameter \"%V\" in \"%V\": keep one", &words[i], &words[0])
                       : refuse(cf,
                                "\"%V\" has no path before \"%V\": write where the value is, such as model",
                                &words[0], &words[i]);
        }
        defaulted = defaulted || is_default;
        if ((is_default ? take_default(cf, words[i], fields, set) : take_path(cf, i, set)) != NGX_CONF_OK) {
            return failed;
        }
    }
    return NGX_CONF_OK;
}

char* read_line(ngx_conf_t* cf, const Fields& fields, FieldSet& set, ngx_http_get_variable_pt handler) {
    const ngx_str_t* words = words_of(cf);
    const std::string_view dollar = view(words[1]);
    const std::string_view name = dollar.substr(dollar.empty() ? 0 : 1);
    if (name.empty() || dollar.front() != '$' || !std::all_of(name.begin(), name.end(), is_of_name)) {
        return refuse(
            cf, "invalid variable \"%V\" in \"%V\": it is the name of the variable to set, such as $tokens",
            &words[1], &words[0]);
    }
    FieldVariable* variable = define(cf, str(name), fields, handler);
    if (variable == nullptr) {
        return failed;
    }
    if (set.find(reinterpret_cast<std::uintptr_t>(variable)) != set.variables.size()) {
        return refuse(
            cf,
            "\"%V %V\" is duplicate: write all its paths in one line, the first of which counts before "
            "the others",
            &words[0], &words[1]);
    }
    set.variables.push_back(variable);
    set.defaults.push_back(unknown_field);
    set.fields.begin_field();
    return take_paths(cf, fields, set);
}

char* set_field(ngx_conf_t* cf, const Fields& fields, const ngx_command_t& command, void* conf) noexcept {
    FieldSet*& set = static_cast<LocationConf*>(conf)->*fields.set;
    set = set != nullptr ? set : make<FieldSet>(*cf->pool);
    try {
        return set != nullptr
                   ? read_line(cf, fields, *set, reinterpret_cast<ngx_http_get_variable_pt>(command.post))
                   : failed;
    } catch (...) {
        return failed;
    }
}

void mark_read(const FieldSet& set) noexcept {
    for (FieldVariable* each : set.variables) {
        each->read = true;
    }
}

/// Whether the value of a limit names variables of the block's fields. Warns, once for each line, where it
/// names one that no line in effect there sets.
bool uses_fields(ngx_conf_t* cf, const LocationConf& conf, const Fields& fields, const LimitLine& limit,
                 const char* noun, const Value& value) noexcept {
    const FieldSet* const set = conf.*fields.set;
    bool uses = false;
    for_each_variable(value, [&](std::string_view name) {
        FieldVariable* const field = find_variable(main_conf(cf)->*fields.known, name);
        if (field == nullptr) {
            return;
        }
        if (set != nullptr && set->find(reinterpret_cast<std::uintptr_t>(field)) != set->variables.size()) {
            uses = true;
        } else if (!limit.watch->field_told) {
            limit.watch->field_told = true;
            warn_merged(cf,
                        "the %s of \"%V\" in %V:%ui names \"$%V\", which no \"%s\" in effect there sets: it "
                        "is %s; lines of a block replace those of the blocks around it",
                        noun, &limit.directive, &limit.file, limit.line, &field->name, fields.directive,
                        fields.without);
        }
    });
    return uses;
}

bool any_read(const std::vector<FieldVariable*>& fields) noexcept {
    return std::any_of(fields.begin(), fields.end(), [](const FieldVariable* field) { return field->read; });
}

}  // namespace

void EncodedLog::tell(ngx_http_request_t* r, const FieldVariable& of, std::string_view encoding) noexcept {
    constexpr std::size_t max_shown = 64;
    try {
        encoding_ = log_text(encoding, max_shown);
    } catch (...) {
        encoding_.clear();
    }
    of_ = &of;
    ++count_;
    throttle_.tell(log_of(*r->connection->log));
}

void EncodedLog::write(void* self, Log& to) noexcept {
    auto& log = *static_cast<EncodedLog*>(self);
    u_char counted[64] = "";
    if (log.count_ > 1) {
        *ngx_snprintf(counted, sizeof counted - 1, " (%uL requests since the last such line)", log.count_) =
            '\0';
    }
    log.count_ = 0;
    ngx_log_error(
        NGX_LOG_ERR, &reinterpret_cast<ngx_log_t&>(to), 0,
        "rate limit: a response with Content-Encoding \"%s\" is not read for \"$%V\" in %V:%ui: write "
        "proxy_set_header Accept-Encoding \"\" beside proxy_pass%s",
        log.encoding_.c_str(), &log.of_->name, &log.of_->file, log.of_->line, counted);
}

std::size_t FieldSet::find(std::uintptr_t variable) const noexcept {
    const auto found = std::find_if(
        variables.begin(), variables.end(),
        [variable](const FieldVariable* each) { return reinterpret_cast<std::uintptr_t>(each) == variable; });
    return static_cast<std::size_t>(found - variables.begin());
}

char* set_response_field(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
    return set_field(cf, responses, *command, conf);
}

char* set_request_field(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
    return set_field(cf, requests, *command, conf);
}

bool is_response_field(ngx_conf_t* cf, std::string_view name) noexcept {
    return find_variable(main_conf(cf)->response_fields, name) != nullptr;
}

void find_response_costs(ngx_conf_t* cf, LocationConf& conf) noexcept {
    for (LimitLine& limit : Elements<LimitLine>(*conf.limits)) {
        if (uses_fields(cf, conf, responses, limit, "cost", *limit.cost)) {
            limit.reads_response = true;
            mark_read(*conf.response_fields);
        }
    }
}

void find_request_fields(const LocationConf& conf) noexcept {
    if (conf.request_fields != nullptr && !conf.report) {
        mark_read(*conf.request_fields);
    }
}

void check_request_fields(ngx_conf_t* cf, const LocationConf& conf, const LimitLine& limit, const char* noun,
                          const Value& value) noexcept {
    (void)uses_fields(cf, conf, requests, limit, noun, value);
}

bool reads_responses(const MainConf& main) noexcept {
    return any_read(main.response_fields);
}

bool reads_requests(const MainConf& main) noexcept {
    return any_read(main.request_fields);
}

void warn_unread_fields(ngx_conf_t* cf, const MainConf& main) noexcept {
    for (const FieldVariable* field : main.response_fields) {
        if (field->read) {
            continue;
        }
        warn_merged(
            cf,
            "no cost in effect names \"$%V\" of \"rate_limit_response_field\" in %V:%ui: no response is "
            "read for it; write it into \"cost=\" itself, for what a \"map\" is made of is not seen",
            &field->name, &field->file, field->line);
    }
    for (const FieldVariable* field : main.request_fields) {
        if (!field->read) {
            const ngx_str_t text = str(unknown_field);
            warn_merged(
                cf,
                "no limit is in effect where \"rate_limit_request_field $%V\" is in %V:%ui: no request is "
                "read for it, and it is always its default, or \"%V\"",
                &field->name, &field->file, field->line, &text);
        }
    }
}

}  // namespace rate_limit
