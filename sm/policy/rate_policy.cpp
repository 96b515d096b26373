// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/rate_policy.h"

#include <algorithm>

#include "sm/policy/words.h"

namespace sm::policy {

const SlRates& RatePolicy::rates_of(const EndPortFacts& port) const {
  const auto by_guid = std::ranges::find_if(file.rules, [&](const RateRule& rule) {
    return rule.group.empty() && rule.guid == port.guid;
  });
  if (by_guid != file.rules.end()) return by_guid->rates;
  const auto by_group = std::ranges::find_if(file.rules, [&](const RateRule& rule) {
    return !rule.group.empty() && std::ranges::any_of(groups, [&](const PortGroup& group) {
      return equal_words(group.name, rule.group) && names_port(group, port);
    });
  });
  return by_group != file.rules.end() ? by_group->rates : file.others;
}

std::vector<std::string> RatePolicy::unknown_groups(const std::string& file_name) const {
  std::vector<std::string> lines;
  for (const RateRule& rule : file.rules) {
    const bool there = rule.group.empty() || std::ranges::any_of(groups, [&](const PortGroup& g) {
                         return equal_words(g.name, rule.group);
                       });
    if (!there)
      lines.push_back(to_string(
          ib::Diagnostic{ib::Severity::Warning, file_name, rule.place,
                         "there is no port group '" + rule.group + "': the rule has no effect"}));
  }
  return lines;
}

}  // namespace sm::policy
