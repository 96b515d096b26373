// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/table.h"

#include <algorithm>
#include <array>
#include <map>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/text.h"
#include "sm/config/rows.h"

namespace sm::config {
namespace {

std::vector<Row> make_table() {
  std::vector<Row> rows;
  for (const auto& part :
       {subnet_rows(), policy_rows(), routing_rows(), sa_rows(), process_rows(), manager_rows()})
    for (const Part& section : part)
      for (Row row : section.rows) {
        row.section = section.section;
        rows.push_back(row);
      }
  return rows;
}

std::string with_underscores(std::string_view key) {
  std::string out(key);
  std::ranges::replace(out, '-', '_');
  return out;
}

}  // namespace

std::string_view Row::name() const {
  for (const std::string_view name : ib::split(names, ','))
    if (name.starts_with("--")) return name.substr(2);
  return names.empty() ? key() : names.substr(1, 1);
}

std::span<const Row> table() {
  static const std::vector<Row> rows = make_table();
  return rows;
}

const Row* find_key(std::string_view key) {
  static const auto by_key = [] {
    std::map<std::string, const Row*, std::less<>> rows;
    for (const Row& row : table())
      for (const std::string_view name : ib::split(row.keys, ','))
        if (!name.empty()) rows.emplace(name, &row);
    return rows;
  }();
  const auto at = by_key.find(with_underscores(key));
  return at == by_key.end() ? nullptr : at->second;
}

const std::vector<std::string_view>& all_keys() {
  static const auto keys = [] {
    std::vector<std::string_view> all;
    for (const Row& row : table())
      for (const std::string_view name : ib::split(row.keys, ','))
        if (!name.empty()) all.push_back(name);
    return all;
  }();
  return keys;
}

const Row* find_name(std::string_view name) {
  for (const Row& row : table())
    for (const std::string_view known : ib::split(row.names, ','))
      if (known.starts_with("--") && with_underscores(known.substr(2)) == with_underscores(name))
        return &row;
  return nullptr;
}

std::string_view meant_key(std::string_view word) {
  if (const Row* row = find_name(word)) return row->key();
  if (const auto nearest = ib::nearest_word(word, all_keys()); !nearest.empty()) return nearest;
  const std::string whole = with_underscores(word);
  const auto parts = ib::split(whole, '_');
  if (parts.size() < 2) return {};
  std::string_view found;
  for (const std::string_view key : all_keys()) {
    const auto of_key = ib::split(key, '_');
    const bool has_all = std::ranges::all_of(parts, [&](std::string_view part) {
      return std::ranges::find(of_key, part) != of_key.end();
    });
    if (!has_all) continue;
    if (!found.empty()) return {};
    found = key;
  }
  return found;
}

bool is_of_host(const Row& row) {
  constexpr std::array kOfHost = {Section::Sweep, Section::Store, Section::Log, Section::Process};
  return row.of_host || std::ranges::find(kOfHost, row.section) != kOfHost.end();
}

std::string_view section_name(Section section) {
  constexpr std::string_view kNames[] = {"Port and subnet manager",
                                         "LIDs",
                                         "Links",
                                         "Sweeps",
                                         "Partitions",
                                         "Quality of service",
                                         "Routing",
                                         "Subnet administration",
                                         "What survives a restart",
                                         "Log",
                                         "Process",
                                         "Performance, congestion control, plug-ins"};
  return kNames[static_cast<std::size_t>(section)];
}

std::string effect_of(const Row& row) {
  switch (row.effect) {
    case Effect::Works:
      return {};
    case Effect::None:
      return "accepted, no effect: " + std::string(row.note);
    case Effect::NotYet:
      return "not supported yet: " + std::string(row.note);
  }
  return {};
}

std::string help_of(const Row& row) {
  std::string help(row.help);
  if (row.kind == Kind::Number && row.max != UINT64_MAX)
    help += "; " + std::to_string(row.min) + " to " + std::to_string(row.max);
  if (row.effect == Effect::Works) return help;
  return help + " (" + effect_of(row) + ")";
}

}  // namespace sm::config
