// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Text and JSON of a group's trace.
#include <fmt/format.h>

#include <algorithm>

#include "libdiag/base/text.h"
#include "libdiag/report/json.h"
#include "libdiag/wire/words.h"
#include "tools/ibtracer/multicast.h"
#include "tools/ibtracer/report.h"

namespace ibtracer {

using ib::query::Hop;
using ib::query::TreeFault;
using ib::query::TreeFaultKind;
using ib::query::TreeNode;
namespace wire = ib::wire;

namespace {

std::string name_of(const Hop& hop) {
  const std::string name = ib::printable(hop.description);
  return name.empty() ? ib::to_string(hop.node_guid) : name;
}

std::string name_of(const Member& member) {
  const std::string name = ib::printable(member.name);
  return name.empty() ? ib::to_string(member.port_gid) : name;
}

std::string group_of(const MulticastReport& report) {
  return fmt::format("group {} (lid 0x{:04x})", ib::to_string(report.mgid), report.mlid.value);
}

std::size_t count(const MulticastReport& report, MemberWord word) {
  return static_cast<std::size_t>(std::ranges::count(report.members, word, &Member::word));
}

std::size_t receivers(const MulticastReport& report) {
  return report.members.size() - count(report, MemberWord::Source) -
         count(report, MemberWord::SendsOnly);
}

bool was_asked(AgentWord word) { return word != AgentWord::NotAsked; }

std::string tree_lines(const MulticastReport& report) {
  std::size_t width = 0;
  for (const TreeNode& node : report.tree.nodes) width = std::max(width, name_of(node.hop).size());
  std::string out;
  for (std::size_t i = 0; i < report.tree.nodes.size(); ++i) {
    const TreeNode& node = report.tree.nodes[i];
    const std::string quoted = '"' + name_of(node.hop) + '"';
    const std::string in = node.hop.ingress_port != 0
                               ? fmt::format("in {:>3}", node.hop.ingress_port)
                               : std::string("      ");
    out +=
        fmt::format("  {:>2}  {:<6} {:<{}} lid {:>5}  {}", node.depth,
                    ib::wire::type_word(node.hop.type), quoted, width + 2, node.hop.lid.value, in);
    if (node.out.any()) out += "  out " + ib::query::to_string(node.out);
    if (node.by_default_port) out += " (default multicast port)";
    if (was_asked(report.agents[i])) out += fmt::format("  ({})", agent_word(report.agents[i]));
    out += '\n';
  }
  return out;
}

/// "confirmed", "doubtful (no agent (0x000C))", "missing: the entry of ...".
std::string evidence(const Member& member) {
  std::string text(member_word(member.word));
  if (was_asked(member.agent) && member.agent != AgentWord::Answered)
    text += fmt::format(" ({})", agent_word(member.agent));
  if (!member.note.empty()) text += ": " + member.note;
  return text;
}

bool is_plain(const Member& member) {
  return member.word == MemberWord::Source || member.word == MemberWord::SendsOnly ||
         member.word == MemberWord::Confirmed;
}

std::string member_lines(const MulticastReport& report, bool all) {
  std::size_t width = 0;
  for (const Member& m : report.members) width = std::max(width, name_of(m).size());
  std::string out;
  for (const Member& m : report.members) {
    if (!all && is_plain(m)) continue;
    const std::string quoted = '"' + name_of(m) + '"';
    out += fmt::format("  {:<{}} port {:>3}  lid {:>5}  {}\n", quoted, width + 2, m.port,
                       m.lid.value, evidence(m));
  }
  return out;
}

/// Why a member is missing; empty: none is, or it is not known.
std::string why_missing(const MulticastReport& report) {
  for (const Member& m : report.members)
    if (m.word == MemberWord::Missing && !m.note.empty()) return m.note;
  return "";
}

/// The fault that a last line is to name.
const TreeFault* decisive(const MulticastReport& report) {
  const auto worst = std::ranges::find_if(
      report.faults, [](const TreeFault& f) { return f.kind != TreeFaultKind::Unread; });
  if (worst != report.faults.end()) return &*worst;
  return report.faults.empty() ? nullptr : &report.faults.front();
}

std::string last_line(const MulticastReport& report) {
  const std::string group = group_of(report);
  const std::size_t all = receivers(report);
  const Verdict verdict = report.verdict();
  std::string why;
  switch (verdict) {
    case Verdict::Verified:
      return fmt::format("VERIFIED {}: every member of {} confirmed its port\n", group, all);
    case Verdict::Partly:
      return fmt::format("PARTLY VERIFIED {}: {} of {} members confirmed, {} doubtful\n", group,
                         count(report, MemberWord::Confirmed), all,
                         count(report, MemberWord::Doubtful));
    case Verdict::Mismatch:
    case Verdict::Broken: {
      if (const std::size_t missing = count(report, MemberWord::Missing); missing != 0)
        why = fmt::format(": {} of {} members missing", missing, all);
      if (const std::string note = why_missing(report); !note.empty()) {
        why += ": " + note;
      } else if (const TreeFault* fault = decisive(report)) {
        why += ": " + fault->message;
      } else if (const auto m =
                     std::ranges::find(report.members, MemberWord::Contradicted, &Member::word);
                 m != report.members.end()) {
        why += fmt::format(": \"{}\": {}", name_of(*m), m->note);
      }
      return fmt::format("{} {}{}\n", verdict_word(verdict), group, why);
    }
  }
  return "";
}

/// What could not be read: proofs of members, and nodes that did not answer.
std::vector<std::string> unread(const MulticastReport& report) {
  std::vector<std::string> out = report.errors;
  for (const Member& m : report.members)
    if (m.word == MemberWord::Doubtful)
      out.push_back(fmt::format("{}: \"{}\" port {}: no proof ({})", group_of(report), name_of(m),
                                m.port, agent_word(m.agent)));
  for (const TreeFault& fault : report.faults)
    if (fault.kind == TreeFaultKind::Unread) out.push_back(fault.message);
  return out;
}

void write_ports(ib::report::JsonWriter& json, const ib::query::PortSet& ports) {
  json.key("egress_ports").begin_array();
  for (std::size_t port = 0; port < ports.size(); ++port)
    if (ports.test(port)) json.value(port);
  json.end_array();
}

}  // namespace

std::string text_report(const MulticastReport& report, bool verbose) {
  std::string out;
  const Verdict verdict = report.verdict();
  if (verbose || verdict == Verdict::Mismatch || verdict == Verdict::Broken) {
    const std::string source = ib::printable(report.source);
    out += fmt::format("From \"{}\" to {} with {} members\n", source, group_of(report),
                       report.members.size());
    out += tree_lines(report);
  }
  const std::string members = member_lines(report, verbose);
  if (!members.empty()) out += "Members\n" + members;
  if (!report.faults.empty()) out += "Faults\n";
  for (const TreeFault& fault : report.faults)
    out += fmt::format("  {}: {}\n", ib::query::tree_fault_name(fault.kind), fault.message);
  return out + last_line(report);
}

std::string json_report(const MulticastReport& report) {
  ib::report::JsonWriter json;
  const std::vector<std::string> errors = unread(report);
  ib::report::begin_document(json, {kSchema, "ibtracer", IBKIT_VERSION, errors.empty(), errors});
  json.field("target_lid", report.mlid)
      .field("verdict", verdict_word(report.verdict()))
      .field("route_source", "tables");
  json.key("traces").begin_array().end_array();
  json.key("group").begin_object();
  json.field("mgid", ib::to_string(report.mgid))
      .field("mlid", report.mlid)
      .field("source", ib::printable(report.source));
  json.key("members").begin_array();
  for (const Member& m : report.members)
    json.begin_object()
        .field("port_gid", ib::to_string(m.port_gid))
        .field("node_guid", ib::to_string(m.node_guid))
        .field("name", ib::printable(m.name))
        .field("lid", m.lid)
        .field("port", m.port)
        .field("join_state", m.join_state)
        .field("state", member_word(m.word))
        .field("agent", agent_word(m.agent))
        .field("note", m.note)
        .end_object();
  json.end_array();
  json.key("tree").begin_array();
  for (std::size_t i = 0; i < report.tree.nodes.size(); ++i) {
    const TreeNode& node = report.tree.nodes[i];
    json.begin_object()
        .field("depth", node.depth)
        .field("type", ib::wire::type_word(node.hop.type))
        .field("node_guid", ib::to_string(node.hop.node_guid))
        .field("port_guid", ib::to_string(node.hop.port_guid))
        .field("lid", node.hop.lid)
        .field("name", ib::printable(node.hop.description))
        .field("parent",
               node.parent == TreeNode::kNone ? std::optional<std::size_t>() : node.parent)
        .field("parent_port", node.parent_port)
        .field("ingress_port", node.hop.ingress_port);
    write_ports(json, node.out);
    json.field("agent", agent_word(report.agents[i])).end_object();
  }
  json.end_array();
  json.key("faults").begin_array();
  for (const TreeFault& fault : report.faults)
    json.begin_object()
        .field("kind", ib::query::tree_fault_name(fault.kind))
        .field("node_guid", ib::to_string(fault.node_guid))
        .field("port", fault.port)
        .field("message", fault.message)
        .end_object();
  json.end_array().end_object().end_object();
  return json.take();
}

}  // namespace ibtracer
