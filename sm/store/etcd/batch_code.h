// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A Batch as bytes, for stores that keep values and not rows: a mark with the version, a section
// for each kind of change that there is, by its name, with rows as the file has them (kinds.h), and
// a sum over all of it. A section that is not known is of a newer release, and the batch is
// refused: half of one is none.
#pragma once

#include <string>
#include <string_view>

#include "libdiag/base/result.h"
#include "sm/store/store.h"

namespace sm::store::etcd {

std::string encode(const Batch& batch);

/// Malformed: damaged. Unavailable: a newer release wrote it.
ib::Result<Batch> decode(std::string_view bytes);

}  // namespace sm::store::etcd
