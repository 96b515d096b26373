// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/query/multicast_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "libdiag/mad/describe.h"
#include "libdiag/wire/words.h"

namespace ib::query {
namespace {

constexpr unsigned kMlidMin = 0xC000, kMftBlock = 32, kMftPosition = 16;

bool is_switch(const TreeNode& node) { return node.hop.type == wire::NodeType::Switch; }

/// Layer by layer: the links by which a layer's nodes send, who is beyond them, and what those say
/// of themselves.
class TreeWalk {
 public:
  TreeWalk(mad::Session& session, Lid mlid, const TreeStart& start)
      : session_(session), mlid_(mlid), start_(start) {}

  Result<MulticastTree> run() {
    std::vector<Branch> layer(1);
    layer[0].route = start_.route;
    for (std::uint8_t depth = 0; !layer.empty(); ++depth) {
      const std::size_t first = tree_.nodes.size();
      if (auto met = meet(layer, depth); !met) return tl::unexpected(std::move(met.error()));
      if (tree_.nodes.empty())
        return fail(ErrorKind::Unavailable,
                    "the multicast tree has no beginning: " + tree_.faults.front().message);
      if (auto read = read_nodes(first); !read) return tl::unexpected(std::move(read.error()));
      auto next = leave(first);
      if (!next) return tl::unexpected(std::move(next.error()));
      layer = std::move(*next);
    }
    return std::move(tree_);
  }

 private:
  struct Branch {
    std::size_t parent{TreeNode::kNone};
    std::uint8_t port{};  // of the parent
    mad::DirectedRoute route;
  };
  using Answers = std::vector<mad::Completion>;

  mad::Request ask(const Hop& hop, std::uint16_t attribute, std::uint32_t modifier = 0) const {
    // Until a node's GUID is known its place in the tree has to tell it from the others.
    const std::uint64_t key = hop.node_guid.value != 0 ? hop.node_guid.value : ++strangers_;
    return mad::smp_request(0, key, hop.route, wire::Method::Get, attribute, modifier,
                            start_.m_key);
  }

  void blame(TreeFaultKind kind, Guid node_guid, std::uint8_t port, std::string message) {
    tree_.faults.push_back({kind, node_guid, port, std::move(message)});
  }

  /// Why `answer` is none; empty where it is one.
  static std::string trouble(const mad::Completion& answer) {
    if (!answer.reply) return answer.reply.error().message;
    const wire::Mad& mad = answer.reply->mad;
    if (mad.status() == wire::status::kOk) return "";
    return fmt::format("{}: status 0x{:04x}", mad::describe(mad), mad.status());
  }

  /// Who is at the end of each branch. Those that were not met before join the tree.
  Result<void> meet(const std::vector<Branch>& layer, std::uint8_t depth) {
    std::vector<mad::Request> questions;
    questions.reserve(layer.size());
    for (const Branch& branch : layer) {
      Hop unknown;
      unknown.route = branch.route;
      questions.push_back(ask(unknown, wire::attr::kNodeInfo));
    }
    const auto answers = session_.call_all(std::move(questions));
    if (!answers) return tl::unexpected(answers.error());
    for (std::size_t i = 0; i < layer.size(); ++i) meet_one(layer[i], (*answers)[i], depth);
    return {};
  }

  void meet_one(const Branch& branch, const mad::Completion& answer, std::uint8_t depth) {
    const bool is_source = branch.parent == TreeNode::kNone;
    const Hop* from = is_source ? nullptr : &tree_.nodes[branch.parent].hop;
    const std::string beyond =
        is_source ? "at its source"
                  : fmt::format("beyond port {} of {}", branch.port, hop_label(*from));
    if (const std::string why = trouble(answer); !why.empty())
      return blame(TreeFaultKind::Unread, from != nullptr ? from->node_guid : Guid{}, branch.port,
                   beyond + ": " + why);
    const auto info = wire::body<wire::NodeInfo>(answer.reply->mad);
    TreeNode node;
    node.hop.route = branch.route;
    node.hop.type = info.node_type;
    node.hop.node_guid = info.node_guid;
    node.hop.port_guid = info.port_guid;
    node.hop.num_ports = info.num_ports;
    node.hop.ingress_port = is_source ? start_.ingress_port : info.local_port_num.value;
    node.parent = branch.parent;
    node.parent_port = branch.port;
    node.depth = depth;
    if (is_source && !is_switch(node)) source_port_ = info.local_port_num.value;
    // A host is one place for each of its ports, a switch is one.
    const std::uint8_t place = is_switch(node) ? std::uint8_t{0} : node.hop.ingress_port;
    const auto [seen, is_new] =
        places_.try_emplace({node.hop.node_guid, place}, tree_.nodes.size());
    if (is_new) {
      tree_.nodes.push_back(std::move(node));
      return;
    }
    const Hop& before = tree_.nodes[seen->second].hop;
    blame(TreeFaultKind::Twice, from->node_guid, branch.port,
          fmt::format("packets come twice to {}: by its port {}, and by port {} from {} port {}",
                      hop_label(before), before.ingress_port, node.hop.ingress_port,
                      hop_label(*from), branch.port));
  }

  /// What the nodes from `first` on say of themselves: names, LIDs, and switches their tables.
  Result<void> read_nodes(std::size_t first) {
    std::vector<mad::Request> questions;
    for (std::size_t i = first; i < tree_.nodes.size(); ++i) {
      const TreeNode& node = tree_.nodes[i];
      const Hop& hop = node.hop;
      questions.push_back(ask(hop, wire::attr::kNodeDescription));
      const std::uint8_t host_port = hop.ingress_port != 0 ? hop.ingress_port : source_port_;
      questions.push_back(
          ask(hop, wire::attr::kPortInfo, is_switch(node) ? std::uint8_t{0} : host_port));
      if (!is_switch(node)) continue;
      questions.push_back(ask(hop, wire::attr::kSwitchInfo));
      for (unsigned position = 0; position < positions(hop); ++position)
        questions.push_back(ask(hop, wire::attr::kMulticastForwarding,
                                position << 28 | (mlid_.value - kMlidMin) / kMftBlock));
    }
    const auto answers = session_.call_all(std::move(questions));
    if (!answers) return tl::unexpected(answers.error());
    auto answer = answers->begin();
    for (std::size_t i = first; i < tree_.nodes.size(); ++i) take(tree_.nodes[i], answer);
    return {};
  }

  static unsigned positions(const Hop& hop) { return hop.num_ports / kMftPosition + 1; }

  void take(TreeNode& node, Answers::const_iterator& answer) {
    Hop& hop = node.hop;
    if (const auto& name = *answer++; trouble(name).empty()) {
      const auto text = wire::body<wire::NodeDescription>(name.reply->mad).text;
      hop.description.assign(text.begin(), std::find(text.begin(), text.end(), '\0'));
    }
    hop.description = fabric::name_in(start_.names, hop.node_guid, std::move(hop.description));
    if (const auto& port = *answer++; trouble(port).empty()) {
      const auto info = wire::body<wire::PortInfo>(port.reply->mad);
      hop.lid = info.lid;
      hop.lmc = info.lmc;
    }
    if (!is_switch(node)) {
      if (node.parent == TreeNode::kNone) node.out.set(source_port_);
      return;
    }
    const auto& about = *answer++;
    const auto first_block = answer;
    answer += positions(hop);
    const auto info = trouble(about).empty() ? wire::body<wire::SwitchInfo>(about.reply->mad)
                                             : wire::SwitchInfo{};
    const bool has_table =
        !trouble(about).empty() || mlid_.value - kMlidMin < unsigned{info.multicast_fdb_cap};
    for (unsigned position = 0; has_table && position < positions(hop); ++position) {
      const auto& block = *(first_block + position);
      if (const std::string why = trouble(block); !why.empty())
        return blame(TreeFaultKind::Unread, hop.node_guid, 0,
                     fmt::format("the table of {}: {}", hop_label(hop), why));
      const auto table = wire::body<wire::MulticastForwardingTable>(block.reply->mad);
      const unsigned mask = table.port_mask[(mlid_.value - kMlidMin) % kMftBlock];
      for (unsigned bit = 0; bit < kMftPosition; ++bit)
        if ((mask >> bit & 1) != 0) node.entry.set(position * kMftPosition + bit);
    }
    choose_egress(node, info);
  }

  void choose_egress(TreeNode& node, const wire::SwitchInfo& info) {
    const Hop& hop = node.hop;
    node.out = node.entry;
    node.out.reset(hop.ingress_port);
    if (node.entry.none()) {
      // IBA 18.2.4.3.3: what is not in the table goes to the default multicast port.
      const std::uint8_t primary = info.default_multicast_primary_port;
      const std::uint8_t port =
          hop.ingress_port == primary ? info.default_multicast_not_primary_port : primary;
      node.by_default_port = port != 0 && port <= hop.num_ports && port != hop.ingress_port;
      if (node.by_default_port) {
        node.out.set(port);
        return;
      }
      return blame(
          TreeFaultKind::NoEntry, hop.node_guid, 0,
          fmt::format("{} has no entry for lid 0x{:04x} and drops what comes in by port {}",
                      hop_label(hop), mlid_.value, hop.ingress_port));
    }
    if (!node.entry.test(hop.ingress_port))
      blame(
          TreeFaultKind::NoWayUp, hop.node_guid, hop.ingress_port,
          fmt::format("the entry of {} for lid 0x{:04x} has not port {}, by which its packets come "
                      "in: what members beyond it send stays there",
                      hop_label(hop), mlid_.value, hop.ingress_port));
  }

  /// The branches of the nodes from `first` on, where their links are up.
  Result<std::vector<Branch>> leave(std::size_t first) {
    std::vector<Branch> branches;
    std::vector<mad::Request> questions;
    for (std::size_t i = first; i < tree_.nodes.size(); ++i) {
      const TreeNode& node = tree_.nodes[i];
      for (unsigned port = 1; port < node.out.size(); ++port) {
        if (!node.out.test(port)) continue;
        if (port > node.hop.num_ports) {
          blame(TreeFaultKind::LinkDown, node.hop.node_guid, static_cast<std::uint8_t>(port),
                fmt::format("the entry of {} for lid 0x{:04x} has port {}, of {} ports",
                            hop_label(node.hop), mlid_.value, port, node.hop.num_ports));
          continue;
        }
        if (node.hop.route.hops.size() >= kHopsMax) continue;
        const auto number = static_cast<std::uint8_t>(port);
        branches.push_back({i, number, node.hop.route.extended(number)});
        questions.push_back(ask(node.hop, wire::attr::kPortInfo, port));
      }
    }
    const auto answers = session_.call_all(std::move(questions));
    if (!answers) return tl::unexpected(answers.error());
    std::vector<Branch> open;
    for (std::size_t i = 0; i < branches.size(); ++i)
      if (is_open(branches[i], (*answers)[i])) open.push_back(std::move(branches[i]));
    return open;
  }

  bool is_open(const Branch& branch, const mad::Completion& answer) {
    const Hop& hop = tree_.nodes[branch.parent].hop;
    if (const std::string why = trouble(answer); !why.empty()) {
      blame(TreeFaultKind::Unread, hop.node_guid, branch.port,
            fmt::format("port {} of {}: {}", branch.port, hop_label(hop), why));
      return false;
    }
    const auto state = wire::body<wire::PortInfo>(answer.reply->mad).port_state;
    if (state == wire::PortState::Active) return true;
    blame(TreeFaultKind::LinkDown, hop.node_guid, branch.port,
          fmt::format("port {} of {}, by which lid 0x{:04x} leaves, is {}", branch.port,
                      hop_label(hop), mlid_.value, wire::state_word(state)));
    return false;
  }

  mad::Session& session_;
  Lid mlid_;
  TreeStart start_;
  MulticastTree tree_;
  std::map<std::pair<Guid, std::uint8_t>, std::size_t> places_;  // met so far
  std::uint8_t source_port_{};                                   // of a host
  mutable std::uint64_t strangers_{};
};

}  // namespace

std::string to_string(const PortSet& ports) {
  std::string text;
  for (std::size_t port = 0; port < ports.size(); ++port)
    if (ports.test(port)) text += fmt::format("{}{}", text.empty() ? "" : ", ", port);
  return text.empty() ? "none" : text;
}

std::string_view tree_fault_name(TreeFaultKind kind) {
  switch (kind) {
    case TreeFaultKind::NoEntry:
      return "no MFT entry";
    case TreeFaultKind::LinkDown:
      return "link down";
    case TreeFaultKind::Twice:
      return "loop";
    case TreeFaultKind::NoWayUp:
      return "no way up";
    case TreeFaultKind::Stranger:
      return "no member";
    case TreeFaultKind::NotThere:
      return "no such port in the MFT entry";
    case TreeFaultKind::Unread:
      return "no answer";
  }
  return "";
}

const TreeNode* MulticastTree::find(Guid node_guid, std::uint8_t port) const {
  for (const TreeNode& node : nodes)
    if (node.hop.node_guid == node_guid && (port == 0 || node.hop.ingress_port == port))
      return &node;
  return nullptr;
}

Result<MulticastTree> walk_multicast_tree(mad::Session& session, Lid mlid, const TreeStart& start) {
  return TreeWalk(session, mlid, start).run();
}

}  // namespace ib::query
