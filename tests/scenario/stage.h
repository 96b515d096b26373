// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Stage: what a scenario acts on, and its verbs. One fabric, its subnet managers, one virtual
// clock.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/scenario/fabric_words.h"
#include "tests/scenario/manager.h"

namespace scenario {

class Stage {
 public:
  ~Stage();
  /// Runs one command; `body` is the lines that follow it up to ----. Its output, whole lines.
  std::string run(const std::string& command, const std::vector<std::string>& body);

 private:
  using Words = std::vector<std::string>;
  std::string act(const Words& words, const std::vector<std::string>& body);

  // Before the curtain rises.
  void make_fabric(const Words& words, const std::vector<std::string>& body);
  void twin(const std::string& duplicate, const std::string& original);
  void give_lid(const std::string& name, const std::string& lid);

  // What happens.
  void start_manager(const Words& words);
  void turn_to(const std::string& host);
  std::string let_run(const Words& words);
  void cable(const Words& words);
  void flap(const Words& words);
  void behave(const Words& words, ib::sim::Behaviour behaviour);
  std::string join(const std::string& host, const std::string& mgid);
  void relabel(const std::string& host, const std::string& lid);

  // What can be seen.
  std::string lids();
  std::string states();
  std::string reach();
  std::string walk(ib::fabric::NodeIndex from, ib::Lid lid, ib::fabric::NodeIndex target);
  std::string sent(bool sets_only);
  std::string order();
  std::string loads();
  std::string report();
  std::string managers();
  std::string trace(const std::string& from, const std::string& to);
  std::string tree(const std::string& mlid);
  std::string tops();

  ib::sim::World& world();
  /// A host on which a subnet manager runs, or ran: its store is what is on its disk.
  struct Seat {
    sm::store::Contents kept;
    std::unique_ptr<Manager> manager;
  };
  Seat& seat();
  Manager& manager();
  ib::fabric::PortRef port(const std::string& node, const std::string& number);
  void watch(const ib::mad::Packet& packet);
  std::unique_ptr<ib::mad::Session> session_at(const std::string& host);

  std::optional<ib::fabric::Fabric> fabric_;  // until the world is made of it
  ib::sim::ModelOptions model_options_;
  std::unique_ptr<ib::sim::World> world_;
  std::map<std::string, Seat> seats_;  // by host
  std::string host_;                   // whose subnet manager commands are about
  std::vector<std::unique_ptr<ib::sim::HostPort>> ports_;
  std::map<std::string, std::size_t> sent_;
  struct Step {
    std::string what;
    std::size_t times;
  };
  std::vector<Step> order_;
};

}  // namespace scenario
