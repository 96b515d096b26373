// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Two ways to make records one at a time: a walk over end ports, each of which has a grid of
// records (by port and block, by input and output), and a walk over what clients registered.
//
// A number from the wire never becomes an index: it only narrows a range that stands already, or is
// compared with a record that was made.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "libdiag/wire/component_mask.h"
#include "sm/sa/records/record_source.h"

namespace sm::sa {

template <class Record>
void put(const Record& value, std::byte* to, std::size_t bytes) {
  std::fill_n(to, bytes, std::byte{0});
  ib::wire::encode(value, to);
}

/// first, first + 1, ... end - 1.
struct Range {
  unsigned first{0};
  unsigned end{0};
  /// Of these only `wanted`, when the request names it.
  Range narrowed(bool is_named, unsigned wanted) const {
    if (!is_named) return *this;
    return wanted < first || wanted >= end ? Range{} : Range{wanted, wanted + 1};
  }
};
inline constexpr Range kOne{0, 1};

/// The places where an end port may have records: `row` is most often a port, `column` a block.
struct Grid {
  Range rows;
  Range columns{kOne};
};

/// Whether records about `subject` are shown to who asked.
inline bool is_shown(const Policy& policy, const Requester& requester, const EndPort& subject) {
  return requester.port != nullptr && policy.share(*requester.port, subject);
}

/// The component of every record that names an end port, by any of its LIDs.
inline constexpr unsigned kLidBit = 0;

/// Records of end ports, in the order of the end ports. `kLid` is the record's first component.
template <class Record, ib::Lid Record::*kLid>
class PortWalk : public RecordSource {
 public:
  Found search(std::byte* record, std::size_t most, std::size_t& looked_at) final {
    for (; at_ < end_; ++at_, inside_ = false) {
      const EndPort& owner = paths_->end_ports()[at_];
      if (!inside_) {
        if (looked_at == most) return Found::NotYet;
        ++looked_at;
        if (!enter(owner)) continue;
      }
      for (; row_ < grid_.rows.end; ++row_, column_ = grid_.columns.first) {
        while (column_ < grid_.columns.end) {
          if (looked_at == most) return Found::NotYet;
          ++looked_at;
          Record made;
          if (!make(owner, row_, column_++, made) || !is_meant(made)) continue;
          put(made, record, record_bytes());
          return Found::Record;
        }
      }
    }
    return Found::Nothing;
  }

 protected:
  /// `judged_apart`: components that is_meant() or make() compare by rules of their own.
  PortWalk(const World& world, const Query& query, std::uint64_t judged_apart = 0)
      : RecordSource(ib::wire::LayoutOf<Record>::kBytes),
        paths_(world.paths),
        device_state_(world.device_state),
        policy_(world.policy),
        query_(query),
        wanted_(ib::wire::decode<Record>(query.wanted.data())),
        compared_(query.mask & ~judged_apart & ~bit(kLidBit)),
        end_(paths_->end_ports().size()) {
    if (is_named(kLidBit)) narrow_to(paths_->find(wanted_.*kLid));
  }

  /// Where `owner` has records at all, narrowed by what is asked where that is a number.
  virtual Grid grid(const EndPort& owner) const = 0;
  /// Fills in the record; false where there is none.
  virtual bool make(const EndPort& owner, unsigned row, unsigned column, Record& record) const = 0;
  virtual bool is_meant(const Record& made) const {
    return ib::wire::matches(made, wanted_, compared_);
  }

  bool is_named(unsigned component) const { return has_bit(query_.mask, component); }
  /// Only this end port is looked at, or none.
  void narrow_to(const EndPort* owner) {
    const auto found =
        owner == nullptr ? end_ : static_cast<std::size_t>(owner - paths_->end_ports().data());
    at_ = std::max(at_, found);
    end_ = std::min(end_, found + 1);
  }

  const Paths& paths() const { return *paths_; }
  const Snapshot& snapshot() const { return paths_->snapshot(); }
  const DeviceState& device_state() const { return *device_state_; }
  const Policy& policy() const { return policy_; }
  const Query& query() const { return query_; }
  const Record& wanted() const { return wanted_; }

  const ib::fabric::Node& node_of(const EndPort& owner) const {
    return snapshot().fabric().node(owner.port.node);
  }
  /// The ports that an end port speaks for: a switch's all, a CA's or router's itself.
  Range ports_of(const EndPort& owner) const {
    const auto& node = node_of(owner);
    if (node.is_switch()) return {0, node.num_ports + 1U};
    return {owner.port.port, owner.port.port + 1U};
  }
  /// The same, of a switch only the one that component `n` names, if it names one.
  Range narrowed_on_switch(const EndPort& owner, unsigned n, ib::PortNum named) const {
    return ports_of(owner).narrowed(node_of(owner).is_switch() && is_named(n), named.value);
  }
  /// nullptr when its PortInfo is not known.
  const ib::discover::ObservedPort* seen(const EndPort& owner, unsigned port) const {
    return snapshot().observed->known_port({owner.port.node, static_cast<std::uint8_t>(port)});
  }
  /// nullptr: not known.
  const device::Block* held(const EndPort& owner, const device::TableKind& kind,
                            device::Slot slot) const {
    return device_state_->tables->held(kind, node_of(owner).guid, slot);
  }

 private:
  bool enter(const EndPort& owner) {
    if (!is_shown(policy_, query_.requester, owner)) return false;
    grid_ = grid(owner);
    row_ = grid_.rows.first;
    column_ = grid_.columns.first;
    inside_ = true;
    return true;
  }

  std::shared_ptr<const Paths> paths_;
  DeviceStatePtr device_state_;
  const Policy& policy_;
  Query query_;
  Record wanted_;
  std::uint64_t compared_;
  std::size_t at_{0}, end_;
  bool inside_{false};
  Grid grid_;
  unsigned row_{0}, column_{0};
};

/// Records of what clients registered, in the order of its keys. Clients go on registering while a
/// table is made: each step begins behind the key where the last one ended. So what stands all the
/// while is told once, in order; what comes or goes meanwhile is told or it is not.
template <class Record, class Registered>
class KeyWalk : public RecordSource {
 protected:
  using Entry = typename Registered::value_type;

  KeyWalk(const World& world, const Query& query, const Registered& registered)
      : RecordSource(ib::wire::LayoutOf<Record>::kBytes),
        paths_(world.paths),
        policy_(world.policy),
        query_(query),
        wanted_(ib::wire::decode<Record>(query.wanted.data())),
        registered_(registered) {}

  /// Makes the record; false where it is not shown or not meant.
  virtual bool make(const Entry& entry, Record& record) const = 0;

  const Paths& paths() const { return *paths_; }
  const Policy& policy() const { return policy_; }
  const Query& query() const { return query_; }
  const Record& wanted() const { return wanted_; }

 private:
  using Key = typename Registered::key_type;
  static const Key& key_of(const Key& entry) { return entry; }
  template <class Value>
  static const Key& key_of(const std::pair<const Key, Value>& entry) {
    return entry.first;
  }

  Found search(std::byte* record, std::size_t most, std::size_t& looked_at) final {
    auto at = last_ ? registered_.upper_bound(*last_) : registered_.begin();
    for (; at != registered_.end(); ++at) {
      if (looked_at == most) return Found::NotYet;
      ++looked_at;
      last_ = key_of(*at);
      Record made;
      if (!make(*at, made)) continue;
      put(made, record, record_bytes());
      return Found::Record;
    }
    return Found::Nothing;
  }

  std::shared_ptr<const Paths> paths_;  // the requester's port is one of these
  const Policy& policy_;
  Query query_;
  Record wanted_;
  const Registered& registered_;
  std::optional<Key> last_;  // looked at
};

}  // namespace sm::sa
