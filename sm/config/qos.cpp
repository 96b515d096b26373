// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/qos.h"

#include <string>

#include "libdiag/base/ids.h"
#include "sm/config/table.h"

namespace sm::config {
namespace {

/// Empty: nothing was said.
std::string said(const Configuration& configuration, const std::string& key) {
  const Row* row = find_key(key);
  return row == nullptr ? std::string() : configuration.origin(*row).value;
}

std::optional<std::uint8_t> number(const std::string& text) {
  std::uint64_t value = 0;
  if (text.empty() || !ib::parse_number(text, 255, value)) return std::nullopt;
  return static_cast<std::uint8_t>(value);
}

std::optional<policy::VlArbitrationTemplate> arbitration(const std::string& text) {
  if (text.empty()) return std::nullopt;
  auto table = policy::read_vl_arbitration(text);
  return table ? std::optional(*std::move(table)) : std::nullopt;
}

}  // namespace

policy::QosSets qos_sets(const Configuration& configuration) {
  policy::QosSets sets;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const std::string prefix(policy::kQosPrefixes[i]);
    policy::QosSet& set = sets[i];
    set.max_vls = number(said(configuration, prefix + "max_vls"));
    if (set.max_vls == 0) set.max_vls.reset();  // opensm's way to say nothing
    set.high_limit = number(said(configuration, prefix + "high_limit"));
    set.vlarb_high = arbitration(said(configuration, prefix + "vlarb_high"));
    set.vlarb_low = arbitration(said(configuration, prefix + "vlarb_low"));
    const std::string map = said(configuration, prefix + "sl2vl");
    if (auto read = policy::read_sl_to_vl(map); read && !map.empty())
      set.sl_to_vl = *std::move(read);
  }
  return sets;
}

}  // namespace sm::config
