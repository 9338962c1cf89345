#include "core/machine/window_table.h"

namespace rate_limit {

template class RecordTable<WindowRecord>;

}  // namespace rate_limit
