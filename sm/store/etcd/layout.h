// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What stands where under the prefix of a fabric, and the texts of its two small keys:
//
//   PREFIX epoch       who may write: a number that grows, and a name
//   PREFIX head        what counts of the rest; written with each change
//   PREFIX term        of etcd's leader, when the writer last found that nothing is missing
//   PREFIX lacks       who answered clients and could not write what; read by the writer
//   PREFIX snapshot/GENERATION/N   everything at one time, as a Batch in parts
//   PREFIX log/SEQUENCE            each Batch since then
//   PREFIX managers/PORT_GUID      what each subnet manager says of itself (board.h)
//   PREFIX policy/NAME             of a policy file of which there is a copy (policy_copy.h)
//   PREFIX policy/NAME/GENERATION/N   its text in parts
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "libdiag/base/result.h"

namespace sm::store::etcd {

struct Head {
  std::string fabric;           // what the fabric is known by; a word
  std::uint64_t generation{};   // of the snapshot
  std::uint32_t parts{};        // of it; 0: there is none, everything is in the log
  std::uint64_t snapshot_at{};  // the last number of the log that is in it
  std::uint64_t sequence{};     // the last number of the log
  friend bool operator==(const Head&, const Head&) = default;
};

struct Epoch {
  std::uint64_t number{};
  std::string holder;  // a word
  friend bool operator==(const Epoch&, const Epoch&) = default;
};

/// Of the copy of a policy file.
struct PolicyHead {
  std::string fabric;           // as that of Head
  std::uint64_t generation{};   // of its parts
  std::uint32_t parts{};        // of it; 0 where there are bytes: the text is too long to be kept
  std::uint64_t bytes{};        // of the text
  std::uint64_t sum{};          // FNV-1a of it
  std::string host;             // whose it is; a word
  std::string directory, path;  // there; a line each
  friend bool operator==(const PolicyHead&, const PolicyHead&) = default;
};

std::string text_of(const Head& head);
std::string text_of(const Epoch& epoch);
std::string text_of(const PolicyHead& head);
/// Malformed: damaged. Unavailable: a newer release wrote it.
ib::Result<Head> read_head(std::string_view text);
ib::Result<Epoch> read_epoch(std::string_view text);
ib::Result<PolicyHead> read_policy_head(std::string_view text);

std::string epoch_key(const std::string& prefix);
std::string head_key(const std::string& prefix);
std::string term_key(const std::string& prefix);
std::string lacks_key(const std::string& prefix);
std::string log_folder(const std::string& prefix);
std::string log_key(const std::string& prefix, std::uint64_t sequence);
std::string managers_folder(const std::string& prefix);
std::string policy_key(const std::string& prefix, const std::string& name);
std::string policy_folder(const std::string& prefix, const std::string& name);
std::string policy_folder(const std::string& prefix, const std::string& name,
                          std::uint64_t generation);
std::string policy_part_key(const std::string& prefix, const std::string& name,
                            std::uint64_t generation, std::uint32_t part);
std::string snapshots_folder(const std::string& prefix);
std::string snapshot_folder(const std::string& prefix, std::uint64_t generation);
std::string snapshot_key(const std::string& prefix, std::uint64_t generation, std::uint32_t part);

}  // namespace sm::store::etcd
