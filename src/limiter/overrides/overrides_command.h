#pragma once

#include <string>
#include <vector>

#include "limiter/wire/node/script_command.h"

namespace rate_limit {

/// A question or an order to the primary about the overrides that machines share. It belongs to the node
/// until it is answered.
class OverridesCommand final : public ScriptCommand {
public:
    enum class Kind : unsigned char {
        version,  ///< HMGET version
        whole,    ///< HGETALL
        change,   ///< lua/overrides.lua
    };

    class Owner {
    public:
        /// It is over. `reply` is null unless `delivery` is answered. The node has been told what the reply
        /// says of it.
        virtual void on_overrides(Kind kind, Delivery delivery, const Reply* reply) noexcept = 0;

    protected:
        ~Owner() = default;
    };

    OverridesCommand() noexcept : ScriptCommand(true) {}

    bool wanted() const noexcept override { return owner != nullptr; }
    void answered(Node& node, Delivery delivery, const Reply* reply) noexcept override;

    /// One to submit. The owner is told, perhaps within Node::submit(), unless `owner` is set to null before.
    /// Throws std::bad_alloc.
    static OverridesCommand& make(Kind kind, std::string_view key, Owner& owner);

    /// Makes one of Kind::change, with the arguments of the script.
    static OverridesCommand& change(std::string_view key, std::vector<std::string> arguments, Owner& owner);

    /// It is not submitted: the owner is not told.
    void give_up() noexcept;

    Owner* owner = nullptr;
    Kind kind = Kind::version;
    bool sent = false;  ///< it may have reached the primary

private:
    std::string_view write(CommandWriter& writer) override;
    static void put_back(OverridesCommand& command) noexcept;

    std::string key_;
    std::vector<std::string> arguments_;
};

}  // namespace rate_limit
