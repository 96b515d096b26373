// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibtracer's command line.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "libdiag/mad/request.h"

namespace ibtracer {

/// What to trace to; exactly one form is given.
struct NodeName {
  std::string name;
};
using Target = std::variant<ib::Lid, ib::Gid, ib::Guid, NodeName, ib::mad::DirectedRoute>;

/// A bare operand: a GID has colons, a directed route commas, a LID is 1..0xFFFE, a GUID is a
/// larger number, all else a name.
Target classify_operand(const std::string& text);

struct Options {
  std::string device;
  unsigned port{0};
  unsigned retries{7};
  unsigned timeout_ms{200};
  bool verbose{}, json{}, both{}, lmc_all{}, counters{}, prove{};
  std::optional<unsigned> sl;
  Target target;
};

/// The options, or the status to exit with (help and version 0, usage 2); what is to be said has
/// been said.
std::variant<Options, int> parse_options(int argc, char** argv);

}  // namespace ibtracer
