// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Time to match a request against a QoS policy of 1,000 rules with ranges of a million GUIDs.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "sm/policy/qos_policy.h"

namespace sm::policy {
namespace {

std::string rules(std::size_t count) {
  std::string text = "qos-ulps\ndefault : 0\n";
  for (std::size_t i = 0; i < count; ++i) {
    const std::string first = std::to_string(i * 2'000'000 + 1);
    const std::string last = std::to_string(i * 2'000'000 + 1'000'000);
    switch (i % 4) {
      case 0:
        text += "any, service-id " + first + "-" + last;
        break;
      case 1:
        text += "any, target-port-guid " + first + "-" + last;
        break;
      case 2:
        text += "any, pkey " + std::to_string(i + 1);
        break;
      default:
        text += "any, source-port-guid " + first + "-" + last;
        break;
    }
    text += " : " + std::to_string(i % 15) + "\n";
  }
  return text + "end-qos-ulps\n";
}

EndPortFacts port(std::uint64_t guid) {
  EndPortFacts facts;
  facts.guid = ib::Guid{guid};
  facts.port = 1;
  return facts;
}

void BM_Match(benchmark::State& state) {
  std::vector<ib::Diagnostic> diagnostics;
  const auto file = read_qos_file(rules(static_cast<std::size_t>(state.range(0))), "bench");
  if (ib::has_errors(file.diagnostics)) std::abort();
  const QosPolicy policy(file, "bench", open_partitions(), diagnostics);
  constexpr std::uint16_t kKeys[] = {0x7FFF, 0x0012};
  const auto from = policy.rules_of(port(5'500'000), kKeys);
  const auto to = policy.rules_of(port(1'999'000'000), kKeys);
  std::uint64_t turn = 0;
  for (auto _ : state) {
    QosRequest request;
    request.service_id = turn += 7'777'777;
    request.p_key = static_cast<std::uint16_t>(turn % 4000 + 2000);
    benchmark::DoNotOptimize(policy.match(request, from, to));
  }
}
BENCHMARK(BM_Match)->Arg(10)->Arg(1000)->Unit(benchmark::kNanosecond);

void BM_RulesOfAPort(benchmark::State& state) {
  std::vector<ib::Diagnostic> diagnostics;
  const auto file = read_qos_file(rules(static_cast<std::size_t>(state.range(0))), "bench");
  const QosPolicy policy(file, "bench", open_partitions(), diagnostics);
  constexpr std::uint16_t kKeys[] = {0x7FFF, 0x0012};
  std::uint64_t guid = 0;
  for (auto _ : state) benchmark::DoNotOptimize(policy.rules_of(port(guid += 777'777), kKeys));
}
BENCHMARK(BM_RulesOfAPort)->Arg(10)->Arg(1000)->Unit(benchmark::kNanosecond);

void BM_ReadAndIndex(benchmark::State& state) {
  const std::string text = rules(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    std::vector<ib::Diagnostic> diagnostics;
    const QosPolicy policy(read_qos_file(text, "bench"), "bench", open_partitions(), diagnostics);
    benchmark::DoNotOptimize(policy.is_empty());
  }
}
BENCHMARK(BM_ReadAndIndex)->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sm::policy

BENCHMARK_MAIN();
