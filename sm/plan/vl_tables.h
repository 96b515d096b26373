// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SL2VL and VL arbitration: what the tables of every port in use are to say (IBA 7.6.6, 7.6.9). VLs
// are folded to those that a link operates, since hardware drops what maps to another one. Pure.
//
// A switch has a row of SL2VL for each pair of an input and an output that are in use, a CA or
// router one for each port.
#pragma once

#include <memory>
#include <span>

#include "sm/device/routing.h"
#include "sm/plan/desired.h"
#include "sm/plan/service_classes.h"
#include "sm/plan/wanted_tables.h"
#include "sm/policy/qos_sets.h"

namespace sm::plan {

/// Levels of service on routes that use several VLs.
struct VlClasses {
  const ServiceClasses& classes;
  const ClassMapping* class_mapping{};
};

/// `ports` by Observed::port_index(). Tables of ports that are not to be brought up are nobody's.
/// `settings`: mapping and arbitration are the operator's; the output port decides which set a row
/// is of. nullptr: the routes' mapping, and default_arbitration(). `classes`: the mapping is that
/// of the routes all the same, and the arbitration the operator's for the VLs of each class. Tables
/// of arbitration that are not the operator's own have weight for every VL that is mapped to: a
/// port with fewer entries than VLs uses fewer.
std::shared_ptr<const WantedTables> plan_vl_tables(
    const ib::discover::Observed& observed, std::span<const PortWant> ports, const Routing& routing,
    const policy::VlSettingsByKind* settings = nullptr, const VlClasses* classes = nullptr);

/// Who gets the default mapping and arbitration, where others stood.
enum class PutBack : std::uint8_t {
  All,
  ComingUp,  // ports that come up, and what comes in by them
};
/// The default in place of all that the function above ever plans, on routes of one VL.
std::shared_ptr<const WantedTables> plan_default_vl_tables(const ib::discover::Observed& observed,
                                                           std::span<const PortWant> ports,
                                                           const Routing& routing, PutBack which);

/// Behind the link there may be another device than before, or the same after a reset.
bool comes_up(const ib::discover::Observed& observed, ib::fabric::PortRef port);

/// Which set of the operator's is for a port.
policy::QosKind qos_kind(const ib::fabric::Fabric& fabric, ib::fabric::PortRef port);

/// Which table of arbitration: a port that has one has all VLs in it.
enum class Arbitrated : std::uint8_t { Low, High, All };
/// The specified defaults (VL 0 in the high priority table, the others in the low one, 4 x 64 bytes
/// each), of `vls` data VLs.
ib::wire::VlArbitrationTable default_arbitration(unsigned vls, Arbitrated which);

}  // namespace sm::plan
