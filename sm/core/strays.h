// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Strays: requests by directed route that may have reached another node than they were meant for,
// since somebody moved cables while they were under way. A directed route names ports, and the
// node at the end of them answers. Pure.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <unordered_set>

#include "libdiag/discover/observed.h"

namespace sm::core {

class Strays {
 public:
  /// The node is told or asked what its tables hold, by the route that is known.
  void on_asked(ib::Guid node) { asked_.insert(node); }
  /// What cables were moved is dealt with.
  void forget() {
    asked_.clear();
    earlier_.reset();
  }
  /// None was moved until now, of what is `seen`. Where that is nobody but ourselves our own is out
  /// still, and others behind it.
  void on_unchanged(const ib::discover::Observed& seen);
  /// A sweep is done, and nothing of it is doubted. Where it did not find everybody who was asked,
  /// the next one may show what became of cables: our own may have been out.
  void on_swept(std::shared_ptr<const ib::discover::Observed> before,
                const ib::discover::Observed& found);

  /// Nodes of which nothing that is known of tables and ports counts: those that were asked by a
  /// route which may have led elsewhere, and who may have been there instead. Of nodes alone that
  /// were known. `before`: by whose routes they were asked; `found`: by the sweep that follows.
  std::set<ib::Guid> between(const ib::discover::Observed& before,
                             const ib::discover::Observed& found) const;

 private:
  struct Earlier {
    std::unordered_set<ib::Guid> asked;
    std::shared_ptr<const ib::discover::Observed> before;
  };
  std::unordered_set<ib::Guid> asked_;
  std::optional<Earlier> earlier_;  // of whom a sweep did not find all
};

}  // namespace sm::core
