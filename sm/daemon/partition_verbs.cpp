// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/partition_verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "libdiag/fabric/names.h"
#include "libdiag/report/shapes.h"
#include "sm/daemon/failure_documents.h"
#include "sm/daemon/unknown_node.h"
#include "sm/device/tables/kinds.h"
#include "sm/policy/selector_text.h"

namespace sm::daemon {
namespace {

using policy::AddedMember;
using policy::Membership;

constexpr std::size_t kOwnerMax = 64;
constexpr const char* kPartitionsUsage =
    "expected partition add P_KEY PORT..., partition remove P_KEY PORT... or partition list";

/// By P_Key and port GUID.
using Members = std::map<std::pair<std::uint16_t, ib::Guid>, AddedMember>;

control::Answer usage(const std::string& message) { return {2, message + '\n'}; }

// ---- what became of a member

struct State {
  const char* word;  // absent, waiting, programmed, refused
  std::string why;
};

bool has_key(const DeviceState& device_state, const ib::fabric::Node& node, std::uint8_t port,
             const AddedMember& member) {
  const auto wants = [&](std::uint16_t key) {
    const bool full = (key & 0x8000) != 0;
    return (key & 0x7FFF) == member.p_key && full != (member.membership == Membership::Limited);
  };
  for (std::uint16_t block = 0;; ++block) {
    const device::Block* held =
        device_state.tables->held(device::kPKeyTable, node.guid, {port, 0, block});
    if (held == nullptr) return false;
    for (std::size_t i = 0; i < device::kPKeysInBlock; ++i)
      if (wants(static_cast<std::uint16_t>(std::to_integer<unsigned>((*held)[2 * i]) << 8 |
                                           std::to_integer<unsigned>((*held)[2 * i + 1]))))
        return true;
  }
}

bool has_room(const DeviceState& device_state, const ib::fabric::Node& node, std::uint8_t port) {
  for (std::uint16_t block = 0;; ++block) {
    const device::Block* held =
        device_state.tables->held(device::kPKeyTable, node.guid, {port, 0, block});
    if (held == nullptr) return block == 0;
    for (std::size_t i = 0; i < device::kPKeysInBlock; ++i)
      if (((*held)[2 * i] & std::byte{0x7F}) == std::byte{0} && (*held)[2 * i + 1] == std::byte{0})
        return true;
  }
}

State state_of(const AddedMember& member, const SubnetView& subnet) {
  if (!subnet.snapshot || !subnet.device_state) return {"waiting", "the subnet is not up yet"};
  const auto& fabric = subnet.snapshot->fabric();
  const auto port = fabric.find_port_guid(member.port_guid);
  if (!port) return {"absent", "no port with this GUID is there; it gets the P_Key when it comes"};
  const auto& node = fabric.node(port->node);
  const std::uint8_t table = node.is_switch() ? std::uint8_t{0} : port->port;
  if (has_key(*subnet.device_state, node, table, member)) return {"programmed", {}};
  if (!has_room(*subnet.device_state, node, table))
    return {"refused", "the port's P_Key table is full"};
  return {"waiting", "its port has not confirmed it yet"};
}

// ---- list

std::string name_of(const AddedMember& member, const SubnetView& subnet) {
  if (!subnet.snapshot) return {};
  const auto& fabric = subnet.snapshot->fabric();
  const auto port = fabric.find_port_guid(member.port_guid);
  return port ? ib::printable(fabric.node(port->node).name()) : std::string();
}

ib::report::PortShape shape_of(ib::Guid port_guid, const SubnetView& subnet) {
  return ib::report::port_shape(subnet.snapshot ? &subnet.snapshot->fabric() : nullptr, port_guid);
}

std::string list_text(const std::vector<AddedMember>& members, const SubnetView& subnet) {
  std::string out;
  for (const AddedMember& m : members) {
    const State state = state_of(m, subnet);
    out += fmt::format("0x{:04x} {} {:<7} {:<10} owner={} \"{}\"{}{}\n", m.p_key,
                       to_string(m.port_guid), policy::word(m.membership), state.word,
                       m.owner.empty() ? "-" : ib::printable(m.owner), name_of(m, subnet),
                       state.why.empty() ? "" : " ", state.why);
  }
  return out.empty() ? "no member was added\n" : out;
}

std::string list_json(const std::vector<AddedMember>& members, const SubnetView& subnet) {
  ib::report::JsonWriter json;
  begin_document(json, {kMembersSchema, "ibsm", subnet.version, true, {}});
  json.key("members").begin_array(ib::report::JsonWriter::Items::Lines);
  for (const AddedMember& m : members) {
    const State state = state_of(m, subnet);
    json.begin_object().field("p_key", fmt::format("0x{:04x}", m.p_key));
    write_port(json, shape_of(m.port_guid, subnet));
    json.field("membership", policy::word(m.membership)).field("state", state.word);
    json.field("reason", state.why).field("owner", m.owner).end_object();
  }
  json.end_array().end_object();
  return json.take();
}

// ---- add, remove

/// Why this one cannot be added; nothing: it can.
std::optional<std::string> objection(const AddedMember& wanted, const Members& members,
                                     const SubnetView& subnet) {
  const auto there = members.find({wanted.p_key, wanted.port_guid});
  if (there != members.end() && there->second.owner != wanted.owner)
    return fmt::format("it was added by owner '{}': that one removes it first",
                       ib::printable(there->second.owner));
  if (!subnet.snapshot) return std::nullopt;
  if (wanted.p_key == ib::kDefaultPKey.base() && wanted.membership == Membership::Limited &&
      wanted.port_guid == subnet.snapshot->sm_port_guid)
    return "the subnet manager's port is always a full member of the default partition";
  const auto& fabric = subnet.snapshot->fabric();
  if (fabric.find_port_guid(wanted.port_guid)) return std::nullopt;
  const auto node = fabric.find_node(wanted.port_guid);
  if (!node) return std::nullopt;
  std::string ports;
  for (const auto& port : fabric.ports(*node))
    if (port.guid.value != 0) ports += " " + to_string(port.guid);
  return "it is the GUID of a node; its ports have" + ports;
}

store::PartitionMember stored(const AddedMember& m, bool stays) {
  return {m.p_key, m.port_guid,
          static_cast<std::uint8_t>(!stays                                ? 0
                                    : m.membership == Membership::Limited ? 1
                                    : m.membership == Membership::Full    ? 2
                                                                          : 3),
          m.owner};
}

class Change {
 public:
  Change(const std::vector<AddedMember>& members, const SubnetView& subnet) : subnet_(subnet) {
    for (const AddedMember& m : members) members_.emplace(std::pair(m.p_key, m.port_guid), m);
  }

  void add(const AddedMember& wanted) {
    if (!named_.insert(wanted.port_guid).second) return;
    if (auto why = objection(wanted, members_, subnet_)) return refuse(wanted, *why);
    auto& member = members_[{wanted.p_key, wanted.port_guid}];
    ++done_;
    if (member == wanted) return;
    member = wanted;
    out_.batch.partition_members.push_back(stored(wanted, true));
  }
  void remove(const AddedMember& named) {
    if (!named_.insert(named.port_guid).second) return;
    const auto there = members_.find({named.p_key, named.port_guid});
    if (there == members_.end()) return refuse(named, "it was not added; the file may name it");
    if (!named.owner.empty() && there->second.owner != named.owner)
      return refuse(named,
                    fmt::format("it was added by owner '{}'", ib::printable(there->second.owner)));
    members_.erase(there);
    ++done_;
    out_.batch.partition_members.push_back(stored(named, false));
  }
  MembersChange finish(std::string_view what, std::uint16_t p_key, bool json) {
    for (auto& [key, member] : members_) out_.members.push_back(std::move(member));
    out_.answer.status = refused_.empty() ? 0 : 1;
    out_.note =
        fmt::format("{} {} member{} of P_Key 0x{:04x}", what, done_, done_ == 1 ? "" : "s", p_key);
    out_.answer.text = json ? as_json(what, p_key) : as_text();
    return std::move(out_);
  }

 private:
  void refuse(const AddedMember& member, const std::string& why) {
    refused_.emplace_back(member.port_guid, why);
  }
  std::string as_text() const {
    std::string text = out_.note + '\n';
    for (const auto& [guid, why] : refused_)
      text += fmt::format("refused: {}: {}\n", to_string(guid), why);
    return text;
  }
  std::string as_json(std::string_view what, std::uint16_t p_key) const {
    ib::report::JsonWriter json;
    begin_document(json, {kMembersChangeSchema, "ibsm", subnet_.version, true, {}});
    json.field("change", what);
    json.field("p_key", fmt::format("0x{:04x}", p_key)).field("members", done_).key("refused");
    json.begin_array(ib::report::JsonWriter::Items::Lines);
    for (const auto& [guid, why] : refused_) {
      json.begin_object();
      write_port(json, shape_of(guid, subnet_));
      json.field("reason", why).end_object();
    }
    json.end_array().end_object();
    return json.take();
  }

  const SubnetView& subnet_;
  Members members_;
  std::set<ib::Guid> named_;  // in the request; a GUID twice is one member
  std::size_t done_{0};
  std::vector<std::pair<ib::Guid, std::string>> refused_;
  MembersChange out_;
};

/// The port that a word means: its GUID, which need not be there yet, or NODE[:PORT] of the subnet.
ib::Result<ib::Guid> port_of(const std::string& word, const SubnetView& subnet) {
  ib::Guid guid;
  const bool is_guid = ib::parse_guid(word, guid) && guid.value != 0;
  if (is_guid && (word.starts_with("0x") || !subnet.snapshot)) return guid;
  if (!subnet.snapshot || word.starts_with("0x"))
    return ib::fail(ib::ErrorKind::Usage,
                    "expected the GUID of a port (0x...)" +
                        std::string(subnet.snapshot ? "" : " as long as the subnet is not up") +
                        ", got '" + ib::printable(word) + "'");
  const auto& fabric = subnet.snapshot->fabric();
  const auto found = ib::fabric::find_node_and_port(fabric, word);
  if (!found && is_guid) return guid;
  if (!found) return tl::unexpected<ib::Error>(found.error());
  const auto& node = fabric.node(found->node);
  if (node.is_switch()) return node.guid;
  std::vector<ib::Guid> guids;
  for (unsigned p = 1; p <= node.num_ports; ++p)
    if ((!found->port || *found->port == p) && fabric.port(found->node, p).guid.value != 0)
      guids.push_back(fabric.port(found->node, p).guid);
  if (guids.size() == 1) return guids.front();
  return ib::fail(ib::ErrorKind::Usage,
                  fmt::format("'{}' has {} ports; name one as NODE:PORT or by its GUID",
                              ib::printable(word), guids.size()));
}

MembersChange change(const control::Request& request, const std::vector<AddedMember>& members,
                     const SubnetView& subnet, bool adds) {
  MembersChange nothing;
  nothing.members = members;
  const auto fail = [&](const std::string& message) {
    nothing.answer = usage(message);
    return nothing;
  };
  if (request.words.size() < 3) return fail(kPartitionsUsage);
  const auto p_key = policy::read_p_key(request.words[1]);
  if (!p_key) return fail(p_key.error().message);
  if (request.has("both") && request.has("limited"))
    return fail("expected --limited or --both, got both of them");
  if (request.has("both") && !subnet.allow_both)
    return fail(
        "--both: members would get the full P_Key alone, since allow_both_pkeys (-W) is off; "
        "nothing was changed");
  AddedMember one;
  one.p_key = *p_key;
  one.membership = request.has("both")      ? Membership::Both
                   : request.has("limited") ? Membership::Limited
                                            : Membership::Full;
  one.owner = request.option("owner");
  if (one.owner.size() > kOwnerMax)
    return fail(
        fmt::format("--owner: expected up to {} bytes, got {}", kOwnerMax, one.owner.size()));
  std::vector<ib::Guid> guids;
  guids.reserve(request.words.size() - 2);
  for (std::size_t i = 2; i < request.words.size(); ++i) {
    const auto guid = port_of(request.words[i], subnet);
    if (!guid) {
      nothing.answer = misnamed(guid.error(), request.words[i], "; nothing was changed");
      return nothing;
    }
    guids.push_back(*guid);
  }
  Change change(members, subnet);
  for (const ib::Guid guid : guids) {
    one.port_guid = guid;
    adds ? change.add(one) : change.remove(one);
  }
  return change.finish(adds ? "added" : "removed", *p_key, request.has("json"));
}

}  // namespace

std::vector<AddedMember> added_members(const std::vector<store::PartitionMember>& stored) {
  std::vector<AddedMember> out;
  out.reserve(stored.size());
  for (const store::PartitionMember& m : stored)
    out.push_back({m.p_key, m.port_guid,
                   m.membership == 1   ? Membership::Limited
                   : m.membership == 2 ? Membership::Full
                                       : Membership::Both,
                   m.owner});
  return out;
}

MembersChange partition_verb(const control::Request& request,
                             const std::vector<AddedMember>& members, const SubnetView& subnet) {
  const std::string what = request.words.empty() ? std::string() : request.words.front();
  if (what == "add" || what == "remove") return change(request, members, subnet, what == "add");
  MembersChange out;
  out.members = members;
  if (what != "list" || request.words.size() != 1) {
    out.answer = usage(kPartitionsUsage);
  } else {
    out.answer.text = request.has("json") ? list_json(members, subnet) : list_text(members, subnet);
  }
  return out;
}

}  // namespace sm::daemon
