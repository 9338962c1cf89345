#include "core/topology/topology.h"

#include <algorithm>
#include <utility>

namespace rate_limit {
namespace {

/// The first byte. Workers of two versions may share a zone: one that changes the format takes another byte.
constexpr char format = '\3';

constexpr unsigned bits_per_byte = 7;
constexpr unsigned char more = 0x80;

/// Appends what a topology consists of to bytes.
class Writer {
public:
    /// Seven bits a byte, the lowest first; all but the last byte have the highest bit set.
    void number(std::uint64_t number) {
        for (; number >= more; number >>= bits_per_byte) {
            bytes.push_back(static_cast<char>(number | more));
        }
        bytes.push_back(static_cast<char>(number));
    }

    void two_bytes(std::uint16_t number) {
        bytes.push_back(static_cast<char>(number & 0xffU));
        bytes.push_back(static_cast<char>(number >> 8U));
    }

    void text(const std::string& text) {
        number(text.size());
        bytes += text;
    }

    void endpoint(const Endpoint& endpoint) {
        text(endpoint.host);
        two_bytes(endpoint.port);
    }

    void endpoints(const std::vector<Endpoint>& all) {
        number(all.size());
        for (const Endpoint& one : all) {
            endpoint(one);
        }
    }

    void group(const Group& group) {
        text(group.name);
        number(group.epoch);
        endpoint(group.primary);
        endpoints(group.replicas);
        number(group.slots.size());
        for (const SlotRange& range : group.slots) {
            two_bytes(range.first);
            two_bytes(range.last);
        }
        number(static_cast<std::uint64_t>(group.unclaimed_since));
        endpoints(group.unfit);
    }

    std::string bytes;
};

/// Takes from the front of bytes what a Writer has appended; each function is false for bytes that none has.
class Parser {
public:
    explicit Parser(std::string_view bytes) : left_(bytes) {}

    bool at_end() const noexcept { return left_.empty(); }

    bool byte(unsigned char& byte) noexcept {
        if (left_.empty()) {
            return false;
        }
        byte = static_cast<unsigned char>(left_.front());
        left_.remove_prefix(1);
        return true;
    }

    bool number(std::uint64_t& number) noexcept {
        number = 0;
        for (unsigned shift = 0; shift < 64; shift += bits_per_byte) {
            unsigned char next = 0;
            if (!byte(next)) {
                return false;
            }
            const std::uint64_t part = next & 0x7fU;
            if (part << shift >> shift != part) {
                return false;  // more than 64 bits
            }
            number |= part << shift;
            if (next < more) {
                return next != 0 || shift == 0;  // no byte too many
            }
        }
        return false;
    }

    bool two_bytes(std::uint16_t& number) noexcept {
        unsigned char low = 0;
        unsigned char high = 0;
        const bool there = byte(low) && byte(high);
        number = static_cast<std::uint16_t>(low | high << 8U);
        return there;
    }

    bool text(std::string& text) {
        std::uint64_t size = 0;
        if (!number(size) || size > left_.size()) {
            return false;
        }
        text = left_.substr(0, size);
        left_.remove_prefix(size);
        return true;
    }

    bool endpoint(Endpoint& endpoint) { return text(endpoint.host) && two_bytes(endpoint.port); }

    bool range(SlotRange& range) noexcept {
        return two_bytes(range.first) && two_bytes(range.last) && range.first <= range.last &&
               range.last < slot_count;
    }

    bool group(Group& group) {
        std::uint64_t since = 0;
        const bool read = text(group.name) && number(group.epoch) && endpoint(group.primary) &&
                          list(group.replicas, &Parser::endpoint) && list(group.slots, &Parser::range) &&
                          number(since) && list(group.unfit, &Parser::endpoint);
        group.unclaimed_since = static_cast<Millis>(since);
        return read;
    }

    /// Each element takes at least one byte, so a count that is too high ends with the bytes.
    template <typename T, typename Read>
    bool list(std::vector<T>& elements, Read read) {
        std::uint64_t count = 0;
        if (!number(count)) {
            return false;
        }
        for (; count > 0; --count) {
            if (!(this->*read)(elements.emplace_back())) {
                return false;
            }
        }
        return true;
    }

private:
    std::string_view left_;
};

bool contains(const std::vector<Endpoint>& all, const Endpoint& one) noexcept {
    return std::find(all.begin(), all.end(), one) != all.end();
}

bool same(const SlotRange& one, const SlotRange& other) noexcept {
    return one.first == other.first && one.last == other.last;
}

bool same(const Group& one, const Group& other) noexcept {
    return one.name == other.name && one.epoch == other.epoch && one.primary == other.primary &&
           one.replicas == other.replicas && one.unfit == other.unfit &&
           one.unclaimed_since == other.unclaimed_since &&
           std::equal(one.slots.begin(), one.slots.end(), other.slots.begin(), other.slots.end(),
                      [](const SlotRange& a, const SlotRange& b) { return same(a, b); });
}

}  // namespace

std::string Endpoint::text() const {
    const std::string end = ":" + std::to_string(port);
    return host.find(':') == std::string::npos ? host + end : "[" + host + "]" + end;
}

void append(std::vector<SlotRange>& ranges, std::uint16_t slot) {
    if (!ranges.empty() && ranges.back().last + 1 == slot) {
        ranges.back().last = slot;
    } else {
        ranges.push_back({slot, slot});
    }
}

bool Topology::names(const Endpoint& node) const noexcept {
    return std::any_of(groups.begin(), groups.end(), [&node](const Group& group) {
        return group.primary == node || contains(group.replicas, node) || contains(group.unfit, node);
    });
}

const Group* find_group(const Topology& topology, std::string_view name, std::size_t likely) noexcept {
    const std::vector<Group>& groups = topology.groups;
    if (likely < groups.size() && groups[likely].name == name) {
        return &groups[likely];
    }
    const auto found =
        std::find_if(groups.begin(), groups.end(), [name](const Group& group) { return group.name == name; });
    return found != groups.end() ? &*found : nullptr;
}

bool operator==(const Topology& one, const Topology& other) noexcept {
    return std::equal(one.groups.begin(), one.groups.end(), other.groups.begin(), other.groups.end(),
                      [](const Group& a, const Group& b) { return same(a, b); });
}

bool operator!=(const Topology& one, const Topology& other) noexcept {
    return !(one == other);
}

std::string encode(const Topology& topology) {
    Writer writer;
    writer.bytes.push_back(format);
    writer.number(topology.groups.size());
    for (const Group& group : topology.groups) {
        writer.group(group);
    }
    return std::move(writer.bytes);
}

bool decode(std::string_view bytes, Topology& topology) {
    topology = Topology{};
    Topology read;
    Parser parser(bytes);
    unsigned char first = 0;
    if (!parser.byte(first) || first != format || !parser.list(read.groups, &Parser::group) ||
        !parser.at_end()) {
        return false;
    }
    topology = std::move(read);
    return true;
}

}  // namespace rate_limit
