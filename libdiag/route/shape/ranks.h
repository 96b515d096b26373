// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Ranks: how far every switch is from the top of the fabric, from roots that an operator listed or
// that are found. Engines updn, dnup and ftree order the switches by them.
#pragma once

#include <string>
#include <vector>

#include "libdiag/route/engine.h"
#include "libdiag/route/up_down/up_down.h"

namespace ib::route {

struct Ranks {
  std::vector<std::uint32_t> of;           // by switch; 0 is the top
  std::vector<fabric::SwitchIndex> roots;  // by GUID
  bool roots_given{false};                 // by the operator, at least one of them
  std::vector<std::string> notes;          // about what was listed and does not fit, or was found
};

/// By hops from the roots in options.roots, or from find_roots() where none of a component is
/// listed. Roots with a rank of their own (0 is the top) count from there. A listed CA or router
/// stands for the switches it hangs from. An error when roots are listed and none exists.
Result<Ranks> ranks_from_roots(const Request& request);

/// The switches in the middle: nearer to CAs than their neighbours are, on the average of all CAs
/// that are not their own. In a tree these are the switches at the top, whatever is damaged and
/// wherever hosts are attached. Where links form rings rather than a tree, one switch of each
/// component that is as near as any. Where most CAs are at one rank, what is as high above them
/// as most of these is a top instead, even if damage has left it far from some. By GUID.
std::vector<fabric::SwitchIndex> find_roots(const fabric::CompactGraph& graph);

/// Hops from the nearest switch with CAs or routers, the other way round: the switches farthest
/// from them come out at the top, and of equally far ones those nearer to all CAs on the average
/// (which alone orders a fabric with CAs on every switch).
Ranks ranks_from_leaves(const fabric::CompactGraph& graph);

/// By rank, then by the number an operator gave (options.ids) or the GUID, the smaller above.
UpDownOrder order_by_rank(const Request& request, const Ranks& ranks);

}  // namespace ib::route
