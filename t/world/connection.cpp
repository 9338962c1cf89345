#include "limiter/wire/connection/connection.h"

#include <deque>
#include <utility>

#include <hiredis/async.h>

#include "limiter/turn_clock.h"
#include "redis/common_reply.h"
#include "redis/tree_reply.h"
#include "redis/unread.h"
#include "t/world/loop.h"
#include "t/world/network.h"

namespace rate_limit {

using world::Loop;
using world::Network;
using world::Wire;

namespace {

/// Bytes that are not parsed yet, or a reply whose type is read but not its end.
bool has_partial_reply(const redisReader& reader) noexcept {
    return reader.pos < reader.len || (reader.ridx >= 0 && reader.task[0]->type != -1);
}

}  // namespace

/// The client's side of a simulated connection: hiredis's reader and this project's decoders, with no socket.
class Connection::Socket final : private world::Caller {
public:
    explicit Socket(Owner& owner) : owner_(owner) {
        context_.replies.head = nullptr;
        reply_.context = &context_;
    }
    ~Socket() { close("destroyed"); }

    const char* open(const Address& address) {
        reader_.reset(redisReaderCreateWithFunctions(&reply_functions));
        reader_->privdata = &reply_;
        reply_.stray = false;
        reason_ = nullptr;
        connected_ = false;
        waiting_ = 0;
        context_.replies.head = nullptr;
        address_ = world::text_of(address);
        wire_ = Network::current().connect(address, *this);
        if (Loop::observer() != nullptr) {
            Loop::observer()->on_connect(address_);
        }
        return nullptr;
    }

    bool send(std::string_view command) {
        if (wire_ == nullptr || reason_ != nullptr) {
            return false;
        }
        if (waiting_ == 0 && has_partial_reply(*reader_)) {
            return false;  // nobody waits for that reply: its rest would be this command's answer
        }
        unwritten_.append(command);
        ++waiting_;
        if (Loop::observer() != nullptr) {
            Loop::observer()->on_command(address_, command);
            sent_.emplace_back(command);
        }
        context_.replies.head = &callback_;
        if (connected_ && !flush_.armed()) {
            flush_.set_to_end_of_turn();
        }
        return true;
    }

    void write_now() {
        if (connected_ && reason_ == nullptr && !unwritten_.empty() && !loop_.cut_off) {
            wire_->send(std::exchange(unwritten_, {}));
        }
        flush_.clear();
    }

    void close(const char* reason) {
        if (wire_ == nullptr || reason_ != nullptr) {
            return;
        }
        reason_ = reason;
        if (!reading_) {
            end(reason);
        }
    }

    bool is_open() const noexcept { return wire_ != nullptr; }
    bool gathers() const noexcept { return flush_.armed(); }

    TreeReply* trees() {
        tree_ = tree_ != nullptr ? std::move(tree_) : std::make_unique<TreeReply>();
        return tree_.get();
    }

    Reply reply_;

private:
    void on_connected() noexcept override {
        loop_.turn([this] {
            connected_ = true;
            owner_.on_connected();
            write_now();
        });
    }

    void on_bytes(std::string_view bytes) noexcept override {
        loop_.turn([this, bytes] {
            TurnClock::move_on();
            (void)redisReaderFeed(reader_.get(), bytes.data(), bytes.size());
            reading_ = true;
            const char* failure = read();
            reading_ = false;
            failure = failure != nullptr ? failure : bound_unread(*reader_);
            if (reason_ != nullptr || failure != nullptr) {
                end(reason_ != nullptr ? reason_ : failure);
            }
        });
    }

    void on_lost(const char* reason) noexcept override {
        loop_.turn([this, reason] { end(reason); });
    }

    bool stalls() const noexcept override { return loop_.stalls(); }
    std::size_t machine() const noexcept override { return loop_.machine; }

    /// Null, or why the connection cannot go on.
    const char* read() {
        while (reason_ == nullptr) {
            void* reply = nullptr;
            if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
                return "Protocol error";
            }
            if (reply == nullptr) {
                return nullptr;
            }
            if (reply_.head.type == REDIS_REPLY_PUSH) {
                continue;
            }
            waiting_ -= waiting_ != 0 ? 1 : 0;
            tell_fate(&reply_);
            owner_.on_reply(reply_);
            context_.replies.head = waiting_ != 0 ? &callback_ : nullptr;
        }
        return nullptr;
    }

    void end(const char* reason) {
        const auto wire = std::exchange(wire_, nullptr);
        wire->close();
        connected_ = false;
        unwritten_.clear();
        flush_.clear();
        reason_ = nullptr;
        while (!sent_.empty()) {
            tell_fate(nullptr);
        }
        owner_.on_closed(reason);
    }

    /// The fate of the first command that had none.
    void tell_fate(const Reply* reply) {
        if (Loop::observer() != nullptr && !sent_.empty()) {
            Loop::observer()->on_fate(sent_.front(), reply);
        }
        if (!sent_.empty()) {
            sent_.pop_front();
        }
    }

    static void on_flush(void* self) noexcept {
        static_cast<Socket*>(self)->write_now();
        TurnClock::move_on();
    }

    Owner& owner_;
    Loop& loop_ = Loop::current();
    std::string address_;         // of the last one to which it was opened
    std::shared_ptr<Wire> wire_;  // null: there is no connection
    std::unique_ptr<redisReader, void (*)(redisReader*)> reader_{nullptr, redisReaderFree};
    redisAsyncContext context_{};  // in which the decoder looks whether a command waits
    redisCallback callback_{};
    std::unique_ptr<TreeReply> tree_;
    std::string unwritten_;
    const char* reason_ = nullptr;  // why it is being closed; null: it is not
    bool connected_ = false;
    bool reading_ = false;
    std::size_t waiting_ = 0;       // commands without an answer
    std::deque<std::string> sent_;  // these, where somebody observes
    Timer flush_{this, on_flush, Timer::Worker::leaves};
};

Connection::Connection(Owner& owner, const StoreConf& /*store*/, const std::string& /*peer*/)
    : socket_(std::make_unique<Socket>(owner)) {}

Connection::~Connection() = default;

void Connection::record_trees() {
    socket_->reply_.tree = socket_->trees();
}

void Connection::record_no_trees() noexcept {
    socket_->reply_.tree = nullptr;
}

const char* Connection::open(const Address& address) noexcept {
    return socket_->open(address);
}

bool Connection::is_open() const noexcept {
    return socket_->is_open();
}

bool Connection::shakes_hands() const noexcept {
    return false;
}

bool Connection::broke_handshake() const noexcept {
    return false;
}

bool Connection::send(std::string_view command) noexcept {
    return socket_->send(command);
}

void Connection::write_now() noexcept {
    socket_->write_now();
}

/// Whatever has arrived has been read: bytes come to the worker at once.
void Connection::read_now() noexcept {}

void Connection::close(const char* reason) noexcept {
    socket_->close(reason);
}

bool Connection::gathers() const noexcept {
    return socket_->gathers();
}

void Connection::set_idle(bool /*idle*/) noexcept {}

}  // namespace rate_limit
