#include "ngx/wire/addresses.h"

#include <algorithm>
#include <cstring>

#include "ngx/redis_block/address.h"

namespace rate_limit {

Addresses::Addresses(const StoreConf& store, const NodeConf& node, Owner& owner)
    : store_(store), node_(node), owner_(owner), all_(node.addresses) {}

const char* Addresses::reason_of_round(const char* reason, bool broke_handshake) noexcept {
    if (broke_handshake) {
        ngx_cpystrn(reinterpret_cast<u_char*>(broken_handshake_),
                    reinterpret_cast<u_char*>(const_cast<char*>(reason)), sizeof broken_handshake_);
    }
    return broken_handshake_[0] != '\0' ? broken_handshake_ : reason;
}

bool Addresses::names(const Address& address) const noexcept {
    return std::any_of(all_.begin(), all_.end(),
                       [&address](const Address& known) { return same_address(known, address); });
}

bool Addresses::resolve() noexcept {
    if (resolving_ != nullptr) {
        return true;
    }
    if (node_.host.empty() || store_.resolver == nullptr) {
        return false;
    }
    ngx_resolver_ctx_t* context = ngx_resolve_start(store_.resolver, nullptr);
    if (context == nullptr || context == NGX_NO_RESOLVER) {
        return false;
    }
    context->name = str(node_.host);
    context->handler = on_resolved;
    context->data = this;
    context->timeout = store_.resolver_timeout;
    context->cancelable = 1;
    resolving_ = context;
    if (ngx_resolve_name(context) != NGX_OK) {
        resolving_ = nullptr;  // freed by the resolver
        return false;
    }
    return true;
}

void Addresses::on_resolved(ngx_resolver_ctx_t* context) noexcept {
    auto& self = *static_cast<Addresses*>(context->data);
    self.resolving_ = nullptr;
    if (context->state == NGX_OK && context->naddrs > 0) {
        try {
            self.take(*context);
        } catch (...) {
            // without memory the addresses known so far stay
        }
    }
    ngx_resolve_name_done(context);
    self.owner_.on_resolved();
}

void Addresses::take(const ngx_resolver_ctx_t& context) {
    std::vector<Address> found(context.naddrs);
    for (ngx_uint_t i = 0; i < context.naddrs; ++i) {
        found[i].length = context.addrs[i].socklen;
        ngx_memcpy(&found[i].sockaddr, context.addrs[i].sockaddr, context.addrs[i].socklen);
        ngx_inet_set_port(reinterpret_cast<sockaddr*>(&found[i].sockaddr), node_.port);
    }
    // The resolver changes the order with each answer; unsorted, trying in turn would miss addresses.
    std::sort(found.begin(), found.end(), [](const Address& a, const Address& b) {
        return std::memcmp(&a.sockaddr, &b.sockaddr, sizeof a.sockaddr) < 0;
    });
    all_.swap(found);
}

void Addresses::stop() noexcept {
    if (resolving_ != nullptr) {
        ngx_resolve_name_done(resolving_);
        resolving_ = nullptr;
    }
}

}  // namespace rate_limit
