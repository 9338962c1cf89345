#pragma once

#include <array>
#include <string>
#include <string_view>

#include "limiter/store_conf.h"

namespace rate_limit {

/// Whose counts one server of a store with regions has. A primary and all that follow it tell the same
/// replication ID: servers of two regions that tell the same one have the same counts, which would be added
/// up. What a server follows later is known within ten
/// seconds.
class HeldData {
public:
    class Owner {
    public:
        /// The server has the counts of one of another region, which logs call `other`, and is not to be
        /// used: not to be told again before tell().
        virtual void on_same_data(const std::string& other) noexcept = 0;

    protected:
        ~Owner() = default;
    };

    /// All outlive this. `subject` is how logs name the server.
    HeldData(const StoreConf& store, const std::string& subject, Owner& owner) noexcept
        : store_(store), subject_(subject), owner_(owner) {}
    HeldData(const HeldData&) = delete;
    HeldData& operator=(const HeldData&) = delete;
    ~HeldData() { forget(); }

    /// The server tells its replication ID; another text says nothing. Of two regions with the same one the
    /// region here is used; of two others that which told it first.
    void tell(std::string_view id) noexcept;

    /// Nothing is known of it any more.
    void forget() noexcept;

private:
    HeldData*& first() const noexcept { return (store_.home != nullptr ? *store_.home : store_).held; }
    HeldData* same_elsewhere() const noexcept;
    void lose_to(const HeldData& other) noexcept;

    const StoreConf& store_;
    const std::string& subject_;
    Owner& owner_;
    std::array<char, 40> id_{};
    bool told_ = false;  // it is in the list of its store
    HeldData* next_ = nullptr;
};

}  // namespace rate_limit
