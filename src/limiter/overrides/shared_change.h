#pragma once

#include <string>
#include <vector>

#include "core/overrides/override.h"
#include "limiter/overrides/overrides_command.h"
#include "limiter/store_conf.h"
#include "limiter/waits/answer.h"

namespace rate_limit {

class Shard;
struct SharedOverrides;

/// A change of one of the overrides that the machines of a store share, which an operator waits for: reads
/// what there is, for it may be damaged, and makes the change. Then it holds on this machine.
class SharedChange final : public Answer, private OverridesCommand::Owner {
public:
    enum class Trouble : unsigned char {
        none,
        unavailable,  ///< nothing was done
        in_doubt,     ///< it was sent, and nobody knows whether it was done
        full,
    };

    SharedChange() = default;
    ~SharedChange() { cancel(); }

    /// Sets the override, or where its kind is none ends that of its subject, whose field is write_field().
    /// `store` shares overrides and outlives this. The owner may be told within this call. False without
    /// memory: it is not told.
    [[nodiscard]] bool start(const StoreConf& store, const Override& what, std::string field,
                             Answer::Owner& owner) noexcept;

    const Override& wanted() const noexcept { return what_; }
    bool clears() const noexcept { return what_.kind == OverrideKind::none; }

    void cancel() noexcept override;

    /// Why failure() is not null.
    Trouble trouble() const noexcept { return trouble_; }

private:
    void deadline_passed() noexcept override;
    void on_overrides(OverridesCommand::Kind kind, Delivery delivery, const Reply* reply) noexcept override;
    void submit(OverridesCommand& command) noexcept;
    void take_read(const Reply& reply);
    void take_written(const Reply& reply);
    void take_own(const SharedOverrides& shared) noexcept;
    void finish(Trouble trouble, const char* failure) noexcept;

    const StoreConf* store_ = nullptr;
    Override what_;
    std::string field_;
    OverridesCommand* command_ = nullptr;  // null: there is no answer to come
    Nanos asked_ = 0;                      // when that was submitted
    Trouble trouble_ = Trouble::none;
};

}  // namespace rate_limit
