// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A subnet manager on one host of a simulated fabric, in virtual time: the machine and the Model
// and nothing between them.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libdiag/sim/model.h"
#include "sm/core/subnet_manager.h"
#include "sm/managers/client_channel.h"

namespace sm::test {

class SmOnModel : private core::Carrier {
 public:
  SmOnModel(ib::fabric::Fabric topology, ib::sim::ModelOptions model_options = {},
            core::Options options = {})
      : model_(std::move(topology), model_options),
        options_(std::move(options)),
        at_(first_host(model_.topology())) {
    boot();
  }

  /// The first CA's first connected port.
  static ib::fabric::PortRef first_host(const ib::fabric::Fabric& f) {
    for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n) {
      if (f.node(n).type != ib::wire::NodeType::ChannelAdapter) continue;
      for (unsigned p = 1; p <= f.node(n).num_ports; ++p)
        if (f.port(n, p).peer) return {n, static_cast<std::uint8_t>(p)};
    }
    return {};
  }

  /// The process ends and a new one starts with what the store holds.
  void boot() {
    sm_ = std::make_unique<core::SubnetManager>(options_, kept_);
    managers_.reset();
    reports_.clear();
    sm_->start(now_);
  }
  /// The same with other options.
  void boot_as(core::Options options) {
    options_ = std::move(options);
    boot();
  }
  /// Starts again, but with nothing in the store, or with what is said.
  void boot_without_memory() { boot_with({}); }
  void boot_with(store::Contents contents) {
    kept_ = std::move(contents);
    boot();
  }

  /// Has these work beside it, until the process ends.
  void run_beside(std::unique_ptr<managers::ClientChannel> managers) {
    managers_ = std::move(managers);
  }
  managers::ClientChannel* managers() { return managers_.get(); }

  /// Ports that were said to be in doubt since the last call.
  std::vector<ib::Guid> take_doubted() { return std::exchange(doubted_, {}); }
  std::vector<ib::Guid> take_subscriptions_doubted() {
    return std::exchange(subscriptions_doubted_, {});
  }

  /// What subnet administration keeps, which the next boot finds.
  void keep(const store::Batch& batch) { store::apply(batch, kept_); }

  /// Runs until the subnet manager has reported `count` times since boot.
  bool run_until_reports(std::size_t count, ib::Duration limit = std::chrono::seconds(120)) {
    const ib::Instant end = now_ + limit;
    while (reports_.size() < count && step(end)) {
    }
    return reports_.size() >= count;
  }
  /// Until no manager has anything under way.
  bool run_until_managers_are_idle(ib::Duration limit = std::chrono::seconds(120)) {
    const ib::Instant end = now_ + limit;
    while (!managers_->idle() && step(end)) {
    }
    return managers_->idle();
  }
  void run_for(ib::Duration d) {
    const ib::Instant end = now_ + d;
    while (step(end)) {
    }
    now_ = end;
  }

  /// Sees every SMP of the subnet manager and every GMP of its managers that leaves, and may
  /// swallow it (false).
  using Watch = std::function<bool(const ib::mad::Packet&)>;
  void watch(Watch watch) { watch_ = std::move(watch); }

  /// Sees every SMP and GMP that reaches them, and may make it what another device says.
  using Listen = std::function<void(ib::mad::Packet&)>;
  void listen(Listen listen) { listen_ = std::move(listen); }

  /// From now on a plan is as if it took for ever, until make_held_plan().
  void hold_plans() { holds_plans_ = true; }
  bool is_planning() const { return held_plan_.has_value(); }
  /// Its generation; nobody makes it.
  std::uint64_t drop_held_plan() {
    holds_plans_ = false;
    return std::exchange(held_plan_, std::nullopt)->generation;
  }
  void make_held_plan() {
    holds_plans_ = false;
    sm_->on_planned(now_, std::move(*std::exchange(held_plan_, std::nullopt)).run());
    flush();
  }

  /// Is told every report as it is said.
  void on_report(std::function<void(const core::Report&)> told) { told_ = std::move(told); }

  /// What becomes of its log, beside log().
  void write_log_to(ib::LogSink sink) { log_sink_ = std::move(sink); }

  const core::Report& last() const { return reports_.back(); }
  core::SubnetManager& sm() { return *sm_; }
  ib::sim::Model& model() { return model_; }
  const ib::sim::Model& model() const { return model_; }
  ib::fabric::PortRef at() const { return at_; }
  ib::Instant now() const { return now_; }
  const std::vector<std::string>& log() const { return log_; }
  const store::Contents& kept() const { return kept_; }
  std::size_t reports() const { return reports_.size(); }
  /// All but the last report, which is the first from then on, and the log.
  void forget_what_was_said() {
    std::vector<std::string>().swap(log_);
    if (!reports_.empty()) reports_ = std::vector<core::Report>(1, std::move(reports_.back()));
  }

  /// Ports whose cable is up and that are not ACTIVE, as the devices themselves have it.
  std::vector<ib::fabric::PortRef> not_active() const {
    std::vector<ib::fabric::PortRef> out;
    const auto& f = model_.topology();
    for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n) {
      for (unsigned p = 1; p <= f.node(n).num_ports; ++p) {
        const ib::fabric::PortRef ref{n, static_cast<std::uint8_t>(p)};
        if (!f.port(ref).peer) continue;
        if (model_.port_info(ref).port_state != ib::wire::PortState::Active) out.push_back(ref);
      }
    }
    return out;
  }

 private:
  bool step(ib::Instant end) {
    flush();
    const ib::Instant next = std::min({model_.next_event(), sm_->next_deadline(),
                                       managers_ ? managers_->next_deadline() : ib::kNever});
    if (next > end) return false;
    now_ = std::max(now_, next);
    model_.advance(now_);
    while (auto* delivery = model_.next_delivery()) take_in(*delivery);
    if (sm_->next_deadline() <= now_) sm_->on_time(now_);
    if (managers_ && managers_->next_deadline() <= now_) managers_->on_time(now_);
    flush();
    return true;
  }
  void take_in(ib::sim::Delivery& delivery) {
    if (delivery.port != at_ || (!delivery.smi && !managers_)) return;
    if (listen_) listen_(delivery.packet);
    if (delivery.smi)
      sm_->on_packet(now_, delivery.packet);
    else if (managers_)
      managers_->on_packet(now_, delivery.packet);
  }
  void flush() {
    carry_out(*sm_, now_, *this);
    if (!managers_) return;
    while (auto order = managers_->next_send(now_)) {
      const ib::mad::Packet packet{order->address, order->mad, {}};
      if (!watch_ || watch_(packet)) model_.send(now_, at_, false, packet);
    }
    while (auto event = managers_->next_log()) log(*event);
  }

  void commit(store::Batch batch) override { store::apply(batch, kept_); }
  ib::Result<void> send(const core::Outgoing& out) override {
    if (!watch_ || watch_(out.packet)) model_.send(now_, at_, true, out.packet);
    return {};
  }
  void doubt_clients(const std::vector<ib::Guid>& ports) override {
    doubted_.insert(doubted_.end(), ports.begin(), ports.end());
  }
  void doubt_subscriptions(const std::vector<ib::Guid>& ports) override {
    subscriptions_doubted_.insert(subscriptions_doubted_.end(), ports.begin(), ports.end());
  }
  void log(const ib::LogEvent& event) override {
    if (log_sink_) log_sink_(event);
    log_.push_back(event.message);
  }
  void recall(core::Recall) override { sm_->on_recalled(now_, kept_); }
  std::optional<core::PlanResult> plan(core::PlanJob job) override {
    if (!holds_plans_) return std::move(job).run();
    held_plan_ = std::move(job);
    return std::nullopt;
  }
  void watch(const core::Watched& watched) override {
    if (managers_) managers_->on_watched(now_, watched.subnet, watched.master);
  }
  void report(core::Report report) override {
    if (told_) told_(report);
    if (managers_) managers_->on_subnet_up(now_, sm_->snapshot());
    reports_.push_back(std::move(report));
  }

  ib::sim::Model model_;
  core::Options options_;
  ib::fabric::PortRef at_;
  store::Contents kept_;
  std::unique_ptr<core::SubnetManager> sm_;
  std::unique_ptr<managers::ClientChannel> managers_;  // null: none
  ib::Instant now_{1'000'000'000};
  Watch watch_;
  Listen listen_;
  std::function<void(const core::Report&)> told_;
  ib::LogSink log_sink_;
  std::vector<std::string> log_;
  std::vector<core::Report> reports_;
  std::vector<ib::Guid> doubted_, subscriptions_doubted_;
  bool holds_plans_{false};
  std::optional<core::PlanJob> held_plan_;
};

}  // namespace sm::test
