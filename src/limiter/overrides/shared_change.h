#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/overrides/shared_text.h"
#include "limiter/overrides/overrides_command.h"
#include "limiter/store_conf.h"
#include "limiter/waits/answer.h"

namespace rate_limit {

class Shard;

/// A change of the overrides that the machines of a store share, which an operator waits for: reads what
/// there is, and replaces it if nobody else has done so meanwhile; else does both again. Then it holds on
/// this machine.
class SharedChange final : public Answer, private OverridesCommand::Owner {
public:
    enum class Trouble : unsigned char {
        none,
        unavailable,  ///< nothing was done
        in_doubt,     ///< it was sent, and nobody knows whether it was done
        conflict,     ///< others were faster, again and again
        full,
    };

    SharedChange() = default;
    ~SharedChange() { cancel(); }

    /// Sets the override, or where `clears` ends that of its subject. `store` shares overrides and outlives
    /// this. The owner may be told within this call. False without memory: it is not told.
    [[nodiscard]] bool start(const StoreConf& store, SharedOverride what, bool clears,
                             Answer::Owner& owner) noexcept;

    /// The arguments of start().
    const SharedOverride& wanted() const noexcept { return what_; }
    bool clears() const noexcept { return clears_; }

    void cancel() noexcept override;

    /// Why failure() is not null.
    Trouble trouble() const noexcept { return trouble_; }

private:
    void deadline_passed() noexcept override;
    void on_overrides(OverridesCommand::Kind kind, Delivery delivery, const Reply* reply) noexcept override;
    bool ask() noexcept;
    void submit(OverridesCommand& command) noexcept;
    void take_read(const Reply& reply);
    void take_written(const Reply& reply);
    void finish(Trouble trouble, const char* failure) noexcept;

    const StoreConf* store_ = nullptr;
    SharedOverride what_;
    bool clears_ = false;
    Answer::Owner* owner_ = nullptr;
    OverridesCommand* command_ = nullptr;  // null: there is no answer to come
    unsigned tries_ = 0;
    std::int64_t version_ = 0;  // that was sent
    std::vector<SharedOverride> all_;
    Trouble trouble_ = Trouble::none;
};

}  // namespace rate_limit
