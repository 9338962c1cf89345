#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

class Store;

/// One line a minute with a store's counters, while they change. Its store owns it.
class Report {
public:
    explicit Report(const Store& store) noexcept;
    ~Report() { clear_timer(timer_); }
    Report(const Report&) = delete;
    Report& operator=(const Report&) = delete;

    /// A counter changed: a line follows within a minute.
    void changed() noexcept;

private:
    static void on_timer(ngx_event_t* event) noexcept;

    const Store& store_;
    ngx_event_t timer_{};  // cancelable
};

}  // namespace rate_limit
