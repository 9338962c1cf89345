#pragma once

#include <cstdint>
#include <optional>

#include "bench/simulate/link.h"
#include "bench/simulate/machine.h"
#include "core/machine/window_account.h"

namespace rate_limit::simulated {

class Mode;
class World;

/// The result of recall(): as in src/limiter/modes/applied_limit.h.
enum class Recalled : std::uint8_t { nothing, used_up, admitted, to_confirm };

/// A request's part of its window until it is charged or gives it back: as in
/// src/limiter/modes/applied_limit.h.
struct Holding {
    enum class Kind : std::uint8_t { nothing, in_flight, reserved, token };

    Kind kind = Kind::nothing;
    Ticket ticket = 0;
    Millis reset = 0;
};

/// One request of one limit, which costs 1, from its arrival until it is settled.
struct Request final : Happening, Sender {
    void begin();

    /// The response is over.
    void happen() override;

    void answered(Message& message) override;
    void lost(Message& message, bool sent) override;
    void killed() override;

    /// A fetch has a token for it, or none.
    void served(std::int64_t tokens, const Window& found);

    /// Nobody can say.
    void failed();

    void pass();
    void reject();
    void deny();

    Machine& machine() const noexcept { return worker->machine(); }
    Channel& channel() const noexcept { return worker->channel(key); }
    Terms terms() const noexcept { return machine().terms(); }

    World* world = nullptr;
    const Mode* mode = nullptr;
    Worker* worker = nullptr;
    std::uint32_t life = 0;  // the worker's
    Key key = 0;
    WindowId id;
    Micros response = 0;  // once it is admitted

    Recalled recalled = Recalled::nothing;
    bool doubtful = false;
    bool open = false;
    std::uint32_t events = 0;
    Window shown;
    Holding holding;
    Millis open_until = 0;  // charge_refund: as in src/limiter/charges/demand.h
    std::int64_t back = 0;  // the part of a plain increment beyond the limit
};

}  // namespace rate_limit::simulated
