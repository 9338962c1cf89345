#pragma once

#include <cstddef>
#include <string>

#include "limiter/store_conf.h"

namespace rate_limit {

/// A question where a host is now. Whoever runs the limiter defines it; nginx's side,
/// ngx/wire/resolution.cpp, asks nginx's resolver.
class Resolution {
public:
    class Owner {
    public:
        /// The question is over: these are the addresses, in any order, and their ports mean nothing. None:
        /// nobody knows.
        virtual void on_resolved(const Address* found, std::size_t count) noexcept = 0;

    protected:
        ~Owner() = default;
    };

    explicit Resolution(Owner& owner) noexcept : owner_(owner) {}
    ~Resolution() { stop(); }
    Resolution(const Resolution&) = delete;
    Resolution& operator=(const Resolution&) = delete;

    bool asking() const noexcept { return question_ != nullptr; }

    /// Nothing is being asked. False: nobody can be asked. The owner may be told before this returns.
    bool ask(const StoreConf& store, const std::string& host) noexcept;

    /// The owner is not told any more.
    void stop() noexcept;

    /// The loop's side of the question.
    struct Question;

private:
    Owner& owner_;
    Question* question_ = nullptr;  // null: none
};

}  // namespace rate_limit
