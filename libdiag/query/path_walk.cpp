// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/query/path_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "libdiag/base/text.h"
#include "libdiag/mad/describe.h"
#include "libdiag/wire/words.h"

namespace ib::query {

namespace {

constexpr std::uint16_t kLftBlock = 64;

std::string text_of(const wire::NodeDescription& d) {
  return {d.text.begin(), std::find(d.text.begin(), d.text.end(), '\0')};
}

}  // namespace

std::string hop_label(const Hop& hop) {
  const std::string name = printable(hop.description);
  return fmt::format("{} {}", wire::type_word(hop.type),
                     name.empty() ? to_string(hop.node_guid) : '"' + name + '"');
}

std::string_view walk_end_name(WalkEnd end) {
  switch (end) {
    case WalkEnd::Running:
      return "unfinished";
    case WalkEnd::Arrived:
      return "reached";
    case WalkEnd::LinkDown:
      return "link down";
    case WalkEnd::NoEntry:
      return "no LFT entry";
    case WalkEnd::WrongPort:
      return "wrong port";
    case WalkEnd::Loop:
      return "loop";
    case WalkEnd::TooLong:
      return "too long";
    case WalkEnd::TimedOut:
      return "timeout";
    case WalkEnd::Refused:
      return "refused";
    case WalkEnd::BadAnswer:
      return "bad answer";
  }
  return "";
}

/// One node at a time: NodeInfo first; then, together, what its type calls for; then its egress
/// port; then on.
struct PathWalk::Impl {
  enum class Ask : std::uint8_t { Node, Description, EndPort, Ingress, Switch, Table, Egress };

  Impl(Lid wanted, WalkOptions given) : dlid(wanted), options(std::move(given)) {
    Hop source;
    source.route = options.start;
    walk.hops.push_back(std::move(source));
    ask(Ask::Node, wire::attr::kNodeInfo, 0);
  }

  void ask(Ask what, std::uint16_t attribute, std::uint32_t modifier) {
    const Hop& hop = walk.hops.back();
    // Until a node's GUID is known its place on the path has to tell it from the others.
    const std::uint64_t key = hop.node_guid.value != 0 ? hop.node_guid.value : walk.hops.size();
    outbox.push_back(mad::smp_request(options.cookie_base + static_cast<mad::Cookie>(what), key,
                                      hop.route, wire::Method::Get, attribute, modifier,
                                      options.m_key));
    ++waiting;
  }

  void finish(WalkEnd end, std::string why) {
    walk.end = end;
    walk.failure = std::move(why);
  }

  void on_completion(const mad::Completion& completion) {
    if (walk.end != WalkEnd::Running || waiting == 0) return;
    --waiting;
    const auto what = static_cast<Ask>(completion.cookie - options.cookie_base);
    if (!completion.reply || completion.reply->mad.status() != 0) {
      note_failure(what, completion);
    } else {
      take(what, completion.reply->mad);
    }
    if (waiting > 0) return;
    if (failed_end != WalkEnd::Running) {
      // A node that never said who it is is no hop of the path.
      if (what == Ask::Node) walk.hops.pop_back();
      finish(failed_end, failure);
      return;
    }
    switch (what) {
      case Ask::Node:
        identify();
        break;
      case Ask::Egress:
        leave();
        break;
      default:
        decide();
        break;
    }
  }

  void note_failure(Ask what, const mad::Completion& completion) {
    // A name is a comfort, everything else is needed.
    if (what == Ask::Description || failed_end != WalkEnd::Running) return;
    const std::string at =
        what == Ask::Node && walk.hops.size() > 1
            ? fmt::format("beyond port {} of {}: ", walk.hops[walk.hops.size() - 2].egress_port,
                          hop_label(walk.hops[walk.hops.size() - 2]))
            : std::string();
    if (!completion.reply) {
      failed_end = WalkEnd::TimedOut;
      failure = at + completion.reply.error().message;
    } else {
      failed_end = WalkEnd::Refused;
      const wire::Mad& mad = completion.reply->mad;
      failure = fmt::format("{}Get({}) over DR path {}: status 0x{:04x}", at,
                            mad::attribute_name(mad.mgmt_class(), mad.attribute_id()),
                            to_string(walk.hops.back().route), mad.status());
    }
  }

  void take(Ask what, const wire::Mad& answer) {
    Hop& hop = walk.hops.back();
    switch (what) {
      case Ask::Node:
        node = wire::body<wire::NodeInfo>(answer);
        break;
      case Ask::Description:
        hop.description = fabric::name_in(options.names, hop.node_guid,
                                          text_of(wire::body<wire::NodeDescription>(answer)));
        break;
      case Ask::EndPort:
        end_port = wire::body<wire::PortInfo>(answer);
        break;
      case Ask::Ingress:
        hop.ingress = wire::body<wire::PortInfo>(answer);
        break;
      case Ask::Switch:
        switch_info = wire::body<wire::SwitchInfo>(answer);
        break;
      case Ask::Table:
        table = wire::body<wire::LinearForwardingTable>(answer);
        break;
      case Ask::Egress:
        hop.egress = wire::body<wire::PortInfo>(answer);
        break;
    }
  }

  void identify() {
    Hop& hop = walk.hops.back();
    const bool is_source = walk.hops.size() == 1;
    hop.type = node.node_type;
    hop.node_guid = node.node_guid;
    hop.port_guid = node.port_guid;
    hop.num_ports = node.num_ports;
    hop.description = fabric::name_in(options.names, hop.node_guid, {});
    const bool is_switch = hop.type == wire::NodeType::Switch;
    const std::uint8_t arrived_by = node.local_port_num.value;
    if (!is_source) hop.ingress_port = arrived_by;
    if (arrived_by > hop.num_ports || (arrived_by == 0 && (!is_switch || !is_source))) {
      finish(WalkEnd::BadAnswer,
             fmt::format("NodeInfo over DR path {}: LocalPortNum {} of {} ports",
                         to_string(hop.route), arrived_by, hop.num_ports));
      return;
    }
    again = is_switch && std::any_of(walk.hops.begin(), walk.hops.end() - 1,
                                     [&](const Hop& h) { return h.node_guid == hop.node_guid; });
    if (options.descriptions) ask(Ask::Description, wire::attr::kNodeDescription, 0);
    if (is_switch) {
      ask(Ask::EndPort, wire::attr::kPortInfo, 0);
      if (!is_source) ask(Ask::Ingress, wire::attr::kPortInfo, arrived_by);
      ask(Ask::Switch, wire::attr::kSwitchInfo, 0);
      ask(Ask::Table, wire::attr::kLinearForwarding, dlid.value / kLftBlock);
    } else {
      const bool other_port = is_source && options.source_port != 0;
      ask(Ask::EndPort, wire::attr::kPortInfo, other_port ? options.source_port : arrived_by);
    }
  }

  void decide() {
    Hop& hop = walk.hops.back();
    hop.lid = end_port.lid;
    hop.lmc = end_port.lmc;
    const bool owns = hop.lid.value != 0 && dlid.value >> hop.lmc == hop.lid.value >> hop.lmc;
    const bool is_source = walk.hops.size() == 1;
    if (hop.type != wire::NodeType::Switch) {
      if (!is_source) hop.ingress = end_port;
      if (owns) {
        finish(WalkEnd::Arrived, "");
      } else if (!is_source) {
        finish(WalkEnd::WrongPort,
               fmt::format("lid {} is delivered to {} port {}, whose lid is {}", dlid.value,
                           hop_label(hop), hop.ingress_port, hop.lid.value));
      } else {
        hop.egress_port =
            options.source_port != 0 ? options.source_port : node.local_port_num.value;
        hop.egress = end_port;
        leave();
      }
      return;
    }
    if (again) {
      finish(WalkEnd::Loop,
             fmt::format("the tables lead lid {} back to {}", dlid.value, hop_label(hop)));
    } else if (owns) {
      finish(WalkEnd::Arrived, "");
    } else {
      choose_egress(hop);
    }
  }

  void choose_egress(Hop& hop) {
    const std::uint8_t port = table.port[dlid.value % kLftBlock];
    if (dlid.value > switch_info.linear_fdb_top) {
      finish(WalkEnd::NoEntry, fmt::format("{} has no entry for lid {}: its LinearFDBTop is {}",
                                           hop_label(hop), dlid.value, switch_info.linear_fdb_top));
    } else if (port == 0) {
      finish(WalkEnd::WrongPort, fmt::format("{} keeps lid {} for itself, but its lid is {}",
                                             hop_label(hop), dlid.value, hop.lid.value));
    } else if (port > hop.num_ports) {
      finish(WalkEnd::NoEntry, fmt::format("{} has no entry for lid {} (port {} of {})",
                                           hop_label(hop), dlid.value, port, hop.num_ports));
    } else {
      hop.egress_port = port;
      ask(Ask::Egress, wire::attr::kPortInfo, port);
    }
  }

  void leave() {
    const Hop& hop = walk.hops.back();
    const wire::PortState state = hop.egress->port_state;
    if (state != wire::PortState::Active) {
      finish(WalkEnd::LinkDown,
             fmt::format("port {} of {}, by which lid {} leaves, is {}", hop.egress_port,
                         hop_label(hop), dlid.value, wire::state_word(state)));
      return;
    }
    if (hop.route.hops.size() >= kHopsMax || walk.hops.size() > kHopsMax) {
      finish(WalkEnd::TooLong, fmt::format("{} hops did not lead to lid {}", kHopsMax, dlid.value));
      return;
    }
    Hop next;
    next.route = hop.route.extended(hop.egress_port);
    walk.hops.push_back(std::move(next));
    ask(Ask::Node, wire::attr::kNodeInfo, 0);
  }

  Lid dlid;
  WalkOptions options;
  Walk walk;
  std::vector<mad::Request> outbox;
  unsigned waiting{0};
  bool again{false};  // this switch was met before
  WalkEnd failed_end{WalkEnd::Running};
  std::string failure;
  // Answers of the hop under way.
  wire::NodeInfo node;
  wire::PortInfo end_port;
  wire::SwitchInfo switch_info;
  wire::LinearForwardingTable table;
};

PathWalk::PathWalk(Lid dlid, WalkOptions options)
    : impl_(std::make_unique<Impl>(dlid, std::move(options))) {}
PathWalk::~PathWalk() = default;

std::vector<mad::Request> PathWalk::take_requests() { return std::exchange(impl_->outbox, {}); }

void PathWalk::on_completion(Instant /*now*/, const mad::Completion& completion) {
  impl_->on_completion(completion);
}

bool PathWalk::done() const { return impl_->walk.end != WalkEnd::Running; }

const Walk& PathWalk::walk() const { return impl_->walk; }

}  // namespace ib::query
