// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SubnetManager: the whole of ibsm without I/O and without a clock. Packets of QP0, time, events
// and plans that were made elsewhere go in; Effects come out.
//
//   Idle --reasons--> Sweeping --> Deciding --> Planning --> Applying --> Idle   (a full sweep)
//   Idle --timer----> Looking  --> Idle                                          (a light sweep)
//
// All states and what leads from one to another are in states.h. Deciding: the other subnet
// managers are asked what they are (mastership.h), before anything is planned. While this one
// stands by, or is not active, nothing of this happens.
//
// While it plans, which may take seconds on a large fabric, it answers SMPs and takes traps.
// While it is idle after a full sweep, tables that subnet administration tells of are read.
//
// Why a sweep runs is a set of reasons, each with its own words; a sweep serves all of them.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libdiag/base/log.h"
#include "libdiag/discover/sweep.h"
#include "libdiag/mad/transactor.h"
#include "sm/apply/apply.h"
#include "sm/core/clients_to_ask.h"
#include "sm/core/effects.h"
#include "sm/core/kept_nodes.h"
#include "sm/core/light_sweep.h"
#include "sm/core/m_keys.h"
#include "sm/core/vport_upkeep.h"

namespace sm::core {

enum class Reason {
  Start,
  Operator,        // asked for (SIGHUP)
  Trap,            // a device said that something changed
  Partitions,      // somebody became a member, or is none any more
  Timer,           // full_sweeps_only
  ChangeSeen,      // a light sweep saw it
  Unfinished,      // the last one left differences
  LinksRestarted,  // links were taken down to change their MTU or VLs
  LinkReleased,    // a link that flapped was quiet for long enough
  Election,        // other subnet managers: who is master is to be found out, or has changed
  Daily,           // full_sweep_every has passed
  Clients,         // of some port are to be asked to register again
  Watch            // another one is master, and managers that only read need to know the subnet
};
std::string_view reason_name(Reason reason);

struct Options {
  plan::PlanOptions plan;
  ib::mad::TransactorOptions transactor;
  std::shared_ptr<const ib::fabric::NodeNames> node_names;  // nullptr: no map
  ib::Duration sweep_interval{std::chrono::seconds(10)};    // light sweeps; 0: none
  MastershipOptions mastership;
  MKeyOptions m_keys;  // and plan.m_key: what ports are to have
  /// Coming out of standby the LIDs of the store stand above those that ports hold (opensm's -x).
  bool honor_stored_lids{false};
  /// Changes that traps tell of within this of the first are served by one sweep.
  ib::Duration trap_pause{std::chrono::milliseconds(100)};
  /// Tables that nothing here needs are read for subnet administration this long after a sweep.
  /// Where they never are, rows of SL2VL that another subnet manager wrote, and that drop packets,
  /// are not noticed.
  std::optional<ib::Duration> read_tables_after{std::chrono::milliseconds(100)};
  /// The store lost some of what clients registered: after the first sweep all are asked to
  /// register again.
  bool registrations_lost{false};
  /// While it is not master, the subnet is swept this often all the same, for managers that only
  /// read; nothing is set, and nothing is decided by it.
  std::optional<ib::Duration> watch_every;
  bool full_sweeps_only{false};  // instead of light ones
  /// What no device tells of is found by a sweep of the whole fabric, this often; 0: never.
  ib::Duration full_sweep_every{std::chrono::hours(24)};
  /// When nothing has changed for so long, routes that followed what changed are balanced again.
  std::optional<ib::Duration> balance_after;
  bool act_on_traps{true};              // else what they tell of waits for the next sweep
  bool disables_babbling_ports{false};  // babbling_ports.h
  VPortOptions vports;
  /// The first sweep is planned even where another one is master, and nothing is set: the report
  /// has what would be. For one report; what is known of devices afterwards is how they would be.
  bool rehearse{false};
  /// Others write the store, too: before this one plans as master it asks what is there.
  bool shares_store{false};
  HostPatience silent_hosts;
  unsigned rounds{3};  // full sweeps before ports that should be ACTIVE are reported missing
};

struct Counters {
  std::uint64_t full_sweeps{}, partial_sweeps{}, light_sweeps{}, traps{}, sets{};
  std::uint64_t tables_read{};  // nodes whose tables were read
  std::uint64_t sm_info_gets{}, sm_info_sets_refused{}, dropped{};
};

class SubnetManager {
 public:
  SubnetManager(Options options, const store::Contents& contents);
  ~SubnetManager();

  // ---- events
  void start(ib::Instant now);
  void on_packet(ib::Instant now, const ib::mad::Packet& packet);
  /// The transport could not send it.
  void on_send_failed(ib::Instant now, const Outgoing& outgoing, ib::Error error);
  void on_time(ib::Instant now);
  /// What came of the job that Effects::plan handed out. One that is out of date is dropped: the
  /// operator asked for a sweep while it was made.
  void on_planned(ib::Instant now, PlanResult result);
  /// What Effects::recall asked for; nullopt: it cannot be read, and it is planned by what is
  /// known here, and all clients are asked to register again. Nothing where nobody waits for it any
  /// more.
  void on_recalled(ib::Instant now, const std::optional<store::Contents>& contents);
  /// Another one has taken the store from this one: who is master is found out, and if it is this
  /// one it asks again what is stored.
  void on_deposed(ib::Instant now);
  /// What is stored, which could not be read when it was asked for, can be now: it is asked for
  /// again, and the subnet is planned by it.
  void on_store_back(ib::Instant now);
  /// Somebody answered clients whose registrations are not among what is stored: with the next
  /// sweep all are asked to register again.
  void on_registrations_lost(ib::Instant now);
  /// Clients of these ports do not know that what they had registered is gone: they are asked to
  /// register again, by a sweep around them.
  void on_untold_clients(ib::Instant now, const std::vector<ib::Guid>& ports);
  /// GUIDs of the ports that the sweep found by which what is stored is asked for, less those of
  /// our own node.
  std::vector<ib::Guid> found_ports() const;
  void sweep_now(ib::Instant now, Reason reason);
  /// A light sweep.
  void light_sweep_now(ib::Instant now);
  /// Computes all routes again for the fabric as it was swept last, and takes them if they spread
  /// loads better.
  void reroute_now(ib::Instant now);
  /// Sweeps, and sets once more all that devices are to hold, whatever they say that they hold.
  void rewrite_now(ib::Instant now);
  /// Enables a port that is disabled, by BabblingPorts or otherwise. False: nothing was found
  /// that it could be.
  bool enable_port(ib::Instant now, ib::Guid node, std::uint8_t port);
  /// Off: no sweep of any kind begins, whatever happens; memberships are programmed all the same.
  void set_sweeping(ib::Instant now, bool on);
  /// Nothing is asked of devices and nothing set, but for what is under way, which is finished;
  /// what calls for it meanwhile is remembered. Other subnet managers are answered and polled as
  /// ever.
  void set_paused(ib::Instant now, bool on);
  /// Of the election; 0 to 15. The others hear of it when they ask.
  void set_priority(ib::Instant now, std::uint8_t priority);
  /// Whether it may take over from the master that it stands by; else it is NOTACTIVE.
  void set_fit(ib::Instant now, bool fit, const std::string& why);
  /// The operator's routing files as read again, for the next sweep.
  void set_routing_files(ib::route::ReadOptions files);
  /// Multicast memberships as they are now.
  void set_groups(ib::Instant now, std::vector<plan::MlidGroup> groups);
  /// Alias GUIDs as they are now; ports get them at once. When they have, device_state() has
  /// `revision`.
  void set_aliases(ib::Instant now, plan::PortAliases aliases, std::uint64_t revision = 0);

  /// What of `options` can change while it runs, from the next full sweep on: pauses, and what is
  /// planned, but for routing, partitions and rates, which have functions of their own.
  void set_options(const Options& options);

  /// Partitions as they are from the next full sweep on.
  void set_partitions(std::shared_ptr<const policy::PartitionPolicy> partitions);

  /// Rate limits of SLs, likewise; null: those of devices are left alone.
  void set_rates(std::shared_ptr<const policy::RatePolicy> rates);
  void set_adaptive_routing(std::shared_ptr<const policy::AdaptiveSettings> adaptive);

  /// Among several subnet managers: what this one is, and what the others are.
  const Mastership& mastership() const;
  const MKeys& m_keys() const;

  ib::Instant next_deadline() const;

  // ---- effects
  /// What is to be done, each time once. carry_out() has it done.
  Effects take_effects(ib::Instant now);
  /// The latest one; null before the first routing.
  SnapshotPtr snapshot() const;
  /// As of now. What ports that are away had registered is dropped, so they belong to it.
  ClientsToAsk clients_to_ask() const;
  /// What goes with it; null as long.
  DeviceStatePtr device_state() const;

  /// CA-to-CA routes over the most loaded link of the routes in force, more on slower links; 0: not
  /// counted.
  std::uint64_t routes_load_max() const;

  bool idle() const;
  /// For a minute after a take-over trees stay whose groups nobody registered here.
  bool keeps_unknown_groups() const;
  const plan::PortAliases& aliases() const;
  bool sweeping() const;  // as set_sweeping() left it
  bool paused() const;
  ib::Duration sweep_interval() const;
  std::size_t mads_outstanding() const;  // on the wire
  std::size_t mads_pending() const;      // and with those that wait to be sent
  const Counters& counters() const;
  const ib::mad::TransactorCounters& mad_counters() const;
  const ib::discover::Observed& observed() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sm::core
