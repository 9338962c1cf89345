#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace rate_limit {

/// A whole Redis reply (RESP2), with all texts and nested arrays: for the few questions whose reply a Reply
/// cannot hold. The functions that fill a Reply record each part here, in the order in which they come. A
/// reply that is too large, too deep, or of types that RESP2 does not have is malformed, and nothing of it is
/// kept.
class TreeReply {
public:
    static constexpr std::size_t max_depth = 5;         ///< nested arrays; the outermost one counts
    static constexpr std::size_t max_values = 500'000;  ///< arrays and what is in them
    static constexpr std::size_t max_text = std::size_t{16} * 1024 * 1024;  ///< bytes, of all texts together
    static constexpr std::size_t most_kept =
        std::size_t{1024} * 1024;  ///< bytes that stay allocated between replies

    enum class Kind : std::uint8_t { nil, integer, bulk, status, error, array };

    class Iterator;

    /// One value of a reply: a cursor, valid until the next clear() or record.
    class Value {
    public:
        Value() = default;  ///< nil

        Kind kind() const noexcept;
        bool is_array() const noexcept { return kind() == Kind::array; }
        bool is_nil() const noexcept { return kind() == Kind::nil; }
        bool is_error() const noexcept { return kind() == Kind::error; }
        bool is_text() const noexcept { return kind() == Kind::bulk || kind() == Kind::status; }

        std::int64_t integer() const noexcept;   ///< 0 unless an integer
        std::string_view text() const noexcept;  ///< empty unless bulk, status or error
        std::size_t count() const noexcept;      ///< how many elements an array has; 0 for all else

        /// Its own text, or all in it, one after the other. Where one ends is lost: values of the same texts
        /// may differ.
        std::string_view texts() const noexcept;

        /// Whether both are the same, with all that is in them.
        bool operator==(const Value& other) const noexcept;
        bool operator!=(const Value& other) const noexcept { return !(*this == other); }

        /// The elements of an array; none for all else.
        Iterator begin() const noexcept;
        Iterator end() const noexcept;

    private:
        friend class TreeReply;
        Value(const TreeReply& tree, std::size_t index) noexcept : tree_(&tree), index_(index) {}

        const TreeReply* tree_ = nullptr;
        std::size_t index_ = 0;
    };

    /// Goes over the elements of an array, and past what is in each of them.
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = Value;
        using difference_type = std::ptrdiff_t;
        using pointer = const Value*;
        using reference = Value;

        Value operator*() const noexcept { return value_; }
        const Value* operator->() const noexcept { return &value_; }
        Iterator& operator++() noexcept;
        bool operator==(const Iterator& other) const noexcept { return value_.index_ == other.value_.index_; }
        bool operator!=(const Iterator& other) const noexcept { return !(*this == other); }

    private:
        friend class TreeReply;
        explicit Iterator(Value value) noexcept : value_(value) {}

        Value value_;
    };

    /// False before the first reply, inside one, and after one that is malformed or that no command waited
    /// for.
    bool is_whole() const noexcept { return !parts_.empty() && depth_ == 0; }

    bool is_malformed() const noexcept { return state_ != State::sound; }

    /// It is malformed for lack of memory, and says nothing of the reply.
    bool lacks_memory() const noexcept { return state_ == State::lacks_memory; }

    /// The whole reply; nil unless is_whole().
    Value root() const noexcept { return is_whole() ? Value(*this, 0) : Value(); }

    /// Forgets the reply. What a large one took is given back.
    void clear() noexcept;

    std::size_t allocated() const noexcept;  ///< bytes

    /// Record the next part of a reply; after clear(), the first one. For lack of memory the reply is
    /// malformed.
    void add_nil() noexcept;
    void add_integer(std::int64_t integer) noexcept;
    void add_text(Kind kind, std::string_view text) noexcept;  ///< bulk, status or error
    void add_array(std::size_t count) noexcept;                ///< the next `count` values are its elements
    void add_unexpected() noexcept;                            ///< a value of a type that RESP2 does not have

private:
    struct Part {
        std::int64_t number = 0;  // an integer; where a text begins; the part behind an array's last
        std::uint32_t size = 0;   // bytes of a text, elements of an array
        Kind kind = Kind::nil;

        bool has_text() const noexcept {
            return kind == Kind::bulk || kind == Kind::status || kind == Kind::error;
        }
    };

    /// An array that more elements belong to.
    struct Open {
        std::size_t index = 0;
        std::size_t missing = 0;
    };

    enum class State : std::uint8_t { sound, malformed, lacks_memory };

    void add_scalar(const Part& part) noexcept;
    bool append(const Part& part) noexcept;
    void refuse(State why = State::malformed) noexcept;
    std::size_t behind(std::size_t index) const noexcept;
    std::string_view text_of(const Part& part) const noexcept {
        return {text_.data() + part.number, part.size};
    }

    std::vector<Part> parts_;  // an array before its elements
    std::string text_;
    std::array<Open, max_depth> open_{};  // the first depth_ of them, the outermost first
    std::size_t depth_ = 0;
    State state_ = State::sound;
};

}  // namespace rate_limit
