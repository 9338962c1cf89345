#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/body/body_fields.h"
#include "limiter/log_throttle.h"
#include "ngx/base/ngx.h"

namespace rate_limit {

struct LimitLine;
struct LocationConf;
struct MainConf;
struct Value;

/// A variable that bodies give its value. What nginx keeps of the variable points here.
struct FieldVariable {
    ngx_str_t name;  // in lower case, without its dollar
    ngx_str_t file;  // of the first directive that names it
    ngx_uint_t line;
    bool read;  // bodies are read for it: of requests, where a limit is in effect; of responses, where a cost
                // names it or one that stands beside it
};

/// Logs that responses came encoded and were not read: a line a second, with a count, by each worker.
class EncodedLog {
public:
    EncodedLog() = default;
    EncodedLog(const EncodedLog&) = delete;
    EncodedLog& operator=(const EncodedLog&) = delete;

    /// `of`: the first variable of the fields that were not read.
    void tell(ngx_http_request_t* r, const FieldVariable& of, std::string_view encoding) noexcept;

private:
    static void write(void* self, Log& log) noexcept;

    const FieldVariable* of_ = nullptr;
    std::string encoding_;  // the last one, fit for a log
    std::uint64_t count_ = 0;
    LogThrottle throttle_{write, this};
};

/// The fields of the responses, or of the requests, of one block: those of its lines. Lives in the
/// configuration's pool.
struct FieldSet {
    BodyFields fields;
    std::vector<FieldVariable*> variables;   // one for each field
    std::vector<std::string_view> defaults;  // likewise, of requests: what the variable is without a value
    EncodedLog encoded;

    /// The number of the field of the FieldVariable with this address; the size of `variables`: it has none.
    std::size_t find(std::uintptr_t variable) const noexcept;
};

/// The text of a variable of requests where no value, and no `default=`, is known.
constexpr std::string_view unknown_field = "unknown";

// rate_limit_response_field and rate_limit_request_field. The command's `post` is the handler of the
// variable.
char* set_response_field(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
char* set_request_field(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

/// Finds which limits of the location cost what a response says, so that responses have to be read. Warns,
/// once for each line, where a cost names a variable of responses that no line in effect there sets.
void find_response_costs(ngx_conf_t* cf, LocationConf& conf) noexcept;

/// Whether it is the name of a variable of responses.
bool is_response_field(ngx_conf_t* cf, std::string_view name) noexcept;

/// Notes that the location has limits, for which requests are read if it has fields of these.
void find_request_fields(const LocationConf& conf) noexcept;

/// Warns, once for each line, where a value of a limit names a variable of requests that no line in effect
/// there sets. `noun`: what the value is.
void check_request_fields(ngx_conf_t* cf, const LocationConf& conf, const LimitLine& limit, const char* noun,
                          const Value& value) noexcept;

// Whether there are responses, or requests, to read. Known when all of http is merged.
bool reads_responses(const MainConf& main) noexcept;
bool reads_requests(const MainConf& main) noexcept;

/// Warns about variables for which nothing is read. Runs when all of http is merged.
void warn_unread_fields(ngx_conf_t* cf, const MainConf& main) noexcept;

}  // namespace rate_limit
