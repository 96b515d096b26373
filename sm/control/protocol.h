// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What `ibsm ctl` and the daemon say to each other: one line of JSON each way.
//
//   {"verb": "partition", "words": ["add", "0x8001", "0x2c903000085d1"], "options": {"owner": "x"}}
//   {"status": 0, "text": "..."}
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"

namespace sm::control {

inline constexpr std::size_t kRequestMax = 4U << 20;  // bytes of a line: 100,000 GUIDs and more

struct Request {
  std::string verb;
  std::vector<std::string> words;
  std::map<std::string, std::string> options;  // by name, without dashes; a flag has "TRUE"
  bool has(const std::string& option) const { return options.contains(option); }
  std::string option(const std::string& name) const {
    const auto at = options.find(name);
    return at == options.end() ? std::string() : at->second;
  }
  friend bool operator==(const Request&, const Request&) = default;
};

/// What names no node of the subnet, and what the text says behind that.
struct UnknownNode {
  std::string word, behind;
  friend bool operator==(const UnknownNode&, const UnknownNode&) = default;
};

/// Status: 0 done, 1 some of it was refused, 2 usage, 4 it cannot be done. The text is what the
/// command prints, to stdout with status 0 or 1 and else to stderr.
struct Answer {
  int status{0};
  std::string text;
  std::optional<UnknownNode> unknown_node{};  // not in the line
  friend bool operator==(const Answer&, const Answer&) = default;
};

/// A line with its end.
std::string encode(const Request& request);
std::string encode(const Answer& answer);
/// `line` without its end. An error of kind Usage says what was expected.
ib::Result<Request> decode_request(std::string_view line);
ib::Result<Answer> decode_answer(std::string_view line);

}  // namespace sm::control
