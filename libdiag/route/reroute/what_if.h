// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What if: a fabric without some of its switches and links, to be routed before it is really so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/fabric/fabric.h"

namespace ib::route {

struct WhatIf {
  /// A switch (name or GUID) or a link by either end (NODE:PORT).
  std::vector<std::string> without;
  double damage_percent{0};  // of the links between switches, chosen by `seed`; at least one
  std::uint64_t seed{1};

  bool empty() const { return without.empty() && damage_percent == 0; }
};

/// `5%` or `5`: for damage_percent. An error of kind Usage says what was expected.
Result<double> read_share(std::string_view text);

/// What was taken, in words.
struct Taken {
  std::size_t switches{}, links{};  // links: of either kind, those of the switches included
  std::size_t hosts{};              // that have no link left, and so are gone as well
  std::vector<std::string> notes;   // a line each
};

/// Takes it all from `fabric`. Names are looked up before anything goes. An error is of kind
/// NotFound, or Usage, and says which word is meant, what was looked for and what was found;
/// `fabric` is as it was.
Result<Taken> take_away(fabric::Fabric& fabric, const WhatIf& what_if);

/// Takes links away that operate no data VL, whose VLCap is none of 1 to 5: nothing but SMPs gets
/// over them. A line for each.
std::vector<std::string> take_links_without_vls(fabric::Fabric& fabric);

}  // namespace ib::route
