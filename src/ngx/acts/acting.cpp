#include "ngx/acts/acting.h"

#include <new>

#include "ngx/acts/acts.h"
#include "ngx/acts/key_of_limit.h"
#include "ngx/base/response.h"

namespace rate_limit {

namespace {

std::string_view text_of(const std::string* field) noexcept {
    return field != nullptr ? std::string_view(*field) : std::string_view();
}

}  // namespace

Acting::Acting(ngx_http_request_t* r, const ConsoleConf& console, Form form)
    : console_(console), form_(std::move(form)), key_(shown_key(text_of(form_.find("key")))) {
    resumable_.request = r;
}

Acting::~Acting() {
    forget_resumption(resumable_);
}

Acting* Acting::begin(ngx_http_request_t* r, Form form) noexcept {
    static_assert(alignof(Acting) <= NGX_ALIGNMENT, "pools give no more");
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(r->pool, sizeof(Acting));
    if (cleanup == nullptr) {
        return nullptr;
    }
    try {
        new (cleanup->data) Acting(r, location_conf(r)->console, std::move(form));
    } catch (...) {
        return nullptr;
    }
    cleanup->handler = on_pool_cleanup;
    return static_cast<Acting*>(cleanup->data);
}

Acting* Acting::find(ngx_http_request_t* r) noexcept {
    for (ngx_pool_cleanup_t* cleanup = r->pool->cleanup; cleanup != nullptr; cleanup = cleanup->next) {
        auto* acting = static_cast<Acting*>(cleanup->data);
        if (cleanup->handler == on_pool_cleanup && &acting->request() == r) {
            return acting;
        }
    }
    return nullptr;
}

void Acting::on_pool_cleanup(void* self) noexcept {
    static_cast<Acting*>(self)->~Acting();
}

std::string_view Acting::limit() const noexcept {
    return text_of(form_.find("limit"));
}

std::string_view Acting::store() const noexcept {
    return text_of(form_.find("store"));
}

bool Acting::check_fields() {
    const std::string_view name = text_of(form_.find("do"));
    const Act* act = find_act(name);
    if (act == nullptr) {
        fail(ActError::bad_parameter, "There is no such \"do\".");
        return false;
    }
    for (const std::string_view field : act->required) {
        if (!field.empty() && form_.find(field) == nullptr) {
            fail(ActError::bad_parameter, "The field \"" + std::string(field) + "\" is needed.");
            return false;
        }
    }
    act_ = act;
    return true;
}

bool Acting::go_on() {
    if (act_ == nullptr && !check_fields()) {
        return true;
    }
    rests_ = false;
    next_turn_.clear();
    const GoingOn going_on(*this);
    return act_->go_on(*this);
}

void Acting::wait() noexcept {
    ngx_http_request_t* r = resumable_.request;
    r->read_event_handler = ngx_http_block_reading;
    r->write_event_handler = ignore_write;
    if (rests_) {
        next_turn_.set(1);
    }
}

void Acting::on_next_turn(void* self) noexcept {
    resume_soon(static_cast<Acting*>(self)->resumable_);
}

void Acting::on_answer(Answer& /*answer*/) noexcept {
    if (--pending_ == 0 && !going_on_) {
        resume_soon(resumable_);
    }
}

}  // namespace rate_limit
