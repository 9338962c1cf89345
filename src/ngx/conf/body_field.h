#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/body/body_fields.h"
#include "limiter/log_throttle.h"
#include "ngx/base/ngx.h"

namespace rate_limit {

struct LocationConf;
struct MainConf;

/// A variable that bodies give its value. What nginx keeps of the variable points here.
struct FieldVariable {
    ngx_str_t name;  // in lower case, without its dollar
    ngx_str_t file;  // of the first directive that names it
    ngx_uint_t line;
    bool read;  // responses are read for it, because a cost names it or one that stands beside it
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

/// The fields of the responses of one block: those of its lines. Lives in the configuration's pool.
struct FieldSet {
    BodyFields fields;
    std::vector<FieldVariable*> variables;  // one for each field
    EncodedLog encoded;

    /// The number of the variable's field; size(): it has none.
    std::size_t find(const FieldVariable* variable) const noexcept;
};

/// rate_limit_response_field. The command's `post` is the handler of the variable.
char* set_response_field(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

/// Finds which limits of the location cost what a response says, so that responses have to be read. Warns,
/// once for each line, where a cost names a variable of responses that no line in effect there sets.
void find_response_costs(ngx_conf_t* cf, LocationConf& conf) noexcept;

/// Whether it is the name of a variable of responses.
bool is_response_field(ngx_conf_t* cf, std::string_view name) noexcept;

/// Whether there are responses to read. Known when all of http is merged.
bool reads_responses(const MainConf& main) noexcept;

/// Warns about variables for which no response is read. Runs when all of http is merged.
void warn_unread_fields(ngx_conf_t* cf, const MainConf& main) noexcept;

}  // namespace rate_limit
