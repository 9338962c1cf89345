#pragma once

#include <string_view>

#include "core/limit/status_set.h"
#include "limiter/configuration.h"
#include "ngx/values/value.h"
#include "operator/serving.h"

namespace rate_limit {

struct FieldSet;
struct FieldVariable;
struct Key;
class LateWatch;
class LimitLog;

enum class Phase : ngx_uint_t { access, precontent };

constexpr ngx_uint_t headers_off =
    0x01;  // a bit of its own, so that a written `off` differs from nothing written
constexpr ngx_uint_t headers_github = 0x02;
constexpr ngx_uint_t headers_ietf = 0x04;
constexpr ngx_uint_t headers_retry_after = 0x08;  // which rejections have beside the others, too

inline ngx_array_t* const unset_array = static_cast<ngx_array_t*>(NGX_CONF_UNSET_PTR);

/// The value of rate_limit_dry_run: a constant, or a variable asked at each request.
struct DryRun {
    ngx_flag_t on;  // NGX_CONF_UNSET: not written
    Value* value;   // null: `on` is the answer

    friend bool operator==(const DryRun& a, const DryRun& b) noexcept {
        return a.on == b.on && a.value == b.value;
    }
};

/// How limits count: directives say it for a block, and parameters for one line. What is not said is unset
/// (null, NGX_CONF_UNSET…).
struct Options {
    Key* key = nullptr;
    Value* store_text = nullptr;
    const NamedMode* mode = nullptr;
    ngx_uint_t lease = NGX_CONF_UNSET_UINT;  // see Limit::lease
    ngx_uint_t phase = NGX_CONF_UNSET_UINT;
    CostValue* cost = nullptr;
    StatusSet* exempt = nullptr;  // off: an empty one
    DryRun dry_run = {NGX_CONF_UNSET, nullptr};
};

/// One rate_limit line, or rate_limit_concurrency, as parsed. As resolved for a server or location, every
/// member is final. Lives in the configuration's pool.
struct LimitLine : Options, Limit {
    const LimitLine* written;  // the line as parsed; null in that line itself
    ngx_str_t directive;       // its first word
    ngx_str_t file;
    ngx_uint_t line;

    Value rate_text;
    std::string_view digits;  // the digits of a constant rate's limit
    Value* burst_text;        // null: windows count

    CostValue* reserve;  // charged before the request; null: its cost is

    bool named;         // the line says the name
    bool hidden;        // headers=off: it decides, and is not shown
    ngx_uint_t jitter;  // Retry-After says up to so many seconds more
    ngx_uint_t status;  // status of a rejection; 0: the line says none

    bool reads_response;         // its cost names a variable of rate_limit_response_field that is in effect
    bool warned;                 // the configuration has warned about this line
    LateWatch* watch;            // shared by all limits of the line
    mutable bool skip_logged;    // this worker has logged that it skipped the limit
    std::int64_t constant_cost;  // meaningless where `cost` holds a variable

    /// Whether the cost is known only when the request ends.
    bool costs_at_end() const noexcept { return cost->of_end || reads_response; }
};

/// The line of a limit: all limits of this process are of lines.
inline const LimitLine& line_of(const Limit& limit) noexcept {
    return static_cast<const LimitLine&>(limit);
}

/// rate_limit_console, as written.
struct ConsoleConf {
    bool on = false;
    OperatorRights rights;
    bool from_any = false;         // nginx's own directives say who may
    ngx_array_t* names = nullptr;  // the server's ngx_http_server_name_t; nginx keeps its own only while it
                                   // reads the configuration
};

/// The directive by which a location answers by itself.
struct OwnAnswer {
    ngx_http_handler_pt handler = nullptr;  // the location's content handler; null: no such directive
    ngx_str_t directive{};
    ngx_str_t file{};
    ngx_uint_t line = 0;
};

/// The module's configuration of one http, server or location block. Standard layout: offsetof is taken.
struct LocationConf {
    Options options;
    ngx_array_t* lines = unset_array;       // elements: LimitLine, as parsed; null: `rate_limit off`
    ngx_array_t* slot_lines = unset_array;  // elements: LimitLine of rate_limit_concurrency, as parsed
    ngx_array_t* bypass = unset_array;      // elements: Value
    FieldSet* response_fields = nullptr;    // null: none; inherited as lines are
    FieldSet* request_fields = nullptr;     // likewise
    ngx_uint_t headers = 0;                 // bits headers_*; 0: not written
    ngx_uint_t status = NGX_CONF_UNSET_UINT;
    ngx_uint_t log_level = NGX_CONF_UNSET_UINT;
    ngx_uint_t on_error = NGX_CONF_UNSET_UINT;
    ngx_uint_t error_status = NGX_CONF_UNSET_UINT;
    ngx_uint_t ipv4_prefix = NGX_CONF_UNSET_UINT;
    ngx_uint_t ipv6_prefix = NGX_CONF_UNSET_UINT;

    // These hold for this location alone, and for the `if` and `limit_except` blocks in it.
    OwnAnswer answer;
    ConsoleConf console;
    bool report = false;  // it tells of its limits, and applies none of them

    ngx_array_t* limits = nullptr;    // elements: LimitLine, resolved; null: nothing is limited here
    ngx_uint_t precontent_count = 0;  // how many of them wait for the precontent phase
};

/// A location, or an `if` or `limit_except` block of one, that answers by itself.
struct Answering {
    const LocationConf* conf;
    const ngx_http_core_loc_conf_t* location;
    const ngx_http_core_srv_conf_t* server;
};

/// The name of a store, and where it is said.
struct StoreName {
    ngx_str_t text;
    ngx_str_t directive;
    ngx_str_t file;
    ngx_uint_t line;
};

/// The module's configuration of the http block.
struct MainConf : Configuration {
    ngx_array_t store_names;  // elements: StoreName, of directives and parameters; without variables
    std::size_t zone_size;    // NGX_CONF_UNSET_SIZE: not written
    std::size_t line_count;   // how many lines the limits have; each has a number in its watch
    ngx_array_t answering;    // elements: Answering
    std::vector<FieldVariable*> response_fields;  // in the order of their first lines
    std::vector<FieldVariable*> request_fields;   // likewise
    LimitLog* log;                                // never null; owned by the configuration's pool
    bool counts_running;                          // some line is of rate_limit_concurrency
};

void* create_main_conf(ngx_conf_t* cf) noexcept;
void* create_location_conf(ngx_conf_t* cf) noexcept;
char* merge_location_conf(ngx_conf_t* cf, void* parent, void* child) noexcept;

/// Refuses limits of one store and one name that have different modes. NGX_ERROR where there are some; the
/// error is logged.
ngx_int_t compare_modes(ngx_conf_t* cf, const MainConf& main) noexcept;

inline char* const failed = static_cast<char*>(NGX_CONF_ERROR);

/// A setter returns this for a second line of its directive; nginx adds the directive, file and line.
inline char* const duplicate = const_cast<char*>("is duplicate, keep only one of them");

/// The words of the directive that is being read: its name, then its parameters.
inline const ngx_str_t* words_of(const ngx_conf_t* cf) noexcept {
    return static_cast<const ngx_str_t*>(cf->args->elts);
}

/// Logs an error about wrong input, to which nginx adds the file and line, and returns what a setter returns.
template <typename... Arguments>
char* refuse(ngx_conf_t* cf, const char* format, Arguments... arguments) noexcept {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, format, arguments...);
    return failed;
}

/// Refuses the value of a parameter, or of the directive that is being read. `noun`: what it was to be;
/// `remedy`: what it may be.
inline char* refuse_value(ngx_conf_t* cf, const char* noun, const ngx_str_t& text,
                          const char* remedy) noexcept {
    return refuse(cf, "invalid %s \"%V\" in \"%V\": %s", noun, &text, &words_of(cf)[0], remedy);
}

/// Refuses the first value of the directive that is being read. `remedy`: what it may be.
inline char* refuse_word(ngx_conf_t* cf, const char* remedy) noexcept {
    return refuse(cf, "invalid \"%V %V\": %s", &words_of(cf)[0], &words_of(cf)[1], remedy);
}

/// Logs an error that is found when blocks are merged, or all of http is read, and returns NGX_ERROR. The
/// caller adds the place.
template <typename... Arguments>
ngx_int_t refuse_merged(ngx_conf_t* cf, const char* format, Arguments... arguments) noexcept {
    ngx_log_error(NGX_LOG_EMERG, cf->log, 0, format, arguments...);
    return NGX_ERROR;
}

/// Logs a warning, where the caller adds the place.
template <typename... Arguments>
void warn_merged(ngx_conf_t* cf, const char* format, Arguments... arguments) noexcept {
    ngx_log_error(NGX_LOG_WARN, cf->log, 0, format, arguments...);
}

/// The range of a number: what set_number's command points to.
struct Bounds {
    ngx_int_t least;
    ngx_int_t most;
};

/// The statuses that a request can be turned away with.
constexpr Bounds status_bounds = {400, 599};

// Setters like ngx_conf_set_enum_slot and ngx_conf_set_num_slot, but their errors name the directive and what
// it takes.
char* set_choice(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
char* set_number(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

// Directives whose text needs more than that.
char* set_rate_limit(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
char* set_concurrency(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
char* set_exempt_status(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
char* set_bypass(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
char* set_headers(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
char* set_zone(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

char* set_report(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
char* set_console(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

/// Keeps what a console of this location needs of its server, whose directives have all been read.
/// NGX_ERROR without memory.
ngx_int_t finish_console(ngx_conf_t* cf, ConsoleConf& console) noexcept;

/// Warns about consoles for clients on this machine which a proxy on it may open to others. Runs when all of
/// http is merged.
void warn_local_consoles(ngx_conf_t* cf, const MainConf& main) noexcept;

/// Makes the location that is being read answer by itself. The command's `post` is the content handler.
void answer_here(ngx_conf_t* cf, const ngx_command_t& command, OwnAnswer& answer) noexcept;

/// Lets `if` and `limit_except` blocks answer as their location does, and finishes a console. NGX_ERROR
/// without memory.
ngx_int_t merge_answer(ngx_conf_t* cf, const LocationConf& prev, LocationConf& conf) noexcept;

/// Refuses locations where another directive answers, too. NGX_ERROR where there are some; the error is
/// logged. Runs when all of http is merged.
ngx_int_t check_answers(ngx_conf_t* cf, const MainConf& main) noexcept;

extern ngx_conf_enum_t phase_names[];

inline LocationConf* location_conf(ngx_http_request_t* r) noexcept {
    return static_cast<LocationConf*>(ngx_http_get_module_loc_conf(r, ngx_http_rate_limit_module));
}

inline MainConf* main_conf(ngx_http_request_t* r) noexcept {
    return static_cast<MainConf*>(ngx_http_get_module_main_conf(r, ngx_http_rate_limit_module));
}

inline MainConf* main_conf(ngx_conf_t* cf) noexcept {
    return static_cast<MainConf*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_rate_limit_module));
}

/// The configuration of a cycle's http block; null: it has none.
inline MainConf* main_conf(const volatile ngx_cycle_t* cycle) noexcept {
    return static_cast<MainConf*>(ngx_http_cycle_get_module_main_conf(cycle, ngx_http_rate_limit_module));
}

/// Null: the cycle has none.
inline Zone* zone_of(const volatile ngx_cycle_t* cycle) noexcept {
    const MainConf* main = main_conf(cycle);
    return main != nullptr ? main->zone : nullptr;
}

/// Appends it to a list of the configuration that is being read. False without memory.
template <typename Element>
bool append(std::vector<Element>& list, Element element) noexcept {
    try {
        list.push_back(element);
        return true;
    } catch (...) {
        return false;
    }
}

/// Refuses names that no block has, in effect or not. nginx calls it when all of http is read, before blocks
/// are merged.
char* check_store_names(ngx_conf_t* cf, void* conf) noexcept;

/// Whether a value of rate_limit_bypass or rate_limit_dry_run switches it on: all do but an empty one, `0`
/// and `off`.
inline bool is_on(std::string_view value) noexcept {
    return !value.empty() && value != "0" && value != "off";
}

}  // namespace rate_limit
