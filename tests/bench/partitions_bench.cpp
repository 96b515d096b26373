// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// From the text of a partition file to the P_Key tables of every port: a file of 10,000 lines with
// 4,000 partitions, over a tree of 11,664 hosts. A change of one member takes the same way, from
// the text on, with tables that hold the keys already.
//
//   peak_MB    peak of a process that makes the fabric, reads the file and plans once
//   fabric_MB  of one that makes the fabric alone
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "sm/device/tables/kinds.h"
#include "sm/plan/p_keys.h"
#include "sm/policy/partition_file.h"
#include "sm/policy/partitions.h"

namespace sm {
namespace {

using ib::fabric::NodeIndex;
using ib::fabric::PortRef;

constexpr std::size_t kLines = 10'000;
constexpr std::size_t kPartitions = 4'000;
constexpr std::size_t kMembersInALine = 10;  // 100,000 memberships
constexpr std::uint16_t kPKeysOfAHost = 128, kPKeysOfASwitchPort = 32;

/// A three-level tree as a sweep sees it, as far as P_Key tables go by it.
ib::discover::Observed tree() {
  ib::fabric::FatTree tree;
  tree.radix = 36;
  tree.levels = 3;
  auto fabric = ib::fabric::generate(tree);
  if (!fabric) std::abort();
  ib::discover::Observed observed;
  observed.fabric = *std::move(fabric);
  observed.ports.resize(observed.fabric.port_count());  // nothing is known of them
  for (const auto& node : observed.fabric.nodes()) {
    auto& seen = observed.nodes.emplace_back();
    seen.info.partition_cap = kPKeysOfAHost;
    if (!node.is_switch()) continue;
    seen.switch_info.emplace();
    seen.switch_info->partition_enforcement_cap = kPKeysOfASwitchPort;
    seen.switch_info->inbound_enforcement_cap = seen.switch_info->outbound_enforcement_cap = true;
  }
  return observed;
}

struct Ends {
  std::vector<PortRef> ports;
  std::vector<policy::EndPortFacts> facts;
};
Ends end_ports(const ib::fabric::Fabric& fabric) {
  Ends ends;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const auto& node = fabric.node(n);
    const std::uint8_t number = node.is_switch() ? 0 : 1;
    policy::EndPortFacts facts;
    facts.guid = node.is_switch() ? node.guid : fabric.port(n, 1).guid;
    facts.kind = node.is_switch() ? policy::EndPortKind::Switch : policy::EndPortKind::Ca;
    facts.node_description = node.description;
    facts.port = number;
    facts.is_sm = !node.is_switch() && ends.ports.empty();
    ends.ports.push_back({n, number});
    ends.facts.push_back(facts);
  }
  return ends;
}

/// A definition a line; those behind the first 4,000 add members to partitions that there are.
std::string partition_file(const Ends& ends) {
  std::vector<std::string> hosts;
  for (const auto& facts : ends.facts)
    if (facts.kind == policy::EndPortKind::Ca) hosts.push_back(to_string(facts.guid));
  std::string text = "Default=0x7fff, ipoib : ALL, SELF=full;\n";
  std::size_t next = 0;
  for (std::size_t line = 1; line < kLines; ++line) {
    const std::size_t partition = line % kPartitions + 1;
    text += "tenant" + std::to_string(partition) + "=" + std::to_string(partition) + ", ipoib : ";
    for (std::size_t i = 0; i < kMembersInALine; ++i) {
      text += (i == 0 ? "" : ", ") + hosts[next] + (i % 4 == 0 ? "=limited" : "=full");
      next = (next + 1) % hosts.size();
    }
    text += ";\n";
  }
  return text;
}

policy::PartitionFile read(const std::string& text) {
  auto file = policy::read_partition_file(text, "bench");
  if (ib::has_errors(file.diagnostics)) std::abort();
  return file;
}

/// All that a start or a reload does with a file that is read, short of the devices.
plan::PKeyPlan plan_from(const policy::PartitionFile& file, const ib::discover::Observed& observed,
                         const Ends& ends, const device::Inventory& held) {
  policy::GeneratedKeys generated;
  std::vector<ib::Diagnostic> diagnostics;
  const auto partitions = policy::merge_definitions(file, "bench", generated, diagnostics);
  if (ib::has_errors(diagnostics) || partitions.all.size() != kPartitions + 1) std::abort();
  auto keys = policy::port_partitions(partitions, ends.facts);
  std::vector<plan::EndPortKeys> wanted;
  wanted.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    wanted.push_back({ends.ports[i], std::move(keys[i])});
  return plan::plan_p_keys(observed, wanted, held, {});
}

/// As devices answer to what was written.
void hold(const plan::PKeyPlan& plan, const ib::discover::Observed& observed,
          device::Inventory& held) {
  for (const plan::WantedBlock& want : plan.blocks) {
    const auto& node = observed.fabric.node(want.node);
    held.put(*want.kind, node.guid, node.num_ports, want.slot, want.block);
  }
}

/// Blocks that would be written.
std::size_t differing(const plan::PKeyPlan& plan, const ib::discover::Observed& observed,
                      const device::Inventory& held) {
  std::size_t count = 0;
  for (const plan::WantedBlock& want : plan.blocks) {
    const auto* block = held.held(*want.kind, observed.fabric.node(want.node).guid, want.slot);
    count += block == nullptr || *block != want.block;
  }
  return count;
}

/// Of a process of its own, in MB.
double peak_of(bool with_plan) {
  const pid_t child = fork();
  if (child == 0) {
    const auto observed = tree();
    const Ends ends = end_ports(observed.fabric);
    if (with_plan) {
      const device::Inventory nothing;
      const auto plan = plan_from(read(partition_file(ends)), observed, ends, nothing);
      benchmark::DoNotOptimize(plan.blocks.data());
    }
    _exit(0);
  }
  int status = 0;
  rusage used{};
  if (child < 0 || wait4(child, &status, 0, &used) != child || status != 0) return -1;
  return static_cast<double>(used.ru_maxrss) / 1024;
}

void BM_Memory(benchmark::State& state) {
  for (auto _ : state) {
    state.counters["peak_MB"] = peak_of(true);
    state.counters["fabric_MB"] = peak_of(false);
  }
}
// First: a child begins with what its parent has, and this process is small yet.
BENCHMARK(BM_Memory)->Iterations(1)->UseRealTime();

void BM_Read(benchmark::State& state) {
  const auto observed = tree();
  const std::string text = partition_file(end_ports(observed.fabric));
  for (auto _ : state) benchmark::DoNotOptimize(read(text).definitions.size());
}
BENCHMARK(BM_Read)->Unit(benchmark::kMillisecond);

void BM_ReadAndPlan(benchmark::State& state) {
  const auto observed = tree();
  const Ends ends = end_ports(observed.fabric);
  const std::string text = partition_file(ends);
  const device::Inventory nothing;
  for (auto _ : state)
    benchmark::DoNotOptimize(plan_from(read(text), observed, ends, nothing).blocks.size());
}
BENCHMARK(BM_ReadAndPlan)->Unit(benchmark::kMillisecond);

void BM_OneMemberMore(benchmark::State& state) {
  const auto observed = tree();
  const Ends ends = end_ports(observed.fabric);
  std::string text = partition_file(ends);
  device::Inventory held;
  hold(plan_from(read(text), observed, ends, held), observed, held);
  text += "tenant1=1 : " + to_string(ends.facts.back().guid) + "=full;\n";
  const auto file = read(text);
  plan::PKeyPlan plan;
  for (auto _ : state) plan = plan_from(file, observed, ends, held);
  state.counters["blocks"] = static_cast<double>(differing(plan, observed, held));
}
BENCHMARK(BM_OneMemberMore)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sm

BENCHMARK_MAIN();
