#include "ngx/base/zone.h"

#include <algorithm>
#include <new>

#include <openssl/rand.h>

namespace rate_limit {

namespace {

ngx_str_t zone_name = ngx_string("ngx_http_rate_limit_module");

/// Of the zone, a quarter is for charges that wait and notes of tokens, and never more than this: workers
/// walk over it all the time.
constexpr std::size_t waiting_part = 4;
constexpr std::size_t most_waiting = std::size_t{64} * 1024 * 1024;

void (*tokens_noted)() noexcept = nullptr;

/// The zone that the running configuration has; null: it has none. Another tag is that of another copy of
/// this module.
const ngx_shm_zone_t* running_zone() noexcept {
    const auto* part = const_cast<const ngx_list_part_t*>(&ngx_cycle->shared_memory.part);
    for (; part != nullptr; part = part->next) {
        const auto* zones = static_cast<const ngx_shm_zone_t*>(part->elts);
        for (ngx_uint_t i = 0; i < part->nelts; ++i) {
            if (view(zones[i].shm.name) == view(zone_name)) {
                return &zones[i];
            }
        }
    }
    return nullptr;
}

}  // namespace

std::size_t Zone::running_size() noexcept {
    const ngx_shm_zone_t* zone = running_zone();
    return zone == nullptr ? 0 : zone->shm.size;
}

/// Without a master process nginx would unload the other copy, whose timers and requests are in this very
/// process.
ngx_int_t Zone::admit_copy(ngx_conf_t* cf) noexcept {
    const ngx_shm_zone_t* before = running_zone();
    if (ngx_process != NGX_PROCESS_SINGLE || before == nullptr ||
        before->tag == &ngx_http_rate_limit_module) {
        return NGX_OK;
    }
    ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                  "another copy of ngx_http_rate_limit_module cannot be loaded while nginx runs without a "
                  "master process: restart it, or load the same file");
    return NGX_ERROR;
}

ngx_int_t Zone::reserve(ngx_conf_t* cf, std::size_t size) noexcept {
    ngx_shm_zone_t* zone = ngx_shared_memory_add(cf, &zone_name, size, &ngx_http_rate_limit_module);
    if (zone == nullptr) {
        return NGX_ERROR;
    }
    zone->init = init;
    zone->data = this;
    return NGX_OK;
}

/// nginx calls this for memory of its own making, with null, or for what another configuration has in use,
/// with that one's Zone.
ngx_int_t Zone::init(ngx_shm_zone_t* zone, void* previous) noexcept {
    auto& self = *static_cast<Zone*>(zone->data);
    self.enter_process();
    if (previous != nullptr) {
        return self.adopt(*static_cast<const Zone*>(previous), zone->shm.log);
    }
    return self.create(*zone);
}

ngx_int_t Zone::adopt(const Zone& previous, ngx_log_t* log) noexcept {
    for_windows_ = previous.for_windows_;
    for_debts_ = previous.for_debts_;
    if (windows_.attach(for_windows_.at, for_windows_.size) &&
        debts_.attach(for_debts_.at, for_debts_.size)) {
        take_up(*previous.fixed_);
        return NGX_OK;
    }
    ngx_log_error(
        NGX_LOG_EMERG, log, 0,
        "the memory of \"rate_limit_zone\" was made by another version of this module: restart nginx, "
        "or give the zone another size");
    return NGX_ERROR;
}

ngx_int_t Zone::create(ngx_shm_zone_t& zone) noexcept {
    auto* pool = reinterpret_cast<ngx_slab_pool_t*>(zone.shm.addr);
    const std::size_t pages = pool->pfree * ngx_pagesize;
    auto* memory = static_cast<char*>(ngx_slab_alloc(pool, pages));  // of fresh pages: all zero
    HashKey key;
    if (memory == nullptr || RAND_bytes(reinterpret_cast<unsigned char*>(&key), sizeof key) != 1) {
        ngx_log_error(NGX_LOG_EMERG, zone.shm.log, 0, "\"rate_limit_zone\": no %s",
                      memory == nullptr ? "memory: enlarge it" : "random numbers");
        return NGX_ERROR;
    }
    take_up(*new (memory) Fixed{});
    constexpr std::size_t lines = (sizeof(Fixed) + DebtTable::alignment - 1) / DebtTable::alignment;
    constexpr std::size_t first_part = lines * DebtTable::alignment;
    memory += first_part;
    const std::size_t room = pages - first_part;
    for_debts_.size =
        std::min(room / waiting_part, most_waiting) / DebtTable::alignment * DebtTable::alignment;
    for_debts_.at = memory;
    for_windows_.size = room - for_debts_.size;
    for_windows_.at = memory + for_debts_.size;
    if (!windows_.create(for_windows_.at, for_windows_.size, key) ||
        !debts_.create(for_debts_.at, for_debts_.size, key)) {
        ngx_log_error(NGX_LOG_EMERG, zone.shm.log, 0, "\"rate_limit_zone\" is too small: enlarge it");
        return NGX_ERROR;
    }
    return compare_with_running(zone);
}

/// nginx keeps the memory only for the same size and the same copy of the module.
ngx_int_t Zone::compare_with_running(const ngx_shm_zone_t& zone) noexcept {
    const ngx_shm_zone_t* before = running_zone();
    if (before == nullptr) {
        return NGX_OK;
    }
    if (before->tag != zone.tag) {
        ngx_log_error(
            NGX_LOG_WARN, zone.shm.log, 0,
            "\"rate_limit_zone\" will be of another copy of this module: it starts anew, local windows "
            "and waiting charges of before are forgotten");
        return NGX_OK;
    }
    if (ngx_process == NGX_PROCESS_SINGLE) {
        // nginx unmaps the old memory at once, while requests of this very process still use it.
        ngx_log_error(
            NGX_LOG_EMERG, zone.shm.log, 0,
            "\"rate_limit_zone\" cannot get another size while nginx runs without a master process: "
            "restart it, or keep %uz bytes",
            before->shm.size);
        return NGX_ERROR;
    }
    ngx_log_error(
        NGX_LOG_WARN, zone.shm.log, 0,
        "\"rate_limit_zone\" will be of %uz bytes, not %uz: it starts anew, local windows and waiting "
        "charges of before are forgotten",
        zone.shm.size, before->shm.size);
    return NGX_OK;
}

void Zone::take_up(Fixed& fixed) noexcept {
    fixed_ = &fixed;
    used_up_.take_up(fixed.used_up);
    debt_counts_.take_up(fixed.debt_counts);
    walk_.take_up(fixed.walk);
}

void Zone::on_tokens(void (*call)() noexcept) noexcept {
    tokens_noted = call;
}

void Zone::note_tokens() noexcept {
    walk_.note();
    if (tokens_noted != nullptr) {
        tokens_noted();
    }
}

bool Zone::leave() noexcept {
    last_ = last_ || windows_.leave(static_cast<std::uint32_t>(ngx_parent));
    return last_;
}

void Zone::enter_process() noexcept {
    const LockUser user{process_of(static_cast<std::uint32_t>(ngx_pid)), is_alive};
    windows_.set_user(user);
    debts_.set_user(user);
}

}  // namespace rate_limit
