#include "limiter/store/shared_reads.h"

#include <optional>
#include <string>
#include <utility>

#include "core/machine/records/reading.h"
#include "limiter/loop.h"
#include "limiter/store/read.h"
#include "limiter/store/shard.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

/// Milliseconds between looks at what another worker reads.
constexpr Msec look_again = 1;

}  // namespace

/// One window that reports of this worker wait for: this worker reads it, or watches until another one has.
/// Lives while any report waits.
class RunningRead final : private Answer::Owner {
public:
    RunningRead(SharedReads& all, Shard& shard, std::string_view key, const WindowId& id, const ReadAs& as)
        : all_(all), shard_(shard), key_(key), id_(id), as_(as) {}
    ~RunningRead() { give_up(); }
    RunningRead(const RunningRead&) = delete;
    RunningRead& operator=(const RunningRead&) = delete;

    void add(SharedRead& part) noexcept {
        part.running_ = this;
        part.join(parts_);
    }

    /// Takes the reading that is there, or sees to it that there will be one. May end this object.
    void look() noexcept;

    /// A part has left. The last one ends this object.
    void left() noexcept {
        if (parts_.empty()) {
            all_.take_out(id_);
        }
    }

private:
    void on_answer(Answer& answer) noexcept override;
    void give_up() noexcept;
    void finish(const char* failure, const Window& window) noexcept;

    SharedReads& all_;
    Shard& shard_;
    const std::string key_;
    const WindowId id_;
    const ReadAs as_;
    bool reads_ = false;  // it has told the other workers that it reads
    Queue<SharedRead> parts_;
    Timer again_{this, [](void* self) noexcept { static_cast<RunningRead*>(self)->look(); },
                 Timer::Worker::leaves};
    Read read_;
};

void RunningRead::look() noexcept {
    const Millis now = now_millis();
    std::optional<Window> known;
    const bool room =
        all_.zone_.windows().update(reading_id_of(id_), now, [this, &known, now](ReadingRecord& record) {
            known = known_reading(record, now);
            reads_ = !known && begin_reading(record, now, all_.patience_);
        });
    if (known) {
        finish(nullptr, *known);
    } else if (reads_ || !room) {
        read_.start(shard_, key_, Read::From::any_node, *this, as_);
    } else {
        again_.set(look_again);
    }
}

void RunningRead::on_answer(Answer& answer) noexcept {
    const Window window = answer.window();
    if (answer.failure() != nullptr) {
        give_up();
    } else {
        reads_ = false;
        const Millis now = now_millis();
        // Without room each report reads for itself.
        (void)all_.zone_.windows().update(reading_id_of(id_), now, [&window, now](ReadingRecord& record) {
            end_reading(record, window, now);
        });
    }
    finish(answer.failure(), window);
}

void RunningRead::give_up() noexcept {
    if (reads_) {
        reads_ = false;
        all_.zone_.windows().change(reading_id_of(id_), give_up_reading);
    }
}

void RunningRead::finish(const char* failure, const Window& window) noexcept {
    const std::unique_ptr<RunningRead> ended = all_.take_out(id_);
    while (!parts_.empty()) {
        SharedRead& part = parts_.front();
        part.running_ = nullptr;
        failure != nullptr ? part.fail(failure) : part.serve(0, window);
    }
}

void SharedRead::on_give_up() noexcept {
    std::exchange(running_, nullptr)->left();
}

SharedReads::SharedReads(Zone& zone, Deadlines& deadlines, Msec check_timeout) noexcept
    : zone_(zone), deadlines_(deadlines), patience_(static_cast<Millis>(check_timeout)) {}

SharedReads::~SharedReads() = default;

void SharedReads::read(SharedRead& part, Shard& shard, std::string_view key, const WindowId& id,
                       const ReadAs& as, Answer::Owner& owner) noexcept {
    part.begin(deadlines_, nullptr, owner);  // the Read counts it
    const auto found = running_.find(id);
    if (found != running_.end()) {
        found->second->add(part);
        return;
    }
    try {
        auto running = std::make_unique<RunningRead>(*this, shard, key, id, as);
        RunningRead& begun = *running_.emplace(id, std::move(running)).first->second;
        begun.add(part);
        begun.look();
    } catch (...) {
        part.fail("no memory");
    }
}

/// It ends with the pointer.
std::unique_ptr<RunningRead> SharedReads::take_out(const WindowId& id) noexcept {
    auto node = running_.extract(id);
    return node.empty() ? nullptr : std::move(node.mapped());
}

}  // namespace rate_limit
