// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/console/session.h"

#include <utility>

namespace sm::console {
namespace {

constexpr const char* kLoopEnds = "use \"q<ret>\" to quit loop\n";

}  // namespace

control::Reply Session::on_line(ib::Instant now, std::string_view line, const Runner& run) {
  const auto words = words_of(line);
  if (!looping_.empty()) {
    if (words.empty() || words.front() != "q") return {words.empty() ? "" : kLoopEnds};
    looping_.clear();
    loop_at_ = ib::kNever;
    return {kPrompt};
  }
  Outcome outcome = run(words);
  if (outcome.ends) return {std::move(outcome.text), true};
  if (!outcome.loops) return {outcome.text + kPrompt};
  looping_ = {words.front()};
  loop_at_ = now + kLoopPause;
  return {outcome.text + kLoopEnds};
}

std::string Session::on_time(ib::Instant now, const Runner& run) {
  if (looping_.empty() || now < loop_at_) return {};
  loop_at_ = now + kLoopPause;
  return run(looping_).text;
}

}  // namespace sm::console
