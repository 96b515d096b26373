// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/sm_verb.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "libdiag/base/text.h"
#include "libdiag/report/shapes.h"
#include "sm/daemon/failure_documents.h"

namespace sm::daemon {
namespace {

using core::election::state_name;

/// What is configured otherwise at others.
struct Differences {
  const Consistency* known{};  // null: nothing is compared

  const std::vector<std::string>* of(ib::Guid guid) const {
    if (known == nullptr) return nullptr;
    const auto at = known->all().find(to_string(guid));
    return at == known->all().end() ? nullptr : &at->second.names;
  }
};

std::int64_t seconds_since(ib::Instant now, ib::Instant then) {
  return std::chrono::duration_cast<std::chrono::seconds>(now - then).count();
}

/// What keeps it out of the election, if anything does.
std::string remark(ib::Guid guid, ib::Guid own, const core::OtherManager& other,
                   const Differences& differ) {
  std::string text;
  const auto add = [&](bool is_so, std::string_view what) {
    if (is_so) text += (text.empty() ? "" : ", ") + std::string(what);
  };
  add(other.is_twin, "its port has our GUID");
  add(!other.allowed, "not among allowed_sm_guids");
  add(other.known && !other.key_matches, "another SM_Key");
  if (other.claims != ib::Guid{})
    add(true, fmt::format("says that its port GUID is {}{}", to_string(other.claims),
                          other.claims == own ? ", which is ours" : ""));
  else
    add(!other.answered, "does not answer");
  if (other.known && !other.answered)
    add(true, fmt::format("was {}", state_name(other.info.sm_state)));
  if (const auto* names = differ.of(guid))
    add(true, fmt::format("configured otherwise: {}", fmt::join(*names, ", ")));
  return text;
}

std::string text_of(const core::Mastership& mastership, ib::Lid own_lid, ib::Instant now,
                    const Differences& differ) {
  const core::SmStatus& own = mastership.status();
  const auto row = [](std::string_view guid, std::string_view lid, std::string_view state,
                      std::string_view priority, std::string_view since, std::string_view act,
                      std::string_view who) {
    std::string line = fmt::format("{:<18} {:>5} {:<11} {:>8} {:>9} {:>10} {}", guid, lid, state,
                                   priority, since, act, who);
    return line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  };
  const auto since = [&](ib::Instant then) { return fmt::format("{}s", seconds_since(now, then)); };
  std::string out = row("GUID", "LID", "STATE", "PRIORITY", "SINCE", "ACTCOUNT", "WHO");
  out += row(to_string(own.guid), std::to_string(own_lid.value), state_name(own.state),
             std::to_string(mastership.own_info().priority), since(own.since),
             std::to_string(mastership.own_info().act_count), "this one");
  for (const auto& [guid, other] : mastership.others().all()) {
    const std::string what = remark(guid, own.guid, other, differ);
    // One that does not answer is in no state any more, a dead master least of all.
    const bool answers = other.known && other.answered;
    out +=
        row(to_string(guid), std::to_string(other.lid.value),
            answers ? state_name(other.info.sm_state) : "?",
            answers ? std::to_string(other.info.priority) : "?", answers ? since(other.since) : "?",
            answers ? std::to_string(other.info.act_count) : "?",
            other.name + (what.empty() ? "" : " (" + what + ")"));
  }
  return out + fmt::format("{} since {} s: {}\n", state_name(own.state),
                           seconds_since(now, own.since), own.why);
}

/// A port by its GUID, as the subnet has it; of one that it does not have what its manager said.
ib::report::PortShape shape_of(const SnapshotPtr& subnet, ib::Guid guid, ib::Lid lid,
                               const std::string& name) {
  auto shape = ib::report::port_shape(subnet ? &subnet->fabric() : nullptr, guid);
  if (!shape.type) shape.name = name;
  shape.lid = lid;
  return shape;
}

std::string json_of(const core::Mastership& mastership, const SnapshotPtr& subnet, ib::Lid own_lid,
                    ib::Instant now, const Differences& differ, const std::string& version) {
  const core::SmStatus& own = mastership.status();
  const auto info = mastership.own_info();
  ib::report::JsonWriter json;
  begin_document(json, {kManagersSchema, "ibsm", version, true, {}});
  json.field("state", state_name(own.state));
  json.field("since_seconds", seconds_since(now, own.since)).field("reason", own.why);
  json.key("managers").begin_array(ib::report::JsonWriter::Items::Lines);
  json.begin_object();
  write_port(json, shape_of(subnet, own.guid, own_lid, {}));
  json.field("own", true).field("state", state_name(own.state)).field("priority", info.priority);
  json.field("act_count", info.act_count).field("since_seconds", seconds_since(now, own.since));
  json.end_object();
  for (const auto& [guid, other] : mastership.others().all()) {
    json.begin_object();
    write_port(json, shape_of(subnet, guid, other.lid, other.name));
    json.field("own", false).field("answers", other.answered).field("allowed", other.allowed);
    if (other.claims != ib::Guid{}) json.field("claims_guid", other.claims);
    if (other.known) {
      json.field("state", state_name(other.info.sm_state)).field("priority", other.info.priority);
      json.field("act_count", other.info.act_count).field("key_matches", other.key_matches);
      json.field("since_seconds", seconds_since(now, other.since));
    }
    if (const auto* names = differ.of(guid)) {
      json.key("configured_otherwise").begin_array();
      for (const std::string& name : *names) json.value(name);
      json.end_array();
    }
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

}  // namespace

control::Answer sm_verb(const control::Request& request, const core::Mastership& mastership,
                        const ManagedSubnet& subnet, ib::Instant now,
                        const Consistency* consistency) {
  const Differences differ{consistency};
  if (!request.words.empty())
    return {2, "sm: expected no more words, got '" + ib::printable(request.words.front()) + "'\n"};
  return {0, request.has("json")
                 ? json_of(mastership, subnet.snapshot, subnet.own_lid, now, differ, subnet.version)
                 : text_of(mastership, subnet.own_lid, now, differ)};
}

}  // namespace sm::daemon
