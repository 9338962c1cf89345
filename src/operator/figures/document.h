#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limiter/loop.h"

namespace rate_limit {

/// A document of the console, written piece by piece: with many limits the whole takes longer than a turn of
/// the event loop may.
class Document {
public:
    Document() = default;
    Document(const Document&) = delete;
    Document& operator=(const Document&) = delete;
    virtual ~Document() = default;

    /// Writes the next piece, which takes far less than a millisecond. False: the last one is written. Throws
    /// std::bad_alloc.
    virtual bool write_more() = 0;

    /// The text, once it is written. To be called once.
    virtual std::string take() = 0;
};

/// Writes the whole document at once: for what is short. Throws std::bad_alloc.
inline std::string write_whole(Document& document) {
    while (document.write_more()) {
    }
    return document.take();
}

/// A document as a queue of pieces, which write into a `Text` one after the other; a piece may add others at
/// the end. Functions throw std::bad_alloc.
template <typename Text>
class Pieces : public Document {
public:
    /// `end` is static: what follows the last piece.
    explicit Pieces(std::string_view end = {}) noexcept : end_(end) {}

    /// Adds a piece that is called again as long as it is true.
    void add_some(std::function<bool(Text& text)> piece) { pieces_.push_back(std::move(piece)); }

    /// Adds a piece: piece(text).
    template <typename Piece>
    void add(Piece piece) {
        add_some([piece](Text& text) {
            piece(text);
            return false;
        });
    }

    /// Adds a piece for each of `all`, which are looked at when it is their turn: write(text, each).
    template <typename Each, typename Write>
    void add_each(const std::vector<Each>& all, Write write) {
        add_some([&all, write, next = std::size_t{0}](Text& text) mutable {
            if (next < all.size()) {
                write(text, all[next++]);
            }
            return next < all.size();
        });
    }

    bool write_more() override {
        if (!pieces_.front()(text_)) {
            pieces_.pop_front();
        }
        return !pieces_.empty();
    }

    std::string take() override { return text_.take().append(end_); }

private:
    const std::string_view end_;
    Text text_;
    std::deque<std::function<bool(Text& text)>> pieces_;
};

/// The time that one request for an operator may take of a turn of the event loop: its last step comes on
/// top.
class Turn {
public:
    Turn() noexcept : begun_(steady_nanos()) {}

    bool spent() const noexcept { return steady_nanos() - begun_ >= longest; }

private:
    static constexpr std::int64_t longest = 500'000;  // ns

    const std::int64_t begun_;
};

}  // namespace rate_limit
