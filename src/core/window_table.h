#pragma once

#include "core/record_table.h"
#include "core/window_record.h"

namespace rate_limit {

/// What one machine remembers of its windows.
using WindowTable = RecordTable<WindowRecord>;
using WindowSet = WindowTable::Set;

extern template class RecordTable<WindowRecord>;

}  // namespace rate_limit
