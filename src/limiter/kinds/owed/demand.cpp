#include "limiter/kinds/owed/demand.h"

#include "limiter/worker.h"

namespace rate_limit {

std::string_view write(CommandWriter& writer, const Opening& opening, const Demand& demand, Wanted wanted,
                       bool with_text) {
    if (demand.of_bucket()) {
        const Draw draw{demand.token, demand.fill, wanted.want, wanted.least, wanted.parts};
        return writer.draw(opening.key, draw, with_text);
    }
    wanted.call.me = worker_id();
    return writer.reserve(opening, wanted, with_text);
}

}  // namespace rate_limit
