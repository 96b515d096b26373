// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Findings: what is the matter with end ports, by what it is, so that a rack without congestion
// control is a line of the log and not a line a host.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "libdiag/base/log.h"

namespace sm::managers {

class Findings {
 public:
  void add(ib::LogLevel level, std::string what, const std::string& end_port) {
    Group& group = groups_[{level, std::move(what)}];
    if (++group.count <= kNamed) group.names += (group.names.empty() ? "" : ", ") + end_port;
  }

  /// "WHAT: NAME, NAME and 12 more", errors first; it is empty then.
  std::vector<ib::LogEvent> take(const std::string& topic) {
    std::vector<ib::LogEvent> lines;
    for (const auto& [key, group] : groups_) {
      std::string line = key.second + ": " + group.names;
      if (group.count > kNamed) line += " and " + std::to_string(group.count - kNamed) + " more";
      lines.push_back({key.first, topic, std::move(line)});
    }
    groups_.clear();
    return lines;
  }

 private:
  static constexpr std::size_t kNamed = 16;
  struct Group {
    std::size_t count{0};
    std::string names;
  };
  std::map<std::pair<ib::LogLevel, std::string>, Group> groups_;
};

}  // namespace sm::managers
