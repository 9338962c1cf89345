#include "core/machine/records/debt_record.h"

namespace rate_limit {

template class RecordTable<DebtRecord>;

}  // namespace rate_limit
