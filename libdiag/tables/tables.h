// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Forwarding tables as values: what a dump file holds, what an engine produces, what was read from
// switches.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "libdiag/fabric/graph.h"

namespace ib::tables {

inline constexpr std::uint8_t kNoPort = 255;

void* allocate_table(std::size_t bytes);
void free_table(void* table, std::size_t bytes);

/// Memory for tables: large ones lie on huge pages where the system has them, which spares
/// thousands of page faults, and elements that are not given a value are left as they come.
template <class T>
struct TableAllocator {
  using value_type = T;
  TableAllocator() = default;
  template <class U>
  TableAllocator(const TableAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(allocate_table(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) { free_table(p, n * sizeof(T)); }
  template <class U>
  void construct(U* p) {
    ::new (static_cast<void*>(p)) U;
  }
  template <class U, class... Arguments>
  void construct(U* p, Arguments&&... arguments) {
    ::new (static_cast<void*>(p)) U(std::forward<Arguments>(arguments)...);
  }
  friend bool operator==(const TableAllocator&, const TableAllocator&) { return true; }
};

/// Linear forwarding tables of all switches of a CompactGraph: one dense row per switch, LIDs
/// 0..max_lid.
class LinearTables {
 public:
  LinearTables() = default;
  LinearTables(std::size_t switches, Lid max_lid) : LinearTables(unwritten(switches, max_lid)) {
    std::ranges::fill(ports_, kNoPort);
  }
  // A vector whose allocator makes the elements copies them one by one.
  LinearTables(const LinearTables& other) : lids_(other.lids_), ports_(other.ports_.size()) {
    std::ranges::copy(other.ports_, ports_.begin());
  }
  LinearTables& operator=(const LinearTables& other) {
    if (ports_.size() != other.ports_.size()) return *this = LinearTables(other);
    lids_ = other.lids_;
    std::ranges::copy(other.ports_, ports_.begin());
    return *this;
  }
  LinearTables(LinearTables&&) noexcept = default;
  LinearTables& operator=(LinearTables&&) noexcept = default;
  ~LinearTables() = default;
  /// For somebody who is going to write every entry: they hold anything.
  static LinearTables unwritten(std::size_t switches, Lid max_lid) {
    LinearTables tables;
    tables.lids_ = max_lid.value + std::size_t{1};
    tables.ports_ = Ports(switches * tables.lids_);
    return tables;
  }

  std::size_t switch_count() const { return lids_ == 0 ? 0 : ports_.size() / lids_; }
  std::size_t lid_count() const { return lids_; }
  std::uint8_t at(fabric::SwitchIndex s, Lid lid) const {
    return lid.value < lids_ ? ports_[s * lids_ + lid.value] : kNoPort;
  }
  void set(fabric::SwitchIndex s, Lid lid, std::uint8_t port) {
    ports_[s * lids_ + lid.value] = port;
  }
  std::span<std::uint8_t> row(fabric::SwitchIndex s) { return {ports_.data() + s * lids_, lids_}; }
  std::span<const std::uint8_t> row(fabric::SwitchIndex s) const {
    return {ports_.data() + s * lids_, lids_};
  }
  /// Takes out the rows of these switches, ascending; those behind them move up. The memory stays.
  void erase_rows(std::span<const fabric::SwitchIndex> rows);
  /// The way back: rows without entries come in, and are at these indexes then, ascending.
  void insert_rows(std::span<const fabric::SwitchIndex> rows);
  friend bool operator==(const LinearTables&, const LinearTables&) = default;

 private:
  using Ports = std::vector<std::uint8_t, TableAllocator<std::uint8_t>>;
  Ports::iterator start_of(std::size_t row);

  std::size_t lids_{0};
  Ports ports_;
};

/// `tables`, made for `from`, by the switch indexes of `to`; switches that are new have no entries.
LinearTables carried_over(const LinearTables& tables, const fabric::CompactGraph& from,
                          const fabric::CompactGraph& to);

/// Ports a multicast LID leaves by, one bit a port.
struct PortMask {
  std::array<std::uint64_t, 4> bits{};
  void set(unsigned port) { bits[port / 64] |= std::uint64_t{1} << (port % 64); }
  void clear(unsigned port) { bits[port / 64] &= ~(std::uint64_t{1} << (port % 64)); }
  bool test(unsigned port) const { return (bits[port / 64] >> (port % 64)) & 1; }
  bool empty() const { return (bits[0] | bits[1] | bits[2] | bits[3]) == 0; }
  friend bool operator==(const PortMask&, const PortMask&) = default;
};

/// Multicast forwarding: by MLID, then by switch. Absent means an empty mask.
using MulticastTables = std::map<Lid, std::map<fabric::SwitchIndex, PortMask>>;

}  // namespace ib::tables
