#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/limit/window.h"
#include "core/overrides/known_overrides.h"
#include "core/overrides/override.h"
#include "core/text/form.h"
#include "limiter/configuration.h"
#include "limiter/kinds/kind.h"
#include "limiter/loop.h"
#include "limiter/overrides/shared_change.h"
#include "limiter/store/awaited_refund.h"
#include "limiter/store/read.h"
#include "limiter/store/store.h"
#include "limiter/tallies/tallies.h"
#include "limiter/waits/answer.h"
#include "operator/acts/act_result.h"
#include "operator/serving.h"

namespace rate_limit {

struct Act;

/// A window that a key may have, and how far an act has come with it.
struct AskedWindow : KeyWindow {
    AskedWindow() = default;
    ~AskedWindow() {
        if (elsewhere != nullptr) {
            std::for_each(elsewhere->begin(), elsewhere->end(),
                          [](RegionPart& part) { part.read.abandon(); });
        }
    }
    AskedWindow(const AskedWindow&) = delete;
    AskedWindow& operator=(const AskedWindow&) = delete;

    Window window;  ///< told by the primary, or by this machine's memory
    Read read;
    AwaitedRefund refund;
    Elsewhere* elsewhere =
        nullptr;           ///< in other regions, which are shown, and not changed; null: there are none
    bool meant = false;    ///< the act is about it
    bool done = false;     ///< the act has been done to it
    bool changed = false;  ///< by the act, or it may have been

    Shard& shard() const noexcept { return place.store->at(place.route); }
};

/// One key under one limit of one store, with all windows that it may have there.
struct KeyOfLimit {
    const Tally& tally;
    std::uint64_t id = 0;  ///< the id that the console shows
    std::vector<std::unique_ptr<AskedWindow>> windows;
    bool away = false;                ///< the store did not answer: what its windows are is not known
    std::optional<Override> before;   ///< the override that an act has changed, as it was
    std::optional<OverrideScope> on;  ///< where an act has changed overrides
};

/// How far an act has gone over its limits, and what it looks up meanwhile.
struct LimitWalk {
    std::size_t next = 0;
    using LimitsByName = std::unordered_map<std::string_view, std::vector<const Limit*>>;
    using OverridesBySubject = std::unordered_map<OverrideSubject, Override, HashOfSubject>;

    LimitsByName named;  ///< in the order of their lines
    OverridesBySubject overrides;
};

/// A limit whose override an act could not change.
struct Unchanged {
    const KeyOfLimit* limit;
    ActError error;
    std::string why;  ///< sentences
};

/// The request by which an operator has posted an act.
class Poster {
public:
    Poster() = default;
    Poster(const Poster&) = delete;
    Poster& operator=(const Poster&) = delete;

    virtual std::string_view address() const noexcept = 0;  ///< the client's
    virtual std::string_view user() const noexcept = 0;     ///< who it says it is; empty: nobody
    virtual Log& log() const noexcept = 0;
    virtual RequestMemory& memory() const noexcept = 0;  ///< lives as long as the act

    /// The answers that the act waited for are there: it goes on in an event of its own, in this turn of the
    /// event loop.
    virtual void resume() noexcept = 0;

protected:
    ~Poster() = default;
};

/// One act of an operator, or a look-up, from the form that was posted to what it came to. The request waits
/// for stores as others do, but goes on to its end also where the client has left.
class Acting final : private Answer::Owner {
public:
    /// `main` and `poster` outlive it. Throws std::bad_alloc.
    Acting(const Configuration& main, OperatorRights rights, Poster& poster, Form form);

    /// Goes on as far as it can: true when the result is there. Else the request has to wait(). Throws
    /// std::bad_alloc.
    bool go_on();

    /// Lets the request wait: it is resumed when all answers are there, or in the next turn where the act
    /// rests.
    void wait() noexcept;

    Poster& poster() const noexcept { return poster_; }
    const Configuration& main() const noexcept { return main_; }
    const OperatorRights& rights() const noexcept { return rights_; }
    const Form& form() const noexcept { return form_; }

    /// The key, as posted, or that of a posted id, as it reaches limits; empty: there is none, or its text is
    /// not known.
    const std::string& key() const noexcept { return key_; }

    /// The id under one limit, where that alone is known of the key; else 0.
    std::uint64_t id() const noexcept { return id_; }

    bool is_of_key() const noexcept { return !key_.empty() || id_ != 0; }

    /// The names that limits must have; empty: any.
    std::string_view limit() const noexcept { return limit_; }
    std::string_view store() const noexcept { return store_; }

    bool is_named() const noexcept { return form_.find("limit") != nullptr; }

    /// Overrides are changed on this machine alone.
    bool is_here_alone() const noexcept { return form_.find("on") != nullptr; }

    /// How far the act has come: as it says itself, 0 at first.
    int step = 0;

    /// Over the limits; of a look-up in as many turns of the event loop as it takes.
    LimitWalk walk;

    /// The limits that the act concerns, once found.
    std::vector<std::unique_ptr<KeyOfLimit>> limits;

    /// A change of overrides that machines share; null: the act makes none.
    std::unique_ptr<SharedChange> shared;

    Override wanted;                   ///< of a change of overrides; its kind is none where they end
    std::vector<Unchanged> unchanged;  ///< limits whose overrides it could not change

    ActResult result;

    /// For what the act asks: the request waits for one more answer.
    Answer::Owner& expect_answer() noexcept {
        ++pending_;
        return *this;
    }
    bool waiting() const noexcept { return pending_ != 0; }

    /// The act goes on in another turn: others go first.
    void rest() noexcept { rests_ = true; }

    /// The act ends here.
    void fail(ActError error, std::string description) {
        result = ActResult::failed(error, std::move(description));
    }

private:
    void on_answer(Answer& answer) noexcept override;
    bool check_fields();
    bool check_act();
    bool check_id();
    bool is_bad(std::string description);
    static void on_next_turn(void* self) noexcept;

    const Configuration& main_;
    const OperatorRights rights_;
    Poster& poster_;
    const Form form_;
    std::string key_;
    std::uint64_t id_ = 0;
    std::string limit_;
    std::string store_;
    const Act* act_ = nullptr;  // null: the fields have not been looked at
    std::size_t pending_ = 0;
    bool going_on_ = false;  // an answer that comes at once does not resume the request
    bool rests_ = false;
    Timer next_turn_{this, on_next_turn, Timer::Worker::stays};
};

// The acts. Each goes on as far as it can, by Acting::step; false: it waits for answers, and is called again
// when they are there. True: Acting::result is there. All throw std::bad_alloc.

/// Shows the windows of a key, of one limit or of all. Other acts end with it: what they have changed is
/// shown.
bool look_up(Acting& acting);

/// Gives back all that is used.
bool reset_window(Acting& acting);

/// Gives back a part.
bool give_back_part(Acting& acting);

/// Sets the override that the act is called after, of the key or of the limit, for a while; `clear` ends the
/// one of the key, or without a key that of the limit. Of a key it does so for all limits, if none is named.
bool change_override(Acting& acting);

/// Logs, at `notice` and with the client's address, what an operator has done to the limit, or to a key under
/// it, and the reason that was given: `what` says what was and what is. The key itself only under keys=plain.
void log_act(const Acting& acting, const KeyOfLimit& limit, std::string_view what) noexcept;

}  // namespace rate_limit
