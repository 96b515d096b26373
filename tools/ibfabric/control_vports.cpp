// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ctl vport`: virtual ports of a host's port, and what the host does with them.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "libdiag/base/text.h"
#include "libdiag/report/words.h"
#include "tools/ibfabric/control.h"
#include "tools/ibfabric/control_answers.h"

namespace ibfabric {

using ib::Instant;
using ib::sim::PortRef;
using ib::sim::VPortChange;
using ib::sim::VPortState;

namespace {

constexpr const char* kVportForm =
    "expected vport NODE[:PORT] [INDEX up|down|lid on|lid off|guid GUID|describe TEXT]";

/// What the words behind the index ask for; none of its fields: something else.
VPortChange change_of(const std::vector<std::string>& words) {
  VPortChange change;
  const std::string& what = words[2];
  if (words.size() == 3 && (what == "up" || what == "down")) change.is_up = what == "up";
  if (words.size() != 4) return change;
  const std::string& value = words[3];
  std::uint64_t guid = 0;
  if (what == "lid" && (value == "on" || value == "off")) change.lid_required = value == "on";
  if (what == "guid" && ib::parse_number(value, UINT64_MAX, guid)) change.guid = ib::Guid{guid};
  if (what == "describe") change.description = value;
  return change;
}

bool is_empty(const VPortChange& change) {
  return !change.is_up && !change.lid_required && !change.guid && !change.description;
}

std::string text_of(ib::PKey key) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%04x", key.value);
  return text;
}

Json json_of(const VPortState& v) {
  Json p_keys = Json::array();
  for (const ib::PKey key : v.p_keys)
    if (key.base() != 0) p_keys.push_back(text_of(key));
  Json rates = Json::array();
  for (const std::uint32_t rate : v.rates.sl) rates.push_back(rate & 0xFFFFF);
  return {{"index", v.index},
          {"state", ib::report::link_state_word(v.state)},
          {"port_guid", ib::to_string(v.guid)},
          {"node_guid", ib::to_string(v.node_guid)},
          {"lid", v.lid_required ? Json(v.lid.value) : Json()},
          {"p_keys", std::move(p_keys)},
          {"rate_limits_mbps", std::move(rates)}};
}

std::string text_of(const Json& v) {
  std::string line = v["index"].dump() + " " + v["state"].get<std::string>() + " " +
                     v["port_guid"].get<std::string>() + " P_Keys";
  for (const auto& key : v["p_keys"]) line += " " + key.get<std::string>();
  return line + "\n";
}

}  // namespace

CtlResult Control::vport(Instant now, const CtlCommand& command) {
  const auto& w = command.words;
  if (w.empty() || w.size() == 2 || w.size() > 4) return usage(kVportForm);
  const auto port = end_port(w[0]);
  if (!port) return refused(port.error());
  if (w.size() > 1) {
    std::uint64_t index = 0;
    const VPortChange change = change_of(w);
    if (!ib::parse_number(w[1], 0xFFFF, index) || is_empty(change)) return usage(kVportForm);
    const auto changed = model_.change_vport(now, *port, static_cast<unsigned>(index), change);
    return changed ? done(command) : refused(changed.error());
  }
  Json rows = Json::array();
  std::string text;
  for (const VPortState& v : model_.vports(*port)) {
    rows.push_back(json_of(v));
    text += text_of(rows.back());
  }
  if (command.json) return in_json("vport", {{"vports", std::move(rows)}});
  return {0, text};
}

}  // namespace ibfabric
