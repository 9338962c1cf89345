#include "limiter/wire/connection/line.h"

#include <utility>

#include "limiter/turn_clock.h"
#include "redis/script_reply.h"

namespace rate_limit {

const char* Line::open(const Address& address) noexcept {
    address_ = address;
    stage_ = Stage::connecting;
    const char* const reason = connection_.open(address);
    if (reason == nullptr) {
        watch_.set(store_.connect_timeout);
        mark_idle();
    }
    return reason;
}

void Line::on_connected() noexcept {
    stage_ = Stage::greeting;
    answer_time_.forget();  // perhaps it is another server
    owner_.on_connected(*this);
    greeting_.begin();
}

void Line::on_greeted() noexcept {
    meet();
    owner_.on_greeted(*this);
}

/// The next command must not wait for an older one's charge_timeout where nothing is unanswered.
void Line::meet() noexcept {
    stage_ = Stage::met;
    if (sent_.empty()) {
        watch_.clear();
    }
}

bool Line::send(Command& command) noexcept {
    bool taken = false;
    try {
        command.skips_answer_ = command.asking_;
        writer_.tell_time(greeting_.tells_time() ? micros_now() : 0);
        taken = (!command.asking_ || connection_.send(writer_.asking())) &&
                connection_.send(command.encode(writer_));
    } catch (...) {
    }
    if (!taken) {
        give_up("it takes no more commands");
        return false;
    }
    const bool was_idle = sent_.empty();
    command.sent_ = msec_now();
    command.excused_ = false;
    measure(command);
    sent_.push(command);
    if (was_idle) {
        mark_idle();
        expect_next();
    }
    if (!watch_.armed()) {
        watch_.set(std::min(patience(), store_.charge_timeout));
    }
    return true;
}

void Line::on_reply(const Reply& reply) noexcept {
    heard_ = msec_now();
    if (sent_.head() != nullptr && sent_.head()->skips_answer_) {
        sent_.head()->skips_answer_ = false;
        if (reply.is_error()) {
            health_.count_asking(reply);
        }
        return;
    }
    Command* const command = take();
    if (command == nullptr) {
        // One answer too many: from here on every answer would go to the wrong command. While one is read in
        // part, the connection takes no command.
        give_up("an answer that no command waits for");
        return;
    }
    measured(*command);
    const std::size_t words = command->words_of_script();
    if (words != 0 && replaced_another_type(reply, words)) {  // whether anybody waits for the answer or not
        health_.count_error(Fault::wrongtype, command->name(), reply);
    }
    owner_.on_answer(*this, *command, reply);
    expect_next();
}

/// The few commands that need all of their reply get a tree for it. Without memory they find none.
void Line::expect_next() noexcept {
    const bool whole = !in_shard_ || (sent_.head() != nullptr && sent_.head()->whole_);
    if (whole == records_) {
        return;
    }
    try {
        whole ? connection_.record_trees() : connection_.record_no_trees();
        records_ = whole;
    } catch (...) {
        records_ = false;
    }
}

/// The oldest command that waits for its answer, or null.
Command* Line::take() noexcept {
    Command* const command = sent_.pop();
    if (sent_.empty()) {
        mark_idle();
    }
    return command;
}

/// One command at a time is measured: the clock is read twice for one answer, however many are on their way.
void Line::measure(Command& command) noexcept {
    command.measured_ = !measuring_;
    if (!measuring_) {
        measuring_ = true;
        since_ = TurnClock::micros();
    }
}

void Line::measured(const Command& command) noexcept {
    if (command.measured_ && measuring_) {
        measuring_ = false;
        const std::uint64_t now = TurnClock::micros();
        answer_time_.add(now - since_, now);
    }
}

void Line::give_back(Node& node) noexcept {
    while (Command* command = take()) {
        command->given_back(node, Delivery::in_doubt, nullptr);
    }
}

void Line::expect_more(bool unsent, bool more) noexcept {
    unsent_ = unsent;
    more_ = more;
    mark_idle();
}

/// nginx may close a connection on which nothing waits, and a worker may leave that waits for no answer. What
/// a sentinel or a seed would say nobody needs by then.
void Line::mark_idle() noexcept {
    connection_.set_idle(sent_.empty() && !unsent_ && !more_);
    watch_.keep_worker(in_shard_ && (unsent_ || !sent_.empty()));
}

void Line::give_up(const char* reason) noexcept {
    owner_.on_broken(*this);
    connection_.close(reason);
}

void Line::on_closed(const char* reason) noexcept {
    measuring_ = false;
    watch_.clear();
    greeting_.end();
    owner_.on_closed(*this, reason);
}

void Line::on_watch(void* self) noexcept {
    Line& line = *static_cast<Line*>(self);
    if (line.stage_ == Stage::met) {
        line.look_at_oldest();
    } else if (line.stage_ == Stage::greeting) {
        line.connection_.close("no answer in connect_timeout");
    } else {
        line.connection_.close(line.connection_.shakes_hands()
                                   ? "the TLS handshake took longer than connect_timeout"
                                   : "connecting took longer than connect_timeout");
    }
}

/// One timer over the unanswered commands, oldest first: they are answered in the order they were sent.
void Line::look_at_oldest() noexcept {
    const Msec patience = this->patience();
    const Msec earliest = std::min(patience, store_.charge_timeout);
    const Msec grace = grace_after(watch_, patience);
    const auto oldest_age = [this] { return sent_.empty() ? 0 : msec_now() - sent_.head()->sent_; };
    if (oldest_age() >= earliest) {
        read_now();  // the answer may have come while this worker was busy
    }
    if (sent_.empty() || watch_.armed()) {
        return;
    }
    const Msec age = oldest_age();
    if (age >= earliest && grace != 0 && !std::exchange(sent_.head()->excused_, true)) {
        watch_.set(grace);
        return;
    }
    if (age >= store_.charge_timeout) {
        connection_.close("no answer in charge_timeout");
        return;
    }
    if (age >= patience) {
        owner_.on_silent(*this);
        if (!is_open()) {
            return;
        }
    }
    watch_.set((age < patience ? earliest : store_.charge_timeout) - age);
}

}  // namespace rate_limit
