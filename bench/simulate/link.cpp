#include "bench/simulate/link.h"

#include <algorithm>

#include "bench/simulate/node.h"
#include "bench/simulate/world.h"

namespace rate_limit::simulated {

void Message::happen() {
    if (dead) {
        link->world_.messages.put_back(*this);
    } else if (is_answer) {
        link->come_back(*this);
    } else {
        link->arrive(*this);
    }
}

Message& Link::take(Command command, Key key, Sender& sender) {
    Message& message = world_.messages.take();
    message = Message();
    message.command = command;
    message.key = key;
    message.sender = &sender;
    message.link = this;
    return message;
}

void Link::send(Message& message) {
    if (!usable_) {
        message.sender->lost(message, false);
        world_.messages.put_back(message);
        return;
    }
    message.before = last_;
    (last_ != nullptr ? last_->after : first_) = &message;
    last_ = &message;
    arrives_ = std::max(arrives_, world_.events.now() + draw(world_.setup.latency, world_.random));
    world_.events.at(arrives_, message);
}

void Link::arrive(Message& message) {
    const Micros done = shard_.execute(message, world_.events.now(), world_.random, world_.measures);
    message.is_answer = true;
    returns_ = std::max(returns_, done + draw(world_.setup.latency, world_.random));
    world_.events.at(returns_, message);
}

void Link::come_back(Message& message) {
    remove(message);
    if (message.sender != nullptr) {
        message.sender->answered(message);
    }
    world_.messages.put_back(message);
}

void Link::remove(Message& message) noexcept {
    (message.before != nullptr ? message.before->after : first_) = message.after;
    (message.after != nullptr ? message.after->before : last_) = message.before;
}

void Link::fail() {
    usable_ = false;
    while (first_ != nullptr) {
        Message& message = *first_;
        remove(message);
        message.dead = true;
        if (message.sender != nullptr) {
            message.sender->lost(message, true);
        }
    }
}

void Link::kill() {
    for (Message* message = first_; message != nullptr; message = message->after) {
        if (message->sender != nullptr) {
            message->sender->killed();
            message->sender = nullptr;
        }
    }
}

}  // namespace rate_limit::simulated
