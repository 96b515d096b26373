// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tests/sim/system/happenings.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

using namespace std::chrono_literals;

/// A node that no subnet manager is on.
NodeIndex any_node(System& system, std::uint64_t pick) {
  const auto count = static_cast<NodeIndex>(system.model().topology().nodes().size());
  auto node = static_cast<NodeIndex>(pick % count);
  for (NodeIndex i = 0; i < count && system.is_seat(node); ++i) node = (node + 1) % count;
  system.trace(fmt::format("  {}", system.model().topology().node(node).description));
  return node;
}

Duration while_of(std::uint64_t pick) {
  constexpr Duration kWhiles[] = {20ms, 300ms, 2s, 8s};
  return kWhiles[pick % std::size(kWhiles)];
}

/// Faults as `change` has them, for a while; then this one ends.
template <class Change>
void with_faults(System& system, std::uint64_t pick, Change change) {
  ib::sim::Faults faults = system.model().faults();
  change(faults, true);
  system.model().set_faults(faults);
  system.later(while_of(pick), [&system, change] {
    ib::sim::Faults less = system.model().faults();
    change(less, false);
    system.model().set_faults(less);
  });
}

void behave_for_a_while(System& system, const Item& item, ib::sim::Behaviour how) {
  const NodeIndex node = any_node(system, item.picks[0]);
  system.model().set_behaviour(node, how);
  system.note_liar(node);
  system.later(while_of(item.picks[1]), [&system, node] {
    system.model().set_behaviour(node, ib::sim::Behaviour::Normal);
    system.note_event();
  });
}

struct Trait {
  const char* name;
  const char* value;
};

}  // namespace

/// The GUIDs of one host become those of another.
void twin(Script& script, const Item& item) {
  std::vector<NodeIndex> hosts;
  auto& fabric = script.fabric;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (!fabric.node(n).is_switch()) hosts.push_back(n);
  if (hosts.size() < 4) return;
  const NodeIndex original = hosts[item.picks[0] % hosts.size()],
                  copy = hosts[item.picks[1] % hosts.size()];
  // Two of each.
  for (const NodeIndex taken : script.twins)
    if (taken == original || taken == copy) return;
  if (original == copy) return;
  // A subnet manager is to find a host of its own.
  const auto stays = [&](NodeIndex host) {
    return host != original && host != copy && fabric.port(host, 1).peer &&
           std::ranges::find(script.twins, host) == script.twins.end();
  };
  if (std::ranges::none_of(hosts, stays)) return;
  fabric.node(copy).guid = fabric.node(original).guid;
  fabric.node(copy).system_image_guid = fabric.node(original).system_image_guid;
  fabric.port(copy, 1).guid = fabric.port(original, 1).guid;
  fabric.reindex();
  script.twins.insert(script.twins.end(), {original, copy});
}

void reboot(System& system, const Item& item) {
  (void)system.model().reboot(system.now(), any_node(system, item.picks[0]));
}

void power_cycle_all(System& system, const Item&) {
  const auto count = static_cast<NodeIndex>(system.model().topology().nodes().size());
  for (NodeIndex n = 0; n < count; ++n) (void)system.model().reboot(system.now(), n);
}

void lose_power(System& system, const Item& item) {
  const NodeIndex node = any_node(system, item.picks[0]);
  if (!system.model().remove(system.now(), node)) return;
  if (item.picks[2] % 4 == 0) return;  // for good
  system.later(while_of(item.picks[1]), [&system, node] {
    (void)system.model().bring_back(system.now(), node);
    system.note_event();
  });
}

void fall_silent(System& system, const Item& item) {
  behave_for_a_while(system, item, ib::sim::Behaviour::Silent);
}

void babble(System& system, const Item& item) {
  behave_for_a_while(system, item, ib::sim::Behaviour::Garbage);
}

void lie(System& system, const Item& item) {
  static constexpr Trait kLies[] = {
      {"keep", "LinearForwardingTable"},
      {"refuse", "LinearForwardingTable"},
      {"unanswered", "LinearForwardingTable"},
      {"keep", "PortInfo"},
      {"refuse", "PortInfo"},
      {"unanswered", "PortInfo"},
      {"keep", "SwitchInfo"},
      {"unanswered", "SwitchInfo"},
      {"keep", "P_KeyTable"},
      {"refuse", "P_KeyTable"},
      {"unanswered", "P_KeyTable"},
      {"keep", "MulticastForwardingTable"},
      {"refuse", "MulticastForwardingTable"},
      {"unanswered", "SLtoVLMappingTable"},
      {"refuse", "SLtoVLMappingTable"},
      {"unanswered", "NodeDescription"},
  };
  const Trait& told = kLies[item.picks[1] % std::size(kLies)];
  const NodeIndex node = any_node(system, item.picks[0]);
  system.trace(fmt::format("  {} {}", told.name, told.value));
  (void)system.model().set_trait(system.now(), node, std::nullopt, told.name, told.value);
  system.note_liar(node);
  system.later(while_of(item.picks[2]), [&system, node, &told] {
    (void)system.model().set_trait(system.now(), node, std::nullopt, told.name, "none");
    system.note_event();
  });
}

/// For good, and nothing that keeps a subnet manager from doing its work.
void be_odd(System& system, const Item& item) {
  static constexpr Trait kOdd[] = {
      {"vl_cap", "1"},
      {"vl_cap", "4"},
      {"mtu_cap", "2048"},
      {"neighbor_mtu", "2048"},
      {"vl_arb_cap", "0"},
      {"guid_cap", "0"},
      {"p_keys", "8"},
      {"optimized_sl2vl", "0"},
      {"optimized_sl2vl", "2"},
      {"optimized_sl2vl", "3"},
      {"unsupported", "VLArbitrationTable"},
      {"unsupported", "0xFF90"},
      {"unanswered", "0xFF90"},
      {"unsupported", "GUIDInfo"},
      {"loses_every", "7"},
      {"loses_every", "20"},
      {"traps_without_lid", "1"},
  };
  const Trait& told = kOdd[item.picks[1] % std::size(kOdd)];
  system.trace(fmt::format("  {} {}", told.name, told.value));
  const NodeIndex node = any_node(system, item.picks[0]);
  (void)system.model().set_trait(system.now(), node, std::nullopt, told.name, told.value);
  // What a device is capable of does not change while it runs.
  if (std::string_view(told.name).ends_with("_cap"))
    (void)system.model().reboot(system.now(), node);
}

void lose_mads(System& system, const Item& item) {
  const auto percent = static_cast<double>(1 + item.picks[1] % 20);
  with_faults(system, item.picks[0],
              [percent](ib::sim::Faults& f, bool on) { f.loss_percent = on ? percent : 0; });
}

void delay_mads(System& system, const Item& item) {
  const auto delay = std::chrono::microseconds(item.picks[1] % 20'000);
  with_faults(system, item.picks[0], [delay](ib::sim::Faults& f, bool on) {
    f.delay = on ? Duration(delay) : Duration{0};
  });
}

void double_mads(System& system, const Item& item) {
  const auto percent = static_cast<double>(1 + item.picks[1] % 50);
  with_faults(system, item.picks[0],
              [percent](ib::sim::Faults& f, bool on) { f.duplicate_percent = on ? percent : 0; });
}

void mix_mads(System& system, const Item& item) {
  const auto jitter = std::chrono::microseconds(1 + item.picks[1] % 5'000);
  with_faults(system, item.picks[0], [jitter](ib::sim::Faults& f, bool on) {
    f.jitter = on ? Duration(jitter) : Duration{0};
  });
}

void slow_agents(System& system, const Item& item) {
  const auto service = std::chrono::microseconds(20 + item.picks[1] % 500);
  with_faults(system, item.picks[0], [service](ib::sim::Faults& f, bool on) {
    f.sma_service = on ? Duration(service) : ib::sim::Faults{}.sma_service;
  });
}

void small_buffers(System& system, const Item& item) {
  const auto room = static_cast<std::uint32_t>(2 + item.picks[1] % 8);
  with_faults(system, item.picks[0], [room](ib::sim::Faults& f, bool on) {
    f.sma_queue = on ? room : ib::sim::Faults{}.sma_queue;
    f.vl15_buffer = on ? room : ib::sim::Faults{}.vl15_buffer;
  });
}

}  // namespace soak
