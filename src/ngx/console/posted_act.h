#pragma once

#include <optional>
#include <string>

#include "core/text/form.h"
#include "ngx/base/ngx.h"
#include "ngx/base/resume.h"
#include "operator/acts/acting.h"

namespace rate_limit {

/// A longer form is refused.
constexpr off_t most_posted = 8192;

/// Whether the request says that its body is longer.
bool announces_too_much(const ngx_http_request_t& r) noexcept;

/// The body that nginx has read, wherever it keeps it; empty: it is longer than most_posted, or cannot be
/// read. Throws std::bad_alloc.
std::optional<std::string> posted_body(const ngx_http_request_t& r);

/// An act, and the request that has posted it and waits. Lives in the request's pool.
class PostedAct final : private Poster {
public:
    /// Null without memory.
    static PostedAct* begin(ngx_http_request_t* r, Form form) noexcept;

    /// The one that the request waits for; null: it has begun none.
    static PostedAct* find(ngx_http_request_t* r) noexcept;

    /// Lets the request wait: its content handler is called again when the act can go on.
    void wait() noexcept;

    Acting& act() noexcept { return act_; }

    PostedAct(ngx_http_request_t* r, Form form);
    ~PostedAct();

private:
    std::string_view address() const noexcept override;
    std::string_view user() const noexcept override;
    Log& log() const noexcept override;
    RequestMemory& memory() const noexcept override;
    void resume() noexcept override;

    Resumable resumable_;
    Acting act_;
};

}  // namespace rate_limit
