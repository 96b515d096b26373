// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a machine takes from its programs: a thread on each processor looks at the clock all the
// time and notes where time was lost between two looks. Beside latencies of a benchmark this tells
// which of them no program on this machine could have avoided (a virtual machine's host runs
// others, firmware interrupts). To be run with real-time priority and nothing beside it:
//
//   chrt --rr 5 machine_gaps SECONDS
//
// One line of JSON, of the worst processor: lost_ms a second in gaps of more than 0.1 ms, gaps_1ms
// a second of more than 1 ms, longest_ms.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Ms = std::chrono::duration<double, std::milli>;

struct Gaps {
  double lost_ms{0}, longest_ms{0}, over_1ms{0};
};

Gaps watch(int processor, double seconds) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  sched_setaffinity(0, sizeof only, &only);
  constexpr std::chrono::milliseconds kTurn{250};
  const int turns = std::max(1, static_cast<int>(seconds / 2 / 0.25));
  const double watched = turns * 0.25;
  Gaps gaps;
  for (int turn = 0; turn < turns; ++turn) {
    std::this_thread::sleep_for(kTurn);
    auto last = Clock::now();
    const auto end = last + kTurn;
    while (last < end) {
      const auto now = Clock::now();
      const double gap = Ms(now - last).count();
      last = now;
      if (gap < 0.1) continue;
      gaps.lost_ms += gap / watched;
      gaps.longest_ms = std::max(gaps.longest_ms, gap);
      if (gap > 1) gaps.over_1ms += 1 / watched;
    }
  }
  return gaps;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc == 2 ? std::atof(argv[1]) : 0;
  cpu_set_t allowed;
  if (seconds <= 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 2;
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &allowed)) processors.push_back(i);
  }
  std::vector<Gaps> gaps(processors.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < gaps.size(); ++i)
      threads.emplace_back([&, i] { gaps[i] = watch(processors[i], seconds); });
  }
  const auto& worst = *std::ranges::max_element(gaps, {}, &Gaps::lost_ms);
  fmt::print("{{\"lost_ms\": {:.2f}, \"gaps_1ms\": {:.1f}, \"longest_ms\": {:.2f}}}\n",
             worst.lost_ms, worst.over_1ms, worst.longest_ms);
  return 0;
}
