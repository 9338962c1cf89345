#pragma once

#include <array>
#include <cstdint>
#include <new>

#include "core/limit/decision.h"
#include "limiter/request/limited_request.h"
#include "ngx/base/ngx.h"
#include "ngx/base/resume.h"
#include "ngx/conf/conf.h"

namespace rate_limit {

struct AppliedLimit;
class BodyReading;

/// The limits that apply to one request, and what was decided. The first location with a limit that applies
/// makes it, and its configuration stays in force wherever redirects take the request. Lives in the request's
/// pool; find() looks for it on that pool's cleanup list when nginx has cleared the request's module
/// contexts.
class RequestContext final : public LimitedRequest {
public:
    static RequestContext* find(ngx_http_request_t* r) noexcept;

    /// Null without memory. find() does not return it before attach().
    static RequestContext* create(ngx_http_request_t* r, const LocationConf& conf) noexcept;

    /// Lets find() return it from now on.
    ngx_int_t attach() noexcept;

    /// The context of the report that the request waits for in this location; null if it has not begun one.
    static RequestContext* find_report(ngx_http_request_t* r) noexcept;

    /// Lets find_report() return it from now on; and find(), for the headers, if no limit has been applied to
    /// the request before it came here.
    ngx_int_t attach_report() noexcept;

    ngx_http_request_t* request() const noexcept { return resumable_.request; }
    const LocationConf& conf() const noexcept { return conf_; }

    /// Adds a limit that applies, in the order of their lines; those of the precontent phase come last. There
    /// is room for every line of the location.
    AppliedLimit& add_line(const LimitLine& line) noexcept;

    /// An override says that a limit does not apply.
    void lift(OverrideKind kind) noexcept { lifted_ = lifted_ == OverrideKind::none ? kind : lifted_; }

    /// The override of the first limit that was lifted so; none: no limit was.
    OverrideKind lifted() const noexcept { return lifted_; }

    /// No limit applies, and overrides are the reason: lets find_lifted() return this. A location that a
    /// redirect leads to may still limit the request.
    ngx_int_t attach_lifted() noexcept;
    static const RequestContext* find_lifted(ngx_http_request_t* r) noexcept;

    /// Lets the request pass, and gives back what it holds, whatever an earlier phase decided.
    void bypass() noexcept {
        give_back_all();
        outcome = Outcome::bypassed;
        end();
        forget_limits();
    }

    /// Looks at no further limit, wherever redirects take the request.
    void end() noexcept { done(Phase::access) = done(Phase::precontent) = true; }

    /// Whether the limits of the phase are decided.
    bool& done(Phase phase) noexcept { return done_[static_cast<std::size_t>(phase)]; }

    /// A phase begins; it decides the limits from number `from` on.
    void begin_phase(Phase phase, std::size_t from) noexcept {
        phase_ = phase;
        from_ = from;
        begun_ = true;
        outcome = Outcome::none;  // a client that leaves while its request waits was not admitted
    }
    bool asked_in(Phase phase) const noexcept { return begun_ && phase_ == phase; }
    std::size_t asked_from() const noexcept { return from_; }

    /// True when every limit so far has let the request pass, so that they charge it. False while it waits,
    /// also for its turn.
    bool admitted() const noexcept {
        const bool decided = done_[static_cast<std::size_t>(phase_)];
        return begun_ && decided && outcome != Outcome::rejected && outcome != Outcome::error_denied;
    }

    /// Lets the request wait for its answers, or for its turn. NGX_AGAIN, or an error status.
    ngx_int_t suspend() noexcept;

    /// The request ends: lets go of everything it waits for.
    void detach() noexcept;

    void on_unchecked(const AppliedLimit& applied, const char* reason) noexcept override;
    std::uint64_t id_of(const AppliedLimit& applied) const noexcept override;

    /// The status that the client got; until its header is sent, the one that the response has by then. What
    /// comes after that, as `post_action` does, changes nothing.
    ngx_uint_t status() const noexcept {
        const ngx_http_request_t* r = request();
        return r->header_sent != 0 && passed_status_ != 0 ? passed_status_ : r->headers_out.status;
    }

    /// The header has passed the filters.
    void note_status() noexcept { passed_status_ = request()->headers_out.status; }

    /// A location that `post_action` runs has limited the request, not one before its response.
    bool is_of_post_action() const noexcept { return resumable_.of_post_action; }

    bool cost_is_final = true;   ///< all costs are constants, or evaluate_final_costs() has run
    bool response_ends = false;  ///< all of the response has come to the filters

    BodyReading* response = nullptr;  ///< what is read of the body of the response; null: nothing is

private:
    explicit RequestContext(ngx_http_request_t* r, const LocationConf& conf) noexcept
        : LimitedRequest(*main_conf(r), static_cast<OnError>(conf.on_error)), conf_(conf), resumable_(r) {}

    void on_wait_over() noexcept override { resume_soon(resumable_); }
    static void on_pool_cleanup(void* self) noexcept;
    static void on_pool_cleanup_of_report(void* self) noexcept;
    static void on_pool_cleanup_of_lifted(void* self) noexcept;

    const LocationConf& conf_;
    Phase phase_ = Phase::access;  // the last one begun
    std::array<bool, 2> done_{};   // by phase
    std::size_t from_ = 0;
    bool begun_ = false;
    OverrideKind lifted_ = OverrideKind::none;
    ngx_uint_t passed_status_ = 0;
    Resumable resumable_;
};

inline RequestContext* RequestContext::create(ngx_http_request_t* r, const LocationConf& conf) noexcept {
    static_assert(alignof(RequestContext) <= NGX_ALIGNMENT, "pools give no more");
    const std::size_t room = conf.limits->nelts;
    void* memory =
        ngx_palloc(r->pool, sizeof(RequestContext) + room * (sizeof(AppliedLimit) + sizeof(Verdict)));
    if (memory == nullptr) {
        return nullptr;
    }
    auto* context = new (memory) RequestContext(r, conf);
    auto* applied = reinterpret_cast<AppliedLimit*>(context + 1);
    context->give_room(applied, reinterpret_cast<Verdict*>(applied + room));
    return context;
}

/// The number by which `$rate_limit_id`, the log line of a rejection and the console name a client of one
/// limit, without saying who that is: see limiter/client_id.h. Computed anew at each call. 0 without memory.
std::uint64_t client_id(ngx_http_request_t* r, const AppliedLimit& applied) noexcept;

}  // namespace rate_limit
