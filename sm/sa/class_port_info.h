// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the SA says of itself (IBA 15.2.5.1). Its capability bits follow from what is served, so
// that they tell the truth.
#pragma once

#include "libdiag/wire/gmp_attributes.h"

namespace sm::sa {

ib::wire::ClassPortInfo class_port_info(std::uint8_t resp_time_value, bool multicast = true);

}  // namespace sm::sa
