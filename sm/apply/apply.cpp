// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/apply.h"

#include <algorithm>
#include <deque>

#include "sm/apply/agenda.h"
#include "sm/apply/answers.h"
#include "sm/apply/job.h"
#include "sm/apply/rehearsal.h"
#include "sm/apply/requests.h"
#include "sm/device/tables/kinds.h"

namespace sm::apply {
namespace {

using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PortState;
using plan::Desired;

constexpr std::size_t kAtOnce = 64;  // requests that are made before they are taken
/// In longer a part of the subnet may get another master, and be joined to ours again.
constexpr ib::Duration kHeldUp = std::chrono::milliseconds(500);

}  // namespace

struct Apply::Impl {
  Job job;
  Agenda agenda{job};
  std::deque<NodeIndex> ready;
  std::vector<bool> queued;  // by node: it is in `ready`
  InFlight in_flight;
  std::uint64_t sets{0};
  bool needs_another_plan{false};
  bool broken_off{false};
  ib::Instant began{ib::kNever}, now{0};  // of its answers the first, and the last
  Rehearsal rehearsal;

  Impl(std::shared_ptr<const Desired> desired, Observed& seen, Known& known, ApplyOptions options)
      : job(std::move(desired), seen, known, std::move(options)) {
    queued.resize(seen.nodes.size(), false);
    known.refused.forget_restarted(seen);
    begin(job.options.only_read ? Phase::Read : Phase::Compare);
  }

  // ---- phases

  void begin(Phase next) {
    job.phase = job.options.only_read && next > Phase::Read ? Phase::Done : next;
    if (job.phase == Phase::Compare && !is_to_be_compared()) job.phase = Phase::Switches;
    if (job.phase == Phase::Switches && job.outdated) job.phase = Phase::Done;
    if (job.phase == Phase::AdaptiveOff && !adaptive_is_ours()) job.phase = Phase::Vls;
    if (job.phase == Phase::AdaptiveOff) job.adaptive.begin(true);
    if (job.phase == Phase::Vls) believe_tables();
    if (job.phase == Phase::Vls && !job.vls_are_ours()) job.phase = Phase::Check;
    if (job.phase == Phase::Check && !is_to_be_checked()) job.phase = Phase::SettleNew;
    if (job.phase == Phase::SettleNew) needs_another_plan = rows_were_refused();
    if (job.phase == Phase::SettleNew && (needs_another_plan || job.outdated))
      job.phase = Phase::Done;
    // What may be chosen is proved for the tables that all are to hold.
    if (job.phase == Phase::AdaptiveOn && (!adaptive_is_ours() || !job.tables.lfts_stand()))
      job.phase = Phase::Look;
    if (job.phase == Phase::AdaptiveOn) job.adaptive.begin(false);
    if (job.phase == Phase::SettleNew && !new_ones_first()) job.phase = Phase::Speeds;
    if (job.phase == Phase::ArmLinks && !links_came_back()) job.phase = Phase::Settle;
    // Links that were taken down will be swept again anyway.
    if (job.phase == Phase::Look &&
        (!job.options.after_sweep || job.restarted || job.options.rehearse))
      job.phase = Phase::Done;
    if (job.phase == Phase::Done) return;
    if (job.phase == Phase::Settle) job.tables.stage(job.options.silent);
    begin_step(0);
  }
  void begin_step(std::uint8_t step) {
    for (NodeIndex n = 0; n < queued.size(); ++n) {
      agenda.begin_step(n, step);
      if (job.desired->node_managed[n] && !job.failed[n]) enqueue(n);
    }
  }
  bool changes_count() const {
    return job.options.checks_changes && job.options.after_sweep && job.desired->program_lfts;
  }
  bool is_to_be_compared() const { return changes_count() && job.options.compares; }
  bool is_to_be_checked() {
    job.held_up = began != ib::kNever && now - began >= kHeldUp;
    return changes_count() && (job.held_up || job.options.reads_own_port);
  }
  /// By a switch of which the plan does not know that it does so.
  bool rows_were_refused() const {
    if (!job.vls_are_ours() || job.desired->routing->virtual_lanes.trivial()) return false;
    const auto refusing = job.known.refused.nodes(device::kSlToVl);
    return std::ranges::any_of(refusing, [&](ib::Guid guid) {
      const auto n = job.seen.fabric.find_node(guid);
      return n && job.seen.fabric.node(*n).is_switch() && job.desired->node_managed[*n] &&
             !job.desired->keep_sl_to_vl.contains(guid);
    });
  }
  /// What was to be read of them was read.
  void believe_tables() {
    if (!job.options.after_sweep) return;
    for (NodeIndex n = 0; n < queued.size(); ++n)
      if (!job.failed[n]) job.known.doubtful.erase(job.seen.fabric.node(n).guid);
  }
  bool adaptive_is_ours() const { return job.options.after_sweep && job.adaptive.any(); }
  bool links_came_back() const {
    if (!job.options.after_sweep) return false;
    for (NodeIndex n = 0; n < queued.size(); ++n) {
      if (!job.tables.was_warm(n)) continue;
      for (unsigned port = 1; port <= job.seen.fabric.node(n).num_ports; ++port) {
        const PortRef p{n, static_cast<std::uint8_t>(port)};
        const PortState state = job.seen.port(p).state();
        if ((state == PortState::Initialize || state == PortState::Armed) && job.joins_routed(p))
          return true;
      }
    }
    return false;
  }
  bool new_ones_first() const {
    return job.options.after_sweep && job.desired->program_lfts &&
           job.tables.new_ones_can_be_first();
  }
  void enqueue(NodeIndex n) {
    if (queued[n]) return;
    queued[n] = true;
    ready.push_back(n);
  }
  /// Phases without work pass at once.
  void move_on() {
    while (job.phase != Phase::Done && in_flight.size() == 0 && ready.empty()) {
      if (job.phase == Phase::Settle && job.tables.next_round()) {
        begin_step(kStepTables);
      } else {
        begin(static_cast<Phase>(static_cast<int>(job.phase) + 1));
      }
    }
  }

  std::vector<ib::mad::Request> take_requests() {
    std::vector<ib::mad::Request> out;
    if (broken_off) return out;
    do {
      move_on();
      while (!ready.empty() && in_flight.size() < job.options.in_all && out.size() < kAtOnce) {
        const NodeIndex n = ready.front();
        ready.pop_front();
        queued[n] = false;
        if (job.failed[n] || job.in_flight[n] >= job.options.per_node) continue;
        bool wait = false;
        auto work = agenda.next(n, wait);
        if (!work) continue;  // finished, or woken by its last answer when `wait`
        work->node = n;
        if (!job.options.silent.empty() && job.options.silent[n]) {
          leave_alone(job, *work);
          continue;
        }
        auto request = request_for(job, *work, job.options.cookie_base + in_flight.add(*work));
        if (job.options.rehearse && is_set(work->kind)) {
          rehearse(in_flight.take(tag_of(request.cookie)), request.mad);
          enqueue(n);
          continue;
        }
        sets += is_set(work->kind) ? 1 : 0;
        out.push_back(std::move(request));
        ++job.in_flight[n];
        if (job.in_flight[n] < job.options.per_node) enqueue(n);
      }
    } while (out.empty() && in_flight.size() == 0 && job.phase != Phase::Done);
    return out;
  }

  InFlight::Tag tag_of(ib::mad::Cookie cookie) const {
    return static_cast<InFlight::Tag>(cookie - job.options.cookie_base);
  }

  /// A Set that is not sent: as if the device had taken it.
  void rehearse(const Work& work, ib::wire::Mad& mad) {
    const NodeIndex n = work.node;
    if (work.kind == Kind::SetPort) {
      rehearsal.port(work, job.seen.port({n, work.port()}), mad);
    } else if (work.kind == Kind::SetSwitch) {
      rehearsal.switch_info(work, *job.seen.nodes[n].switch_info, mad);
    } else {
      rehearsal.table(work);
    }
    on_answer(job, work, mad);
  }

  void on_completion(const ib::mad::Completion& completion) {
    const Work work = in_flight.take(tag_of(completion.cookie));
    --job.in_flight[work.node];
    if (!completion.reply) {
      on_silence(job, work, completion);
    } else if (const ib::wire::Mad& mad = completion.reply->mad; mad.status() != 0) {
      on_refusal(job, work, mad.status());
    } else {
      on_answer(job, work, mad);
    }
    if (!job.failed[work.node]) enqueue(work.node);
  }
};

Apply::Apply(std::shared_ptr<const Desired> desired, Observed& observed, Known& known,
             ApplyOptions options)
    : impl_(std::make_unique<Impl>(std::move(desired), observed, known, std::move(options))) {}
Apply::~Apply() = default;

std::vector<ib::mad::Request> Apply::take_requests() { return impl_->take_requests(); }
void Apply::on_completion(ib::Instant now, const ib::mad::Completion& completion) {
  impl_->now = now;
  impl_->began = std::min(impl_->began, now);
  impl_->on_completion(completion);
}
bool Apply::done() const {
  return impl_->broken_off ? impl_->in_flight.size() == 0 : impl_->job.phase == Phase::Done;
}
void Apply::break_off() { impl_->broken_off = true; }
bool Apply::is_broken_off() const { return impl_->broken_off; }
bool Apply::is_outdated() const { return impl_->job.outdated; }
bool Apply::rewrites() const { return impl_->job.options.rewrite; }
Phase Apply::phase() const { return impl_->job.phase; }
std::uint64_t Apply::sets() const { return impl_->sets; }
bool Apply::has_answered(PortRef p) const {
  return impl_->job.acknowledged[impl_->job.seen.port_index(p)];
}
bool Apply::restarted_links() const { return impl_->job.restarted; }
bool Apply::needs_another_plan() const { return impl_->needs_another_plan; }
const std::set<NodeIndex>& Apply::fell_back() const { return impl_->job.fell_back; }
const std::vector<Failure>& Apply::failures() const { return impl_->job.failures; }
const std::vector<Difference>& Apply::differences() const { return impl_->rehearsal.differences(); }

}  // namespace sm::apply
