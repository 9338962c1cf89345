#pragma once

#include <new>

#include "core/body/body_reader.h"
#include "ngx/conf/body_field.h"

namespace rate_limit {

/// One body as far as it has been read: the reader, and behind it a value for each field.
class BodyReading {
public:
    /// Null without memory.
    static BodyReading* create(ngx_pool_t& pool, const FieldSet& set, BodyKind kind) noexcept {
        const std::size_t size = sizeof(BodyReading) + set.fields.size() * sizeof(BodyValue);
        void* memory = ngx_palloc(&pool, size);
        return memory != nullptr ? new (memory) BodyReading(set, kind) : nullptr;
    }

    /// Reads the part of the chain that is in memory.
    void read(const ngx_chain_t* chain) noexcept {
        for (; chain != nullptr; chain = chain->next) {
            if (ngx_buf_in_memory(chain->buf)) {
                read(view({static_cast<std::size_t>(chain->buf->last - chain->buf->pos), chain->buf->pos}));
            }
        }
    }

    void read(std::string_view piece) noexcept { reader_.read(piece); }

    /// The body is whole.
    void end() noexcept {
        reader_.end();
        whole_ = true;
    }
    bool whole() const noexcept { return whole_; }

    /// Whether it is whole, and a body of its kind.
    bool good() const noexcept { return whole_ && reader_.good(); }

    const FieldSet& set() const noexcept { return set_; }

    const BodyValue& value(std::size_t field) const noexcept {
        return reinterpret_cast<const BodyValue*>(this + 1)[field];
    }

private:
    BodyReading(const FieldSet& set, BodyKind kind) noexcept
        : set_(set), reader_(set.fields, kind, ::new (this + 1) BodyValue[set.fields.size()]) {}

    const FieldSet& set_;
    BodyReader reader_;
    bool whole_ = false;
};

/// Gives a variable a copy of the text: what it is a part of may change before the variable is used.
/// NGX_ERROR without memory.
inline ngx_int_t set_copy(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                          std::string_view text) noexcept {
    auto* copy = static_cast<u_char*>(ngx_pnalloc(r->pool, text.size() + 1));
    if (copy == nullptr) {
        return NGX_ERROR;
    }
    ngx_memcpy(copy, text.data(), text.size());
    value->data = copy;
    value->len = static_cast<unsigned>(text.size());
    value->valid = 1;
    value->not_found = 0;
    value->no_cacheable = 0;
    return NGX_OK;
}

}  // namespace rate_limit
