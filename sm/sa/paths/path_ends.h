// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The ends that a request for paths names, by GID, LID, both or neither, and the walk over all that
// is meant by one of them.
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "libdiag/base/bytes.h"
#include "sm/sa/registry/world.h"

namespace sm::sa {

/// One side of a request: a port, or all; and of it one LID, or all.
struct PathEnd {
  const EndPort* port{nullptr};        // nullptr: all
  std::optional<std::uint8_t> offset;  // the LID that was named, from the base LID
  std::optional<ib::Gid> asked_gid;    // answered as it was asked
  bool is_router{false};               // on the way to another subnet

  /// Of an end that is one port: its first LID that is meant, and its GID.
  ib::Lid first_lid() const {
    return ib::Lid{static_cast<std::uint16_t>(port->lid.value + offset.value_or(0))};
  }
  ib::Gid gid(std::uint64_t prefix) const {
    if (asked_gid) return *asked_gid;
    // Gid::from() goes byte by byte.
    ib::Gid own;
    auto* bytes = reinterpret_cast<std::byte*>(own.bytes.data());
    ib::store_be(bytes, prefix);
    ib::store_be(bytes + sizeof prefix, port->guid.value);
    return own;
  }
};

/// How a request names an end.
struct NamedEnd {
  std::optional<ib::Gid> gid;
  std::optional<ib::Lid> lid;
};

/// The end that is meant, or the status that refuses it; status 0: there is none such, so nothing
/// is found. GIDs are ours by the subnet's prefix or the default one, and name a port or an alias.
using FoundEnd = std::variant<PathEnd, std::uint16_t>;
FoundEnd find_source(const World& world, const NamedEnd& named);
/// A destination in another subnet stands for the first available router that leads there from
/// `source`.
FoundEnd find_destination(const World& world, const NamedEnd& named, const PathEnd& source);

/// Every port and every GID that an end stands for: a port that was not named by GID has its own
/// and its aliases, as they are when it comes to them.
class EndWalk {
 public:
  /// The caller keeps both.
  EndWalk(const PathEnd& end, const Paths& paths, const Aliases::Map& aliases);

  const EndPort& port() const { return *port_; }
  const ib::Gid& gid() const { return gid_; }
  unsigned lid_count() const { return end_.offset ? 1U : port_->lid_count(); }
  ib::Lid lid(unsigned n) const {
    return ib::Lid{static_cast<std::uint16_t>(port_->lid.value + end_.offset.value_or(0) + n)};
  }
  bool at_end() const { return port_ == nullptr; }
  void restart();
  void next();

 private:
  void enter(std::size_t index);

  PathEnd end_;
  const Paths* paths_;
  const Aliases::Map* aliases_;
  std::uint64_t prefix_;
  std::size_t index_{0};
  const EndPort* port_{nullptr};
  ib::Gid gid_;
  std::optional<Aliases::Key> alias_;  // the last one shown of this port
};

}  // namespace sm::sa
