#pragma once

#include <cstddef>
#include <string>
#include <vector>

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

/// The addresses of one node's host, and the question that asks for them again.
class Addresses final : private Resolution::Owner {
public:
    class Owner {
    public:
        /// resolve() has ended, well or not.
        virtual void on_resolved() noexcept = 0;

    protected:
        ~Owner() = default;
    };

    /// `node` and `owner` outlive this.
    Addresses(const StoreConf& store, const NodeConf& node, Owner& owner);
    Addresses(const Addresses&) = delete;
    Addresses& operator=(const Addresses&) = delete;

    /// False: the host is a name that has not been resolved yet.
    bool known() const noexcept { return !all_.empty(); }

    /// Whether `address` is one of those that are known.
    bool names(const Address& address) const noexcept;

    /// The one to be tried, or in use. Some are known.
    const Address& current() const noexcept { return all_[at_ % all_.size()]; }

    /// From here on each address is tried once, the current one first.
    void begin_round() noexcept {
        tried_ = 0;
        broken_handshake_[0] = '\0';
    }

    /// Why no address would do: the reason of the last, or that for which TLS failed with one of them. An
    /// address that cannot be reached says less than that, which has to be mended. Good until the next round.
    const char* reason_of_round(const char* reason, bool broke_handshake) noexcept;

    /// The current one has failed. False when all have been tried in this round.
    bool next_of_round() noexcept {
        skip();
        return ++tried_ < all_.size();
    }

    /// The next try begins with another one.
    void skip() noexcept { ++at_; }

    /// Asks for them again, so that a server that moved is found without a reload. False: there is no name to
    /// ask for, or nobody to ask. The owner may be told before this returns.
    bool resolve() noexcept;

    /// The owner is not told any more.
    void stop() noexcept { resolution_.stop(); }

private:
    void on_resolved(const Address* found, std::size_t count) noexcept override;
    void take(const Address* found, std::size_t count);

    const StoreConf& store_;
    const NodeConf& node_;
    Owner& owner_;
    std::vector<Address> all_;
    std::size_t at_ = 0;               // modulo their number
    std::size_t tried_ = 0;            // in this round
    char broken_handshake_[256] = "";  // in this round; empty: none
    Resolution resolution_{*this};
};

}  // namespace rate_limit
