#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/limit/window.h"
#include "limiter/kinds/owed/read_as.h"
#include "limiter/store/remote_window.h"
#include "limiter/waits/answer.h"
#include "redis/script_reply.h"

namespace rate_limit {

class Node;
class ReadCommand;
class Shard;
struct Reply;

/// One read of one window, from as many nodes as it takes: a replica first; at once after a failure also the
/// next node; and, while the shard's hedges last, where a node is silent for three times as long as it mostly
/// takes, one that may be expected to answer sooner, and in time. The first answer counts.
class Read final : public Answer {
public:
    using From = ReadAs::From;

    Read() noexcept = default;
    ~Read() { cancel(); }

    /// `key`, the window's Redis key, stays valid while it waits. A bucket is read as the instant when it is
    /// full, as bucket_account.h has it, and slots by held(). A penalty is read as a window that ends when
    /// the penalty does; {0, 0}: none runs. Buckets, with their penalties, and slots are asked of the primary
    /// alone, as the clocks of replicas differ and only the primary runs scripts.
    void start(Shard& shard, std::string_view key, From from, Owner& owner, const ReadAs& as = {}) noexcept;

    /// Answers that come after the end of the wait, to the reads that start from now on, are remembered
    /// there; it outlives the wait.
    void remember_late(const RemoteWindow* window) noexcept { late_ = window; }

    void cancel() noexcept override;

    /// Whether the answer is of a node that was the primary then.
    bool by_primary() const noexcept { return by_primary_; }

    /// How many slots of the key machines hold.
    const Held& held() const noexcept { return held_; }

private:
    friend class ReadCommand;

    static constexpr std::size_t most_commands = 3;  // unanswered at a time

    /// The time after which another node may be asked, too.
    class Hedge final : public rate_limit::Deadline {
    public:
        explicit Hedge(Read& read) noexcept : read_(read) {}

    private:
        void deadline_passed() noexcept override { read_.hedge(); }

        Read& read_;
    };

    struct Asked {
        std::array<const Node*, most_commands> nodes{};
        std::size_t count = 0;
    };

    void deadline_passed() noexcept override { finish(too_late); }
    Asked nodes_asked() const noexcept;
    Node* choose(const Asked& asked) const noexcept;
    bool ask_next() noexcept;
    bool ask(Node& node) noexcept;
    void hedge() noexcept;
    std::optional<Deadlines::Wait> hedge_after(const Node& node) const noexcept;
    void hedge_in(std::optional<Deadlines::Wait> wait) noexcept;
    void stop_hedging() noexcept;
    void answered(ReadCommand& command, Node& node, const Reply& reply) noexcept;
    void lost(ReadCommand& command) noexcept;
    void led_nowhere(ReadCommand& command) noexcept;
    void finish_if_alone(const char* failure) noexcept;
    void forget(ReadCommand& command) noexcept;
    void let_go() noexcept;
    void finish(const char* failure) noexcept;

    Shard* shard_ = nullptr;
    std::string_view key_;
    From from_ = From::any_node;
    ReadAs as_;
    const RemoteWindow* late_ = nullptr;  // null: what comes late is dropped
    bool hedges_ = false;                 // hedge_ waits
    bool by_primary_ = false;
    const char* refusal_ = nullptr;  // by a node, for want of a right; null: none refused it
    Held held_;
    std::array<ReadCommand*, most_commands> commands_{};  // null: none
    Hedge hedge_{*this};
};

}  // namespace rate_limit
