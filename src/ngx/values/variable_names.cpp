#include "ngx/values/variable_names.h"

namespace rate_limit {

namespace {

constexpr std::string_view of_response[] = {
    "body_bytes_sent",
    "bytes_sent",
    "gzip_ratio",
    "request_completion",
    "request_time",
    "sent_http_",
    "sent_trailer_",
    "status",
    "upstream_addr",
    "upstream_bytes_received",
    "upstream_bytes_sent",
    "upstream_cache_etag",
    "upstream_cache_last_modified",
    "upstream_cache_status",
    "upstream_connect_time",
    "upstream_cookie_",
    "upstream_header_time",
    "upstream_http_",
    "upstream_last_server_name",
    "upstream_queue_time",
    "upstream_response_length",
    "upstream_response_time",
    "upstream_status",
    "upstream_trailer_",
};

/// Those of the end that may be whole numbers. nginx counts the first five until the response, or the
/// upstream's connection, has ended, and trailers come behind the body. ($request_length is whole by the
/// header, unless the upstream answers while it still reads.)
constexpr std::string_view of_end[] = {
    "body_bytes_sent",          "bytes_sent",    "upstream_bytes_received", "upstream_bytes_sent",
    "upstream_response_length", "sent_trailer_", "upstream_trailer_",
};

/// nginx reads the body after limits are checked, unless something reads it before.
constexpr std::string_view of_body[] = {"request_body", "request_body_file"};

/// The module's own, but for the addresses.
constexpr std::string_view of_decision[] = {
    "rate_limit_all",         "rate_limit_cost",        "rate_limit_delayed",    "rate_limit_id",
    "rate_limit_limit",       "rate_limit_override",    "rate_limit_reset",      "rate_limit_remaining",
    "rate_limit_reset_after", "rate_limit_retry_after", "rate_limit_resource",   "rate_limit_shard",
    "rate_limit_source",      "rate_limit_status",      "rate_limit_store_time", "rate_limit_used",
    "rate_limit_penalty",
};

}  // namespace

bool is_of_response(std::string_view name) noexcept {
    return is_one_of(name, of_response);
}

bool is_of_end(std::string_view name) noexcept {
    return is_one_of(name, of_end);
}

bool is_of_body(std::string_view name) noexcept {
    return is_one_of(name, of_body);
}

bool is_of_decision(std::string_view name) noexcept {
    return is_one_of(name, of_decision) || is_one_of(name, of_a_limit);
}

std::string_view limit_in(std::string_view variable) noexcept {
    std::string_view name;
    for (const std::string_view start : of_a_limit) {
        const bool longer = name.empty() || name.size() > variable.size() - start.size();
        if (begins_with(variable, start) && longer) {
            name = variable.substr(start.size());
        }
    }
    return name;
}

}  // namespace rate_limit
