#pragma once

#include <cstdint>
#include <string_view>

#include "core/bucket/bucket_tokens.h"
#include "core/machine/windows/window_account.h"
#include "limiter/leases/grant_command.h"
#include "limiter/loop.h"
#include "limiter/waits/shared_grant.h"

namespace rate_limit {

class Fetch;
class Fetches;
struct Sharing;

/// The terms, as of now, of the tokens that the demand's limit leases.
inline TokenTerms terms_of_tokens(const Demand& demand) noexcept {
    return terms_of_tokens(demand.token, demand.fill, demand.life, fresh_ticks());
}

/// A request's place in a fetch. Its window() counts neither its own tokens nor those at hand.
class Seat final : public SharedGrant<Seat> {
public:
    Seat() = default;
    ~Seat() { cancel(); }

    /// When granted tokens of a bucket die.
    Ticks tokens_end() const noexcept { return end_; }

private:
    friend class Fetch;
    friend class Fetches;
    friend struct Sharing;

    /// Its tokens are for others.
    void on_give_up() noexcept override;

    std::string_view key_;
    const Demand* demand_ = nullptr;
    Fetch* fetch_ = nullptr;  // null: in none
    Ticks end_ = 0;
};

/// A batch, or what one request asks for itself. Belongs to the node until it is answered; the requests that
/// wait for it may be gone by then, and the tokens are kept all the same.
class Fetch final : public GrantCommand {
public:
    using GrantCommand::demand;
    using GrantCommand::key;
    using GrantCommand::parts;

    bool wanted() const noexcept override { return ahead || !seats.empty(); }
    void answered(Node& node, Delivery delivery, const Reply* reply) noexcept override;

    void add(Seat& seat) noexcept {
        seat.fetch_ = this;
        unclaimed -= seat.demand_->want;
        seat.join(seats);
    }

    /// The seats leave for `others`, and this ends: none of them refers to it any more.
    void move_seats(Queue<Seat>& others) noexcept {
        for (Seat* seat = seats.first(); seat != nullptr; seat = seats.after(*seat)) {
            seat->fetch_ = nullptr;
        }
        others.take_all(seats);
    }

    /// Whether half of it is spoken for before it is answered, and not by requests of one instant, which say
    /// nothing of the speed: it will not last twice as long as the answer takes.
    bool is_short() const noexcept {
        const bool later = static_cast<std::int32_t>(ticks_now() - asked) > 0;
        return !demand.fixed() && demand.want != 0 && unclaimed * 2 <= demand.want && later;
    }

    Fetches* fetches = nullptr;
    Queue<Seat> seats;           // first come first served
    std::int64_t unclaimed = 0;  // tokens that are for no seat yet
    bool ahead = false;          // it is sent also if no request waits for it
    std::uint32_t pace = 0;      // of a window's batches, as core/machine/windows/tokens.h has it
    bool is_counted = false;     // the bucket's record counts it as on its way
    std::uint32_t events = 0;    // the record's, when this began
    Millis known = 0;            // and the end of its window; 0: it had none
    Ticks asked = 0;             // its grant is not older than this

private:
    friend class Fetches;
};

inline void Seat::on_give_up() noexcept {
    if (fetch_ != nullptr) {
        fetch_->unclaimed += demand_->want;
        fetch_ = nullptr;
    }
}

/// How a fetch that was answered is shared among the requests.
struct Sharing {
    explicit Sharing(Fetch& fetch) noexcept { fetch.move_seats(waiting); }

    /// Serves each request, first come first served, for which take(demand) is true.
    template <typename Take>
    void serve(Take&& take) noexcept {
        for (Seat* seat = waiting.first(); seat != nullptr;) {
            Seat* next = waiting.after(*seat);
            if (take(*seat->demand_)) {
                handed_out += seat->demand_->want;
                Queue<Seat>::remove(*seat);
                served.push(*seat);
            }
            seat = next;
        }
    }

    /// Serves each request for which so many tokens are left.
    void serve_from(std::int64_t& left) noexcept {
        serve([&left](const Demand& demand) {
            const bool enough = demand.want <= left;
            left -= enough ? demand.want : 0;
            return enough;
        });
    }

    Queue<Seat> waiting;
    Queue<Seat> served;
    std::int64_t handed_out = 0;  // tokens, to those that are served
    std::int64_t left_here = 0;   // at hand for anybody after that
    std::int64_t used = 0;        // tokens used in the window, those handed out included
    Ticks end = 0;                // when tokens handed out of a bucket die
    Ticks left_until = 0;         // when those left die
};

}  // namespace rate_limit
