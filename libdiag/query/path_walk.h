// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PathWalk: follows the linear forwarding tables hop by hop from a source port toward a DLID,
// asking each switch on the way by directed-route SMPs. It reads what is programmed now, so it
// works where LID routing is broken, and it names what a broken path failed of. A machine (an
// Exchange): several walks may share one Session.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/fabric/names.h"
#include "libdiag/mad/session.h"
#include "libdiag/wire/smp_attributes.h"

namespace ib::query {

/// One node of a path. The first is the source, the last of a complete walk holds the DLID.
struct Hop {
  mad::DirectedRoute route;  // from the local port
  wire::NodeType type{wire::NodeType::ChannelAdapter};
  Guid node_guid{};
  Guid port_guid{};  // of the ingress port (the source: the egress port); a switch's is port 0's
  Lid lid{};         // of the end port: a switch's port 0, a CA's ingress (source: egress) port
  std::uint8_t lmc{};
  std::uint8_t num_ports{};
  std::uint8_t ingress_port{};  // 0 at the source; as the node itself says (NodeInfo:LocalPortNum)
  std::uint8_t egress_port{};   // 0 at the destination
  std::optional<wire::PortInfo> egress;   // of the egress port, where the walk leaves the node
  std::optional<wire::PortInfo> ingress;  // of the ingress port, where the node was entered
  std::string description;                // or the map's name; raw bytes: printable()
};

/// What a sentence calls it: `switch "leaf-1"`, by its GUID where it has no name.
std::string hop_label(const Hop& hop);

/// How a walk ended.
enum class WalkEnd {
  Running,
  Arrived,    // the last hop holds the DLID
  LinkDown,   // the egress port's link is not up, or not ACTIVE
  NoEntry,    // the switch's LFT has no entry for the DLID (255, or a port it has not)
  WrongPort,  // delivered to a CA or router, or a switch's port 0, that does not hold the DLID
  Loop,       // back at a switch already passed
  TooLong,    // more than 63 hops
  TimedOut,   // a node on the path does not answer
  Refused,    // a node answered with an error status
  BadAnswer,  // an answer that cannot be (wrong port numbers)
};
/// The word for it: "link down", "no LFT entry", "wrong port", "loop", "timeout", ...
std::string_view walk_end_name(WalkEnd end);

struct Walk {
  WalkEnd end{WalkEnd::Running};
  std::vector<Hop> hops;
  std::string failure;  // one printable line: what failed, where; empty when Arrived
  bool arrived() const { return end == WalkEnd::Arrived; }
};

inline constexpr std::size_t kHopsMax = 63;  // of a directed route, and of a walk

struct WalkOptions {
  std::uint64_t m_key{0};
  mad::DirectedRoute start;  // to the source node; empty: the local node
  /// Port of the source the path leaves by, where the source is a CA or router: 0 = the port the
  /// start route arrives by. (A switch leaves by its own LFT.)
  std::uint8_t source_port{0};
  mad::Cookie cookie_base{0};
  bool descriptions{true};
  const fabric::NodeNames* names{nullptr};  // in place of NodeDescriptions, where it names a node
};

/// Path from the node that `options.start` leads to, toward `dlid`.
class PathWalk final : public mad::Exchange {
 public:
  PathWalk(Lid dlid, WalkOptions options = {});
  ~PathWalk() override;

  std::vector<mad::Request> take_requests() override;
  void on_completion(Instant now, const mad::Completion& completion) override;
  bool done() const override;

  const Walk& walk() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ib::query
