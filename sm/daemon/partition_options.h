// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The partition file: read with the options, and again on SIGHUP, whole or not at all. A file in
// the state directory has the P_Keys that were generated for names. They are rows of the store,
// which stand above that file: it is for commands that are not the running ibsm.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libdiag/base/result.h"
#include "sm/daemon/last_good.h"
#include "sm/policy/partition_policy.h"
#include "sm/store/store.h"

namespace sm::daemon {

struct PartitionOptions {
  std::string file;         // empty: there is none, and everybody is a full member
  std::string groups_file;  // a QoS policy file whose port groups member lists may name; or empty
  std::optional<std::vector<policy::PortGroup>> groups{std::in_place};  // nothing: not readable
  bool allow_both{false};
  bool with_sls{true};          // sl= counts; else it is said that it does not
  bool must_be_readable{true};  // else a last good copy stands in for a file that cannot be
};

struct ReadPartitions {
  std::shared_ptr<const policy::PartitionPolicy> policy;
  std::vector<std::string> warnings;  // as shown() gives them
  std::vector<std::string> notes;     // a line each
  std::string text;                   // of the file; empty: there is none
  policy::GeneratedKeys keys;
  std::string name;  // what messages call the file
};

/// The state directory has the keys that were generated before. An error has every mistake of the
/// file, each with its line and a caret under the place.
ib::Result<ReadPartitions> read_partitions(const PartitionOptions& options, PolicyFiles& files);
/// `read` with the keys that the store has for names, and none that was generated now among those
/// `in_use`. An error where the file says one of them of another name.
ib::Result<ReadPartitions> with_kept_keys(ReadPartitions read, const PartitionOptions& options,
                                          const policy::GeneratedKeys& kept,
                                          const std::set<std::uint16_t>& in_use = {});
/// What the store lacks of the keys of `read`; `kept` is what it has, and has them then.
store::Batch keys_to_keep(const ReadPartitions& read, policy::GeneratedKeys& kept);
/// Precondition: the state directory is there.
ib::Result<void> keep_generated_keys(const policy::GeneratedKeys& keys,
                                     const std::string& state_dir);

/// A line for each key: "0x0001 name".
std::string write_generated_keys(const policy::GeneratedKeys& keys);
/// Lines that cannot be read are skipped: their names get new keys.
policy::GeneratedKeys read_generated_keys(std::string_view text);

}  // namespace sm::daemon
