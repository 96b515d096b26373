// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Several subnet managers on hosts of one simulated fabric, each with a store of its own, started
// and killed as a test says. Every SMP that a device is sent is counted.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/sim/host_port.h"
#include "sm/core/subnet_manager.h"

namespace sm::test {

/// One host with ibsm on it, or without at the moment.
class ManagerHost final : public ib::sim::Program, private core::Carrier {
 public:
  ManagerHost(ib::sim::World& world, ib::fabric::PortRef at) : world_(world), at_(at) {}
  ~ManagerHost() override { kill(); }
  ManagerHost(const ManagerHost&) = delete;
  ManagerHost& operator=(const ManagerHost&) = delete;

  void start(core::Options options = {}) {
    refused_.reset();
    port_ = world_.open(at_);
    for (const auto c : {ib::wire::MgmtClass::SubnDirected, ib::wire::MgmtClass::SubnLid}) {
      ib::mad::AgentSpec spec;
      spec.mgmt_class = c;
      spec.methods = {ib::wire::Method::Get, ib::wire::Method::Set, ib::wire::Method::Trap,
                      ib::wire::Method::TrapRepress};
      agents_.push_back(*port_->register_agent(spec));
    }
    port_->set_is_sm(true);
    options.mastership.port_guid = guid();
    manager_ = std::make_unique<core::SubnetManager>(std::move(options), kept_);
    manager_->start(world_.now());
    world_.add(*this);
  }
  /// As kill -9: the kernel clears IsSM and forgets who took requests.
  void kill() {
    if (!manager_) return;
    world_.remove(*this);
    manager_.reset();
    agents_.clear();
    port_.reset();
    reports_ = 0;
  }
  /// As SIGSTOP: it stays in the kernel's books, and does nothing.
  void stop() { world_.remove(*this); }
  void go_on() { world_.add(*this); }

  bool runs() const { return manager_ != nullptr; }
  core::SubnetManager& sm() { return *manager_; }
  ib::wire::SmState state() const { return manager_->mastership().state(); }
  bool is_master() const { return runs() && state() == ib::wire::SmState::Master; }
  ib::Guid guid() const { return world_.model().topology().port(at_).guid; }
  ib::fabric::PortRef at() const { return at_; }
  std::size_t reports() const { return reports_; }
  const core::Report& last() const { return last_; }
  std::uint64_t sets() const { return sets_; }
  const std::vector<std::string>& log() const { return log_; }
  void forget_log() { log_.clear(); }
  std::size_t changes() const { return changes_; }  // of its state
  const std::optional<store::Kinship>& refused() const { return refused_; }
  store::Contents& kept() { return kept_; }
  /// It handed over, and answers clients all the same.
  bool still_answers() const { return answers_; }
  /// Clients may register by what it published last.
  bool registers() const { return registers_; }
  const std::vector<core::Recall>& recalls() const { return recalls_; }
  /// Answers what it asks of a store that others write, too.
  std::function<void()> on_recall;
  /// Is given what answers are made by before there is a snapshot.
  std::function<void(const SnapshotPtr&)> on_stopgap;
  /// What is as if it had never arrived; empty: nothing.
  std::function<bool(const ib::mad::Packet&)> swallows;

  void step(ib::Instant now) override {
    std::vector<ib::mad::Received> arrived;
    (void)port_->receive(arrived, ib::Duration{0});
    for (const auto& r : arrived)
      if (!r.timed_out && !(swallows && swallows(r.packet))) manager_->on_packet(now, r.packet);
    if (manager_->next_deadline() <= now) manager_->on_time(now);
    carry_out(*manager_, now, *this);
  }
  ib::Instant next_deadline() const override { return manager_->next_deadline(); }

 private:
  void refuse_store(const store::Kinship& kin) override { refused_ = kin; }
  void commit(store::Batch batch) override { store::apply(batch, kept_); }
  void recall(core::Recall how) override {
    recalls_.push_back(how);
    if (on_recall) on_recall();
  }
  void publish_stopgap(const SnapshotPtr& snapshot, bool registers) override {
    registers_ = registers;
    if (on_stopgap) on_stopgap(snapshot);
  }
  using core::Carrier::publish;
  void publish(const SnapshotPtr&) override { registers_ = true; }
  void on_relieved() override { answers_ = false; }
  ib::Result<void> send(const core::Outgoing& out) override {
    const auto& mad = out.packet.mad;
    if (mad.method() == ib::wire::Method::Set && mad.attribute_id() != ib::wire::attr::kSmInfo)
      ++sets_;
    return port_->send(agents_[mad.is_directed() ? 0 : 1], out.packet, out.reply_within);
  }
  void log(const ib::LogEvent& event) override { log_.push_back(event.message); }
  void on_sm_status(const core::SmStatus& status) override {
    ++changes_;
    answers_ = status.answers;
  }
  void report(core::Report report) override {
    last_ = std::move(report);
    ++reports_;
  }

  ib::sim::World& world_;
  ib::fabric::PortRef at_;
  std::unique_ptr<ib::sim::HostPort> port_;
  store::Contents kept_;  // outlives the process
  std::unique_ptr<core::SubnetManager> manager_;
  std::vector<ib::mad::AgentId> agents_;
  std::size_t reports_{0};
  core::Report last_;
  std::uint64_t sets_{0};
  std::size_t changes_{0};
  bool answers_{false}, registers_{false};
  std::vector<core::Recall> recalls_;
  std::optional<store::Kinship> refused_;  // since the start
  std::vector<std::string> log_;
};

}  // namespace sm::test
