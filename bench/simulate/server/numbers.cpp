#include "bench/simulate/server/numbers.h"

#include <vector>

namespace rate_limit::simulated {

void forget_old(Call& call, double oldest) {
    const Hash* fields = call.hash();
    if (fields == nullptr || fields->size() <= many_fields || fields->size() % forgotten_each != 0) {
        return;
    }
    std::vector<std::string> old;
    for (const Field& field : fields->others()) {
        if (is_number_of_call(field.name) && leading_digits(field.text) < oldest) {
            old.push_back(field.name);
        }
    }
    for (const std::string& field : old) {
        call.hdel(field);
    }
}

}  // namespace rate_limit::simulated
