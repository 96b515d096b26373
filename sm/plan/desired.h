// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Desired: what every device of the subnet should hold, as plain data. sm/apply compares it with
// what was observed; nothing here was sent.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libdiag/discover/observed.h"
#include "libdiag/route/choose/choose.h"
#include "libdiag/route/lids.h"
#include "libdiag/tables/sl_moves.h"
#include "libdiag/tables/tables.h"
#include "libdiag/tables/verify_changes.h"
#include "sm/device/routing.h"
#include "sm/plan/adaptive_routing.h"
#include "sm/plan/p_keys.h"
#include "sm/plan/wanted_block.h"
#include "sm/plan/wanted_tables.h"
#include "sm/policy/partition_policy.h"

namespace sm::plan {

/// What one port's PortInfo should say. Fields of other ports than these keep what they hold.
struct PortWant {
  bool managed{false};     // false: this port is not touched
  bool end_port{false};    // the fields of an end port below count
  bool activate{false};    // has a link whose two ends are ours to bring up
  bool restart{false};     // MTU or VLs of a link in use must change: it has to go down first
  bool retrain{false};     // it has to go down once both its ends hold what they are to train to
  bool reregister{false};  // clients lost what they had registered
  // End ports.
  ib::Lid lid{};
  std::uint8_t lmc{};
  ib::Lid sm_lid{};
  ib::Sl sm_sl{};
  std::uint64_t gid_prefix{};
  std::uint64_t m_key{};
  std::uint16_t m_key_lease{};
  std::uint8_t m_key_protect{};
  std::uint8_t subnet_timeout{};
  // Ports with a link; 0 leaves the field alone.
  std::uint8_t neighbor_mtu{};
  std::uint8_t operational_vls{};
  std::uint8_t phy_errors{};
  std::uint8_t overrun_errors{};
  // External ports of switches; 255 leaves the field alone.
  std::uint8_t hoq_life{255};
  std::uint8_t vl_stall_count{255};
  std::optional<std::uint8_t> vl_high_limit;  // with a table of arbitration
  // Speeds and widths that a link may train to, of ports of switches that the operator forces.
  std::optional<std::uint8_t> speed_enabled, speed_ext_enabled, width_enabled;
  std::optional<std::uint8_t>
      trap_suppression;  // MulticastPKeyTrapSuppressionEnabled, of end ports
  std::optional<bool> enforce_inbound, enforce_outbound;  // of P_Keys, where a host is behind it
  friend auto operator<=>(const PortWant&, const PortWant&) = default;
};

/// Written as LinkSpeedExtEnabled: extended speeds are off, and 0 is read (IBA 14.2.5.6).
inline constexpr std::uint8_t kNoExtendedSpeed = 30;

/// `want` with every field it asks for replaced by what `info` says.
PortWant held(const PortWant& want, const ib::wire::PortInfo& info);
/// True when `info` already says everything that `want` asks for, the port's state aside.
bool satisfied(const PortWant& want, const ib::wire::PortInfo& info);
/// Of `want` what its link may train to, and nothing else.
PortWant training(const PortWant& want);
/// Writes what `want` asks for into the bytes of a PortInfo that was read; every other bit stays,
/// except that state, speeds and widths become "no change".
void write_wanted(const PortWant& want, std::byte* port_info);

/// What a link is to train to, and what it ran at. Of one that went down for it and is as before
/// nothing else is to be had.
struct Training {
  std::optional<std::uint8_t> speed_enabled, speed_ext_enabled, width_enabled;
  std::uint8_t speed{}, speed_ext{}, speed_ext2{}, width{};
  friend bool operator==(const Training&, const Training&) = default;
};
Training training_of(const PortWant& want, const ib::wire::PortInfo& info);

struct SwitchWant {
  std::uint16_t linear_fdb_top{};
  std::uint8_t life_time_value{};
  bool has_multicast_top{false};  // the switch knows MulticastFDBTop
  std::uint16_t multicast_fdb_top{};
  std::uint16_t multicast_fdb_cap{0xFFFF};  // MLIDs that its table holds
};

/// A node that is seen and not configured, and why.
struct Unmanaged {
  ib::fabric::NodeIndex node{};
  std::string reason;
};

/// A LID that two end ports held: one of them keeps it.
struct LidConflict {
  ib::Lid lid;
  ib::fabric::PortRef keeper, other;
};

struct Desired {
  std::vector<PortWant> ports;       // by Observed::port_index()
  std::vector<SwitchWant> switches;  // by switch index of routing->graph
  std::shared_ptr<const Routing> routing;
  ib::tables::MulticastTables mfts;
  std::vector<WantedBlock> blocks;  // by node; of what is not among them nothing is changed
  std::shared_ptr<const policy::PartitionPolicy> partitions;  // that these were made by:
  std::vector<LeftOutKeys> left_out_keys;
  std::vector<WantedBlock> p_key_blocks;   // those of P_KeyTable, which are among them
  std::vector<WantedBlock> unread_p_keys;  // empty blocks of P_KeyTable that must be known first
  std::vector<WantedBlock> rate_blocks;    // those of rate limits, likewise
  std::vector<WantedBlock> speed_blocks;   // those of FDR10, likewise
  std::vector<WantedBlock> to_read;        // what must be known before the plan is whole; by node
  std::shared_ptr<const AdaptiveRoutes> adaptive;  // null: adaptive routing is left as it is
  std::vector<WantedBlock> adaptive_blocks;        // AdaptivePlan's: written when all else stands
  /// SL2VL and VL arbitration; null: they are not ours. Shared, since there are many.
  std::shared_ptr<const WantedTables> vl_tables;
  std::set<ib::Guid> keep_sl_to_vl;  // PlanRequest's
  /// Why routes on several VLs are not taken, or are and may deadlock, with the rows that switches
  /// keep; empty: they are taken, and proved.
  std::string deadlock_by_kept_rows;
  bool vls_needed{false};   // they serve options or routes; else they put back what did before
  bool program_mfts{true};  // false: the trees failed a must; the current ones are left
  /// Trees of groups that are not known here are left: their members are still to register again.
  bool keep_unknown_groups{false};
  bool program_lfts{true};  // false: the tables failed a must; the current ones are better
  bool routed{true};        // false: nor does anything stand

  ib::fabric::PortRef sm_port;
  ib::Lid sm_lid{};
  std::vector<ib::route::LidAssignment> lids;
  std::vector<LidConflict> lid_conflicts;
  std::vector<ib::fabric::PortRef> trained_in_vain;  // their links go on as they are
  std::vector<ib::route::AstrayLid> astray_lids;
  std::vector<Unmanaged> unmanaged;
  std::vector<bool> node_managed;  // by node
  bool options_adopted{false};     // PlanRequest::pending_options counts from now on
  ib::tables::Verdict verdict;
  /// Since the routes of before; nothing where their SLs are not known.
  std::optional<ib::tables::SlMoves> sl_moves;
  std::vector<ib::route::Tried> tried;  // routing engines, in the order in which they were asked
  /// Knows the routes above, so that trees of later memberships are checked by difference.
  std::shared_ptr<ib::tables::Verifier> verifier;
  /// What holds of levels of service otherwise than it was asked for; among `alarms`, too.
  std::vector<std::string> qos_alarms;
  std::vector<std::string> notes;   // worth a line in the log
  std::vector<std::string> alarms;  // worth a warning
};

}  // namespace sm::plan
