// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Levels of service beside a routing engine that uses several VLs. The operator's levels become
// classes: sets of SLs that the mapping sends to the same VL. Each class gets as many VLs as the
// engine needs, class c those from c times that number on, so that what was proved of the engine's
// VLs is so of every class; and an SL for each SL of the engine's. Pure; knows no fabric.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/route/engine.h"
#include "sm/policy/qos_sets.h"

namespace sm::plan {

/// SLs that the mapping sends to the same VL, a bit each, by class: that of the lowest SL first.
using ServiceClasses = std::vector<std::uint16_t>;

/// Of the SLs in `used` (bits). `map` is folded to `vls` data VLs; SLs that it drops are in no
/// class. Never empty: without any SL there is one class, of none.
ServiceClasses service_classes(std::uint16_t used, const policy::SlToVlTemplate& map, unsigned vls);

/// At most `count` classes: those from the last on join the one before. Precondition: count > 0.
ServiceClasses merged(ServiceClasses classes, std::size_t count);

/// "SL 0, SLs 1 and 2": what an operator calls them.
std::string class_names(const ServiceClasses& classes);

/// The engine's VLs once for each class.
struct ClassMapping {
  ib::tables::VirtualLanes virtual_lanes;  // its `levels` have the SL of every level and pair
  ib::route::MulticastRule multicast;      // holds for the trees of every class
  unsigned vls_each{1};
  std::size_t classes{1};
  unsigned vls() const { return static_cast<unsigned>(vls_each * classes); }
};

/// nullopt: 16 SLs are too few. One class leaves the VLs and SLs of the engine as they are. The
/// lowest SL of a class stays the one that its multicast trees use, and where the engine has one SL
/// for all pairs every level keeps its own. SLs of no class that are left travel like the class
/// that their VL is of, else like the first. Precondition: `routes` use several VLs.
std::optional<ClassMapping> map_classes(const ib::route::Routes& routes, std::size_t switch_count,
                                        const ServiceClasses& classes,
                                        const policy::SlToVlTemplate& map, unsigned vls);

/// Both tables of arbitration.
struct ClassWeights {
  policy::VlArbitrationTemplate low, high;
};

/// For a port whose link operates `link_vls`: the weight that `written` has for the VL of a class,
/// by this port's mapping, is shared by the VLs of the class; a VL without any is that which it is
/// folded to. Where weights do not divide, all are the same multiple of what they should be; none
/// is above 255. A class without any has the least there is, of low priority.
ClassWeights class_arbitration(const policy::VlSettings& written, const ServiceClasses& classes,
                               const ClassMapping& class_mapping, unsigned link_vls);

}  // namespace sm::plan
