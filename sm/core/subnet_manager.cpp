// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/subnet_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "libdiag/base/invariant.h"
#include "libdiag/base/text.h"
#include "sm/core/culprits.h"
#include "sm/core/flapping.h"
#include "sm/core/kept_nodes.h"
#include "sm/core/lost_store.h"
#include "sm/core/mastership.h"
#include "sm/core/own_port.h"
#include "sm/core/plan_inputs.h"
#include "sm/core/table_upkeep.h"
#include "sm/core/trap_look.h"
#include "sm/core/unsolicited.h"
#include "sm/device/tables/kinds.h"
#include "sm/plan/partitions.h"
#include "sm/plan/sl_rates.h"

namespace sm::core {
namespace {

using ib::Duration;
using ib::Instant;
using ib::kNever;
using ib::LogLevel;
using ib::discover::Observed;
using ib::discover::Trouble;
using ib::fabric::NodeIndex;

// Whose a completion is stands in the upper bits of its cookie.
constexpr ib::mad::Cookie kOwnerSweep = ib::mad::Cookie{1} << 48;
constexpr ib::mad::Cookie kOwnerApply = ib::mad::Cookie{2} << 48;
constexpr ib::mad::Cookie kOwnerLook = ib::mad::Cookie{3} << 48;
constexpr ib::mad::Cookie kOwnerMastership = ib::mad::Cookie{4} << 48;
constexpr ib::mad::Cookie kOwnerRead = ib::mad::Cookie{5} << 48;
constexpr ib::mad::Cookie kOwnerOwnPort = ib::mad::Cookie{6} << 48;
constexpr ib::mad::Cookie kOwnerTrapLook = ib::mad::Cookie{7} << 48;
constexpr ib::mad::Cookie owner_of(ib::mad::Cookie c) {
  return c & ~((ib::mad::Cookie{1} << 48) - 1);
}

constexpr std::size_t kNoticesMax = 1024;  // that nobody has fetched yet
constexpr Duration kRetryFirst = std::chrono::seconds(1);
constexpr Duration kSoon = std::chrono::seconds(1);  // no light sweep so shortly before a full one
constexpr unsigned kTornMax = 2;
constexpr Duration kOwnPortAfter = std::chrono::milliseconds(100);  // the first sweep
constexpr Duration kSilence = std::chrono::milliseconds(100);  // of all who are still to answer
/// After a take-over clients have so long to register again before trees of others are cleared.
constexpr Duration kGroupsKept = std::chrono::seconds(60);
constexpr Duration kMemberPause = std::chrono::milliseconds(50);

}  // namespace

std::string_view reason_name(Reason reason) {
  switch (reason) {
    case Reason::Start:
      return "start";
    case Reason::Operator:
      return "operator";
    case Reason::Trap:
      return "trap";
    case Reason::Partitions:
      return "partitions changed";
    case Reason::Timer:
      return "timer";
    case Reason::ChangeSeen:
      return "change seen";
    case Reason::Unfinished:
      return "unfinished";
    case Reason::LinksRestarted:
      return "links restarted";
    case Reason::LinkReleased:
      return "link released";
    case Reason::Election:
      return "election";
  }
  return "";
}

struct SubnetManager::Impl {
  Options options;
  ib::mad::Transactor transactor;
  Counters counters;
  bool started{false};
  bool stirred{false};  // since settle()

  // What is under way; at most one of these at a time.
  std::unique_ptr<ib::discover::Sweep> sweep;
  std::unique_ptr<apply::Apply> applying;
  std::unique_ptr<LightSweep> looking;
  std::shared_ptr<Observed> undecided;  // what a sweep found, while the others are asked
  std::shared_ptr<Observed> planning;   // what a sweep found, while a plan is made from it
  std::optional<PlanJob> plan_job;      // that nobody has taken yet
  std::uint64_t plans{0};               // begun, or known to be out of date
  enum class Serving {
    Sweep,
    Memberships,
    Reading
  };                                // Reading: of what must be known before it is planned
  Serving serving{Serving::Sweep};  // whom `applying` does

  // What is known. Shared with the snapshot between sweeps; unshare() before anything changes it.
  std::shared_ptr<Observed> seen{std::make_shared<Observed>()};
  apply::Known known;
  std::shared_ptr<const plan::Desired> desired;
  PlanInputs inputs;
  std::uint64_t desired_aliases_revision{0};
  bool operator_asked{false};  // for the sweep that is under way
  bool taking_over{false};     // by it; till then others managed the subnet
  /// This sweep and what follows from it wait for everybody with all the patience there is: nothing
  /// is up yet that they could hold up, or the operator asked.
  bool patient{true};
  bool cut_short{false};   // it did not
  Instant cut_at{kNever};  // unless somebody answers before
  Culprits culprits;
  std::set<ib::Guid> silent_switches;  // seen by light sweeps since the last full one
  Mastership mastership;
  TableUpkeep tables;  // reads between the others
  OwnPort own_port{kOwnerOwnPort};
  TrapLook trap_look;
  Flapping flapping;
  KeptNodes kept;
  SnapshotPtr snapshot;
  HoldingsPtr holdings;
  std::uint64_t generation{0};

  // When to do what.
  std::set<Reason> reasons;
  Instant sweep_at{kNever};
  Instant look_at{kNever};
  Instant multicast_at{kNever};
  Instant forget_groups_at{kNever};  // trees of the master before, whose members do not come back
  bool sweeping{true};               // sweeps are not inhibited
  bool reroute_wanted{false};
  Duration retry_pause{kRetryFirst};
  Duration silence_pause{kRetryFirst};
  unsigned round{0};
  unsigned torn{0};  // sweeps in a row that were not used
  bool published_before_active{false};

  // The bring-up being reported.
  Instant began;
  std::uint64_t sends_before{0}, retries_before{0};
  std::uint64_t sets_this_time{0};

  Effects effects;  // of what happened since they were taken; packets of the transactor are its own
  SnapshotPtr snapshot_taken;
  HoldingsPtr holdings_taken;

  Impl(Options o, const store::Contents& contents)
      : options(std::move(o)),
        transactor(options.transactor),
        inputs(contents, options.registrations_lost, options.plan.reassign_lids),
        mastership(options.mastership, kOwnerMastership),
        tables(kOwnerRead, options.read_tables_after, known.inventory),
        trap_look(kOwnerTrapLook, options.trap_pause) {}

  void log(LogLevel level, std::string topic, std::string message) {
    effects.log.push_back({level, std::move(topic), std::move(message)});
  }

  template <class Machine>
  void take_logs(Machine& machine) {
    while (auto event = machine.next_log()) effects.log.push_back(*std::move(event));
  }

  bool busy() const { return sweep || planning || applying || looking || undecided; }

  // ---- when

  void want_sweep(Instant at, Reason reason) {
    reasons.insert(reason);
    sweep_at = std::min(sweep_at, at);
  }

  Instant next_deadline() const {
    Instant t = transactor.next_deadline();
    t = std::min(t, mastership.due());
    const bool free = !busy() && mastership.sweeps();
    if (free) t = std::min({t, forget_groups_at, tables.due()});
    if (free && sweeping) t = std::min({t, sweep_at, look_at, flapping.due(), kept.due()});
    if (free && !trap_look.busy()) t = std::min(t, multicast_at);
    if (looking && sweeping) t = std::min(t, sweep_at);
    if (sweep || applying) t = std::min(t, cut_at);
    if (may_look_aside()) t = std::min({t, own_port.due(), trap_look.due()});
    return t;
  }

  void on_time(Instant now) {
    transactor.on_time(now);
    if (started && mastership.due() <= now) mastership.on_time(now);
    run(now);
  }

  /// Everything that can be done now.
  void run(Instant now) {
    do {
      pump(now);
      heed_mastership(now);
      if (cut_at <= now) cut_short_if_silent(now);
      if (looking && sweeping && sweep_at <= now) leave_look();
      if (!busy()) begin_next(now);
      look_at_own_port(now);
      look_at_traps(now);
      if (!busy()) go_on_reading(now);
    } while (deliverable());
  }
  /// What waits for the silent alone holds everybody else up.
  void cut_short_if_silent(Instant now) {
    cut_at = kNever;
    if (patient || (!sweep && !applying)) return;
    const ib::mad::Cookie owner = sweep ? kOwnerSweep : kOwnerApply;
    const auto is_its = [&](ib::mad::Cookie cookie) { return owner_of(cookie) == owner; };
    cut_at = now + kSilence;
    if (!transactor.waits_for_the_silent(is_its)) return;
    cut_short = true;
    transactor.give_up(now, is_its);
    pump(now);
  }

  bool deliverable() {
    completion = transactor.next_completion();
    return completion.has_value();
  }
  std::optional<ib::mad::Completion> completion;

  void begin_next(Instant now) {
    if (!started || !mastership.sweeps()) return;
    if (forget_groups_at <= now) {
      forget_groups_at = kNever;
      multicast_at = now;
    }
    if (sweeping && kept.due() <= now) want_sweep(now, Reason::ChangeSeen);
    if (sweeping && flapping.release(now)) want_sweep(now, Reason::LinkReleased);
    if (sweeping && sweep_at <= now) {
      begin_sweep(now);
    } else if (sweeping && reroute_wanted) {
      begin_reroute(now);
    } else if (multicast_at <= now && !trap_look.busy()) {
      begin_multicast(now);
    } else if (sweeping && look_at <= now) {
      if (sweep_at <= now + kSoon) {
        look_at = sweep_at;
        return;
      }
      begin_look(now);
    } else {
      return;
    }
    submit(now);
    move_on(now);  // what has nothing to ask is done already
  }

  ib::mad::Exchange* exchange() {
    if (sweep) return sweep.get();
    if (applying) return applying.get();
    return looking.get();
  }

  void submit(Instant now) {
    ib::mad::Exchange* machine = exchange();
    if (machine == nullptr) return;
    for (auto requests = machine->take_requests(); !requests.empty();
         requests = machine->take_requests())
      for (ib::mad::Request& r : requests) transactor.submit(now, std::move(r));
    before_activation(now);
  }

  /// Hands completions to whom they belong and moves on when a machine is done.
  void pump(Instant now) {
    if (!completion) completion = transactor.next_completion();
    for (; completion; completion = transactor.next_completion()) {
      const ib::mad::Cookie owner = owner_of(completion->cookie);
      if (owner == kOwnerMastership) {
        mastership.on_completion(now, *completion);
        continue;
      }
      if (owner == kOwnerOwnPort) {
        own_port.on_completion(*completion);
        continue;
      }
      if (owner == kOwnerTrapLook) {
        trap_look.on_completion(now, *completion, *seen, flapping);
        continue;
      }
      if (owner == kOwnerRead) {
        tables.on_completion(now, *completion);
        continue;
      }
      ib::mad::Exchange* machine = exchange();
      const ib::mad::Cookie wanted = sweep ? kOwnerSweep : applying ? kOwnerApply : kOwnerLook;
      if (machine == nullptr || owner != wanted) continue;
      if (completion->reply && !patient) cut_at = now + kSilence;
      machine->on_completion(now, *completion);
      submit(now);
      move_on(now);
    }
    move_on(now);
  }

  void move_on(Instant now) {
    while (true) {
      if (sweep && sweep->done()) {
        end_sweep(now);
      } else if (applying && applying->done()) {
        end_apply(now);
      } else if (looking && looking->done()) {
        end_look(now);
      } else {
        return;
      }
      submit(now);
    }
  }

  // ---- full sweep

  /// Of the fabric as it is known.
  void begin_reroute(Instant now) {
    reroute_wanted = false;
    // Whom a sweep did not wait for the next one hears.
    if (!desired || kept.count() > 0) return want_sweep(now, Reason::Operator);
    log(LogLevel::Verbose, "sweep", "routes are computed anew");
    operator_asked = cut_short = false;
    patient = true;
    stop_reading();
    begin_bring_up(now);
    begin_plan(now, std::make_shared<Observed>(*seen));
  }

  void stop_reading() {
    for (const ib::mad::Cookie cookie : tables.on_sweep_begun()) transactor.cancel(cookie);
    for (const ib::mad::Cookie cookie : trap_look.on_sweep_begun()) transactor.cancel(cookie);
    stirred = true;
  }

  void begin_bring_up(Instant now) {
    began = now;
    sends_before = transactor.counters().sends;
    retries_before = transactor.counters().retries;
    sets_this_time = 0;
  }

  void begin_sweep(Instant now) {
    std::string why;
    for (const Reason r : reasons)
      why += fmt::format("{}{}", why.empty() ? "" : ", ", reason_name(r));
    log(LogLevel::Verbose, "sweep", fmt::format("full sweep: {}", why));
    operator_asked = reasons.contains(Reason::Operator);
    if (round == 0) patient = !desired || operator_asked;
    cut_short = false;
    cut_at = patient ? kNever : now + kSilence;
    reasons.clear();
    sweep_at = look_at = kNever;
    reroute_wanted = false;
    stop_reading();
    ++counters.full_sweeps;
    if (round == 0) begin_bring_up(now);
    ib::discover::SweepOptions o;
    o.cookie_base = kOwnerSweep;
    o.clear_changes = desired != nullptr;  // the first sweep does not know yet who is master
    o.stood_elsewhere = [before = seen](ib::Guid node, ib::Guid at, std::uint8_t port) {
      return before && stood_elsewhere(before->fabric, node, at, port);
    };
    o.is_held = [this](ib::Guid at, std::uint8_t port) { return flapping.is_held(at, port); };
    sweep = std::make_unique<ib::discover::Sweep>(std::move(o));
  }

  void end_sweep(Instant now) {
    Observed found = sweep->take_observed();
    sweep.reset();
    transactor.settle();
    culprits.identify(found, *seen);
    for (const auto& node : found.nodes)
      if (node.changed) known.doubtful.insert(node.info.node_guid);
    if (is_torn(found)) {
      log(LogLevel::Info, "sweep",
          "the fabric changed while it was swept, and nodes did not answer: once more before "
          "anybody is left out");
      ++torn;
      want_sweep(now, operator_asked ? Reason::Operator : Reason::Trap);
      return;
    }
    torn = 0;
    if (options.rehearse) return begin_plan(now, std::make_shared<Observed>(std::move(found)));
    undecided = std::make_shared<Observed>(std::move(found));
    mastership.on_swept(now, *undecided);
    heed_mastership(now);
  }

  // ---- other subnet managers

  /// What it asks and what it orders; and the sweep goes on, once the others are known.
  void heed_mastership(Instant now) {
    for (const ib::mad::Cookie cookie : mastership.take_cancelled()) transactor.cancel(cookie);
    for (ib::mad::Request& r : mastership.take_requests()) transactor.submit(now, std::move(r));
    for (ib::mad::Packet& p : mastership.take_packets())
      effects.send.push_back({std::move(p), Duration{0}});
    while (const auto order = mastership.next_order()) {
      if (*order == Mastership::Order::StandDown)
        stand_down(now);
      else
        want_sweep(now, Reason::Election);
    }
    take_logs(mastership);
    if (mastership.take_news()) effects.standing = mastership.standing();
    if (mastership.take_others_changed() && snapshot) publish_holdings();
    if (undecided && mastership.is_decided()) on_decided(now);
  }

  void on_decided(Instant now) {
    auto found = std::exchange(undecided, nullptr);
    if (mastership.conclude(now)) {
      begin_plan(now, std::move(found));
    } else {
      // Whoever manages has plans by what was found before.
      if (!desired) seen = std::move(found);
      if (desired) rest(now);
    }
    heed_mastership(now);
  }

  /// Somebody else is master: whatever is under way is left, and of the subnet nothing is believed.
  void stand_down(Instant now) {
    sweep.reset();
    applying.reset();
    looking.reset();
    undecided.reset();
    if (plan_job) planning.reset();
    plan_job.reset();
    outdate_plan();
    (void)tables.on_sweep_begun();
    (void)trap_look.on_sweep_begun();
    own_port = OwnPort(kOwnerOwnPort);
    transactor.give_up(now, [](ib::mad::Cookie c) { return owner_of(c) != kOwnerMastership; });
    for (auto c = transactor.next_completion(); c; c = transactor.next_completion())
      if (owner_of(c->cookie) == kOwnerMastership) mastership.on_completion(now, *c);
    desired.reset();
    snapshot.reset();
    holdings.reset();
    silent_switches.clear();
    kept.forget();
    reasons.clear();
    sweep_at = look_at = multicast_at = forget_groups_at = cut_at = kNever;
    round = torn = 0;
    taking_over = reroute_wanted = false;
    stirred = true;
  }

  void begin_plan(Instant now, std::shared_ptr<Observed> found) {
    if (mastership.take_taken_over()) taking_over = true;
    if (taking_over) {
      operator_asked = true;  // what devices hold is read again
      forget_groups_at = now + kGroupsKept;
    }
    if (cut_short && desired) {
      kept.keep(now, *found, *seen, desired->node_managed);
    } else {
      kept.forget();
    }
    take_logs(kept);
    flapping.on_sweep(now, *seen, *found);
    take_logs(flapping);
    if (operator_asked) known.doubt_ports();
    tables.on_found(*found, operator_asked);
    silent_switches.clear();  // those of this sweep are in its troubles
    plan::PlanRequest request = inputs.request_for(found, options.plan);
    request.options.keep_unknown_groups = now < forget_groups_at && forget_groups_at != kNever;
    request.options.lids_of_devices = taking_over && !options.honor_stored_lids;
    if (desired) request.before = seen;
    if (snapshot && !snapshot->routing->engine.empty()) request.previous = snapshot->routing;
    request.held = tables.tables();
    request.mute = mute_nodes(*found);
    cut_at = kNever;
    planning = std::move(found);
    plan_job.emplace(PlanJob{++plans, std::move(request)});
  }

  /// What the operator gave anew is not in the plan that is being made.
  void outdate_plan() {
    if (planning) ++plans;
  }

  void on_planned(Instant now, PlanResult result) {
    ib::invariant(planning != nullptr, "a plan came back that nobody asked for");
    auto found = std::exchange(planning, nullptr);
    const bool counts = result.generation == plans;
    inputs.take_back(result.planned, counts);
    if (!mastership.is_master() && !options.rehearse) {
      log(LogLevel::Info, "plan", "what was computed is dropped: another one is master");
    } else if (counts) {
      take_plan(now, std::move(found), std::move(result.planned.desired));
    } else {
      log(LogLevel::Info, "plan", "what was computed is dropped: it is by options of before");
      want_sweep(now, Reason::Operator);
    }
    submit(now);
    run(now);
  }

  void take_plan(Instant now, std::shared_ptr<Observed> found, ib::Result<plan::Desired> planned) {
    if (!planned) {
      log(LogLevel::Error, "plan", planned.error().message);
      for (const Trouble& t : found->troubles) log_trouble(t);
      Report r;
      r.missing = 1;
      r.lines.push_back("missing: " + planned.error().message);
      // What was known before still belongs to what was desired then.
      if (!desired) seen = std::move(found);
      finish(now, std::move(r));
      return;
    }
    seen = std::move(found);
    // The others are in the report.
    for (const Trouble& t : seen->troubles)
      if (concerns_managed(*planned, *seen, t)) log_trouble(t);
    for (const std::string& line : planned->alarms) log(LogLevel::Warning, "plan", line);
    for (const std::string& line : planned->notes) log(LogLevel::Info, "plan", line);
    if (planned->offer_taken) {
      // What is read badly from now on leaves these.
      options.plan.choice.engine = inputs.offered->options;
      options.plan.mentions = inputs.offered->mentions;
      inputs.offered.reset();
    }
    if (!desired && inputs.no_lids_stored() && !inputs.lids_are_forgotten())
      if (std::string line = describe_lost_store(*seen, *planned); !line.empty())
        log(LogLevel::Error, "store", std::move(line));
    if (store::Batch batch = inputs.remember_lids(*planned); !batch.empty())
      effects.commit.push_back(std::move(batch));
    taking_over = false;
    desired = std::make_shared<const plan::Desired>(*std::move(planned));
    desired_aliases_revision = inputs.aliases_revision();
    inputs.vls_programmed = inputs.vls_programmed || desired->vl_tables != nullptr;
    transactor.settle();
    if (!patient) cut_at = now + kSilence;
    begin_apply(is_to_be_read() ? Serving::Reading : Serving::Sweep);
  }

  bool is_unknown(const plan::WantedBlock& want) const {
    const ib::Guid guid = seen->fabric.node(want.node).guid;
    return known.inventory.held(*want.kind, guid, want.slot) == nullptr &&
           !known.refused.contains(guid, apply::ask_for(want));
  }

  /// A key keeps its index, so tables are known before they are planned; and what a device can do
  /// is known before it is asked to.
  bool is_to_be_read() const {
    const auto unknown = [this](const plan::WantedBlock& want) { return is_unknown(want); };
    return (desired->partitions->from_file &&
            std::ranges::any_of(desired->p_key_blocks, unknown)) ||
           std::ranges::any_of(desired->to_read, unknown);
  }

  /// The plan as it is, with what is to be read among its blocks.
  std::shared_ptr<const plan::Desired> with_readings() const {
    if (desired->to_read.empty()) return desired;
    auto reading = std::make_shared<plan::Desired>(*desired);
    reading->blocks.insert(reading->blocks.end(), desired->to_read.begin(), desired->to_read.end());
    std::ranges::stable_sort(reading->blocks, {}, &plan::WantedBlock::node);
    return reading;
  }

  /// Nodes that were asked what they can do, and did not tell.
  std::set<ib::Guid> mute_nodes(const Observed& found) const {
    std::set<ib::Guid> mute;
    if (options.plan.rates == nullptr) return mute;
    for (NodeIndex n = 0; n < found.nodes.size(); ++n)
      if (known.refused.contains(found.fabric.node(n).guid,
                                 apply::ask_for({n, &device::kGeneralInfo, {}, {}})))
        mute.insert(found.fabric.node(n).guid);
    return mute;
  }

  void plan_rates_again(plan::Desired& next) {
    if (options.plan.rates == nullptr) return;
    auto rates = plan::plan_sl_rates(*seen, next.node_managed, next.sm_port, *options.plan.rates,
                                     known.inventory, mute_nodes(*seen));
    next.rate_blocks = std::move(rates.blocks);
    next.to_read = std::move(rates.to_read);
    for (const std::string& line : rates.alarms) log(LogLevel::Warning, "plan", line);
  }

  /// With what was read since; true: some table is to be written.
  bool plan_blocks_again() {
    auto next = std::make_shared<plan::Desired>(*desired);
    plan::want_p_keys(*next, *seen, desired->partitions, options.plan.p_keys, known.inventory);
    if (!next->to_read.empty()) plan_rates_again(*next);
    gather_blocks(*next);
    desired = std::move(next);
    const auto to_be_written = [&](const plan::WantedBlock& want) {
      return apply::must_write({*seen, known.inventory, known.refused, want.node},
                               apply::ask_for(want));
    };
    return std::ranges::any_of(desired->p_key_blocks, to_be_written);
  }

  void gather_blocks(plan::Desired& next) const {
    plan::gather_blocks(
        next, plan::want_guids(*seen, next.node_managed, inputs.aliases(), inputs.alias_blocks()));
  }

  /// A trap came while the sweep ran, and somebody who is managed did not answer: perhaps for a
  /// cable only that the questions went over.
  bool is_torn(const Observed& found) const {
    return desired && trap_look.waiting() && torn < kTornMax &&
           somebody_fell_silent(found, *seen, desired->node_managed);
  }

  void log_trouble(const Trouble& t) {
    log(LogLevel::Warning, "sweep",
        fmt::format("{}: {}", ib::discover::trouble_name(t.kind), t.message));
  }

  void begin_apply(Serving whom) {
    apply::ApplyOptions o;
    o.cookie_base = kOwnerApply;
    o.per_node = options.transactor.window_per_target;
    o.after_sweep = whom == Serving::Sweep;
    o.only_read = whom == Serving::Reading;
    o.rehearse = options.rehearse;
    o.read_back = whom == Serving::Sweep && operator_asked;
    for (NodeIndex n = 0; n < seen->nodes.size(); ++n)
      o.silent.push_back(kept.contains(seen->nodes[n].info.node_guid));
    serving = whom;
    published_before_active = whom != Serving::Sweep;
    unshare();
    applying = std::make_unique<apply::Apply>(whom == Serving::Reading ? with_readings() : desired,
                                              *seen, known, std::move(o));
  }

  void unshare() {
    if (snapshot && snapshot->observed == seen) seen = std::make_shared<Observed>(*seen);
  }

  void before_activation(Instant) {
    if (!applying || published_before_active || applying->phase() < apply::Phase::Activate) return;
    published_before_active = true;
    transactor.settle();
    publish(false);
  }

  void publish(bool up) {
    auto s = std::make_shared<Snapshot>();
    s->generation = ++generation;
    seen->fabric.reindex();  // answers to Sets changed LIDs
    s->observed = applying ? std::make_shared<Observed>(*seen) : seen;
    s->routing = desired->program_lfts || !snapshot ? desired->routing : snapshot->routing;
    s->sm_port = desired->sm_port;
    s->sm_lid = desired->sm_lid;
    s->sm_sl = options.plan.sm_sl.value_or(ib::Sl{});
    s->sm_port_guid = seen->fabric.port(desired->sm_port).guid;
    s->partitions = desired->partitions;
    s->subnet_prefix = options.plan.subnet_prefix;
    s->subnet_timeout = options.plan.subnet_timeout;
    s->packet_life_time = options.plan.packet_life_time;
    s->up = up;
    snapshot = std::move(s);
    publish_holdings();
  }

  void publish_holdings() {
    auto h = std::make_shared<Holdings>();
    h->tables = tables.tables();
    h->tables_to_come = tables.to_come();
    // Trees that failed a must were not programmed: what stands is not known.
    if (desired->program_mfts) {
      h->graph = {desired->routing, &desired->routing->graph};
      h->multicast = {desired, &desired->mfts};
    }
    h->aliases_revision = desired_aliases_revision;
    mastership.set_sends(transactor.counters().sends);
    h->own_sm = mastership.own_info();
    h->other_sms = mastership.others().known();
    holdings = std::move(h);
  }

  /// Who is not there any more is asked when it is back.
  void note_who_was_told() {
    inputs.not_told.clear();
    for (const ib::route::LidAssignment& a : desired->lids)
      if (desired->ports[seen->port_index(a.port)].reregister && !applying->has_answered(a.port))
        inputs.not_told.insert(a.guid);
  }

  void end_apply(Instant now) {
    const bool links_restarted = applying->restarted_links();
    sets_this_time += applying->sets();
    counters.sets += applying->sets();
    const auto failures = applying->failures();
    auto differences = applying->differences();
    if (serving == Serving::Sweep) note_who_was_told();
    applying.reset();
    if (serving == Serving::Reading) {
      plan_blocks_again();
      begin_apply(Serving::Sweep);
      return;
    }
    if (serving == Serving::Sweep) transactor.settle();
    for (const apply::Failure& f : failures) log(LogLevel::Warning, "apply", f.message);
    if (serving != Serving::Sweep) {
      publish_holdings();
      if (!failures.empty()) want_sweep(now + retry_pause, Reason::Unfinished);
      return;
    }
    inputs.sa_state_lost = false;
    Report report = make_report(*desired, *seen, failures);
    report.differences = std::move(differences);
    const bool moved = std::ranges::any_of(
        seen->troubles, [](const Trouble& t) { return t.kind == Trouble::Kind::Moved; });
    // That there are no routes does not change by asking the same again.
    const bool ports_missing = report.missing > (desired->routed ? 0U : 1U);
    // Nor of those who do not answer, who have their time.
    const bool settled = !ports_missing || kept.count() > 0;
    if ((!settled || links_restarted || moved) && ++round < options.rounds) {
      // Once more at once, before anything is said: a loss or a change in the middle is no verdict.
      want_sweep(links_restarted ? now + std::chrono::milliseconds(200) : now,
                 links_restarted ? Reason::LinksRestarted : Reason::Unfinished);
      return;
    }
    publish(report.up());
    tables.on_sweep_done(now);
    if (!own_port.is_known()) own_port.call_for(now + kOwnPortAfter);
    finish(now, std::move(report));
  }

  void finish(Instant now, Report report) {
    round = 0;
    report.took = now - began;
    report.mads = transactor.counters().sends - sends_before;
    report.sets = sets_this_time;
    log(LogLevel::Verbose, "sweep",
        fmt::format("{} MADs, {} of them repetitions, {} SubnSets", report.mads,
                    transactor.counters().retries - retries_before, report.sets));
    for (const std::string& line : report.lines) log(LogLevel::Warning, "subnet", line);
    report.silent = kept.count();
    for (std::string& line : flapping.held_links()) {
      ++report.held_down;
      report.lines.push_back(std::move(line));
    }
    if (report.missing > 0 && kept.count() == 0) {
      want_sweep(now + retry_pause, Reason::Unfinished);
      retry_pause = std::min(retry_pause * 2, std::max(options.sweep_interval, kRetryFirst));
    } else {
      retry_pause = kRetryFirst;
    }
    effects.reports.push_back(std::move(report));
    rest(now);
  }

  /// Until the next light sweep. It asks those who were silent, sooner where nobody waited for
  /// them.
  void rest(Instant now) {
    if (options.sweep_interval == Duration{0}) return;
    const bool silence = std::ranges::any_of(
        seen->troubles, [](const Trouble& t) { return t.kind == Trouble::Kind::Silent; });
    if (cut_short && silence) {
      look_at = now + silence_pause;
      silence_pause = std::min(2 * silence_pause, options.sweep_interval);
    } else {
      look_at = now + options.sweep_interval;
      silence_pause = std::min(kRetryFirst, options.sweep_interval);
    }
  }

  // ---- light sweep

  void begin_look(Instant now) {
    look_at = kNever;
    if (!desired) return;
    if (options.full_sweeps_only) return want_sweep(now, Reason::Timer);
    ++counters.light_sweeps;
    own_port.call_for(now);
    mastership.ask_again(*seen);
    looking =
        std::make_unique<LightSweep>(*seen, desired->node_managed, silent_switches, kOwnerLook);
  }

  /// A full sweep is due: what does not answer would hold it up for seconds.
  void leave_look() {
    for (const ib::mad::Cookie cookie : looking->in_flight()) transactor.cancel(cookie);
    looking.reset();
  }

  void end_look(Instant now) {
    const auto changes = looking->changes();
    for (const std::string& line : looking->notes()) log(LogLevel::Warning, "sweep", line);
    silent_switches = looking->silent();
    looking.reset();
    for (const std::string& line : changes) log(LogLevel::Info, "sweep", line);
    if (!changes.empty()) {
      want_sweep(now, Reason::ChangeSeen);
    } else {
      rest(now);
    }
  }

  // ---- our own port

  /// Not while a sweep reads what is looked at or Sets change it.
  bool may_look_aside() const { return desired && !sweep && !planning && !applying; }

  void look_at_own_port(Instant now) {
    if (may_look_aside() && own_port.due() <= now) own_port.begin(now, *seen, *desired);
    for (ib::mad::Request& r : own_port.take_requests()) transactor.submit(now, std::move(r));
    take_logs(own_port);
    if (own_port.take_sweep_wanted()) want_sweep(now, Reason::ChangeSeen);
    const auto lid = own_port.take_other_master();
    if (!lid) return;
    if (const auto at = seen->fabric.find_lid(*lid)) {
      mastership.on_other_master(fmt::format(
          "\"{}\", LID {}", ib::printable(seen->fabric.node(at->node).description), lid->value));
      heed_mastership(now);
    }
  }

  // ---- traps

  void look_at_traps(Instant now) {
    if (may_look_aside() && trap_look.due() <= now)
      for (const ib::mad::Cookie cookie : trap_look.on_time(now, *seen, flapping))
        transactor.cancel(cookie);
    for (ib::mad::Request& r : trap_look.take_requests()) transactor.submit(now, std::move(r));
    take_logs(trap_look);
    if (const auto at = trap_look.take_sweep_wanted()) want_sweep(std::max(now, *at), Reason::Trap);
    if (may_look_aside() && trap_look.take_light_sweep_wanted())
      look_at = std::min(look_at, now + options.trap_pause);
  }

  // ---- multicast

  void begin_multicast(Instant now) {
    multicast_at = kNever;
    if (!desired) return;
    auto next = std::make_shared<plan::Desired>(*desired);
    gather_blocks(*next);
    desired_aliases_revision = inputs.aliases_revision();
    next->keep_unknown_groups = forget_groups_at != kNever;
    // Whom the sweep asked to register again has heard it.
    for (plan::PortWant& want : next->ports) want.reregister = false;
    if (options.plan.multicast)
      for (const std::string& line :
           plan::want_multicast(*next, seen->fabric, inputs.groups()).alarms)
        log(LogLevel::Warning, "plan", line);
    desired = std::move(next);
    patient = false;
    cut_at = now + kSilence;
    begin_apply(Serving::Memberships);
  }

  // ---- tables of devices

  void go_on_reading(Instant now) {
    if (tables.due() <= now) {
      stirred = true;
      tables.begin(now, snapshot, desired->node_managed, desired->partitions->from_file);
    }
    for (ib::mad::Request& r : tables.take_requests()) transactor.submit(now, std::move(r));
    const bool news = tables.has_news(now);
    counters.tables_read = tables.nodes_read();
    take_logs(tables);
    if (news) publish_holdings();
    if (!news || !tables.at_rest()) return;
    // Without a partition file what they hold is no reason to keep a first sweep waiting.
    const bool planned_after_reading = !desired->partitions->from_file;
    if ((tables.take_rewritten() || planned_after_reading) && plan_blocks_again())
      multicast_at = std::min(multicast_at, now);
  }

  // ---- what arrives unasked

  void on_packet(Instant now, const ib::mad::Packet& packet) {
    if (transactor.on_packet(now, packet)) {
      run(now);
      return;
    }
    const ib::wire::Mad& mad = packet.mad;
    if (mad.method() == ib::wire::Method::Trap && mad.attribute_id() == ib::wire::attr::kNotice) {
      ++counters.traps;
      effects.send.push_back({trap_repress(packet), Duration{0}});
      const auto notice = ib::wire::body<ib::wire::Notice>(mad);
      if (effects.notices.size() < kNoticesMax)
        effects.notices.push_back({notice, packet.address.lid});
      on_trap(now, packet, notice);
      return;
    }
    if (ib::wire::is_response(mad.method()) || mad.method() == ib::wire::Method::TrapRepress) {
      ++counters.dropped;
      return;
    }
    mastership.set_sends(transactor.counters().sends);
    const std::uint64_t refused = mastership.refused();
    auto reply = mastership.answer(now, packet, *seen);
    if (reply) effects.send.push_back({*std::move(reply), Duration{0}});
    if (mad.attribute_id() != ib::wire::attr::kSmInfo)
      ++counters.dropped;
    else if (mad.method() == ib::wire::Method::Get)
      ++counters.sm_info_gets;
    counters.sm_info_sets_refused += mastership.refused() - refused;
    run(now);
  }

  Effects take_effects(Instant now) {
    Effects taken = std::exchange(effects, {});
    taken.plan = std::exchange(plan_job, std::nullopt);
    if (holdings != holdings_taken) taken.holdings = holdings_taken = holdings;
    if (snapshot != snapshot_taken) taken.snapshot = snapshot_taken = snapshot;
    while (auto order = transactor.next_send(now))
      taken.send.push_back(
          {{order->address, order->mad, std::move(order->more)}, order->reply_within});
    return taken;
  }

  void members_changed(Instant now) {
    if (mastership.is_master() && (desired || planning))
      multicast_at = std::min(multicast_at, now + kMemberPause);
  }

  void on_trap(Instant now, const ib::mad::Packet& packet, const ib::wire::Notice& notice) {
    const std::uint16_t number = notice.is_generic ? notice.trap_number : std::uint16_t{0};
    // A trap of the port that we work by arrives without a LID.
    const ib::Lid from =
        desired && packet.address.lid == ib::kNoLid ? desired->sm_lid : packet.address.lid;
    effects.log.push_back({LogLevel::Info, "trap",
                           fmt::format("trap {} from LID {}", number, notice.issuer_lid.value),
                           ib::LogCause{"trap", from}});
    if (number == ib::wire::trap::kCapabilityChange && desired)
      mastership.on_change_at(from, *seen);
    if (desired && speaks_of(notice, desired->sm_lid)) own_port.call_for(now);
    // Opening our own issm file raises 144 at our own port.
    if (desired && from == desired->sm_lid && number == ib::wire::trap::kCapabilityChange) return;
    if (options.look_at_traps && mastership.sweeps())
      trap_look.on_trap(now, from, notice, *seen, !may_look_aside());
    run(now);
  }
};

SubnetManager::SubnetManager(Options options, const store::Contents& contents)
    : impl_(std::make_unique<Impl>(std::move(options), contents)) {}
SubnetManager::~SubnetManager() = default;

void SubnetManager::start(Instant now) {
  impl_->started = true;
  impl_->mastership.start(now);
  if (impl_->mastership.sweeps()) impl_->want_sweep(now, Reason::Start);
  impl_->run(now);
}
void SubnetManager::on_packet(Instant now, const ib::mad::Packet& packet) {
  impl_->on_packet(now, packet);
}
void SubnetManager::on_send_failed(Instant now, const Outgoing& outgoing, ib::Error error) {
  ib::mad::SendOrder order;
  order.address = outgoing.packet.address;
  order.mad = outgoing.packet.mad;
  order.reply_within = outgoing.reply_within;
  if (outgoing.reply_within > Duration{0})
    impl_->transactor.on_send_failed(order, std::move(error));
  impl_->run(now);
}
void SubnetManager::on_time(Instant now) { impl_->on_time(now); }
void SubnetManager::sweep_now(Instant now, Reason reason) {
  if (!impl_->mastership.sweeps()) return;
  if (reason == Reason::Operator) impl_->outdate_plan();
  impl_->want_sweep(now, reason);
  impl_->run(now);
}
void SubnetManager::look_now(Instant now) {
  impl_->look_at = std::min(impl_->look_at, now);
  impl_->run(now);
}
void SubnetManager::reroute_now(Instant now) {
  if (!impl_->desired) return sweep_now(now, Reason::Operator);
  impl_->outdate_plan();
  impl_->reroute_wanted = true;
  impl_->run(now);
}
void SubnetManager::set_sweeping(Instant now, bool on) {
  impl_->sweeping = on;
  impl_->run(now);
}
void SubnetManager::set_priority(Instant now, std::uint8_t priority) {
  impl_->mastership.set_priority(priority);
  impl_->run(now);
}
void SubnetManager::on_planned(Instant now, PlanResult result) {
  impl_->on_planned(now, std::move(result));
}
void SubnetManager::set_routing_files(ib::route::ReadOptions files) {
  impl_->outdate_plan();
  impl_->inputs.offered = std::make_shared<const ib::route::ReadOptions>(std::move(files));
}
void SubnetManager::set_groups(Instant now, std::vector<plan::MlidGroup> groups) {
  if (impl_->inputs.groups() == groups) return;
  impl_->inputs.set_groups(std::move(groups));
  impl_->members_changed(now);
}

void SubnetManager::set_aliases(Instant now, plan::PortAliases aliases, std::uint64_t revision) {
  PlanInputs& inputs = impl_->inputs;
  if (inputs.aliases() == aliases && inputs.aliases_revision() == revision) return;
  inputs.set_aliases(std::move(aliases), revision);
  impl_->members_changed(now);
}

void SubnetManager::set_options(const Options& options) {
  impl_->outdate_plan();
  Options& now = impl_->options;
  now.sweep_interval = options.sweep_interval;
  now.full_sweeps_only = options.full_sweeps_only;
  now.look_at_traps = options.look_at_traps;
  plan::PlanOptions plan = options.plan;
  plan.choice = std::move(now.plan.choice);
  plan.mentions = std::move(now.plan.mentions);
  plan.partitions = std::move(now.plan.partitions);
  plan.rates = std::move(now.plan.rates);
  now.plan = std::move(plan);
}

void SubnetManager::set_partitions(std::shared_ptr<const policy::PartitionPolicy> partitions) {
  impl_->outdate_plan();
  impl_->options.plan.partitions = std::move(partitions);
}

void SubnetManager::set_rates(std::shared_ptr<const policy::RatePolicy> rates) {
  impl_->outdate_plan();
  impl_->options.plan.rates = std::move(rates);
}

const Mastership& SubnetManager::mastership() const { return impl_->mastership; }

Instant SubnetManager::next_deadline() const { return impl_->next_deadline(); }

Effects SubnetManager::take_effects(Instant now) { return impl_->take_effects(now); }
SnapshotPtr SubnetManager::snapshot() const { return impl_->snapshot; }
HoldingsPtr SubnetManager::holdings() const { return impl_->holdings; }
bool SubnetManager::settle() {
  if (!impl_->stirred || impl_->busy() || impl_->transactor.pending() != 0) return false;
  impl_->stirred = false;
  impl_->transactor.settle();
  return true;
}
bool SubnetManager::idle() const {
  return !impl_->busy() && impl_->reasons.empty() && impl_->multicast_at == kNever;
}
const plan::PortAliases& SubnetManager::aliases() const { return impl_->inputs.aliases(); }
bool SubnetManager::sweeping() const { return impl_->sweeping; }
Duration SubnetManager::sweep_interval() const { return impl_->options.sweep_interval; }
std::size_t SubnetManager::mads_outstanding() const { return impl_->transactor.outstanding(); }
std::size_t SubnetManager::mads_pending() const { return impl_->transactor.pending(); }
const Counters& SubnetManager::counters() const { return impl_->counters; }
const ib::mad::TransactorCounters& SubnetManager::mad_counters() const {
  return impl_->transactor.counters();
}
const Observed& SubnetManager::observed() const { return *impl_->seen; }

}  // namespace sm::core
