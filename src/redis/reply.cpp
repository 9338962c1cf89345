#include "redis/reply.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>

#include "core/decimal.h"

namespace rate_limit {
namespace {

constexpr std::string_view stray_text = "a reply that no command waits for";

/// An integer as Redis itself reads one: no plus sign, no leading zeros, no "-0".
bool parse_integer(std::string_view text, std::int64_t& integer) noexcept {
    const std::string_view digits = text.substr(text.substr(0, 1) == "-" ? 1 : 0);
    if (digits.substr(0, 1) == "0" && text != "0") {
        return false;
    }
    if (parse_digits(text, integer)) {
        return true;
    }
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data(), end, integer);
    return error == std::errc() && stop == end;
}

ReplyValue value_of(std::string_view text) noexcept {
    ReplyValue value;
    if (parse_integer(text, value.integer)) {
        value.kind = ReplyValue::Kind::integer;
    } else {
        value.integer = 0;
    }
    return value;
}

void set_text(Reply& reply, std::string_view text) noexcept {
    reply.text_length = std::min(text.size(), Reply::max_text - 1);
    if (reply.text_length > 0) {
        std::memcpy(reply.text.data(), text.data(), reply.text_length);
    }
    reply.text[reply.text_length] = '\0';
    reply.head.str = reply.text.data();
    reply.head.len = reply.text_length;
}

Reply& reply_of(const redisReadTask* task) noexcept {
    return *static_cast<Reply*>(task->privdata);
}

bool is_top(const redisReadTask* task) noexcept {
    return task->parent == nullptr;
}

/// Begins a new top-level reply of `type`. If it is a stray one, it becomes an error.
void begin(Reply& reply, int type) noexcept {
    reply.head = redisReply{};
    reply.malformed = false;
    reply.count = 0;
    reply.values = {};
    set_text(reply, {});
    if (reply.tree != nullptr) {
        reply.tree->clear();
    }

    if (reply.context != nullptr && reply.context->replies.head == nullptr) {
        reply.stray = true;
    }
    reply.head.type = type;
    if (reply.stray && type != REDIS_REPLY_ERROR) {
        reply.head.type = REDIS_REPLY_ERROR;
        set_text(reply, stray_text);
    }
}

/// The tree that takes in the parts of this reply; null: none does.
TreeReply* tree_of(const Reply& reply) noexcept {
    return reply.stray ? nullptr : reply.tree;
}

void add_text(TreeReply& tree, int type, std::string_view text) noexcept {
    switch (type) {
        case REDIS_REPLY_STRING:
            return tree.add_text(TreeReply::Kind::bulk, text);
        case REDIS_REPLY_STATUS:
            return tree.add_text(TreeReply::Kind::status, text);
        case REDIS_REPLY_ERROR:
            return tree.add_text(TreeReply::Kind::error, text);
        default:
            return tree.add_unexpected();
    }
}

/// Stores one scalar: the whole reply, or an element of an array. Elements of nested arrays may overwrite
/// others: that does no harm, as the reply is malformed then.
void store(Reply& reply, const redisReadTask* task, const ReplyValue& value) noexcept {
    std::size_t index = 0;
    if (is_top(task)) {
        reply.count = 1;
    } else {
        index = static_cast<std::size_t>(task->idx);
    }
    if (index < Reply::max_elements) {
        reply.values[index] = value;
    }
}

void* create_string(const redisReadTask* task, char* str, std::size_t length) noexcept {
    Reply& reply = reply_of(task);
    const std::string_view text(str, length);
    if (is_top(task)) {
        begin(reply, task->type);
        if (!reply.stray || task->type == REDIS_REPLY_ERROR) {
            set_text(reply, text);
        }
    } else if (task->type == REDIS_REPLY_ERROR) {
        reply.malformed = true;
    }
    if (task->type == REDIS_REPLY_VERB || task->type == REDIS_REPLY_BIGNUM) {
        reply.malformed = true;
    }
    store(reply, task, task->type == REDIS_REPLY_STRING ? value_of(text) : ReplyValue{});
    if (TreeReply* tree = tree_of(reply)) {
        add_text(*tree, task->type, text);
    }
    return &reply;
}

void* create_array(const redisReadTask* task, std::size_t elements) noexcept {
    Reply& reply = reply_of(task);
    if (is_top(task)) {
        begin(reply, task->type);
        reply.count = std::min(elements, Reply::max_elements);
        reply.malformed = task->type != REDIS_REPLY_ARRAY || elements > Reply::max_elements;
    } else {
        reply.malformed = true;
    }
    if (TreeReply* tree = tree_of(reply)) {
        task->type == REDIS_REPLY_ARRAY ? tree->add_array(elements) : tree->add_unexpected();
    }
    return &reply;
}

void* create_integer(const redisReadTask* task, long long integer) noexcept {
    Reply& reply = reply_of(task);
    if (is_top(task)) {
        begin(reply, REDIS_REPLY_INTEGER);
        reply.head.integer = integer;
    }
    store(reply, task, {ReplyValue::Kind::integer, integer});
    if (TreeReply* tree = tree_of(reply)) {
        tree->add_integer(integer);
    }
    return &reply;
}

void* create_nil(const redisReadTask* task) noexcept {
    Reply& reply = reply_of(task);
    if (is_top(task)) {
        // The type is not task->type, which is ARRAY for a null array.
        begin(reply, REDIS_REPLY_NIL);
    }
    store(reply, task, {ReplyValue::Kind::nil, 0});
    if (TreeReply* tree = tree_of(reply)) {
        tree->add_nil();
    }
    return &reply;
}

/// Takes a scalar that exists in RESP3 only: the reply is malformed, as the module never asks for RESP3.
void* create_unexpected(const redisReadTask* task) noexcept {
    Reply& reply = reply_of(task);
    if (is_top(task)) {
        begin(reply, task->type);
    }
    reply.malformed = true;
    store(reply, task, ReplyValue{});
    if (TreeReply* tree = tree_of(reply)) {
        tree->add_unexpected();
    }
    return &reply;
}

void* create_double(const redisReadTask* task, double, char*, std::size_t) noexcept {
    return create_unexpected(task);
}

void* create_bool(const redisReadTask* task, int) noexcept {
    return create_unexpected(task);
}

/// Does nothing: the owner of the connection owns the Reply, too.
void free_object(void*) noexcept {}

}  // namespace

redisReplyObjectFunctions reply_functions = {create_string, create_array, create_integer, create_double,
                                             create_nil,    create_bool,  free_object};

void use_reply(redisAsyncContext* context, Reply& reply) noexcept {
    reply.context = context;
    reply.stray = false;
    context->c.reader->fn = &reply_functions;
    context->c.reader->privdata = &reply;
}

}  // namespace rate_limit
