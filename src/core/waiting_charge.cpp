#include "core/waiting_charge.h"

namespace rate_limit {

template class RecordTable<WaitingCharge>;

}  // namespace rate_limit
