#include "bench/simulate/server/value.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rate_limit::simulated {
namespace {

constexpr std::size_t word_size = 8;
constexpr std::size_t bucket_size = 3 * word_size;

const Text no_text;
const std::vector<Field> no_fields;

std::uint64_t read_word(std::string_view bytes) noexcept {
    std::uint64_t word = 0;
    for (const char byte : bytes.substr(0, word_size)) {
        word = word << 8 | static_cast<unsigned char>(byte);
    }
    return word;
}

}  // namespace

Hash::Hash(const Hash& other) : used(other.used), reset(other.reset) {
    if (other.others_ != nullptr) {
        others_ = std::make_unique<std::vector<Field>>(*other.others_);
    }
}

Hash& Hash::operator=(const Hash& other) {
    if (this != &other) {
        *this = Hash(other);
    }
    return *this;
}

const Text& Hash::find(std::string_view name) const noexcept {
    if (name == "used") {
        return used;
    }
    if (name == "reset") {
        return reset;
    }
    for (const Field& field : others()) {
        if (field.name == name) {
            return field.text;
        }
    }
    return no_text;
}

void Hash::set(std::string_view name, Text text) {
    if (name == "used") {
        used = std::move(text);
        return;
    }
    if (name == "reset") {
        reset = std::move(text);
        return;
    }
    if (others_ == nullptr) {
        others_ = std::make_unique<std::vector<Field>>();
    }
    for (Field& field : *others_) {
        if (field.name == name) {
            field.text = std::move(text);
            return;
        }
    }
    others_->push_back({std::string(name), std::move(text)});
}

void Hash::erase(std::string_view name) noexcept {
    if (name == "used") {
        used = Text();
    } else if (name == "reset") {
        reset = Text();
    } else if (others_ != nullptr) {
        const auto is_named = [name](const Field& field) { return field.name == name; };
        const auto found = std::find_if(others_->begin(), others_->end(), is_named);
        if (found != others_->end()) {
            if (&*found != &others_->back()) {
                *found = std::move(others_->back());
            }
            others_->pop_back();
        }
    }
}

std::size_t Hash::size() const noexcept {
    return others().size() + (used ? 1 : 0) + (reset ? 1 : 0);
}

const std::vector<Field>& Hash::others() const noexcept {
    return others_ != nullptr ? *others_ : no_fields;
}

bool BucketBytes::operator==(const BucketBytes& other) const noexcept {
    return full_at == other.full_at && longest == other.longest && returned == other.returned;
}

std::string bytes_of(std::uint64_t word) {
    std::string bytes(word_size, '\0');
    for (std::size_t i = 0; i < word_size; ++i) {
        bytes[i] = static_cast<char>(word >> (56 - 8 * i));
    }
    return bytes;
}

std::string bytes_of(const BucketBytes& bucket) {
    return bytes_of(bucket.full_at) + bytes_of(bucket.longest) + bytes_of(bucket.returned);
}

std::uint64_t first_word(const Value& value) noexcept {
    if (const auto* bucket = std::get_if<BucketBytes>(&value.content)) {
        return bucket->full_at;
    }
    const auto* bytes = std::get_if<std::string>(&value.content);
    if (bytes == nullptr || bytes->empty()) {
        return 0;
    }
    const std::size_t missing = word_size - std::min(word_size, bytes->size());
    return missing < word_size ? read_word(*bytes) << (8 * missing) : 0;
}

void set_first_word(Value& value, std::uint64_t word) {
    if (auto* bucket = std::get_if<BucketBytes>(&value.content)) {
        bucket->full_at = word;
        return;
    }
    std::string bytes = bytes_of(word);
    if (const auto* before = std::get_if<std::string>(&value.content)) {
        bytes += std::string_view(*before).substr(std::min(word_size, before->size()));
    }
    value.content = std::move(bytes);
}

void set_bytes(Value& value, std::string_view bytes) {
    if (bytes.size() == bucket_size) {
        value.content = BucketBytes{read_word(bytes), read_word(bytes.substr(word_size)),
                                    read_word(bytes.substr(2 * word_size))};
    } else {
        value.content = std::string(bytes);
    }
}

}  // namespace rate_limit::simulated
