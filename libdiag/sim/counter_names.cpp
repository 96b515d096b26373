// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Error counters of a port by the names that perfquery(8) prints.
#include <algorithm>
#include <string_view>

#include "libdiag/sim/traffic.h"

namespace ib::sim {
namespace {

struct CounterName {
  std::string_view name;
  std::uint32_t Counters::*counter;
};
constexpr CounterName kNames[] = {
    {"SymbolErrorCounter", &Counters::symbol_errors},
    {"LinkErrorRecoveryCounter", &Counters::link_recovery},
    {"LinkDownedCounter", &Counters::link_downed},
    {"PortRcvErrors", &Counters::rcv_errors},
    {"PortRcvRemotePhysicalErrors", &Counters::rcv_remote_errors},
    {"PortRcvSwitchRelayErrors", &Counters::rcv_relay_errors},
    {"PortXmitDiscards", &Counters::xmit_discards},
    {"PortXmitConstraintErrors", &Counters::xmit_constraint},
    {"PortRcvConstraintErrors", &Counters::rcv_constraint},
    {"LocalLinkIntegrityErrors", &Counters::link_integrity},
    {"ExcessiveBufferOverrunErrors", &Counters::buffer_overrun},
    {"QP1Dropped", &Counters::qp1_dropped},
    {"VL15Dropped", &Counters::vl15_dropped},
};

Result<const CounterName*> find(std::string_view name) {
  const auto found = std::ranges::find(kNames, name, &CounterName::name);
  if (found != std::end(kNames)) return found;
  std::string all;
  for (const CounterName& known : kNames) all.append(all.empty() ? "" : ", ").append(known.name);
  return fail(ErrorKind::Usage,
              "unknown counter '" + std::string(name) + "'; those that can be set are " + all);
}

}  // namespace

Result<void> Model::set_counter(Instant now, PortRef port, std::string_view name,
                                std::uint32_t value) {
  const auto found = find(name);
  if (!found) return tl::unexpected(found.error());
  if (!impl_->valid(port)) return fail(ErrorKind::NotFound, "no such port");
  advance(now);
  impl_->count_traffic(port.node);
  impl_->ports_[impl_->index_of(port)].counters.*(*found)->counter = value;
  return {};
}

Result<void> Model::grow_counter(Instant now, PortRef port, std::string_view name,
                                 double per_second) {
  const auto found = find(name);
  if (!found) return tl::unexpected(found.error());
  if (!impl_->valid(port)) return fail(ErrorKind::NotFound, "no such port");
  if (!(per_second >= 0)) return fail(ErrorKind::Usage, "a counter cannot grow backwards");
  advance(now);
  impl_->traffic().grow(impl_->index_of(port), (*found)->counter, per_second);
  return {};
}

std::vector<std::pair<std::string_view, std::uint32_t>> Model::error_counters(Instant now,
                                                                              PortRef port) {
  std::vector<std::pair<std::string_view, std::uint32_t>> all;
  if (!impl_->valid(port)) return all;
  advance(now);
  impl_->count_traffic(port.node);
  const Counters& counters = impl_->ports_[impl_->index_of(port)].counters;
  for (const CounterName& known : kNames) all.emplace_back(known.name, counters.*known.counter);
  return all;
}

}  // namespace ib::sim
