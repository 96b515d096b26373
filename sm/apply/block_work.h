// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Tables that are written by difference: which of the wanted blocks of one node must be read, which
// written. What devices hold is in the Inventory; here is what they refused. Inside sm/apply only.
#pragma once

#include <bitset>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sm/device/inventory.h"
#include "sm/plan/desired.h"

namespace sm::apply {

/// One block of a node that is to be read or written. A Set of SL2VL may be of every input, or of
/// every pair of ports; else `slot` says which.
struct Ask {
  const device::TableKind* kind{};
  device::Slot slot;
  const device::Block* block{};  // what it is to say; of the plan
  bool all_inputs{false}, all_outputs{false};

  bool wide() const { return all_inputs || all_outputs; }
  /// That for more has room for that for less: 0 one slot, 1 all inputs of an output, 2 all pairs.
  unsigned breadth() const { return all_outputs ? 2 : all_inputs ? 1 : 0; }
};
Ask ask_for(const plan::WantedBlock& want);
/// "port 4 block 1", "input 3 output 4": for complaints.
std::string place_of(const Ask& ask);

/// A table that a device did not take, or of which it does not tell what the plan waits for; or the
/// LID of its subnet manager, which a port did not take.
struct Refusal {
  ib::fabric::NodeIndex node{};
  const device::TableKind* kind{};  // null: PortInfo
  std::string message;  // what was attempted first, on what, what came back, and of how many blocks
  bool holds_it{false};  // what it is to hold is what it held before
};

/// Blocks that a device did not take; asked the same again it would answer the same again.
class RefusedBlocks {
 public:
  bool contains(ib::Guid node, const Ask& ask) const;
  /// The device answered with a `status`, or, where that is 0, to a Set with another block.
  void note(ib::Guid node, const Ask& ask, std::string_view method, std::uint16_t status);
  void took(ib::Guid node, const Ask& ask);
  /// Whether it took a block of this table since the last call of forget_restarted().
  bool took_some(ib::Guid node, std::uint16_t attribute) const {
    return taken_.contains({node, attribute});
  }
  /// Whether it did not take some block of this kind.
  bool refuses(ib::Guid node, const device::TableKind& kind) const;
  /// Nodes that did not take some block of this kind.
  std::set<ib::Guid> nodes(const device::TableKind& kind) const;
  /// Of what `desired` wants, or is to know first, one for each node and kind.
  std::vector<Refusal> of(const plan::Desired& desired, const ib::discover::Observed& seen,
                          const device::Inventory& inventory) const;
  /// Nodes that restarted, or are not there, may have changed their mind.
  void forget_restarted(const ib::discover::Observed& observed);
  void forget(ib::Guid node);
  void forget(const device::TableKind& kind, ib::Guid node);
  void clear() { blocks_.clear(); }

 private:
  using Place = std::tuple<ib::Guid, std::uint16_t, device::Slot, bool, bool>;
  struct Refused {
    const device::TableKind* kind{};
    device::Block asked;
    std::string_view method;
    std::uint16_t status{};
    bool rows_taken{false};  // it was of many rows, which were taken one by one then
  };
  static std::string describe(const ib::discover::Observed& seen, ib::fabric::NodeIndex node,
                              const Ask& ask, const Refused& refused, bool holds_it);
  static Place place_of(ib::Guid node, const Ask& ask);
  std::map<Place, Refused> blocks_;
  std::set<std::pair<ib::Guid, std::uint16_t>> taken_;  // tables, by node and attribute
};

/// The wanted blocks of one node.
std::span<const plan::WantedBlock> blocks_of(const plan::Desired& desired,
                                             ib::fabric::NodeIndex node);

/// Of one node, a bit each.
using PortSet = std::bitset<256>;

/// What the questions below are about.
struct Holder {
  const ib::discover::Observed& seen;
  const device::Inventory& inventory;
  const RefusedBlocks& refused;
  ib::fabric::NodeIndex node;

  ib::Guid guid() const { return seen.fabric.node(node).guid; }
};

/// Nothing is known of what the device holds there.
bool must_read(const Holder& holder, const Ask& ask);
/// It holds something that means something else.
bool must_write(const Holder& holder, const Ask& ask);
/// It holds something, and does not refuse this.
bool may_write(const Holder& holder, const Ask& ask);

}  // namespace sm::apply
