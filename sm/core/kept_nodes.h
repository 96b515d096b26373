// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// KeptNodes: nodes that did not answer a sweep. While the link to such a node is up it may well do
// what it was told to, so it stays in the fabric as it was known: a host that is merely loaded for
// some sweeps, or some time; anybody else where the sweep did not wait for him, for two seconds.
// Then a sweep leaves it out.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libdiag/base/log.h"
#include "libdiag/discover/observed.h"

namespace sm::core {

/// How long a CA or router that does not answer stays where its link is up: that many sweeps, and
/// no longer than that.
struct HostPatience {
  unsigned sweeps{3};
  ib::Duration most{std::chrono::minutes(10)};
};

class KeptNodes {
 public:
  explicit KeptNodes(HostPatience hosts = {}) : hosts_(hosts) {}

  /// Adds to `found` the silent nodes that `before` has, and those that only they lead to; the
  /// troubles with them are gone. `managed`: the nodes of `before`. Troubles have been told whose
  /// they are. `waited`: the sweep waited for everybody.
  void keep(ib::Instant now, ib::discover::Observed& found, const ib::discover::Observed& before,
            const std::vector<bool>& managed, bool waited);
  void forget() {
    since_.clear();
    not_before_ = {};
  }
  /// due() has come, and a sweep was called for. Whatever comes of that (it may be left to another
  /// subnet manager), the next one is not due before.
  void wait_until(ib::Instant next) { not_before_ = next; }

  std::size_t count() const { return since_.size(); }
  std::vector<ib::Guid> nodes() const;
  /// None of them leads to anybody else.
  bool are_hosts() const;
  bool contains(ib::Guid node) const { return since_.contains(node); }
  /// When the first of them is to answer or to be left out; kNever.
  ib::Instant due() const;
  std::optional<ib::LogEvent> next_log();

 private:
  struct SilentNode {
    ib::Instant since;
    unsigned sweeps{0};  // that it did not answer
    bool is_host{false};
  };
  bool may_stay(ib::Instant now, const SilentNode& silent_node, bool waited) const;
  ib::Instant until(const SilentNode& silent_node) const;
  std::string promise(const SilentNode& silent_node) const;

  HostPatience hosts_;
  std::map<ib::Guid, SilentNode> since_;
  ib::Instant not_before_;
  std::deque<ib::LogEvent> logs_;
};

}  // namespace sm::core
