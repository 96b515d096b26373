// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The last text of each of the operator's policy files that could be used. It is kept in the state
// directory, with the path that it was read from, and stands in for that file, and for no other, at
// a start that finds it broken.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "libdiag/base/result.h"
#include "sm/daemon/operator_file.h"

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

struct LastGood {
  std::string text;
  std::string of;  // the file that it is a copy of
};

/// A file that was read and is in order.
struct GoodFile {
  const PolicyFile* kind{};
  std::string path, text;
};

/// A file that cannot be used and whose last good copy is in force.
struct FileTrouble {
  const PolicyFile* kind{};
  std::string message;  // every mistake with its place, a line each
};

/// Nothing: there is no whole copy. An older one never stands in: it may have members that were
/// taken away since.
std::optional<LastGood> last_good(const PolicyFile& kind, const std::string& state_dir);
/// Precondition: the state directory is there.
ib::Result<void> keep_good(const GoodFile& file, const std::string& state_dir);
std::string copy_path(const PolicyFile& kind, const std::string& state_dir);

/// Reads the policy files of one start or reload.
class PolicyFiles {
 public:
  explicit PolicyFiles(std::string state_dir) : state_dir_(std::move(state_dir)) {}

  /// What `use(text, name)` makes of the file; where that is an error, or the file cannot be read,
  /// of its last good copy. Without one the error is that of the file.
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
    const auto copy = last_good_of(kind, path, out.error());
    if (!copy) return out;
    Out stand_in = use(*copy, copy_path(kind, state_dir_));
    if (!stand_in) return out;
    know_trouble(kind, path, out.error().message);
    return stand_in;
  }

  const std::string& state_dir() const { return state_dir_; }
  std::vector<GoodFile> take_good() { return std::move(good_); }
  std::vector<FileTrouble> take_troubles() { return std::move(troubles_); }

 private:
  void know_good(const PolicyFile& kind, const std::string& path, const std::string& text);
  void know_trouble(const PolicyFile& kind, const std::string& path, const std::string& why);
  /// The copy, where it is one of this file; if it is one of another, `error` says so.
  std::optional<std::string> last_good_of(const PolicyFile& kind, const std::string& path,
                                          ib::Error& error) const;

  std::string state_dir_;
  std::vector<GoodFile> good_;         // each kind once
  std::vector<FileTrouble> troubles_;  // likewise
};

}  // namespace sm::daemon
