// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PortInfo in libibmad's words, as smpquery and saquery print it.
#pragma once

#include <string>
#include <string_view>

#include "libdiag/wire/smp_attributes.h"

namespace ibpath {

std::string port_info_text(const ib::wire::PortInfo& port, std::string_view indent, bool keys);

}  // namespace ibpath
