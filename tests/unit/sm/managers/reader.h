// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The least that is a manager: reads ClassPortInfo of every end port, once a sweep.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sm/managers/end_ports.h"
#include "sm/managers/manager.h"

namespace sm::managers::test {

class Reader final : public Manager {
 public:
  explicit Reader(ib::wire::MgmtClass mgmt_class, std::size_t most = 256)
      : mgmt_class_(mgmt_class), most_(most) {}

  std::vector<ib::mad::AgentSpec> agents() const override {
    ib::mad::AgentSpec spec;
    spec.mgmt_class = mgmt_class_;
    return {spec};
  }
  void on_subnet_up(ib::Instant, const SnapshotPtr& subnet) override {
    targets = end_ports(*subnet);
    next_ = 0;
    ++sweeps;
  }
  void on_completion(ib::Instant now, const ib::mad::Completion& completion) override {
    --under_way;
    last = now;
    const EndPort& target = targets.at(completion.cookie);
    if (completion.reply) {
      ++answered;
      return;
    }
    failed.push_back(target.name);
    log_.push_back({ib::LogLevel::Warning, "reader", target.name + " does not answer"});
  }
  void on_time(ib::Instant now) override {
    woken = now;
    wake = ib::kNever;
  }
  ib::Instant next_deadline() const override { return wake; }
  std::vector<ib::mad::Request> take_requests(ib::Instant, std::size_t most) override {
    std::vector<ib::mad::Request> requests;
    while (requests.size() < most && next_ < targets.size()) {
      requests.push_back(gmp_request(next_, targets[next_], mgmt_class_, ib::wire::Method::Get,
                                     ib::wire::attr::kClassPortInfo));
      ++next_;
      under_way_most = std::max(under_way_most, ++under_way);
    }
    return requests;
  }
  std::vector<ib::LogEvent> take_log() override { return std::exchange(log_, {}); }
  std::size_t requests_most() const override { return most_; }
  bool idle() const override { return next_ == targets.size() && under_way == 0; }

  std::vector<EndPort> targets;
  std::size_t sweeps{0}, answered{0}, under_way{0}, under_way_most{0};
  std::vector<std::string> failed;
  ib::Instant wake{ib::kNever}, woken{}, last{};

 private:
  ib::wire::MgmtClass mgmt_class_;
  std::size_t most_;
  std::size_t next_{0};
  std::vector<ib::LogEvent> log_;
};

}  // namespace sm::managers::test
