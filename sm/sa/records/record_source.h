// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Answers to queries, produced one record at a time, so that a table of any size needs the memory
// of one record. Pure: a query sees one snapshot of the subnet, and what clients have registered as
// it is when its turn comes in the order of the keys.
#pragma once

#include <array>
#include <memory>
#include <variant>
#include <vector>

#include "libdiag/wire/mad.h"
#include "sm/sa/registry/change.h"
#include "sm/sa/registry/mask.h"
#include "sm/sa/registry/world.h"

namespace sm::sa {

/// A request to read as it arrived.
struct Query {
  ib::wire::Method method{ib::wire::Method::Get};  // Get, GetTable, GetMulti, GetTraceTable
  std::uint16_t attribute{};
  std::uint32_t modifier{};
  std::uint64_t mask{};
  std::array<std::byte, ib::wire::kSaDataBytes> wanted{};  // the record to compare with
  std::vector<std::byte> more;                // of a GetMulti: what follows `wanted` in the message
  std::size_t bytes{ib::wire::kSaDataBytes};  // of both, as far as the message goes
  bool single{};                              // Get: paths stop at the first
  Requester requester;                        // trusted: M_Keys and group members are shown
};

/// Candidates that may be looked at for one record before a query is given up, so that no client
/// can hold up the subnet manager with a question whose answer is "nothing" a million times over.
inline constexpr std::size_t kCandidatesMax = 200'000;

class RecordSource {
 public:
  explicit RecordSource(std::size_t layout_bytes) : bytes_((layout_bytes + 7) / 8 * 8) {}
  virtual ~RecordSource() = default;

  /// Bytes of a record on the wire, a multiple of 8.
  std::size_t record_bytes() const { return bytes_; }
  enum class Found { Record, Nothing, NotYet };
  /// Writes the next record (record_bytes(), padding zeroed), if it is found among the next
  /// `candidates`, from which those looked at are taken off. Nothing: there is no more.
  Found next_among(std::byte* record, std::size_t& candidates);
  /// The same with all patience there is; false at the end.
  bool next(std::byte* record);
  /// The end came because kCandidatesMax was reached.
  bool gave_up() const { return gave_up_; }

 private:
  /// `looked_at` of `most` candidates: each costs about the same, be it a record or not.
  virtual Found search(std::byte* record, std::size_t most, std::size_t& looked_at) = 0;

  std::size_t bytes_;
  std::size_t in_vain_{0};  // candidates since the last record
  bool gave_up_{false};
};

/// The records of a query, or the status that refuses it.
using Opened = std::variant<std::unique_ptr<RecordSource>, std::uint16_t>;

}  // namespace sm::sa
