#pragma once

#include <array>
#include <new>

#include "core/limit/decision.h"
#include "limiter/modes/mode.h"
#include "ngx/base/resume.h"
#include "ngx/conf/conf.h"

namespace rate_limit {

/// The limits that apply to one request, and what was decided. The first location with a limit that applies
/// makes it, and its configuration stays in force wherever redirects take the request. Lives in the request's
/// pool; find() looks for it on that pool's cleanup list when nginx has cleared the request's module
/// contexts.
class RequestContext final : private Answer::Owner {
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

    // The limits that apply, in the order of their lines; those of the precontent phase come last.
    std::size_t count() const noexcept { return count_; }
    AppliedLimit& applied(std::size_t i) noexcept { return applied_[i]; }
    const AppliedLimit& applied(std::size_t i) const noexcept { return applied_[i]; }
    const Verdict* verdicts() const noexcept { return verdicts_; }

    /// Adds a limit that applies. There is room for every line of the location.
    AppliedLimit& add(const LimitLine& limit) noexcept;

    /// Takes out the limit that was added last, whose store has not been asked.
    void drop_last() noexcept { --count_; }

    /// Asks the store of one limit. Where the cost never fits, it is asked only for the window that headers
    /// show.
    void ask(AppliedLimit& applied) noexcept;

    /// Asks the store what a report needs: it is the only one that asks about these limits.
    void ask_for_report(AppliedLimit& applied) noexcept;

    /// An override says that a limit does not apply.
    void lift(OverrideKind kind) noexcept { lifted_ = lifted_ == OverrideKind::none ? kind : lifted_; }

    /// Of the first limit that was lifted so; none: no limit was.
    OverrideKind lifted() const noexcept { return lifted_; }

    /// No limit applies, and overrides are the reason: lets find_lifted() return this. A location that a
    /// redirect leads to may still limit the request.
    ngx_int_t attach_lifted() noexcept;
    static const RequestContext* find_lifted(ngx_http_request_t* r) noexcept;

    /// A report could not be made: nothing is to be shown of its limits. None of them waits.
    void forget_limits() noexcept { count_ = 0; }

    /// Lets the request pass, and gives back what it holds, whatever an earlier phase decided.
    void bypass() noexcept {
        give_back_all();
        outcome = Outcome::bypassed;
        end();
        count_ = 0;
    }

    /// Gives back what the request holds of its limits: none of them charges it.
    void give_back_all() noexcept;

    /// The request ends: it lets go of what it holds of its limits to the end.
    void leave_all() noexcept;

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

    /// True when every limit so far has let the request pass, so that they charge it. False while it waits.
    bool admitted() const noexcept {
        const bool decided = done_[static_cast<std::size_t>(phase_)];
        return begun_ && decided && outcome != Outcome::rejected && outcome != Outcome::error_denied;
    }

    /// Between these two calls the request is asking its stores: an answer that comes at once does not resume
    /// it.
    void begin_asking() noexcept { asking_ = true; }
    void end_asking() noexcept { asking_ = false; }

    bool waiting() const noexcept { return pending_ != 0; }

    /// Lets the request wait for its answers. NGX_AGAIN, or an error status.
    ngx_int_t suspend() noexcept;

    /// The request ends: lets go of everything it waits for.
    void detach() noexcept;

    /// Milliseconds that the request waited for its stores: in each phase as long as its slowest limit took.
    ngx_msec_t store_time() const noexcept { return store_time_; }
    void end_wait() noexcept;

    /// The status that the client got; until its header is sent, the one that the response has by then. What
    /// comes after that, as `post_action` does, changes nothing.
    ngx_uint_t status() const noexcept {
        const ngx_http_request_t* r = request();
        return r->header_sent != 0 && passed_status_ != 0 ? passed_status_ : r->headers_out.status;
    }

    /// The header has passed the filters.
    void note_status() noexcept { passed_status_ = request()->headers_out.status; }

    /// A location that `post_action` runs has limited the request, not one before its response.
    bool is_of_post_action() const noexcept { return of_post_action_; }

    Outcome outcome = Outcome::none;
    bool cost_is_final = false;  ///< evaluate_final_costs() has run
    bool settled = false;        ///< it holds nothing more: settle() has run, or give_back_all()
    bool counted = false;        ///< count_request() has run

private:
    explicit RequestContext(ngx_http_request_t* r, const LocationConf& conf) noexcept
        : conf_(conf), of_post_action_(r->post_action != 0) {
        resumable_.request = r;
    }

    void on_answer(Answer& answer) noexcept override;
    static void on_pool_cleanup(void* self) noexcept;
    static void on_pool_cleanup_of_report(void* self) noexcept;
    static void on_pool_cleanup_of_lifted(void* self) noexcept;

    const LocationConf& conf_;
    const bool of_post_action_;
    AppliedLimit* applied_ = nullptr;
    Verdict* verdicts_ = nullptr;
    std::size_t count_ = 0;
    std::size_t pending_ = 0;
    Phase phase_ = Phase::access;  // the last one begun
    std::array<bool, 2> done_{};   // by phase
    std::size_t from_ = 0;
    bool begun_ = false;
    OverrideKind lifted_ = OverrideKind::none;
    bool asking_ = false;
    ngx_msec_t longest_ = 0;  // of the answers of this phase
    ngx_msec_t store_time_ = 0;
    ngx_uint_t passed_status_ = 0;
    Resumable resumable_;
};

inline RequestContext* RequestContext::create(ngx_http_request_t* r, const LocationConf& conf) noexcept {
    const std::size_t room = conf.limits->nelts;
    void* memory =
        ngx_palloc(r->pool, sizeof(RequestContext) + room * (sizeof(AppliedLimit) + sizeof(Verdict)));
    if (memory == nullptr) {
        return nullptr;
    }
    auto* context = new (memory) RequestContext(r, conf);
    context->applied_ = reinterpret_cast<AppliedLimit*>(context + 1);
    context->verdicts_ = reinterpret_cast<Verdict*>(context->applied_ + room);
    return context;
}

}  // namespace rate_limit
