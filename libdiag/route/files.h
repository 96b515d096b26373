// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The files by which an operator steers routing, read into Options. Grammars are opensm's (lines of
// a GUID and what belongs to it, # comments; torus-2QoS.conf by keywords); unlike there a mistake
// is an error that names its place, never a line passed over.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/fabric/fabric.h"
#include "libdiag/route/options.h"

namespace ib::route {

enum class OptionFile {
  Roots,             // -a: GUID of a switch or CA [rank]
  ComputeNodes,      // -u: port GUID
  IoNodes,           // -G: port GUID
  Ids,               // -m: GUID of a switch, number
  Ignored,           // -i: GUID of a node, port; or a port GUID
  HopWeights,        // -w: GUID of a switch, port, weight 0..255
  PortSearchOrder,   // -O: GUID of a switch, ports
  GuidRoutingOrder,  // -X: port GUID
  NoHosts,           // --no_host_guid_file: GUID of a CA or router, or of its port
  Torus,             // --torus_config
  Lfts,              // -U: forwarding tables as opensm or dump_fts print them
  LidMatrix          // -M: hop counts as opensm dumps them
};
/// By path.
using OptionFiles = std::map<OptionFile, std::string>;

/// A place in a file that names a node or port, to be held against a fabric.
struct Mention {
  enum class Means { Switch, SwitchOrHost, Host, Node, EndPort };
  Means means{};
  Guid guid{};
  std::uint32_t line{};
  std::vector<std::uint8_t> ports;  // that the node must have
};
struct Mentions {
  std::string file;
  std::optional<OptionFile> which;  // nothing: a file of another kind
  std::vector<Mention> places;
};

/// Puts what `text` says into `options`. An error, of kind Usage, has every mistake with its line
/// and a caret (the first of -U and -M, which programs write); `options` is not to be used then.
Result<Mentions> read_option_text(OptionFile which, std::string_view text, const std::string& file,
                                  Options& options);

struct ReadOptions {
  Options options;
  std::vector<Mentions> mentions;
};
/// All of `files` on top of `given`. The error has the mistakes of all of them; one is what is no
/// regular file, or so big that it cannot be meant.
Result<ReadOptions> read_option_files(const OptionFiles& files, const Options& given);

/// Lists in which nothing is named, a line each: `FILE: names nothing (--root_guid_file) ...`.
std::vector<std::string> empty_files(const std::vector<Mentions>& mentions);

/// What the files name and `fabric` does not have, a line each: `FILE:LINE: no switch has ...`; at
/// most `per_file_max` of one file. Nothing is said of a GUID that `remembered` knows: it is away.
std::vector<std::string> unknown_names(const fabric::Fabric& fabric,
                                       const std::vector<Mentions>& mentions,
                                       const std::function<bool(Guid)>& remembered = {},
                                       std::size_t per_file_max = 8);

}  // namespace ib::route
