// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Agents that answer the performance manager with anything: a sweep comes to an end, with no more
// requests than a device can need, totals never go down, and lines can be printed.
#include <map>

#include "libdiag/base/text.h"
#include "sm/managers/performance/manager.h"
#include "tests/fuzz/device_answers.h"

namespace {

using ib::fuzz::answer;
using ib::fuzz::require;
using ib::fuzz::subnet;
using namespace sm::managers::performance;

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ib::fuzz::Input input(data, size);
  PerformanceManager manager(Options{});
  ib::Instant now{1'000'000'000};
  std::map<PortKey, CounterValues> before;
  for (int sweep = 0; sweep < 3; ++sweep) {
    manager.on_subnet_up(now, subnet());
    now = std::max(now, manager.next_deadline());
    manager.on_time(now);
    std::size_t left = subnet()->fabric().nodes().size() * 256;
    std::vector<ib::mad::Request> requests;
    while (!(requests = manager.take_requests(now, 16)).empty()) {
      for (const auto& request : requests) {
        require(left-- > 0, "a device is asked a few times a sweep");
        now = now + std::chrono::microseconds(10);
        manager.on_completion(now, answer(request, input));
      }
    }
    require(!manager.sweeping(), "a sweep comes to an end");
    for (const auto& line : manager.take_log())
      require(ib::printable(line.message) == line.message, "a line that can be printed");
    for (const auto& [key, record] : manager.records()) {
      const CounterValues values = record.totals.values();
      const auto at = before.try_emplace(key).first;
      for (std::size_t i = 0; i < values.size(); ++i)
        require(values[i] >= at->second[i], "totals never go down");
      at->second = values;
    }
  }
  return 0;
}
