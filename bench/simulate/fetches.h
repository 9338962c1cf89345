#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "bench/simulate/link.h"
#include "core/machine/tokens.h"

namespace rate_limit::simulated {

class Charges;
class Fetches;
class Worker;
struct Request;

/// A batch of tokens, or what one request asks for itself: as in src/limiter/leases/fetch.h.
struct Fetch final : Sender {
    void answered(Message& message) override;
    void lost(Message& message, bool sent) override;
    void killed() override;

    Fetches* of = nullptr;
    Key key = 0;
    std::vector<Request*> seats;  // first come first served; each wants one token
    std::int64_t unclaimed = 0;
    std::int64_t want = 0;
    std::int64_t least = 0;
    std::int64_t number = 0;  // 0: it cannot be made twice
    std::uint32_t events = 0;
};

/// Tokens of one shard's windows, as one worker fetches them: as in src/limiter/leases/fetches.h, where each
/// request costs one token, and batches are of `auto` size.
class Fetches {
public:
    Fetches(World& world, Worker& worker, simulated::Link& primary, Charges& charges) noexcept
        : world_(world), worker_(worker), primary_(primary), charges_(charges) {}

    /// The request waits for a token.
    void fetch(Request& request);

    /// Fetches a batch that nobody waits for yet.
    void fetch_ahead(Key key);

    /// Asks again what became of batches that were not answered.
    void ask_again();

    /// The worker was killed.
    void kill();

private:
    friend struct Fetch;

    struct Sharing {
        std::vector<Request*> waiting;
        std::vector<Request*> served;
        std::int64_t left_here = 0;
    };

    /// A batch that was not answered.
    struct Unanswered {
        std::int64_t number = 0;
        std::int64_t want = 0;
    };

    Fetch& take(Key key, bool& opens);
    Fetch& start(Key key, std::int64_t want);
    void submit(Fetch& fetch);
    void close(const Fetch& fetch) noexcept;
    void fail(Fetch& fetch);
    void hand_out(Fetch& fetch, std::int64_t granted, const Window& answer);
    bool hand_out_here(const Fetch& fetch, std::int64_t granted, const Window& answer, Sharing& sharing);
    void hand_out_there(const Fetch& fetch, std::int64_t granted, const Window& answer, Sharing& sharing);
    void tell(Sharing& sharing, const Window& answer, bool too_late);

    World& world_;
    Worker& worker_;
    simulated::Link& primary_;
    Charges& charges_;
    std::unordered_map<Key, Fetch*> open_;  // in which more requests may take seats
    std::unordered_map<Key, Unanswered> unanswered_;
};

}  // namespace rate_limit::simulated
