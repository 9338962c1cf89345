#pragma once

#include <cstddef>
#include <string_view>

#include "limiter/loop.h"
#include "redis/command.h"
#include "redis/reply.h"

namespace rate_limit {

class Node;

/// How far a command got.
enum class Delivery : unsigned char {
    answered,
    unsent,    ///< it never left: it may be sent elsewhere or again
    in_doubt,  ///< it was sent and the connection ended before the answer: perhaps it took effect
};

/// Something to ask a node. It belongs to the node from Node::submit() until answered(), which the node calls
/// exactly once.
class Command {
public:
    /// The command's bytes, valid until the next use of `writer`. Called when it is about to be sent.
    virtual std::string_view encode(CommandWriter& writer) = 0;

    /// The command, or the script that it calls: static text for log lines.
    virtual const char* name() const noexcept = 0;

    /// The Redis key of the window that it is about, as redis/keys/window_key.h writes it; empty: it is about
    /// none. Asked as soon as the command is sent.
    virtual std::string_view window_key() const noexcept { return {}; }

    /// How many elements the answer of the script that it calls has, where that script may replace another
    /// type: the node logs that it has. 0: it calls no such script.
    virtual std::size_t words_of_script() const noexcept { return 0; }

    /// False when no request waits for the answer any more and the command need not be sent. It cannot be
    /// encoded then.
    virtual bool wanted() const noexcept { return true; }

    /// Whether another node may be sent it, where this one says that it serves the slot.
    virtual bool redirectable() const noexcept { return true; }

    /// It is about to be sent to a node to which its slot is being moved, and which may lack its script.
    virtual void before_ask() noexcept {}

    /// `reply` is null unless `delivery` is answered, and valid only during the call.
    virtual void answered(Node& node, Delivery delivery, const Reply* reply) noexcept = 0;

protected:
    /// `whole`: the reply has a tree, which takes in all of it.
    explicit Command(bool whole = false) noexcept : whole_(whole) {}
    ~Command() = default;

    /// Whether another node has sent it on to the one that it is about to be sent to.
    bool redirected() const noexcept { return redirects_ != 0; }

    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

private:
    /// Its way ends here: its owner may submit it again, as a new one.
    void given_back(Node& node, Delivery delivery, const Reply* reply) noexcept {
        redirects_ = 0;
        asking_ = false;
        answered(node, delivery, reply);
    }

    friend class Line;
    friend class Node;
    friend class CommandQueue;
    const bool whole_;
    Command* next_ = nullptr;
    Msec sent_ = 0;
    bool excused_ = false;         // it was overdue when the worker itself was late
    bool asking_ = false;          // ASKING goes before it
    bool skips_answer_ = false;    // that of ASKING comes first
    bool measured_ = false;        // the line measures how long its answer takes
    unsigned char redirects_ = 0;  // since its owner submitted it
};

/// A first-in-first-out list of commands, linked through themselves.
class CommandQueue {
public:
    bool empty() const noexcept { return head_ == nullptr; }
    Command* head() const noexcept { return head_; }
    std::size_t size() const noexcept { return size_; }

    void push(Command& command) noexcept {
        command.next_ = nullptr;
        (tail_ != nullptr ? tail_->next_ : head_) = &command;
        tail_ = &command;
        ++size_;
    }

    Command* pop() noexcept {
        Command* command = head_;
        if (command != nullptr) {
            head_ = command->next_;
            tail_ = head_ == nullptr ? nullptr : tail_;
            --size_;
        }
        return command;
    }

private:
    Command* head_ = nullptr;
    Command* tail_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace rate_limit
