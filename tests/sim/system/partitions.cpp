// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/sim/system/partitions.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/sim/system/dice.h"

namespace soak {

void Partitions::change(const ib::fabric::Fabric& fabric,
                        const std::vector<ib::fabric::PortRef>& hosts, Pick pick) {
  Dice dice(pick);
  if (policy_) old_.push_back(std::move(now_));
  now_.clear();
  std::string text = "Default=0x7fff, ipoib : ALL=full;\n";
  for (const auto at : hosts) now_[fabric.port(at).guid].insert(0xFFFF);
  for (const unsigned key : {0x11U, 0x12U}) {
    std::string members;
    for (const auto at : hosts) {
      if (!dice.chance(40)) continue;
      const bool full = dice.chance(50);
      const ib::Guid guid = fabric.port(at).guid;
      members += fmt::format("{}0x{:x}={}", members.empty() ? "" : ", ", guid.value,
                             full ? "full" : "limited");
      now_[guid].insert(static_cast<std::uint16_t>(full ? key | 0x8000U : key));
    }
    if (!members.empty()) text += fmt::format("P{0}=0x{0:x} : {1};\n", key, members);
  }
  auto file = sm::policy::read_partition_file(text, "partitions");
  sm::policy::GeneratedKeys keys;
  sm::policy::PartitionPolicy policy;
  policy.from_file = true;
  policy.partitions = merge_definitions(file, "partitions", keys, file.diagnostics);
  policy_ = std::make_shared<const sm::policy::PartitionPolicy>(std::move(policy));
}

const std::set<std::uint16_t>& Partitions::keys_of(ib::Guid port) const {
  static const std::set<std::uint16_t> kDefault{0xFFFF};
  const auto at = now_.find(port);
  return at == now_.end() ? kDefault : at->second;
}

bool Partitions::allows(ib::Guid port, ib::PKey key) const {
  if (key.value == 0xFFFF && !policy_) return true;
  if (keys_of(port).contains(key.value)) return true;
  return std::ranges::any_of(old_, [&](const Keys& keys) {
    const auto at = keys.find(port);
    return at != keys.end() && at->second.contains(key.value);
  });
}

}  // namespace soak
