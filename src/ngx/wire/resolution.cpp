#include "limiter/wire/connection/addresses.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ngx/base/ngx.h"
#include "ngx/redis_block/store_block.h"

namespace rate_limit {

namespace {

ngx_resolver_ctx_t* of_nginx(Resolution::Question* question) noexcept {
    return reinterpret_cast<ngx_resolver_ctx_t*>(question);
}

std::vector<Address> addresses_in(const ngx_resolver_ctx_t& context) {
    std::vector<Address> found;
    for (std::size_t i = 0; context.state == NGX_OK && i < context.naddrs; ++i) {
        found.push_back(address_of(*context.addrs[i].sockaddr, context.addrs[i].socklen));
    }
    return found;
}

}  // namespace

bool Resolution::ask(const StoreConf& store, const std::string& host) noexcept {
    ngx_resolver_t* const resolver = block_of(store).resolver;
    ngx_resolver_ctx_t* context = resolver != nullptr ? ngx_resolve_start(resolver, nullptr) : nullptr;
    if (context == nullptr || context == NGX_NO_RESOLVER) {
        return false;
    }
    context->name = str(host);
    context->handler = [](ngx_resolver_ctx_t* answered) noexcept {
        auto& self = *static_cast<Resolution*>(answered->data);
        self.question_ = nullptr;
        std::vector<Address> found;
        try {
            found = addresses_in(*answered);
        } catch (...) {
            // without memory nobody knows
        }
        ngx_resolve_name_done(answered);
        self.owner_.on_resolved(found.data(), found.size());
    };
    context->data = this;
    context->timeout = block_of(store).resolver_timeout;
    context->cancelable = 1;
    question_ = reinterpret_cast<Question*>(context);
    if (ngx_resolve_name(context) != NGX_OK) {
        question_ = nullptr;  // freed by the resolver
        return false;
    }
    return true;
}

void Resolution::stop() noexcept {
    if (asking()) {
        ngx_resolve_name_done(of_nginx(std::exchange(question_, nullptr)));
    }
}

}  // namespace rate_limit
