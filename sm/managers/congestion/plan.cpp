// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/congestion/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sm::managers {
namespace {

namespace map = ib::wire::congestion_map;
using ib::fabric::NodeIndex;
using ib::wire::CaCongestionSetting;
using ib::wire::CongestionControlTable;
using ib::wire::CongestionDelay;
using ib::wire::CongestionPortMask;
using ib::wire::SwitchCongestionSetting;

constexpr std::size_t kEntries = CongestionControlTable::kEntries;
constexpr std::uint32_t kMultiplierMax = 0x3FFF;
constexpr unsigned kShiftMax = 3;
/// A packet of 4 KiB on a link of 100 Gb/s.
constexpr std::uint64_t kPacketTime_ns = 330;
constexpr std::uint64_t kTimerUnit_ns = 1024;
/// What published experiments used on small fabrics; a shorter one makes rates swing.
constexpr std::uint64_t kTimerMin = 150, kTimerMax = 0xFFFF;

std::uint32_t senders(std::uint32_t hosts) { return std::max(hosts, 2U) - 1; }

/// The smallest delay that is expressible and at least `packets` packet times.
CongestionDelay delay_of(double packets) {
  for (unsigned shift = kShiftMax;; --shift) {
    const double multiplier = std::ceil(packets * (1U << shift) - 1e-9);
    if (multiplier <= kMultiplierMax || shift == 0)
      return {static_cast<std::uint8_t>(shift),
              static_cast<std::uint16_t>(std::min<double>(multiplier, kMultiplierMax))};
  }
}

/// 2^n or 3 x 2^n, at least `n`.
std::uint32_t rounded_up(std::uint32_t n) {
  if (n <= 2) return n;
  const std::uint32_t power = std::bit_ceil(n);
  const std::uint32_t less = power / 4 * 3;
  return less >= n ? less : power;
}

void set_port(CongestionPortMask& mask, unsigned port) {
  mask[mask.size() - 1 - port / 8] |= static_cast<std::uint8_t>(1U << port % 8);
}

/// A CA never tells that it is slow, so the port to it marks what waits for credits, too.
CongestionPortMask ports_to_hosts(const ib::fabric::Fabric& fabric, NodeIndex node) {
  CongestionPortMask mask{};
  // Bit 255 is reserved.
  const unsigned last = std::min<unsigned>(fabric.node(node).num_ports, 254);
  for (unsigned p = 1; p <= last; ++p) {
    const auto peer = fabric.port(node, p).peer;
    if (peer && !fabric.node(peer.node).is_switch()) set_port(mask, p);
  }
  return mask;
}

}  // namespace

std::uint32_t congestion_hosts(const policy::CongestionSettings& settings, const Snapshot& subnet) {
  if (settings.num_hosts != 0) return settings.num_hosts;
  const auto& fabric = subnet.fabric();
  std::uint32_t hosts = 0;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (fabric.node(n).type != ib::wire::NodeType::ChannelAdapter) continue;
    for (const auto& port : fabric.ports(n))
      if (port.state == ib::wire::PortState::Active) ++hosts;
  }
  return rounded_up(std::min(hosts, policy::kCongestionHostsMax));
}

std::vector<CongestionDelay> computed_table(std::uint32_t hosts, std::size_t entries) {
  std::vector<CongestionDelay> table(entries);
  const double share = senders(hosts);
  for (std::size_t i = 1; i < entries; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(entries - 1);
    table[i] = delay_of(std::pow(share, part) - 1);
  }
  return table;
}

std::uint16_t computed_timer(std::uint32_t hosts, std::uint16_t marking_rate) {
  const std::uint64_t packets = (std::uint64_t{marking_rate} + 1) * senders(hosts);
  const std::uint64_t units = (packets * kPacketTime_ns + kTimerUnit_ns - 1) / kTimerUnit_ns;
  return static_cast<std::uint16_t>(std::clamp(units, kTimerMin, kTimerMax));
}

SwitchCongestionSetting wanted_of_switch(const policy::CongestionSettings& settings,
                                         const ib::fabric::Fabric& fabric, NodeIndex node,
                                         const ib::wire::CongestionInfo& info) {
  SwitchCongestionSetting wanted;
  if (settings.enable) {
    wanted = settings.of_switch;
    if (settings.victims_by_ports) {
      wanted.control_map |= map::kVictimMask;
      wanted.victim_mask = ports_to_hosts(fabric, node);
    }
  } else {
    wanted.control_map = map::kAll;
  }
  if ((info.congestion_info & ib::wire::kCreditStarvation) == 0)
    wanted.control_map &= ~(map::kCreditMask | map::kCreditStarvation);
  return wanted;
}

CaCongestionSetting wanted_of_ca(const policy::CongestionSettings& settings, std::uint32_t hosts) {
  CaCongestionSetting wanted;
  wanted.control_map = 0xFFFF;
  if (!settings.enable) return wanted;
  wanted = settings.of_ca;
  if (settings.timer_by_hosts)
    for (auto& entry : wanted.entries)
      entry.ccti_timer = computed_timer(hosts, settings.of_switch.marking_rate);
  return wanted;
}

std::vector<CongestionControlTable> wanted_table(const policy::CongestionSettings& settings,
                                                 std::uint32_t hosts, std::uint8_t cap) {
  const std::size_t room = std::min(policy::kCongestionTableMax, cap * kEntries);
  std::vector<CongestionDelay> entries;
  if (settings.enable && settings.table_by_hosts) {
    entries = computed_table(hosts, room);
  } else if (settings.enable) {
    entries = settings.table;
    if (entries.size() > room || (settings.last_fills && !entries.empty()))
      entries.resize(room, entries.empty() ? CongestionDelay{} : entries.back());
  }
  // One entry, of no delay, is what a table without any comes to.
  if (entries.empty()) entries.emplace_back();
  std::vector<CongestionControlTable> blocks((entries.size() + kEntries - 1) / kEntries);
  for (CongestionControlTable& block : blocks)
    block.ccti_limit = static_cast<std::uint16_t>(entries.size() - 1);
  for (std::size_t i = 0; i < entries.size(); ++i)
    blocks[i / kEntries].entries[i % kEntries] = entries[i];
  return blocks;
}

bool holds(const SwitchCongestionSetting& held, const SwitchCongestionSetting& wanted) {
  const auto agrees = [&wanted](std::uint32_t bit, bool same) {
    return (wanted.control_map & bit) == 0 || same;
  };
  return agrees(map::kVictimMask, held.victim_mask == wanted.victim_mask) &&
         agrees(map::kCreditMask, held.credit_mask == wanted.credit_mask) &&
         agrees(map::kThreshold,
                held.threshold == wanted.threshold && held.packet_size == wanted.packet_size) &&
         agrees(map::kCreditStarvation, held.cs_threshold == wanted.cs_threshold &&
                                            held.cs_return_delay == wanted.cs_return_delay) &&
         agrees(map::kMarkingRate, held.marking_rate == wanted.marking_rate);
}

bool holds(const CaCongestionSetting& held, const CaCongestionSetting& wanted) {
  if (held.port_control != wanted.port_control) return false;
  for (std::size_t sl = 0; sl < wanted.entries.size(); ++sl)
    if (((wanted.control_map >> sl) & 1U) != 0 && held.entries[sl] != wanted.entries[sl])
      return false;
  return true;
}

bool holds(const CongestionControlTable& held, const CongestionControlTable& wanted,
           std::size_t block) {
  if (held.ccti_limit != wanted.ccti_limit) return false;
  const std::size_t first = block * kEntries;
  if (first > wanted.ccti_limit) return true;
  const std::size_t count = std::min(kEntries, std::size_t{wanted.ccti_limit} - first + 1);
  return std::equal(wanted.entries.begin(),
                    wanted.entries.begin() + static_cast<std::ptrdiff_t>(count),
                    held.entries.begin());
}

}  // namespace sm::managers
