#pragma once

#include <string>
#include <string_view>

#include "raw_reply.h"
#include "redis/tree_reply.h"

namespace rate_limit {

/// A TreeReply that is filled from the bytes of one reply.
class RawTree {
public:
    explicit RawTree(std::string_view bytes) {
        reply_.use(tree_);
        reply_.feed(bytes);
    }

    const TreeReply& operator*() const { return tree_; }
    const TreeReply* operator->() const { return &tree_; }

private:
    TreeReply tree_;
    RawReply reply_;
};

/// All that a value says, as text: `[1, nil, "bulk", +status, -ERR no, []]`.
inline std::string text_of(TreeReply::Value value) {  // NOLINT(misc-no-recursion)
    switch (value.kind()) {
        case TreeReply::Kind::nil:
            return "nil";
        case TreeReply::Kind::integer:
            return std::to_string(value.integer());
        case TreeReply::Kind::bulk:
            return '"' + std::string(value.text()) + '"';
        case TreeReply::Kind::status:
            return '+' + std::string(value.text());
        case TreeReply::Kind::error:
            return '-' + std::string(value.text());
        case TreeReply::Kind::array:
            break;
    }
    std::string text;
    std::size_t count = 0;
    for (TreeReply::Value element : value) {
        text += (count++ == 0 ? "" : ", ") + text_of(element);
    }
    return '[' + text + ']' + (count == value.count() ? "" : " of another size");
}

inline std::string text_of(const TreeReply& tree) {
    return tree.is_malformed() ? "malformed" : tree.is_whole() ? text_of(tree.root()) : "nothing";
}

}  // namespace rate_limit
