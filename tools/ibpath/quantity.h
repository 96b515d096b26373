// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Fields whose values are quantities of which a code stands for each: MTUs in bytes, rates in Gb/s,
// widths in lanes. A bare number is the quantity; a code is written in hexadecimal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "libdiag/wire/registry.h"

namespace ibpath {

using Names = std::span<const ib::wire::NamedValue>;

/// Some of the names are quantities ("2048", "100 Gb/s", "4X").
bool are_quantities(Names names);

/// The code of "100", "100Gb/s" or "100 gbps"; none: no code has it, or it is no quantity.
std::optional<std::uint64_t> code_of_quantity(Names names, std::string_view text);

/// What fits instead: the names next to a quantity that no code has, or all of them.
std::string quantities_that_fit(Names names, std::string_view text);

}  // namespace ibpath
