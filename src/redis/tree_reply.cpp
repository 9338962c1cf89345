#include "redis/tree_reply.h"

namespace rate_limit {

TreeReply::Kind TreeReply::Value::kind() const noexcept {
    return tree_ == nullptr ? Kind::nil : tree_->parts_[index_].kind;
}

std::int64_t TreeReply::Value::integer() const noexcept {
    return kind() == Kind::integer ? tree_->parts_[index_].number : 0;
}

std::string_view TreeReply::Value::text() const noexcept {
    if (!is_text() && !is_error()) {
        return {};
    }
    return tree_->text_of(tree_->parts_[index_]);
}

std::size_t TreeReply::Value::count() const noexcept {
    return is_array() ? tree_->parts_[index_].size : 0;
}

std::string_view TreeReply::Value::texts() const noexcept {
    if (tree_ == nullptr) {
        return {};
    }
    std::size_t begin = 0;
    std::size_t end = 0;
    for (std::size_t i = index_; i < tree_->behind(index_); ++i) {
        const Part& part = tree_->parts_[i];
        if (part.has_text()) {
            begin = end == 0 ? static_cast<std::size_t>(part.number) : begin;
            end = static_cast<std::size_t>(part.number) + part.size;
        }
    }
    return {tree_->text_.data() + begin, end - begin};
}

bool TreeReply::Value::operator==(const Value& other) const noexcept {
    if (tree_ == nullptr || other.tree_ == nullptr) {
        return is_nil() && other.is_nil();
    }
    // Arrays of equal sizes whose elements are equal end at the same place.
    const Part* part = &tree_->parts_[index_];
    const Part* const end = tree_->parts_.data() + tree_->behind(index_);
    const Part* of_other = &other.tree_->parts_[other.index_];
    for (; part != end; ++part, ++of_other) {
        if (part->kind != of_other->kind || part->size != of_other->size ||
            (part->kind == Kind::integer && part->number != of_other->number) ||
            (part->has_text() && tree_->text_of(*part) != other.tree_->text_of(*of_other))) {
            return false;
        }
    }
    return true;
}

TreeReply::Iterator TreeReply::Value::begin() const noexcept {
    return is_array() ? Iterator(Value(*tree_, index_ + 1)) : Iterator(*this);
}

TreeReply::Iterator TreeReply::Value::end() const noexcept {
    return is_array() ? Iterator(Value(*tree_, tree_->behind(index_))) : Iterator(*this);
}

TreeReply::Iterator& TreeReply::Iterator::operator++() noexcept {
    value_.index_ = value_.tree_->behind(value_.index_);
    return *this;
}

void TreeReply::clear() noexcept {
    parts_.clear();
    text_.clear();
    if (allocated() > most_kept) {
        // Swapped: a string that an empty one is assigned to keeps its memory.
        std::vector<Part>().swap(parts_);
        std::string().swap(text_);
    }
    depth_ = 0;
    state_ = State::sound;
}

std::size_t TreeReply::allocated() const noexcept {
    return parts_.capacity() * sizeof(Part) + text_.capacity();
}

void TreeReply::add_nil() noexcept {
    add_scalar({});
}

void TreeReply::add_integer(std::int64_t integer) noexcept {
    add_scalar({integer, 0, Kind::integer});
}

void TreeReply::add_text(Kind kind, std::string_view text) noexcept {
    if (is_malformed() || text.size() > max_text - text_.size()) {
        refuse();
        return;
    }
    const std::size_t begin = text_.size();
    try {
        text_ += text;
    } catch (...) {
        refuse(State::lacks_memory);
        return;
    }
    add_scalar({static_cast<std::int64_t>(begin), static_cast<std::uint32_t>(text.size()), kind});
}

void TreeReply::add_array(std::size_t count) noexcept {
    // Refused before its elements come, so that they take no memory.
    if (depth_ == max_depth || count > max_values - parts_.size()) {
        refuse();
        return;
    }
    const std::size_t index = parts_.size();
    if (count == 0) {
        add_scalar({static_cast<std::int64_t>(index + 1), 0, Kind::array});
    } else if (append({0, static_cast<std::uint32_t>(count), Kind::array})) {
        open_.at(depth_) = {index, count};
        ++depth_;
    }
}

void TreeReply::add_unexpected() noexcept {
    refuse();
}

/// Appends a part that has no elements, and closes the arrays that end with it.
void TreeReply::add_scalar(const Part& part) noexcept {
    if (!append(part)) {
        return;
    }
    for (; depth_ > 0 && open_.at(depth_ - 1).missing == 0; --depth_) {
        parts_[open_.at(depth_ - 1).index].number = static_cast<std::int64_t>(parts_.size());
    }
}

bool TreeReply::append(const Part& part) noexcept {
    if (is_malformed() || is_whole() || parts_.size() == max_values) {
        refuse();
        return false;
    }
    try {
        parts_.push_back(part);
    } catch (...) {
        refuse(State::lacks_memory);
        return false;
    }
    if (depth_ > 0) {
        --open_.at(depth_ - 1).missing;
    }
    return true;
}

/// The first reason counts: what follows is refused for it.
void TreeReply::refuse(State why) noexcept {
    const State first = is_malformed() ? state_ : why;
    clear();
    state_ = first;
}

/// The index of the part that follows the one at `index` and all that is in it.
std::size_t TreeReply::behind(std::size_t index) const noexcept {
    const Part& part = parts_[index];
    return part.kind == Kind::array ? static_cast<std::size_t>(part.number) : index + 1;
}

}  // namespace rate_limit
