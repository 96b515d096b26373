// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/consistency.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "sm/core/election.h"

namespace sm::daemon {
namespace {

using ib::wire::SmState;

/// Between a master and one that may take over from it.
bool matters(SmState own, SmState other) {
  return (own == SmState::Master) != (other == SmState::Master);
}

}  // namespace

std::string Consistency::posting(SmState state, bool behind) {
  return text_of({host_, state, ++turn_, own_, behind});
}

std::vector<Consistency::News> Consistency::on_postings(SmState state,
                                                        std::span<const store::Posting> postings) {
  last_failure_.clear();
  other_masters_.clear();
  std::vector<News> news;
  std::map<std::string, Heard> heard;
  std::map<std::string, Difference> found;
  for (const store::Posting& posting : postings) {
    Heard now{posting.text};
    if (const auto before = heard_.find(posting.who); before != heard_.end()) {
      const bool changed = before->second.text != posting.text;
      now.fresh = changed || before->second.fresh;
      now.same = changed ? 0 : before->second.same + 1;
    }
    const Heard& one = heard[posting.who] = std::move(now);
    if (!one.fresh || one.same >= kStaleAfter) continue;
    const auto notice = read_notice(one.text);
    if (!notice) {
      found[posting.who] = {posting.who, {notice.error().message}};
      continue;
    }
    auto names = differences(own_, notice->fingerprint);
    if (notice->state == SmState::Master) differs_from_master_ = !names.empty();
    if (notice->state == SmState::Master) other_masters_.push_back(posting.who);
    if (names.empty() || !matters(state, notice->state)) continue;
    found[posting.who] = {notice->host, std::move(names)};
  }
  heard_ = std::move(heard);
  for (const auto& [who, difference] : found)
    if (const auto before = differences_.find(who);
        before == differences_.end() || before->second != difference)
      news.push_back({who, difference});
  for (const auto& [who, difference] : differences_)
    if (!found.contains(who)) news.push_back({who, {difference.host, {}}});
  differences_ = std::move(found);
  return news;
}

std::optional<ib::LogEvent> Consistency::on_failure(const ib::Error& error) {
  if (std::exchange(last_failure_, error.message) == error.message) return std::nullopt;
  return ib::LogEvent{ib::LogLevel::Warning, "config",
                      "configurations of subnet managers are not compared: " + error.message};
}

std::string Consistency::trouble() const {
  std::string text;
  for (const auto& [who, difference] : differences_)
    text +=
        fmt::format("{}the subnet manager on {} is configured otherwise: {}",
                    text.empty() ? "" : "; ", difference.host, fmt::join(difference.names, ", "));
  return text;
}

}  // namespace sm::daemon
