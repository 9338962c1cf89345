#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "ngx/base/ngx.h"
#include "operator/acts/act_result.h"
#include "operator/figures/document.h"

namespace rate_limit {

/// Sends a page of the console, with the fields that all its answers have. `type` is static, `body` is
/// copied. Returns what a content handler returns.
ngx_int_t send_page(ngx_http_request_t* r, ngx_uint_t status, std::string_view type,
                    std::string_view body) noexcept;

/// Writes the document and sends it as the response, in as many turns of the event loop as it takes. `type`
/// is static. Returns what a content handler returns: NGX_DONE while it is being written. nginx takes one off
/// the request's count when a content handler returns that; the caller adds it.
ngx_int_t tell(ngx_http_request_t* r, std::string_view type, std::unique_ptr<Document> document) noexcept;

/// The type of pages for people.
inline constexpr std::string_view html_type = "text/html; charset=utf-8";

/// The prefix of the request's location.
std::string_view location_name(ngx_http_request_t* r) noexcept;

/// A field of a request.
struct RequestField {
    std::string_view value;  ///< the value of the first field that has the name
    std::size_t count = 0;   ///< how many have it
};

/// `name` in lower case.
RequestField find_field(const ngx_http_request_t& r, std::string_view name) noexcept;

/// Whether the client is to have HTML where there are two forms of an answer: browsers ask for it.
bool wants_html(const ngx_http_request_t& r) noexcept;

/// Sends an error of the console, as JSON or as HTML. Without a static `allow` there is no field Allow.
/// Returns what a content handler returns. Throws std::bad_alloc.
ngx_int_t send_error(ngx_http_request_t* r, ActError error, std::string_view description,
                     std::string_view allow = {});

}  // namespace rate_limit
