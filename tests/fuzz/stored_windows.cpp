// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any rows as what the store kept of counted windows: what is not ours is left out, and of the rest
// the performance manager goes on: totals never go down, and texts and documents can be printed.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "libdiag/base/text.h"
#include "sm/daemon/counted_windows.h"
#include "sm/managers/performance/history_text.h"
#include "sm/managers/performance/manager.h"
#include "sm/managers/performance/window_code.h"
#include "tests/fuzz/device_answers.h"

namespace {

using ib::fuzz::require;
using ib::fuzz::subnet;
using namespace sm::managers::performance;

std::uint64_t long_word(ib::fuzz::Input& input) {
  const std::uint64_t high = input.word();
  return high << 32 | input.word();
}

/// A row: which port, when, and counters of a length that is said. Times are near to now, or any.
sm::store::CountedWindow row(ib::fuzz::Input& input) {
  const auto& nodes = subnet()->fabric().nodes();
  sm::store::CountedWindow window;
  window.key.node_guid = nodes[input.byte() % nodes.size()].guid;
  const std::uint8_t how = input.byte();
  window.key.port = how % 4;
  if ((how & 0x80) != 0) {
    window.key.began = static_cast<std::int64_t>(long_word(input));
    window.read_ms = static_cast<std::int64_t>(long_word(input));
  } else {
    window.key.began = 3600 * input.byte();
    window.read_ms = window.key.began * 1000 + input.byte() * 10'000;
  }
  window.counters.resize(input.byte());
  for (std::byte& one : window.counters) one = static_cast<std::byte>(input.byte());
  return window;
}

void check_texts(const PerformanceManager& manager) {
  const Windows& windows = manager.options().windows;
  const std::string text = history_text(manager.records(), {}, windows);
  for (const std::string_view line : ib::split(text, '\n'))
    require(ib::printable(line) == line, "a line that can be printed");
  const auto document = nlohmann::json::parse(history_json(manager.records(), {}, windows, "1"));
  for (const auto& port : document.at("ports"))
    for (const auto& window : port.at("windows")) {
      require(window.at("seconds") > 0, "a window has a time");
      for (const auto& rate : window.at("rates")) require(rate >= 0, "no rate is negative");
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ib::fuzz::Input input(data, size);
  std::vector<sm::store::CountedWindow> kept(input.byte() % 16);
  std::ranges::generate(kept, [&] { return row(input); });
  std::ranges::sort(kept, {}, &sm::store::CountedWindow::key);

  constexpr ib::Duration kWall = std::chrono::hours(200);
  ib::Instant now{1'000'000'000};
  Options options;
  options.stores = true;
  options.windows.wall_at_zero = kWall;
  PerformanceManager manager(options);
  manager.resume(now, sm::daemon::stored_windows(kept, kWall));
  check_texts(manager);
  std::map<PortKey, CounterValues> before;
  for (const auto& [key, record] : manager.records()) before[key] = record.totals.values();
  manager.on_subnet_up(now, subnet());
  now = std::max(now, manager.next_deadline());
  manager.on_time(now);
  std::vector<ib::mad::Request> requests;
  while (!(requests = manager.take_requests(now, 16)).empty())
    for (const auto& request : requests)
      manager.on_completion(now, ib::fuzz::answer(request, input));
  for (const auto& [key, record] : manager.records()) {
    require(record.totals.period() >= ib::Duration{0}, "no time is negative");
    if (const auto old = before.find(key); old != before.end())
      require(std::ranges::equal(old->second, record.totals.values(), std::ranges::less_equal{}),
              "totals never go down");
  }
  for (const auto& change : manager.take_error_changes())
    require(change.seconds >= 0, "no time is negative");
  check_texts(manager);
  for (const auto& window :
       sm::daemon::batch_of(manager.take_unstored(1000), kWall).counted_windows)
    require(decode(window.counters, kWall).has_value(), "what is written can be read");
  return 0;
}
