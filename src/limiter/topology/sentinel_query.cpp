#include "limiter/topology/sentinel_query.h"

#include "core/free_list.h"
#include "limiter/store_conf.h"
#include "limiter/wire/node/node.h"

namespace rate_limit {

bool SentinelQuery::ask(Owner& owner, Node& sentinel, Kind kind, std::size_t shard,
                        const ShardConf& conf) noexcept {
    try {
        SentinelQuery& query = FreeList<SentinelQuery>::common().take();
        query.owner_ = &owner;
        query.conf_ = &conf;
        query.shard_ = shard;
        query.kind_ = kind;
        sentinel.submit(query);
        return true;
    } catch (...) {
        return false;
    }
}

std::string_view SentinelQuery::encode(CommandWriter& writer) {
    switch (kind_) {
        case Kind::master:
            return writer.sentinel_master(conf_->master);
        case Kind::replicas:
            return writer.sentinel_replicas(conf_->master);
        default:
            return writer.sentinel_sentinels(conf_->master);
    }
}

const char* SentinelQuery::name() const noexcept {
    return kind_ == Kind::master     ? "SENTINEL MASTER"
           : kind_ == Kind::replicas ? "SENTINEL REPLICAS"
                                     : "SENTINEL SENTINELS";
}

void SentinelQuery::answered(Node& node, Delivery delivery, const Reply* reply) noexcept {
    Owner& owner = *owner_;
    const Kind kind = kind_;
    const std::size_t shard = shard_;
    FreeList<SentinelQuery>::common().put_back(*this);
    owner.on_answer(kind, shard, node, delivery == Delivery::answered ? reply : nullptr);
}

}  // namespace rate_limit
