// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Flapping: links that went down too often to be of use. Such a link is left out of the fabric, so
// that routes do not follow it to and fro and its changes call for no sweep, until it was quiet for
// a while that doubles with each relapse. The subnet manager's own link is never left out.
#pragma once

#include <compare>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libdiag/base/log.h"
#include "libdiag/discover/observed.h"
#include "sm/core/hold_down.h"

namespace sm::core {

class Flapping {
 public:
  /// Compares what a sweep found with what was known `before`: a link that was ACTIVE and is not
  /// any more went down, perhaps for a moment only. Held links are taken out of `found`.
  void on_sweep(ib::Instant now, const ib::discover::Observed& before,
                ib::discover::Observed& found);
  /// Some held port of this switch changed its state.
  void on_change(ib::Instant now, ib::Guid node);

  /// This port, one of a link's two ends, is held down.
  bool is_held(ib::Guid node, std::uint8_t port) const { return held_.contains({node, port}); }
  bool holds_any_of(ib::Guid node) const;

  /// When the next link was quiet for long enough; kNever.
  ib::Instant due() const;
  /// The nodes at links that are to be used again.
  std::vector<ib::Guid> release(ib::Instant now);

  /// Each link that is held down, for the report.
  std::vector<std::string> held_links() const;
  std::optional<ib::LogEvent> next_log();

 private:
  struct End {
    ib::Guid node;
    std::uint8_t port;
    friend auto operator<=>(const End&, const End&) = default;
  };
  using Link = std::pair<End, End>;  // the smaller end first
  struct Record {
    HoldDown hold;
    std::string name;
    ib::Lid lid{};  // of a switch at it
    bool held{false};
  };
  static std::optional<ib::wire::PortState> state_of(const ib::discover::Observed& observed,
                                                     const End& end);
  void count(ib::Instant now, const Link& link, const ib::discover::Observed& before);
  void set_held(const Link& link, Record& record, bool held);

  std::map<Link, Record> links_;  // that went down not long ago
  std::set<End> held_;
  std::deque<ib::LogEvent> logs_;
};

}  // namespace sm::core
