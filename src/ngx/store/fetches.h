#pragma once

#include <string_view>
#include <unordered_map>

#include "core/machine/debt_record.h"
#include "core/machine/note_walk.h"
#include "ngx/store/check.h"

namespace rate_limit {

class Charges;
class Fetch;
class Nodes;
class Zone;
struct StoreConf;

/// Tokens of one shard's windows, as one worker fetches them from the primary: a batch at a time, one batch
/// at a time for a window. Requests that come meanwhile take a place in it as long as it has places, so
/// nobody waits for tokens that others have spoken for; who finds none asks for itself. What is left goes
/// into the memory of the window, for all workers, and is noted there with its Redis key, so that any worker
/// can give it back.
class Fetches {
public:
    /// `shard` is its name.
    Fetches(const StoreConf& store, std::string_view shard, Nodes& nodes, Charges& charges) noexcept;

    /// The check waits for its tokens. It may have ended when this returns.
    void ask(Check& check) noexcept;

    /// Nobody waits any more: the place is free.
    static void leave(Check& check) noexcept;

    /// Fetches a batch that nobody waits for yet.
    void fetch_ahead(std::string_view key, const Demand& demand) noexcept;

    /// Tokens that a request had come back to those at hand; to the primary, if they cannot be kept.
    /// `demand`, as far as it names the window whose end is `reset`.
    void put_back(std::string_view key, const Demand& demand, std::int64_t tokens, Millis reset) noexcept;

    /// Gives back what of the noted tokens is not needed, or `all` of them: true if any were.
    bool look(const Noted& seen, bool all, Millis now) noexcept;

private:
    friend class Fetch;

    struct HashOfId {
        std::size_t operator()(const WindowId& id) const noexcept { return static_cast<std::size_t>(id.low); }
    };

    Fetch& start(std::string_view key, const Demand& demand);
    void submit(Fetch& fetch) noexcept;
    void close(Fetch& fetch) noexcept;
    void fail(Fetch& fetch, const char* reason) noexcept;
    void settle(Fetch& fetch, std::int64_t granted, const Window& answer) noexcept;
    void keep(const Fetch& fetch, Millis reset, std::int64_t tokens, Millis now) noexcept;
    bool note(std::string_view key, const Demand& demand, Millis reset, std::int64_t tokens,
              Millis now) noexcept;

    const std::uint64_t digest_;  // of the shard
    Nodes& nodes_;
    Charges& charges_;
    Zone& zone_;
    std::unordered_map<WindowId, Fetch*, HashOfId> open_;  // those that more may take places in
};

}  // namespace rate_limit
