// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Devices that answer the congestion control manager with anything: it comes to an end, with no
// more requests than a device can need, and says lines that can be printed.
#include <algorithm>

#include "libdiag/base/text.h"
#include "sm/managers/congestion/congestion_manager.h"
#include "tests/fuzz/device_answers.h"

namespace {

using ib::fuzz::answer;
using ib::fuzz::require;
using ib::fuzz::subnet;

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ib::fuzz::Input input(data, size);
  sm::policy::CongestionSettings settings;
  const std::uint8_t how = input.byte();
  settings.enable = (how & 1) == 0;
  settings.cc_key = (how & 2) != 0 ? 0x99 : 0;
  settings.error_window = std::chrono::seconds((how & 4) != 0 ? 5 : 0);
  sm::managers::CongestionManager manager(settings);
  ib::Instant now{1'000'000'000};
  for (int sweep = 0; sweep < 3; ++sweep) {
    manager.on_subnet_up(now, subnet());
    std::size_t left = subnet()->fabric().nodes().size() * 16;
    std::vector<ib::mad::Request> requests;
    while (!(requests = manager.take_requests(now, 4)).empty()) {
      for (const auto& request : requests) {
        require(left-- > 0, "a device is asked a few times a sweep");
        now = now + std::chrono::microseconds(10);
        manager.on_completion(now, answer(request, input));
      }
    }
    require(manager.idle(), "nothing is under way");
    for (const auto& line : manager.take_log())
      require(ib::printable(line.message) == line.message, "a line that can be printed");
  }
  return 0;
}
