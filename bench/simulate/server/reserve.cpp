#include <algorithm>
#include <cmath>
#include <string>

#include "bench/simulate/server/numbers.h"
#include "bench/simulate/server/scripts.h"

namespace rate_limit::simulated {
namespace {

constexpr Millis life_of_refused = 60'000;

/// One call of the script: what its local functions share.
class Reservation {
public:
    Reservation(Call& call, const Opening& opening, const Wanted& wanted)
        : call_(call), opening_(opening), wanted_(wanted), numbered_(wanted.call.number != 0) {
        if (numbered_) {
            mine_ = "g:" + std::string(wanted.call.me);
        }
    }

    Reserved make();

private:
    double left_to_grant() const noexcept;
    bool knows_answer(Reserved& answer) const;
    void note_refused();
    Window window() const noexcept { return {used_, open_ ? reset_ : 0}; }

    void read();
    void open_with(std::int64_t count);
    void add(std::int64_t cost);
    void note(std::int64_t count, std::int64_t granted);

    Call& call_;
    const Opening& opening_;
    const Wanted& wanted_;
    const bool numbered_;
    std::string mine_;
    Text stored_reset_;
    Text last_;
    bool open_ = false;
    std::int64_t used_ = 0;
    Millis reset_ = 0;
    std::int64_t back_ = 0;
};

void Reservation::add(std::int64_t cost) {
    if (cost != 0) {
        call_.hincrby_used(cost);
    }
}

void Reservation::note(std::int64_t count, std::int64_t granted) {
    call_.hset_used(Text(count));
    call_.hset(mine_, triple(wanted_.call.number, granted, reset_));
}

void Reservation::open_with(std::int64_t count) {
    call_.hset_used(Text(count));
    call_.hset_reset(Text(opening_.proposed));
    call_.pexpire(opening_.proposed - opening_.now + 1000);
    reset_ = opening_.proposed;
}

void Reservation::read() {
    std::int64_t used = -1;
    reset_ = -1;
    if (const Hash* fields = call_.hash()) {
        used = whole(fields->used);
        reset_ = whole(fields->reset);
        stored_reset_ = fields->reset;
        last_ = numbered_ ? fields->find(mine_) : Text();
    }
    if (used >= 0 && !stored_reset_) {
        open_with(used);
    }
    open_ = used >= 0 && reset_ > opening_.now && reset_ <= opening_.latest;
    // The script has no `of` where it is told none, and a window without a reset is not that of any.
    const bool is_of = (wanted_.back != 0 || numbered_) && stored_reset_ == Text(wanted_.of);
    back_ = open_ && is_of ? std::min(used, wanted_.back) : 0;
    used_ = open_ ? used - back_ : 0;
}

/// True where the same call was made before, or a later one.
bool Reservation::knows_answer(Reserved& answer) const {
    Triple noted;
    const bool read = read_triple(last_, noted);
    const double last = read ? number_of(noted.first) : 0;
    const auto number = static_cast<double>(wanted_.call.number);
    if (last > number && last <= number + longest_remembered) {
        answer = {0, window()};
        return true;
    }
    const bool of_window =
        read && open_ && noted.third == stored_reset_.text() && (used_ > 0 || noted.second == "0");
    if (read && last == number && (noted.third == "0" || of_window)) {
        const double before = number_of(noted.second);
        answer = {lua_integer(std::min(before, static_cast<double>(used_))), window()};
        return true;
    }
    return false;
}

double Reservation::left_to_grant() const noexcept {
    const auto left = static_cast<double>(std::max<std::int64_t>(0, wanted_.limit - used_));
    const double part = std::floor(left / static_cast<double>(wanted_.parts));
    const double most = std::max(static_cast<double>(wanted_.least), part);
    return std::min({static_cast<double>(wanted_.want), left, most});
}

/// Notes a refusal while no window is open.
void Reservation::note_refused() {
    if (numbered_ && wanted_.want == 0) {
        call_.hset(mine_, triple(wanted_.call.number, 0, 0));
        call_.pexpire(life_of_refused);
    }
}

Reserved Reservation::make() {
    if (wanted_.want == 0 && !numbered_ && call_.is_string()) {
        return {};
    }
    call_.replace_string();
    read();
    Reserved answer;
    if (numbered_ && !last_) {
        forget_old(call_, static_cast<double>(opening_.now * 1000) - longest_remembered);
    } else if (numbered_ && knows_answer(answer)) {
        return answer;
    }
    auto granted = static_cast<std::int64_t>(left_to_grant());
    granted = granted < wanted_.least ? 0 : granted;
    if (granted == 0 && !open_) {
        note_refused();
        return {};
    }
    if (!open_) {
        open_with(granted);
    } else if (!numbered_) {
        add(granted - back_);
    }
    if (numbered_) {
        note(used_ + granted, granted);
    }
    return {granted, {used_ + granted, reset_}};
}

}  // namespace

Reserved reserve(Call& call, const Opening& opening, const Wanted& wanted) {
    return Reservation(call, opening, wanted).make();
}

}  // namespace rate_limit::simulated
