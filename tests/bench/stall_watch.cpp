// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/bench/stall_watch.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>

namespace ib::bench {
namespace {

constexpr Duration kPeriod = std::chrono::microseconds(500);
constexpr Duration kLate = std::chrono::microseconds(250);  // a timer of its own needs some 60

void sleep_until(Instant due) {
  const timespec at{static_cast<time_t>(due.ns / 1'000'000'000),
                    static_cast<long>(due.ns % 1'000'000'000)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
}

}  // namespace

StallWatch::StallWatch() : seen_(std::max(1U, std::thread::hardware_concurrency())) {
  for (std::size_t i = 0; i < seen_.size(); ++i) threads_.emplace_back([this, i] { run(i); });
}

StallWatch::~StallWatch() {
  ended_ = true;
  for (auto& thread : threads_)
    if (thread.joinable()) thread.join();
}

void StallWatch::run(std::size_t processor) {
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(processor, &here);
  sched_param urgent{};
  urgent.sched_priority = sched_get_priority_max(SCHED_FIFO);
  if (pthread_setaffinity_np(pthread_self(), sizeof here, &here) != 0 ||
      pthread_setschedparam(pthread_self(), SCHED_FIFO, &urgent) != 0) {
    watching_ = false;
    return;
  }
  for (Instant due = monotonic_now() + kPeriod; !ended_;) {
    sleep_until(due);
    const Instant now = monotonic_now();
    if (now - due > kLate) seen_[processor].push_back({due, now});
    due = std::max(due + kPeriod, now);
  }
}

std::vector<Stall> StallWatch::stop(double backlog) {
  ended_ = true;
  for (auto& thread : threads_) thread.join();
  std::vector<Stall> all;
  for (const auto& of_one : seen_) {
    for (const Stall& s : of_one) {
      const auto length = static_cast<double>((s.to - s.from).count());
      // It may have begun right after the last time the thread was seen awake.
      all.push_back(
          {s.from - kPeriod, s.to + Duration(static_cast<std::int64_t>(backlog * length))});
    }
  }
  std::ranges::sort(all, {}, &Stall::from);
  std::vector<Stall> joined;
  for (const Stall& s : all) {
    if (!joined.empty() && s.from <= joined.back().to)
      joined.back().to = std::max(joined.back().to, s.to);
    else
      joined.push_back(s);
  }
  return joined;
}

bool touches(const std::vector<Stall>& stalls, Instant from, Instant to) {
  const auto next =
      std::ranges::partition_point(stalls, [&](const Stall& s) { return s.to < from; });
  return next != stalls.end() && next->from <= to;
}

}  // namespace ib::bench
