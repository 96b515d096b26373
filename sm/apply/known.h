// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What an Apply begins with and leaves behind: what devices are known to hold, the phases, what
// went wrong, and the caller's options.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/mad/request.h"
#include "sm/apply/block_work.h"
#include "sm/apply/stubborn_ports.h"
#include "sm/device/inventory.h"
#include "sm/plan/plan.h"

namespace sm::apply {

/// What outlives one sweep.
struct Known {
  device::Inventory inventory;
  RefusedBlocks refused;
  /// Tables of `refused` that were named, by node and attribute, until the device takes them; and
  /// PortInfo of nodes that keep the LID of another subnet manager.
  std::set<std::pair<ib::Guid, std::uint16_t>> named;
  StubbornPorts stubborn;
  plan::FewerVls fewer_vls;
  plan::TrainedPorts trained;
  /// Switches that said something changed since their tables were read last: they may have been
  /// rebooted.
  std::set<ib::Guid> doubtful;

  /// The port's link is taken down to train again.
  void note_training(ib::Guid node, std::uint8_t port, const plan::Training& training) {
    plan::Trained& noted = trained[{node, port}];
    if (noted.training != training) noted = {training};
    ++noted.tries;
  }
  /// Whatever is known of the node may be another one's.
  void doubt(ib::Guid node) {
    inventory.forget(node);
    doubtful.insert(node);  // for its forwarding tables
    refused.forget(node);
    std::erase_if(fewer_vls, [&](const auto& port) { return port.first.first == node; });
  }
  /// What tables of ports are known to say is no longer believed. (Tables of switches are
  /// TableWork's.)
  void doubt_ports() {
    inventory.clear();
    refused.clear();
  }
  /// Nor what switches hold that are not there to be read.
  void doubt_absent(const ib::discover::Observed& swept) {
    inventory.for_each_forwarding([&](ib::Guid guid, const device::Forwarding&) {
      if (!swept.fabric.find_node(guid)) doubtful.insert(guid);
    });
  }
};

enum class Phase {
  Compare,
  Switches,
  Read,
  AdaptiveOff,
  Vls,
  Check,
  SettleNew,
  Speeds,
  ArmLinks,
  ActivateLinks,
  Settle,
  Arm,
  Activate,
  AdaptiveOn,
  Look,
  Done
};

struct Failure {
  ib::fabric::NodeIndex node{};
  std::uint8_t port{};
  bool timed_out{false};
  std::string message;  // what was attempted, on what, what came back
};

/// What a device holds and should not: one Set would change it.
struct Difference {
  ib::fabric::NodeIndex node{};
  std::string_view table;  // the attribute: "PortInfo", "LinearForwardingTable"
  std::string slot;        // "port 4", "block 2"; empty where a node has one
};

struct ApplyOptions {
  std::uint32_t per_node{4};  // requests under way to one node
  std::uint32_t in_all{512};
  bool after_sweep{true};  // `observed` is that of a sweep just now
  /// By node: it does not answer, so it is asked nothing; what it lacks is a failure. Empty: none.
  std::vector<bool> silent;
  bool only_read{
      false};  // wanted blocks of which nothing is known are read, and nothing is written
  bool read_lfts{false};  // with `only_read`: and LFT blocks of switches that may hold good ones
  /// With `only_read`, and all the same: hosts in use whose links go on as they are hear who their
  /// subnet manager is.
  bool tell_hosts{false};
  /// Nothing is set: what a Set would change is among differences(), and counts as done.
  bool rehearse{false};
  /// All that devices are to hold is set once, whatever they are known or said to hold.
  bool rewrite{false};
  /// Who is silent is told no more than it lacks.
  bool rewrites(ib::fabric::NodeIndex n) const { return rewrite && (silent.empty() || !silent[n]); }
  /// Where all this was held up before tables are written, switches are asked whether a port
  /// changed meanwhile.
  bool checks_changes{true};
  /// Our own port is read before tables are written, whether all this was held up or not: it was
  /// swept a while ago.
  bool reads_own_port{false};
  /// They are also asked before anything is set, and are to be as they were swept: it was the first
  /// sweep, which told none to forget what it had said.
  bool compares{false};
  bool read_back{false};  // what devices are known to hold is read from them before it is believed
  ib::mad::Cookie cookie_base{0};  // added to every cookie; the low 32 bits are ours
};

}  // namespace sm::apply
