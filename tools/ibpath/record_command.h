// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibpath RECORD [OPERAND...] [FIELD=VALUE...]`: any record of subnet administration.
#pragma once

#include "tools/ibpath/command_context.h"
#include "tools/ibpath/records.h"

namespace ibpath {

ib::Result<Job> plan_record(const RecordKind& kind, Words words);

}  // namespace ibpath
