#pragma once

#include "core/machine/window_record.h"
#include "core/table/table.h"

namespace rate_limit {

/// What one machine remembers about its windows.
using WindowTable = RecordTable<WindowRecord>;
using WindowSet = WindowTable::Set;

extern template class RecordTable<WindowRecord>;

}  // namespace rate_limit
