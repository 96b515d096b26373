// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// From what was observed to what should be: LIDs, port attributes, routes, multicast. Pure.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libdiag/route/choose/choose.h"
#include "libdiag/route/files.h"
#include "sm/device/virtual_ports.h"
#include "sm/plan/desired.h"
#include "sm/plan/found_routes.h"
#include "sm/plan/guids.h"
#include "sm/plan/multicast.h"
#include "sm/plan/route_choice.h"
#include "sm/policy/partition_policy.h"
#include "sm/policy/qos_sets.h"
#include "sm/policy/rate_policy.h"

namespace sm::plan {

/// What every end port is to have.
struct MKeyWant {
  std::uint64_t key{};
  std::uint16_t lease{};      // seconds until a port that somebody tries keys at is open; 0: never
  std::uint8_t protection{};  // M_KeyProtectBits, 0 to 3 (IBA 14.2.4.1)
};

/// What links of switches may train to, as opensm's force_link_* keys have it; none: as devices
/// say.
struct LinkForce {
  std::optional<std::uint8_t> speed;      // LinkSpeedEnabled; 15: what is supported
  std::optional<std::uint8_t> speed_ext;  // LinkSpeedExtEnabled; 30: none, 31: what is supported
  std::optional<std::uint8_t> width;      // LinkWidthEnabled; 255: what is supported
  std::optional<bool> fdr10;  // of every port that knows it, CAs included; none: left alone
};

/// Ports that operate fewer VLs than they say they have, by node GUID and port: the code of
/// OperationalVLs that they answered with when they were told more.
using FewerVls = std::map<std::pair<ib::Guid, std::uint8_t>, std::uint8_t>;

/// A port whose link was taken down to train to what is forced, and since then was not seen to run
/// at anything else than before.
struct Trained {
  static constexpr unsigned kTriesMax = 2;  // a Set may be lost
  Training training;
  unsigned tries{0};
  bool told{false};  // that it was in vain
};
using TrainedPorts = std::map<std::pair<ib::Guid, std::uint8_t>, Trained>;  // by node GUID and port

struct PlanOptions {
  std::uint8_t lmc{0};
  bool lmc_enhanced_port0{false};  // enhanced switch ports 0 get `lmc` too
  bool reassign_lids{false};
  bool lids_of_devices{false};  // those that ports hold stand above the store's
  ib::route::ChoiceOptions choice;
  std::vector<ib::route::Mentions> mentions;  // of the files that `choice` was read from
  bool qos{false};  // program SL2VL and VL arbitration even for one VL, by:
  policy::QosSets qos_sets{};
  /// SLs that levels of service give, a bit each, that for requests without a level included.
  /// In force with `qos`; those of partitions and their groups, and `sm_sl`, are added to them.
  std::uint16_t level_sls{1};
  std::uint64_t subnet_prefix{ib::kDefaultSubnetPrefix};
  std::optional<ib::Sl> sm_sl;  // none: that of each port's path to the subnet manager
  std::uint8_t subnet_timeout{18};
  LinkForce link_force;
  std::optional<MKeyWant> m_key;  // none: ports keep theirs
  std::uint8_t packet_life_time{18};
  std::uint8_t hoq_life{18}, leaf_hoq_life{16};
  std::uint8_t vl_stall_count{7}, leaf_vl_stall_count{7};
  std::uint8_t phy_errors{8}, overrun_errors{8};
  std::uint8_t operational_vls_max{5};
  /// Traps 257 and 259 about multicast packets, at ports that can be told (IBA 14.2.5.6); none:
  /// ports keep what they have.
  std::optional<bool> suppress_multicast_p_key_traps;
  bool reregister{true};            // ask ports to, where registrations may be gone
  bool multicast{true};             // else tables of switches stay as they are
  bool keep_unknown_groups{false};  // Desired's
  bool multicast_top{true};         // MulticastFDBTop is programmed where a switch has it
  /// Never null.
  std::shared_ptr<const policy::PartitionPolicy> partitions{
      std::make_shared<const policy::PartitionPolicy>()};
  PKeyOptions p_keys;
  std::shared_ptr<const policy::RatePolicy> rates;           // rate limits of SLs; null: left alone
  std::shared_ptr<const policy::AdaptiveSettings> adaptive;  // null: left alone
};

/// Owns or shares all that a plan is made from, so that it can be made on any thread, and outlive
/// who asked for it.
struct PlanRequest {
  std::shared_ptr<const ib::discover::Observed> observed;  // never null
  PlanOptions options;
  std::shared_ptr<const ib::route::StoredLids> stored;
  std::shared_ptr<const ib::discover::Observed> before;  // what was seen then, if anything
  bool sa_state_lost{false};  // registrations did not survive: ports in use must register again
  std::set<ib::Guid> reregister_pending;  // who was away, or was to and did not answer, must, too
  std::set<ib::Guid> in_doubt;            // of these, who must even where they are not in use
  /// LIDs by which other subnet managers were master. If ours is one of them, ports that name it
  /// may have been theirs, unless they were seen before and we were not cut off from them since.
  std::set<ib::Lid> lids_of_other_masters;
  bool was_cut_off{false};  // our own link was down once, or we hung while another one was master
  std::shared_ptr<const std::vector<MlidGroup>> groups;
  PortAliases aliases;
  AliasBlocks alias_blocks;                       // that hold some or did
  std::shared_ptr<const device::Inventory> held;  // tables of devices; null: not known at all
  VirtualPortsPtr virtual_ports;                  // behind ports; null: none are known
  std::set<ib::Guid> mute;                        // nodes that do not tell what they can do
  std::set<ib::Guid> keep_fdr10;                  // nodes that did not take a Set of it
  FewerVls fewer_vls;
  TrainedPorts trained;
  std::set<ib::Guid> keep_sl_to_vl;         // that did not take rows they were told: `held` is
  std::shared_ptr<const Routing> previous;  // what is programmed now, if anything
  /// The fabric is idle: fresh routes of the same engine are taken where they spread loads better.
  bool balance{false};
  /// Routes that stand in switches, where there is nothing `previous`; null: not known.
  std::shared_ptr<const FoundRoutes> found;
  /// SL2VL and VL arbitration were programmed before, by this process or one before it: what is
  /// not needed any more is put back.
  bool vls_programmed{false};
  /// Since then the default was: ports that come up get it, since they may not have had it.
  bool vls_put_back{false};
  /// The operator's files as read again. Taken when all they name is there, or nothing is
  /// programmed yet; else the old ones count on.
  std::shared_ptr<const ib::route::ReadOptions> pending_options;
  /// Not empty: a plan for answers until it is known what switches hold, which is not programmed.
  /// Its routes are this engine's, where those need one VL, and else none; they are not proved.
  std::string stopgap_engine;
  /// For a report: loads of links are counted, and routes that are refused are kept, though
  /// program_lfts says that they are not to be programmed.
  bool for_report{false};
  RerouteState reroute;  // empty: routes are recomputed
};

struct Planned {
  /// An error only when there is nothing to manage (the local port is down).
  ib::Result<Desired> desired;
  RerouteState reroute;  // for the next request
};
Planned make_plan(PlanRequest request);

}  // namespace sm::plan
