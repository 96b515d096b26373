// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtracer/multicast_questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/ibtracer/multicast_answer.h"

namespace ibtracer {

using ib::Guid;
using ib::Lid;
using ib::query::PortSet;
using ib::query::TreeNode;
namespace mad = ib::mad;
namespace wire = ib::wire;

namespace {

/// One agent: where it is asked, what, and what it said.
struct Interview {
  Guid node_guid{};
  Lid lid{};
  wire::MulticastRoute route;
  AgentWord agent{AgentWord::NotAsked};
  std::string note;  // of an odd answer
  std::vector<MulticastAnswer> answers;
};

void read_first(Interview& one, const mad::Completion& info, const mad::Completion& route) {
  if (!info.reply) {
    one.agent = AgentWord::Silent;
    return;
  }
  const std::uint16_t status = info.reply->mad.status();
  if (status == wire::status::kBadAttribute) {
    one.agent = AgentWord::NoAgent;
    return;
  }
  if (status == wire::status::kBadVersion || status == wire::status::kBadMethod) {
    one.agent = AgentWord::OtherVersion;
    return;
  }
  if (!route.reply) {
    one.agent = AgentWord::Silent;
    return;
  }
  const auto answer = read_multicast_answer(route.reply->mad, one.route, 0);
  if (answer) {
    one.agent = answer->known == 0 ? AgentWord::KnowsNoIngress : AgentWord::Answered;
    one.answers.push_back(*answer);
    return;
  }
  // It speaks the class, and not this attribute of it.
  const bool knows_not = answer.error().mad_status == wire::status::kBadAttribute;
  one.agent = knows_not ? AgentWord::OtherVersion : AgentWord::Odd;
  one.note = "its agent answered oddly: " + answer.error().message;
}

/// Asks all of them, and then those that have more than one answer for the others.
ib::Result<void> hold(mad::Session& session, ib::Sl sl, std::vector<Interview>& all) {
  std::vector<mad::Request> questions;
  questions.reserve(2 * all.size());
  for (const Interview& one : all) {
    questions.push_back(class_port_info_request(0, one.node_guid, one.lid, sl));
    questions.push_back(multicast_route_request(0, one.node_guid, one.lid, sl, one.route, 0));
  }
  const auto first = session.call_all(std::move(questions));
  if (!first) return tl::unexpected(first.error());
  std::vector<std::pair<std::size_t, std::uint8_t>> more;
  for (std::size_t i = 0; i < all.size(); ++i) {
    read_first(all[i], (*first)[2 * i], (*first)[2 * i + 1]);
    if (all[i].answers.empty()) continue;
    for (std::uint8_t k = 1; k < all[i].answers.front().answers; ++k) more.emplace_back(i, k);
  }
  questions.clear();
  for (const auto& [i, k] : more) {
    const Interview& one = all[i];
    questions.push_back(multicast_route_request(0, one.node_guid, one.lid, sl, one.route, k));
  }
  const auto rest = session.call_all(std::move(questions));
  if (!rest) return tl::unexpected(rest.error());
  for (std::size_t i = 0; i < more.size(); ++i) {
    // One that does not come is of a port that is asked by itself then.
    const mad::Completion& answer = (*rest)[i];
    if (!answer.reply) continue;
    Interview& one = all[more[i].first];
    if (const auto read = read_multicast_answer(answer.reply->mad, one.route, more[i].second))
      one.answers.push_back(*read);
  }
  return {};
}

/// What the answers of an interview say of one member; false: nothing.
bool judge(const Interview& one, Member& member) {
  const MulticastAnswer* mine = nullptr;
  for (const MulticastAnswer& answer : one.answers) {
    if (answer.port_guid != member.port_gid.guid() && answer.port != member.port) continue;
    if (mine != nullptr && (mine->port != answer.port || mine->port_guid != answer.port_guid)) {
      member.agent = AgentWord::Odd;
      member.note =
          fmt::format("its agent gives two answers: port {} is {}, and port {} is {}", mine->port,
                      ib::to_string(mine->port_guid), answer.port, ib::to_string(answer.port_guid));
      if (member.place) member.word = MemberWord::Doubtful;
      return true;
    }
    mine = &answer;
  }
  if (mine == nullptr) return false;
  member.agent = one.agent;
  if (!member.place || member.word == MemberWord::SendsOnly) return true;
  if (mine->known == 0) return true;  // an agent that cannot tell
  member.word = MemberWord::Confirmed;
  if (mine->port != member.port || mine->port_guid != member.port_gid.guid() || mine->contradicts) {
    member.word = MemberWord::Contradicted;
    member.note = fmt::format(
        "its agent says that {} is its port {}, and takes packets by {}; the "
        "tree leads to port {}",
        ib::to_string(mine->port_guid), mine->port, ib::query::to_string(mine->ingress),
        member.port);
  }
  return true;
}

class Questions {
 public:
  Questions(mad::Session& session, const MulticastOptions& options, MulticastReport& report)
      : session_(session), options_(options), report_(report) {
    report_.agents.assign(report_.tree.nodes.size(), AgentWord::NotAsked);
  }

  ib::Result<void> run() {
    std::vector<Interview> all;
    std::vector<std::vector<std::size_t>> about;  // members
    std::map<Guid, std::size_t> by_node;
    for (const std::size_t m : in_order_of_asking()) {
      const Member& member = report_.members[m];
      const auto [known, is_new] = by_node.try_emplace(member.node_guid, all.size());
      if (is_new) {
        all.push_back(interview_of(member));
        about.emplace_back();
      }
      about[known->second].push_back(m);
    }
    const std::size_t members_end = all.size();
    const std::vector<std::size_t> switches = add_switches(all, by_node);
    if (auto held = hold(session_, options_.sl, all); !held) return held;
    std::vector<Interview> alone;
    std::vector<std::vector<std::size_t>> about_alone;
    for (std::size_t i = 0; i < members_end; ++i) {
      for (const std::size_t m : about[i]) {
        Member& member = report_.members[m];
        const bool was_asked = member.lid == all[i].lid;
        if (judge(all[i], member)) continue;
        if (was_asked) {
          member.agent = all[i].agent;
          if (member.note.empty()) member.note = all[i].note;
        } else {
          alone.push_back(interview_of(member));
          about_alone.push_back({m});
        }
      }
    }
    if (auto held = hold(session_, options_.sl, alone); !held) return held;
    for (std::size_t i = 0; i < alone.size(); ++i) {
      Member& member = report_.members[about_alone[i].front()];
      if (judge(alone[i], member)) continue;
      member.agent = alone[i].agent;
      if (member.note.empty()) member.note = alone[i].note;
    }
    for (std::size_t i = 0; i < switches.size(); ++i)
      report_.agents[switches[i]] = all[members_end + i].agent;
    for (const Member& member : report_.members)
      if (member.place) report_.agents[*member.place] = member.agent;
    return {};
  }

 private:
  static bool is_to_be_asked(const Member& member) {
    return member.word != MemberWord::Source && member.lid.is_unicast();
  }

  /// Members, those that the tree leads to first: a node is asked at one of them.
  std::vector<std::size_t> in_order_of_asking() const {
    std::vector<std::size_t> order;
    for (std::size_t m = 0; m < report_.members.size(); ++m)
      if (is_to_be_asked(report_.members[m])) order.push_back(m);
    std::ranges::stable_partition(
        order, [&](std::size_t m) { return report_.members[m].place.has_value(); });
    return order;
  }

  /// Where the tree comes into a node, and where it leaves it.
  wire::MulticastRoute route_of(Guid node_guid) const {
    wire::MulticastRoute route;
    route.mgid = report_.mgid;
    route.mlid = report_.mlid;
    PortSet in, out;
    for (const TreeNode& node : report_.tree.nodes) {
      if (node.hop.node_guid != node_guid) continue;
      if (in.none()) route.hop = node.depth;
      in.set(node.hop.ingress_port);
      out |= node.out;
    }
    route.expected_ingress = bytes_of(in);
    route.expected_egress = bytes_of(out);
    return route;
  }

  Interview interview_of(const Member& member) const {
    Interview one;
    one.node_guid = member.node_guid;
    one.lid = member.lid;
    one.route = route_of(member.node_guid);
    return one;
  }

  /// Switches of the tree that are no members; their places in it, in the order of interviews.
  std::vector<std::size_t> add_switches(std::vector<Interview>& all,
                                        const std::map<Guid, std::size_t>& asked) const {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < report_.tree.nodes.size(); ++i) {
      const auto& hop = report_.tree.nodes[i].hop;
      if (hop.type != wire::NodeType::Switch || !hop.lid.is_unicast() ||
          asked.contains(hop.node_guid))
        continue;
      Interview one;
      one.node_guid = hop.node_guid;
      one.lid = hop.lid;
      one.route = route_of(hop.node_guid);
      all.push_back(std::move(one));
      places.push_back(i);
    }
    return places;
  }

  mad::Session& session_;
  const MulticastOptions& options_;
  MulticastReport& report_;
};

}  // namespace

ib::Result<void> ask_agents(mad::Session& session, const MulticastOptions& options,
                            MulticastReport& report) {
  return Questions(session, options, report).run();
}

}  // namespace ibtracer
