// Whatever lies in shared memory, only the bytes of a topology are one; and every topology of slots that a
// cluster has comes back from its bytes, and from no part of them.

#include <cstdint>
#include <string>
#include <string_view>

#include <fuzzer/FuzzedDataProvider.h>

#include "core/topology/topology.h"
#include "require.h"

namespace rate_limit {
namespace {

void check_bytes(std::string_view bytes) {
    Topology topology;
    topology.groups.resize(2);
    if (decode(bytes, topology)) {
        require(encode(topology) == bytes);
    } else {
        require(topology == Topology{});
    }
}

Endpoint endpoint_of(FuzzedDataProvider& data) {
    return {data.ConsumeRandomLengthString(300), data.ConsumeIntegral<std::uint16_t>()};
}

Topology topology_of(FuzzedDataProvider& data) {
    Topology topology;
    while (data.remaining_bytes() > 0 && topology.groups.size() < 300) {
        Group& group = topology.groups.emplace_back();
        group.name = data.ConsumeRandomLengthString(300);
        group.epoch = data.ConsumeIntegral<std::uint64_t>();
        group.primary = endpoint_of(data);
        while (data.ConsumeBool()) {
            group.replicas.push_back(endpoint_of(data));
        }
        while (data.ConsumeBool()) {
            group.unfit.push_back(endpoint_of(data));
        }
        while (data.ConsumeBool()) {
            const auto first = data.ConsumeIntegralInRange<std::uint16_t>(0, slot_count - 1);
            group.slots.push_back({first, data.ConsumeIntegralInRange<std::uint16_t>(first, slot_count - 1)});
        }
    }
    return topology;
}

void check_topology(FuzzedDataProvider& data) {
    const auto part = data.ConsumeIntegral<std::uint16_t>();
    const Topology topology = topology_of(data);
    const std::string bytes = encode(topology);
    Topology again;
    require(decode(bytes, again) && again == topology);
    require(!decode(bytes.substr(0, part % bytes.size()), again) && again == Topology{});
    require(!decode(bytes + '\0', again));
}

}  // namespace
}  // namespace rate_limit

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace rate_limit;
    check_bytes({reinterpret_cast<const char*>(bytes), size});
    FuzzedDataProvider data(bytes, size);
    check_topology(data);
    return 0;
}
