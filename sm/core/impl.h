// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The inside of SubnetManager: what is known, what is under way, and what to do when. Its parts
// have a file each: machine.cpp (who gets which answer, what is next), bring_up.cpp (from a sweep
// to a report), publishing.cpp (what others may know), who_to_ask.cpp (to register again),
// between_sweeps.cpp (what is looked at and programmed between sweeps). Inside sm/core only.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "libdiag/base/invariant.h"
#include "sm/core/astray_lids.h"
#include "sm/core/babbling_ports.h"
#include "sm/core/brought_up.h"
#include "sm/core/flapping.h"
#include "sm/core/kept_nodes.h"
#include "sm/core/light_sweep.h"
#include "sm/core/mastership.h"
#include "sm/core/own_port.h"
#include "sm/core/plan_inputs.h"
#include "sm/core/silent_nodes.h"
#include "sm/core/states.h"
#include "sm/core/strays.h"
#include "sm/core/subnet_manager.h"
#include "sm/core/sweep_scope.h"
#include "sm/core/table_upkeep.h"
#include "sm/core/trap_look.h"
#include "sm/core/vport_upkeep.h"

namespace sm::core {

using ib::Duration;
using ib::Instant;
using ib::kNever;
using ib::LogLevel;
using ib::discover::Observed;
using ib::discover::Trouble;
using ib::fabric::NodeIndex;

// Whose a completion is stands in the upper bits of its cookie.
inline constexpr ib::mad::Cookie kOwnerSweep = ib::mad::Cookie{1} << 48;
inline constexpr ib::mad::Cookie kOwnerApply = ib::mad::Cookie{2} << 48;
inline constexpr ib::mad::Cookie kOwnerLook = ib::mad::Cookie{3} << 48;
inline constexpr ib::mad::Cookie kOwnerMastership = ib::mad::Cookie{4} << 48;
inline constexpr ib::mad::Cookie kOwnerRead = ib::mad::Cookie{5} << 48;
inline constexpr ib::mad::Cookie kOwnerOwnPort = ib::mad::Cookie{6} << 48;
inline constexpr ib::mad::Cookie kOwnerTrapLook = ib::mad::Cookie{7} << 48;
inline constexpr ib::mad::Cookie kOwnerBabbling = ib::mad::Cookie{8} << 48;
inline constexpr ib::mad::Cookie kOwnerVPorts = ib::mad::Cookie{9} << 48;
constexpr ib::mad::Cookie owner_of(ib::mad::Cookie c) {
  return c & ~((ib::mad::Cookie{1} << 48) - 1);
}

/// A master that does nothing for longer may have been taken for dead.
inline constexpr Duration kSleepLeast = std::chrono::seconds(3);
/// By one that starts even sooner, when a question of its first sweep has gone unanswered.
inline constexpr Duration kNapLeast = std::chrono::seconds(1);
/// Between two sweeps for which others call that start, or say so.
inline constexpr Duration kStartsApart = std::chrono::seconds(10);
inline constexpr unsigned kInconsistentSweepsMax = 2;  // in a row
inline constexpr Duration kRetryFirst = std::chrono::seconds(1);
inline constexpr Duration kAskAgainFirst = std::chrono::minutes(1);
inline constexpr Duration kAskAgainMost = std::chrono::hours(1);
inline constexpr Duration kSilence =
    std::chrono::milliseconds(100);  // of all who are still to answer

struct SubnetManager::Impl {
  Options options;
  ib::mad::Transactor transactor;
  Counters counters;
  bool started{false};

  // What is under way (states.h), and what each state works with.
  State state{State::Idle};
  std::unique_ptr<ib::discover::Sweep> sweep;
  std::unique_ptr<apply::Apply> applying;  // Reading, Applying, Programming
  std::unique_ptr<LightSweep> looking;
  bool look_covers_all{false};  // nothing that may have gone astray was under way when it began
  std::shared_ptr<const ib::fabric::NodeNames> named_by;  // what is swept, or was
  std::shared_ptr<Observed> found;  // by the sweep, until there is a plan: Deciding, Planning
  /// What the last sweep found, where the subnet was left to others who are about to hand it over:
  /// newer than `seen`, by which nobody plans any more.
  std::shared_ptr<const Observed> left;
  std::optional<PlanJob> plan_job;  // that nobody has taken yet
  /// The plan is the first, and switches may hold routes of somebody before this process: they are
  /// read, and it is made once more with them.
  bool looks_for_routes{false};
  /// That plan is a stopgap (PlanRequest::stopgap_engine), so it is made once more in any case.
  bool is_stopgap{false};
  /// By that plan clients are told first who their subnet manager is, while the master before
  /// answers those who are not, and writes what is stored.
  bool tells_first{false};
  std::optional<std::set<ib::Guid>> told_first;  // by it; none: it did not
  Recall recalls{Recall::Take};                  // what was asked for, in state Recalling
  std::shared_ptr<const plan::FoundRoutes> found_at_start;  // until the first snapshot
  std::uint64_t plans{0};                                   // begun, or known to be out of date

  // What is known. Shared with the snapshot between sweeps; unshare() before anything changes it.
  std::shared_ptr<Observed> seen{std::make_shared<Observed>()};
  apply::Known known;
  std::set<ib::Guid> clients_doubted;  // of these ports, which have not taken the request yet
  AstrayLids astray_lids;
  std::vector<ib::Guid> doubts_to_store;  // those that the store does not have yet
  std::set<std::pair<ib::Guid, std::uint8_t>> fewer_vls_told;  // of `known`, those that were named
  std::shared_ptr<const plan::Desired> desired;
  PlanInputs inputs;
  std::uint64_t desired_aliases_revision{0};
  bool operator_asked{false};  // for the sweep that is under way
  bool reads_back{false};      // the next one reads as if he had
  bool taking_over{false};     // by it; till then others managed the subnet
  bool lfts_read{false};       // for the plan that is programmed next
  bool has_fewer_vls{false};   // some link, since rows of SL2VL were looked through
  /// This sweep and what follows from it wait for everybody with all the patience there is: nothing
  /// is up yet that they could hold up, or the operator asked.
  bool patient{true};
  bool cut_short{false};   // it did not
  Instant cut_at{kNever};  // unless somebody answers before
  SilentNodes silent_nodes;
  std::set<ib::Guid> silent_switches;  // seen by light sweeps since the last full one
  Mastership mastership;
  MKeys m_keys;
  TableUpkeep tables;  // reads between the others
  OwnPort own_port{kOwnerOwnPort};
  TrapLook trap_look;
  BabblingPorts babbling{kOwnerBabbling};
  VPortUpkeep vports;
  Flapping flapping;
  PortStates port_states;
  std::shared_ptr<const Restarts> restarts;  // since the last report; null: nothing did
  KeptNodes kept{options.silent_hosts};
  SnapshotPtr snapshot;
  DeviceStatePtr device_state;
  std::uint64_t generation{0};

  // When to do what.
  std::set<Reason> reasons;
  SweepScope scope;  // of the next sweep
  Strays strays;     // since the last sweep, or the last light sweep that found nothing
  BroughtUp brought_up;
  Instant sweep_at{kNever};
  Instant whole_at{kNever};  // the whole is swept, whatever devices say
  Instant look_at{kNever};
  Instant awake_at{0};        // the last time that anything happened here
  Instant watch_at{0};        // while another one is master
  bool watching{false};       // by the sweep that is under way
  bool sweeps_part{false};    // it does
  bool store_is_ours{false};  // that of a process alone: it is of the fabric that was found
  bool slept_sweeping{
      false};                 // nothing happened here for seconds, while who is master is not known
  bool swept_anew{false};     // the first sweep was too old to plan by
  bool swept_cut_off{false};  // switches told it nothing of cables that were moved meanwhile
  bool cut_off_once{false};   // since the start: another one may have managed the rest meanwhile
  bool renumbered_once{false};    // likewise: one whose own LID is ours gave a port another one
  bool first_says_change{false};  // in it switches told of changes, which may be old
  bool swept_first{false};  // by the last sweep: no switch had been told to forget what it said
  Instant multicast_at{kNever};
  Instant refused_at{kNever};        // devices are asked again what they did not take
  Instant forget_groups_at{kNever};  // trees of the master before, whose members do not come back
  bool sweeping{true};               // sweeps are not inhibited
  bool paused{false};                // nothing begins
  bool reroute_wanted{false};
  bool rewriting{false};                    // the next plan that is programmed is sent whole
  std::map<ib::Guid, std::string> renamed;  // nodes, since the last publication
  Instant rename_at{kNever};                // when it is published
  Instant start_sweep_from{0};              // no whole sweep for another one that started before
  Instant read_back_from{0};                // nor for a port that names another one
  Instant read_back_at{kNever};             // for one that did before that
  Instant balance_at{kNever};               // routes, unless something changes before
  bool balancing{false};                    // they are being
  bool recall_wanted{true};                 // another one may have written what is stored
  bool registrations_lost{false};           // which the next plan is to make up for
  std::set<ib::Guid> untold;                // ports that it is to ask to register again
  std::map<ib::Guid, ib::Lid> told_gone;    // ports that are away, and our LID that they named
  Duration retry_pause{kRetryFirst};
  Duration silence_pause{kRetryFirst};
  Duration refused_pause{kAskAgainFirst};
  unsigned round{0};
  unsigned inconsistent_sweeps{0};  // in a row, which were not used
  unsigned unsaid_sweeps{0};        // in a row, of which nothing was said
  unsigned decisions_again{0};      // in a row
  unsigned plans_left{0};           // likewise, for P_Keys that were taken away since
  bool published_before_active{false};

  // The bring-up being reported.
  Instant began;
  std::uint64_t sends_before{0}, retries_before{0};
  std::uint64_t sets_this_time{0};
  bool sets_routes{false};  // this time: some block of a forwarding table was sent

  Effects effects;  // of what happened since they were taken; packets of the transactor are its own
  SnapshotPtr snapshot_taken;
  DeviceStatePtr device_state_taken;

  Impl(Options o, const store::Contents& contents)
      : options(std::move(o)),
        transactor(options.transactor),
        inputs(contents, options.registrations_lost, options.plan.reassign_lids),
        mastership(options.mastership, kOwnerMastership),
        m_keys(options.m_keys),
        tables(kOwnerRead, options.read_tables_after, known.inventory),
        trap_look(kOwnerTrapLook, options.trap_pause),
        vports(kOwnerVPorts, options.vports) {}

  void log(LogLevel level, std::string topic, std::string message) {
    effects.log.push_back({level, std::move(topic), std::move(message)});
  }

  template <class Machine>
  void take_logs(Machine& machine) {
    while (auto event = machine.next_log()) effects.log.push_back(*std::move(event));
  }

  bool busy() const { return state != State::Idle; }
  /// The transition of `event`.
  void go(Event event);

  // ---- when

  /// Of the whole fabric.
  void want_sweep(Instant at, Reason reason);
  /// Of what is around these places; none: of the whole.
  void want_sweep_around(Instant at, Reason reason, const std::vector<SweepScope::Place>& places);

  Instant next_deadline() const;

  void on_time(Instant now);

  /// Everything that can be done now.
  void run(Instant now);
  /// What waits for the silent alone holds everybody else up.
  void cut_short_if_silent(Instant now);

  bool deliverable();
  std::optional<ib::mad::Completion> completion;

  void begin_next(Instant now);

  /// Somebody is asked who may not answer.
  bool may_be_cut_short() const { return state == State::Sweeping || is_applying(); }
  bool is_applying() const {
    return state == State::Reading || state == State::Applying || state == State::Programming;
  }

  ib::mad::Exchange* exchange();
  /// Whose completions the exchange waits for.
  ib::mad::Cookie owner_now() const {
    return state == State::Sweeping ? kOwnerSweep : is_applying() ? kOwnerApply : kOwnerLook;
  }

  /// Every request goes this way: with the M_Key of the port that it goes to.
  void ask(Instant now, ib::mad::Request&& request);
  void submit(Instant now);

  /// Hands completions to whom they belong and moves on when a machine is done.
  void pump(Instant now);

  void move_on(Instant now);

  // ---- full sweep

  /// Of the fabric as it is known.
  void begin_reroute(Instant now);
  void begin_balance(Instant now);

  void stop_reading(bool partial = false);

  void begin_bring_up(Instant now);

  void begin_sweep(Instant now);

  void end_sweep(Instant now);

  /// Of nodes that may have been told or asked what others were meant to be, by the ways of before
  /// the sweep, nothing is believed. Which; if any, ports are to be read again.
  void doubt_tables(const Observed& swept);
  std::set<ib::Guid> doubt_strays(const Observed& swept);
  /// Nor of those that were perhaps rebooted while they were brought up. `asked_anew`: nodes that a
  /// sweep of a part asked.
  void doubt_brought_up(const Observed& swept, std::vector<ib::Guid> asked_anew);
  /// Nor of those that name another subnet manager than this one, which told them what to hold, or
  /// were given a LID by one whose own is ours. True: one of them had been told this one, so
  /// another one was master since, and may have told others what to hold that do not tell: all is
  /// to be read back now. `strayed`: nodes that may have been given the LID of another one by us.
  bool doubt_told_by_others(Instant now, const Observed& swept, const std::set<ib::Guid>& strayed);
  /// The port was given another LID than it had and than is stored for it. `was`: before.
  bool was_renumbered(const Observed& swept, ib::fabric::PortRef at,
                      const ib::discover::ObservedPort* was) const;

  // ---- other subnet managers

  /// What it asks and what it orders; and the sweep goes on, once the others are known.
  void follow_mastership(Instant now);

  void on_decided(Instant now);
  /// Once, before anything is written by what a sweep found. True: this is the end.
  bool refuses_store(const Observed& swept);
  /// While the first sweep ran another one may have been master, changed what devices hold and
  /// cleared what switches tell.
  bool is_first_sweep_outdated(Instant now, const Observed& swept) const;
  /// Since the sweep another one was heard that may be master: before anything is set by a plan it
  /// is decided once more who is. Twice in a row at most, or one that only says so could hold
  /// everything up.
  bool decides_again();
  void recall(Recall how);
  void on_recalled(Instant now, const std::optional<store::Contents>& contents);
  /// Another one was master while this one did not look, and may have written what is stored.
  void on_other_master(const std::string& where);
  /// Called first with whatever happens: whether it happens long after something was due.
  void detect_sleep(Instant now);

  /// It happens late, and not as late as counts as sleep: the whole is swept.
  void sweep_after_nap(Instant now);

  /// Another subnet manager is known to have started: the whole is swept.
  void sweep_after_start(Instant now);

  /// Somebody else is master: whatever is under way is left, and of the subnet nothing is believed.
  void stand_down(Instant now);

  /// Another one is master, or this one is not active, and the subnet is to be known all the same.
  bool may_watch() const;
  void begin_watch(Instant now);
  /// Those who only read, what the last sweep found.
  void tell_watched(Instant now);

  void begin_plan(Instant now, std::shared_ptr<Observed> swept);
  /// Ports that were not there when the plan was made: what they had registered may be gone.
  void note_who_was_away(const Observed& swept);
  /// And those that are not there any more: whom they name when they are back may tell of another
  /// master.
  void note_who_is_gone(const Observed& swept);
  /// To register again, by a sweep.
  void ask_clients(Instant now, const std::vector<ib::Guid>& ports);
  /// Whose registrations may be dropped: ports that have a LID in the store and are not managed.
  std::set<ib::Guid> ports_away() const;
  void ask_for_plan(Instant now, std::shared_ptr<Observed> swept,
                    std::shared_ptr<const plan::FoundRoutes> routes_found = nullptr);

  /// The operator changed options that the plan which is being made does not have.
  void outdate_plan();

  void on_planned(Instant now, PlanResult result);

  void take_plan(Instant now, std::shared_ptr<Observed> swept, ib::Result<plan::Desired> planned);

  bool is_unknown(const plan::WantedBlock& want) const;

  /// A key keeps its index, so tables are known before they are planned; and what a device can do
  /// is known before it is asked to.
  bool is_to_be_read() const;

  /// P_Key tables that were asked for and are not known are left as they are, and asked for again.
  bool has_unread_p_keys() const;

  /// The plan as it is, with what is to be read among its blocks.
  std::shared_ptr<const plan::Desired> with_readings() const;

  /// Nodes that were asked what they can do, and did not tell.
  std::set<ib::Guid> mute_nodes(const Observed& swept) const;

  void plan_vendor_blocks_again(plan::Desired& next);

  /// With what was read since; true: some table is to be written.
  bool plan_blocks_again();

  void gather_blocks(plan::Desired& next) const;

  /// A trap came while the sweep ran, and somebody who is managed did not answer: perhaps for a
  /// cable only that the questions went over.
  bool is_inconsistent(const Observed& swept) const;

  void log_trouble(const Trouble& t);

  /// Switches may hold routes from before, which are to be read first.
  bool has_found_routes() const;
  /// Clients of the master before need not wait until all of them are read: its engine makes routes
  /// that serve to answer them meanwhile.
  bool can_bridge(const Observed& swept) const;
  /// Answers by the plan that is a stopgap are those that there will be: ports in use hold the LIDs
  /// that they are to hold and that are stored, and whichever way packets go, they pass links of
  /// one MTU.
  bool may_answer_by_stopgap() const;
  void publish_stopgap();
  /// Who was told already is asked nothing twice.
  void note_who_heard();
  /// LIDs by which others were master, as their own ports tell; who writes what we do is none.
  std::set<ib::Lid> lids_of_other_masters(const Observed& swept) const;
  /// Those that are to be asked to register again and name another subnet manager, or were away:
  /// another one may have answered them, so what they registered here before is in doubt. What
  /// several share a master of these has written, too: there it is in doubt where the other one is
  /// none of them.
  void doubt_clients_of_others();
  /// Subscriptions of the port that had it may be registered for them.
  void ask_whose_lids_were_astray(Instant now);
  /// Of the term of another one: a port that rebooted since does not name it any more. `is_known`:
  /// there was one. Of a store that several share only the ports tell whether it was none of these.
  void doubt_who_names_nobody(const Observed& swept, bool is_known);
  /// One that does not write what is stored, by some port's MasterSMLID.
  bool another_was_master(const Observed& swept) const;
  /// By what is stored: we may have worked by another port of our node, or had another LID.
  bool was_our_lid(const Observed& swept, ib::Lid lid) const;
  /// Before they are asked, where what is stored is ours to write.
  void store_doubts();
  void note_who_repeats();
  /// What was read of them; null: nothing.
  std::shared_ptr<const plan::FoundRoutes> found_routes() const;
  /// They have been read. True: another plan is asked for, since the one there is does not follow
  /// them or was a stopgap; nothing was programmed by it.
  bool plan_by_found_routes(Instant now);
  /// The plan is to be programmed as it is now.
  void settle_plan();

  void begin_apply(Instant now);

  void unshare() {
    if (snapshot && snapshot->observed == seen) seen = std::make_shared<Observed>(*seen);
  }

  void before_activation(Instant);

  void publish(bool up);
  std::shared_ptr<Snapshot> make_snapshot();

  void publish_device_state();

  /// Who is not there any more is asked when it is back.
  void note_who_was_told();
  /// Who is there and not managed is asked when it is.
  void note_who_is_unmanaged();

  /// Names ports that operate fewer VLs than they say they have, once. True: there are new ones,
  /// and the other ends of their links are to follow.
  bool tell_fewer_vls();

  /// Names ports whose links were made to train again in vain, once; forgets those that did.
  void tell_of_training();

  /// All that devices hold was read, or a link has come up with fewer VLs since. It looks at every
  /// row, so not after each small sweep.
  void put_back_foreign_vls(Instant now);
  /// By the plan some port comes up with fewer VLs than it has.
  bool narrows_links() const;

  /// In the store: whether devices hold SL2VL and VL arbitration as they were told.
  void remember_vls(store::DeviceVls vls);

  /// A port did not take the LID of its subnet manager, and finds no subnet administration.
  bool somebody_follows_another() const;

  /// Of these, those that were told so and answered otherwise.
  std::vector<apply::Refusal> keepers_of_another() const;
  /// One that was published to do so takes ours now.
  bool somebody_follows_us_now() const;

  /// All of this table of the node is known, and what it is to hold.
  bool is_as_wanted(NodeIndex n, std::uint16_t attribute) const;
  /// Names tables that devices do not take, or do not tell, once each, and those of which that is
  /// over. True: one that routes were left for is among the latter.
  bool tell_refusals(Instant now, const std::vector<apply::Refusal>& refusals);

  /// The operator has taken P_Keys away that the plan gives.
  bool gives_taken_keys() const;
  /// Likewise, and the sweep that he asked for is due, so by this plan nothing more is set. Twice
  /// in a row at most, or who changes partitions all the time could hold everything up.
  bool leaves_taken_keys();
  /// What is under way is waited for, so that of each device it is known what it took.
  void break_off_taken_keys();

  /// Why a plan is left before all of it is programmed.
  enum class LeftFor : std::uint8_t { AnotherHeard, FabricChanged, KeysTaken };
  void drop_read_plan(Instant now, LeftFor why);
  /// Another subnet manager was heard that may be master: nothing more is set by the plan that is
  /// being programmed (decides_again()).
  void break_off(Instant now);
  /// FabricChanged: ports did before the first table was written.
  void end_half_way(Instant now, LeftFor why);
  /// Whether what it says may change by another sweep at once.
  bool is_unsettled(const Report& report);
  void end_apply(Instant now);

  void finish(Instant now, Report report);

  /// Until the next light sweep. It asks those who were silent, sooner where nobody waited for
  /// them.
  void rest(Instant now);

  // ---- light sweep

  void begin_look(Instant now);

  /// A full sweep is due: what does not answer would hold it up for seconds.
  void leave_look();

  void end_look(Instant now);

  // ---- our own port

  /// Not while a sweep reads what is looked at or Sets change it.
  bool may_look_aside() const;

  void check_own_port(Instant now);

  // ---- traps

  void check_traps(Instant now);
  /// What nodes are called now, where no sweep tells.
  void note_renamed(Instant now, std::map<ib::Guid, std::string> names);
  void publish_renamed();

  // ---- virtual ports

  VPortSubnet vport_subnet() const;
  /// A sweep ended, of the whole or a part.
  void visit_vports();
  void look_after_vports(Instant now);

  // ---- multicast

  void begin_multicast(Instant now);

  // ---- tables of devices

  void go_on_reading(Instant now);

  // ---- what arrives unasked

  void on_packet(Instant now, const ib::mad::Packet& packet);

  Effects take_effects(Instant now);

  void members_changed(Instant now);

  /// A trap of the port that we work by arrives without a LID, and nothing goes back to none. A
  /// port that has an M_Key takes no TrapRepress without it, and repeats its trap.
  ib::mad::Packet repress(const ib::mad::Packet& trap) const;
  void on_trap(Instant now, const ib::mad::Packet& packet, const ib::wire::Notice& notice);
};

}  // namespace sm::core
