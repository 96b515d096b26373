// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ./dev soak: runs cases of the whole system. One that is named is shown with a trace; else fresh
// seeds are tried one after the other, in a child, so that one that crashes is a line like any
// other.
//
//   soak CASE | soak --minutes N [--from SEED] | soak --seeds N [--from SEED] | soak --shrink CASE
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <random>
#include <string_view>

#include "libdiag/base/ids.h"
#include "tests/sim/system/shrink.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kGood = 0, kFailed = 1, kUsage = 2;
constexpr std::uint64_t kSeedsOfAChild = 2000;

struct Orders {
  std::optional<Case> shown, shrunk;
  std::optional<std::uint64_t> from, seeds, minutes;
};

std::optional<Orders> parse(int argc, char** argv) {
  Orders orders;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--")) {
      orders.shown = parse_case(word);
      if (!orders.shown || argc != 2) return std::nullopt;
      return orders;
    }
    if (++i == argc) return std::nullopt;
    std::uint64_t number = 0;
    if (word == "--shrink") {
      orders.shrunk = parse_case(argv[i]);
      if (!orders.shrunk) return std::nullopt;
    } else if (!ib::parse_number(argv[i], UINT64_MAX, number)) {
      return std::nullopt;
    } else if (word == "--from") {
      orders.from = number;
    } else if (word == "--seeds" && number > 0) {
      orders.seeds = number;
    } else if (word == "--minutes" && number > 0) {
      orders.minutes = number;
    } else {
      return std::nullopt;
    }
  }
  if (!orders.shrunk && !orders.seeds && !orders.minutes) return std::nullopt;
  return orders;
}

std::string line_of(const Case& c, const Finding& finding) {
  return fmt::format("{} {} {}", to_text(c), finding.invariant, finding.what);
}

int show(const Case& c) {
  RunOptions options;
  options.trace = [](const std::string& line) { std::puts(line.c_str()); };
  const auto findings = run_case(c, options);
  for (const Finding& finding : findings) std::puts(line_of(c, finding).c_str());
  std::puts(findings.empty() ? "no invariant is broken" : "");
  return findings.empty() ? kGood : kFailed;
}

/// In a child, which may die: the first finding, or how it died; empty: none.
std::string invariant_in_child(const Case& c) {
  std::fflush(stdout);
  int ends[2];
  if (pipe(ends) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    const auto findings = run_case(c);
    const std::string invariant = findings.empty() ? "" : findings.front().invariant;
    if (write(ends[1], invariant.data(), invariant.size()) < 0) _exit(kFailed);
    _exit(kGood);
  }
  close(ends[1]);
  char buffer[32];
  const ssize_t got = read(ends[0], buffer, sizeof buffer);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "I13";
  return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
}

int make_small(const Case& c) {
  const std::string broken = invariant_in_child(c);
  if (broken.empty()) {
    std::puts("no invariant is broken");
    return kGood;
  }
  const auto items = draw(Case{c.seed, c.size, {}}).items.size();
  const Case small = shrink(c, static_cast<unsigned>(items), [&](const Case& smaller) {
    return invariant_in_child(smaller) == broken;
  });
  std::puts(fmt::format("{} {}", to_text(small), broken).c_str());
  return kFailed;
}

/// What a child tells its parent, which lives on when the child dies.
struct Progress {
  std::uint64_t seed;  // that is run
  std::uint64_t failed;
};

/// Seeds from `first` on, until one crashes or it is time; how many were run.
std::uint64_t run_child(Progress& progress, std::uint64_t first, std::uint64_t count,
                        Clock::time_point end) {
  progress.seed = first;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    for (; progress.seed < first + count && Clock::now() < end; ++progress.seed) {
      const Case c{progress.seed, 100, {}};
      const auto findings = run_case(c);
      if (findings.empty()) continue;
      ++progress.failed;
      std::puts(line_of(c, findings.front()).c_str());
      std::fflush(stdout);
    }
    _exit(kGood);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSIGNALED(status)) return progress.seed - first;
  ++progress.failed;
  std::puts(fmt::format("{} I13 it died of signal {}", progress.seed, WTERMSIG(status)).c_str());
  return progress.seed - first + 1;
}

int run_many(const Orders& orders) {
  auto* const shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return kFailed;
  Progress& progress = *new (shared) Progress{};
  const auto began = Clock::now();
  const auto end =
      orders.minutes ? began + std::chrono::minutes(*orders.minutes) : Clock::time_point::max();
  const std::uint64_t first = orders.from ? *orders.from : std::random_device{}();
  const std::uint64_t most = orders.seeds.value_or(UINT64_MAX);
  std::uint64_t run = 0;
  while (run < most && Clock::now() < end)
    run += run_child(progress, first + run, std::min(kSeedsOfAChild, most - run), end);
  const std::chrono::duration<double> took = Clock::now() - began;
  std::puts(fmt::format(
                "{} seeds from {} on, {} of which break an invariant, in {:.0f} s: {:.1f} a "
                "second",
                run, first, progress.failed, took.count(), static_cast<double>(run) / took.count())
                .c_str());
  return progress.failed == 0 ? kGood : kFailed;
}

int run(int argc, char** argv) {
  const auto orders = parse(argc, argv);
  if (!orders) {
    std::fputs(
        "usage: soak CASE | soak --minutes N [--from SEED] | soak --seeds N [--from SEED] | "
        "soak --shrink CASE\n",
        stderr);
    return kUsage;
  }
  if (orders->shown) return show(*orders->shown);
  if (orders->shrunk) return make_small(*orders->shrunk);
  return run_many(*orders);
}

}  // namespace
}  // namespace soak

int main(int argc, char** argv) { return soak::run(argc, argv); }
