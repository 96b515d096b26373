// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibsm on one host of a simulated fabric: the subnet manager's and the subnet administrator's
// machines with a store in memory, joined as the daemon joins them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libdiag/sim/host_port.h"
#include "sm/core/subnet_manager.h"
#include "sm/managers/client_channel.h"
#include "sm/sa/server.h"

namespace scenario {

class Manager : public ib::sim::Program, protected sm::core::Carrier {
 public:
  /// `kept` outlives the program: it is what is on its disk. `beside`: managers that work beside
  /// the sweep.
  Manager(ib::sim::World& world, ib::fabric::PortRef at, const sm::core::Options& options,
          sm::store::Contents& kept,
          sm::managers::ClientChannel beside = sm::managers::ClientChannel(),
          const sm::sa::Options& sa_options = {});
  ~Manager() override;
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  void step(ib::Instant now) override;
  ib::Instant next_deadline() const override;

  void sweep_now();
  std::size_t reports() const { return reports_; }
  const sm::core::Report& last() const { return last_; }
  const sm::core::Counters& counters() const { return sm_->counters(); }
  /// "MASTER", "STANDBY"
  std::string state() const;
  sm::SnapshotPtr snapshot() const { return sm_->snapshot(); }
  ib::fabric::PortRef at() const { return smi_->at(); }
  struct Line {
    ib::Instant at;
    std::string text;
  };
  /// What was logged and reported since the last call.
  std::vector<Line> take_lines() { return std::exchange(lines_, {}); }

 protected:
  ib::sim::World& world() { return world_; }
  sm::core::SubnetManager& sm() { return *sm_; }
  const sm::core::SubnetManager& sm() const { return *sm_; }
  sm::sa::Server& sa() { return *sa_; }
  const sm::sa::Server& sa() const { return *sa_; }
  void pass_groups(ib::Instant now);
  void pass_aliases(ib::Instant now);
  void pass_untold(ib::Instant now);
  /// To register again.
  virtual void ask_clients(ib::Instant now, const std::vector<ib::Guid>& ports);
  /// What subnet administration wants to be durable. False: it cannot be written.
  virtual bool keep(const sm::store::Batch& batch) {
    sm::store::apply(batch, kept_);
    return true;
  }
  /// Several subnet managers write what is kept.
  virtual bool shares_store() const { return false; }
  /// What leaves subnet administration. False: it does not.
  virtual bool lets_out(ib::mad::Packet&) { return true; }

  void commit(sm::store::Batch batch) override { sm::store::apply(batch, kept_); }
  void publish(const sm::DeviceStatePtr& device_state) override { sa_->publish(device_state); }
  void publish(const sm::SnapshotPtr& snapshot) override;
  void publish_stopgap(const sm::SnapshotPtr& snapshot, bool registers) override;
  void on_relieved() override { sa_->withdraw(); }
  void doubt_clients(const std::vector<ib::Guid>& ports) override { sa_->doubt(ports); }
  void doubt_subscriptions(const std::vector<ib::Guid>& ports) override;
  void on_asked_again(const std::vector<ib::Guid>& ports) override;
  void log(const ib::LogEvent& event) override;
  void on_sm_status(const sm::core::SmStatus& status) override;
  void on_notice(const sm::core::ReceivedNotice& notice) override;
  ib::Result<void> send(const sm::core::Outgoing& out) override;
  void report(sm::core::Report report) override;

 private:
  void speak(ib::Instant now);
  void speak_beside(ib::Instant now);
  void say(ib::Instant now, const std::string& line);

  ib::sim::World& world_;
  std::unique_ptr<ib::sim::HostPort> smi_, gsi_, beside_port_;
  sm::store::Contents& kept_;
  std::unique_ptr<sm::core::SubnetManager> sm_;
  std::unique_ptr<sm::sa::Server> sa_;
  sm::managers::ClientChannel beside_;
  std::map<ib::wire::MgmtClass, ib::mad::AgentId> beside_agents_;
  ib::mad::AgentId directed_{}, by_lid_{}, sa_agent_{};
  std::vector<ib::mad::AgentId> reporters_;
  std::size_t reported_{0};
  std::size_t reports_{0};
  sm::core::Report last_;
  std::vector<Line> lines_;
};

}  // namespace scenario
