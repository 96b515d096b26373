// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The last text of each of the operator's policy files that could be used. It is kept in the state
// directory, with the path that it was read from, and stands in for that file, and for no other, at
// a start that finds it broken. Where subnet managers share a store, what the master last had in
// force is kept there (policy_copy.h), and stands in before that: a host's own copy may be older.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "libdiag/base/result.h"
#include "sm/daemon/operator_file.h"
#include "sm/store/policy_copy.h"

namespace sm::daemon {

/// A kind of file of which a copy is kept.
struct PolicyFile {
  const char* topic;  // of lines in the log
  const char* copy;   // its name in the state directory
};
inline constexpr PolicyFile kPartitionFile{"partitions", "partitions.conf.last"};
inline constexpr PolicyFile kPortGroupsFile{"partitions", "port-groups.conf.last"};
inline constexpr PolicyFile kQosPolicyFile{"qos", "qos-policy.conf.last"};
inline constexpr PolicyFile kRatesFile{"qos", "enhanced-qos-policy.conf.last"};
inline constexpr PolicyFile kPrefixRoutesFile{"sa", "prefix-routes.conf.last"};
inline constexpr PolicyFile kNodeNamesFile{"names", "ib-node-name-map.last"};
inline constexpr PolicyFile kCongestionFile{"congestion", "ccmgr.conf.last"};
inline constexpr PolicyFile kAdaptiveRoutingFile{"routing", "armgr.conf.last"};

/// "partitions.conf" of "partitions.conf.last".
std::string name_of(const PolicyFile& kind);

struct LastGood {
  std::string text;
  std::string of;  // the file that it is a copy of
};

/// A file that was read and is in order.
struct GoodFile {
  const PolicyFile* kind{};
  std::string path, text;
};

/// A file that cannot be used, in whose place a copy is in force.
struct FileTrouble {
  const PolicyFile* kind{};
  std::string message;   // every mistake with its place, a line each; then what is in force
  std::string stand_in;  // "the last copy that could be used is in force"
  friend bool operator==(const FileTrouble&, const FileTrouble&) = default;
};

/// Nothing: there is no whole copy. An older one never stands in: it may have members that were
/// taken away since.
std::optional<LastGood> last_good(const PolicyFile& kind, const std::string& state_dir);
/// Precondition: the state directory is there.
ib::Result<void> keep_good(const GoodFile& file, const std::string& state_dir);
/// That of this host, for others.
store::PolicyCopy policy_copy(const GoodFile& file, const std::string& state_dir);
std::string copy_path(const PolicyFile& kind, const std::string& state_dir);

/// Reads the policy files of one start or reload.
class PolicyFiles {
 public:
  /// `shared` outlives it; null: copies are in the state directory alone.
  explicit PolicyFiles(std::string state_dir, store::PolicyCopies* shared = nullptr)
      : state_dir_(std::move(state_dir)), shared_(shared) {}

  /// What `use(text, name)` makes of the file; where that is an error, or the file cannot be read,
  /// of the copy that stands in. Without one the error is that of the file.
  template <class Use>
  auto read(const PolicyFile& kind, const std::string& path, Use use)
      -> std::invoke_result_t<Use, const std::string&, const std::string&> {
    using Out = std::invoke_result_t<Use, const std::string&, const std::string&>;
    const auto text = read_operator_file(path);
    Out out = text ? use(*text, path) : Out(tl::unexpected<ib::Error>(text.error()));
    if (out) {
      know_good(kind, path, *text);
      return out;
    }
    const auto copy = stand_in(kind, path, out.error());
    if (!copy) return out;
    Out instead = use(copy->text, copy->name());
    if (!instead) return out;
    know_trouble(kind, out.error().message, *copy);
    return instead;
  }

  /// What was in force last.
  struct StandIn {
    std::string text;
    std::string of;                   // the file that it is a copy of
    std::string host;                 // the other host whose file that is; empty: this one's
    std::string place;                // where the copy is
    std::string name() const;         // what messages call it
    std::string description() const;  // "the last copy of FILE that could be used is in force"
    std::string brief() const;        // likewise, where the file is named already
  };
  /// Nothing: nobody knows of any. `trouble` says why what others had cannot be read.
  std::optional<StandIn> kept(const PolicyFile& kind, std::string& trouble) const;

  const std::string& state_dir() const { return state_dir_; }
  std::vector<GoodFile> take_good() { return std::move(good_); }
  std::vector<FileTrouble> take_troubles() { return std::move(troubles_); }

 private:
  void know_good(const PolicyFile& kind, const std::string& path, const std::string& text);
  void know_trouble(const PolicyFile& kind, const std::string& why, const StandIn& copy);
  /// The copy that stands in for this file; where one does not, `error` says so.
  std::optional<StandIn> stand_in(const PolicyFile& kind, const std::string& path,
                                  ib::Error& error) const;

  std::string state_dir_;
  store::PolicyCopies* shared_;
  std::vector<GoodFile> good_;         // each kind once
  std::vector<FileTrouble> troubles_;  // likewise
};

}  // namespace sm::daemon
