// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A sweep of a model's whole fabric by somebody who knows nothing of it and only reads, and where
// what a subnet manager knows differs from what it found.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/discover/sweep.h"
#include "libdiag/sim/model.h"
#include "tests/sim/sm_on_model.h"

namespace sm::test {

/// While nobody else has anything under way.
inline ib::discover::Observed sweep_afresh(SmOnModel& run) {
  ib::sim::Model& model = run.model();
  ib::discover::Sweep sweep;
  ib::Instant now = run.now();
  std::uint64_t tid = std::uint64_t{1} << 40;
  while (!sweep.done()) {
    for (auto& request : sweep.take_requests()) {
      request.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{++tid});
      model.send(now, run.at(), true, {request.address, request.mad, {}});
      ib::mad::Completion done{
          request.cookie, ib::fail(ib::ErrorKind::TimedOut, "no answer"), {}, 1};
      const ib::Instant end = now + std::chrono::milliseconds(1);
      while (!done.reply && model.next_event() <= end) {
        now = std::max(now, model.next_event());
        model.advance(now);
        while (auto* delivery = model.next_delivery())
          if (delivery->packet.mad.tid().value == tid) done.reply = delivery->packet;
      }
      sweep.on_completion(now, done);
    }
  }
  return sweep.take_observed();
}

class KnownAgainstFound {
 public:
  KnownAgainstFound(const ib::discover::Observed& known, const ib::discover::Observed& found)
      : known_(known), found_(found) {}

  /// A line for each difference. By which way a node was reached makes none.
  std::vector<std::string> differences() {
    if (!known_.complete) say("known is not complete");
    for (const auto& node : found_.fabric.nodes())
      if (!known_.fabric.find_node(node.guid)) say(to_string(node.guid) + " is not known");
    for (const auto& node : known_.fabric.nodes())
      if (!found_.fabric.find_node(node.guid)) say(to_string(node.guid) + " is not there");
    if (!out_.empty()) return std::move(out_);
    for (ib::fabric::NodeIndex n = 0; n < found_.nodes.size(); ++n) compare_node(n);
    troubles();
    return std::move(out_);
  }

 private:
  using PortRef = ib::fabric::PortRef;
  void say(std::string line) { out_.push_back(std::move(line)); }

  void compare_node(ib::fabric::NodeIndex n) {
    const auto& is = found_.fabric.node(n);
    const auto& was = known_.fabric.node(n);
    const std::string name = to_string(is.guid);
    if (was.guid != is.guid) return say(name + " stands elsewhere in the order of nodes");
    if (was.description != is.description) say(name + ": description");
    if (was.system_image_guid != is.system_image_guid || was.num_ports != is.num_ports ||
        was.type != is.type)
      return say(name + ": NodeInfo");
    if (known_.nodes[n].usable != found_.nodes[n].usable) say(name + ": usable");
    if (known_.nodes[n].switch_info != found_.nodes[n].switch_info) say(name + ": SwitchInfo");
    check_route(n, name);
    for (unsigned p = 0; p <= is.num_ports; ++p)
      compare_port({n, static_cast<std::uint8_t>(p)}, name);
  }

  /// It leads there by cables that were found.
  void check_route(ib::fabric::NodeIndex n, const std::string& name) {
    if (!found_.nodes[n].usable) return;
    PortRef at = found_.local_port;
    for (const std::uint8_t hop : known_.nodes[n].route.hops) {
      if (!at) break;
      at = found_.fabric.port(at.node, hop).peer;
    }
    const auto& info = known_.nodes[n].info;
    if (at.node != n || (n != found_.local_port.node && at.port != info.local_port_num.value))
      say(name + ": the route leads elsewhere");
    const auto guid = found_.fabric.node(n).is_switch()
                          ? found_.fabric.port(n, 0).guid
                          : found_.fabric.port(n, info.local_port_num.value).guid;
    if (info.port_guid != guid) say(name + ": PortGUID");
  }

  void compare_port(PortRef p, const std::string& node) {
    const std::string name = fmt::format("{} port {}", node, p.port);
    const auto& was = known_.fabric.port(p);
    const auto& is = found_.fabric.port(p);
    if (was.peer != is.peer) say(name + ": the cable");
    if (was.present != is.present || was.guid != is.guid) say(name + ": present, GUID");
    if (was.lid != is.lid || was.lmc != is.lmc) say(name + ": LID");
    if (was.state != is.state || was.phys_state != is.phys_state)
      say(fmt::format("{}: state {} {}, known {} {}", name, static_cast<int>(is.state),
                      static_cast<int>(is.phys_state), static_cast<int>(was.state),
                      static_cast<int>(was.phys_state)));
    if (was.width != is.width || was.speed != is.speed) say(name + ": width, speed");
    if (was.vl_cap != is.vl_cap || was.mtu_cap != is.mtu_cap) say(name + ": VLs, MTU");
    const auto& before = known_.port(p);
    const auto& now = found_.port(p);
    if (before.known != now.known || before.extended != now.extended || before.fdr10 != now.fdr10)
      return say(name + ": whether it is known");
    if (!now.known) return;
    auto a = before.info(), b = now.info();
    a.local_port_num = b.local_port_num;  // by which port the question came
    if (a != b) say(name + ": PortInfo");
  }

  void troubles() {
    using Place = std::tuple<ib::discover::Trouble::Kind, PortRef, std::uint16_t>;
    const auto places = [](const ib::discover::Observed& of) {
      std::vector<Place> out;
      for (const auto& t : of.troubles) out.emplace_back(t.kind, t.behind, t.attribute);
      std::ranges::sort(out);
      return out;
    };
    if (places(known_) != places(found_)) say("troubles");
  }

  const ib::discover::Observed& known_;
  const ib::discover::Observed& found_;
  std::vector<std::string> out_;
};

}  // namespace sm::test
