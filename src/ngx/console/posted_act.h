#pragma once

#include "core/text/form.h"
#include "ngx/base/resume.h"
#include "operator/acts/acting.h"

namespace rate_limit {

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

private:
    PostedAct(ngx_http_request_t* r, Form form);
    ~PostedAct();

    std::string_view address() const noexcept override;
    std::string_view user() const noexcept override;
    Log& log() const noexcept override;
    RequestMemory& memory() const noexcept override;
    void resume() noexcept override;

    static void on_pool_cleanup(void* self) noexcept;

    Resumable resumable_;
    Acting act_;
};

}  // namespace rate_limit
