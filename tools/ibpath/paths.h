// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Paths between ports: which are wanted, and their fetching from the SA in one way or another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/ibpath/command_context.h"
#include "tools/ibpath/filter.h"

namespace ibpath {

/// One end as the SA is asked for it: a LID or a GID.
struct End {
  std::optional<ib::Lid> lid;
  std::optional<ib::Gid> gid;
  friend bool operator==(const End&, const End&) = default;
};

/// What is asked of the paths between two ports whose names are not looked up yet: the options and
/// the conditions on the command line.
struct Pair {
  std::string source_word, destination_word;
  ib::tools::Target source, destination;
  Query query;
  std::vector<std::string> conditions;  // what the query is made of
};
/// The options that are conditions of paths, as FIELD=VALUE.
std::vector<std::string> conditions_of(const Options& options);
/// These, but for what `conditions` say themselves, and `conditions`.
std::vector<std::string> with_options(const Options& options,
                                      const ib::wire::StructureInfo& structure, Words conditions);
/// Usage when a word cannot be read.
ib::Result<Pair> read_pair(const std::string& source, const std::string& destination,
                           Words conditions, const Options& options);

/// The request for paths between two ends, and its component mask.
struct PathQuery {
  ib::wire::PathRecord record;
  std::uint64_t mask{};
};
PathQuery path_query(const End& source, const End& destination, const Query& wanted);

struct Port {
  ib::Lid lid;  // the first of its LIDs
  ib::Guid guid;
};
/// The ports a target means: one, or every port of the node it names. NotFound when the SA knows
/// none; Usage, with the nodes, where the name is ambiguous.
ib::Result<std::vector<Port>> ports_of(CommandContext& context, const ib::tools::Target& target);
/// NodeRecords of the node of that name, one a port. Errors are those of find_node_records().
ib::Result<std::vector<ib::wire::NodeRecord>> nodes_by_name(CommandContext& context,
                                                            const std::string& name);
/// The NodeRecord of the port that has this GID, by its own GUID or an alias; none where no port
/// has it.
ib::Result<std::vector<ib::wire::NodeRecord>> nodes_of_gid(CommandContext& context,
                                                           const ib::Gid& gid);
/// The same as ends of paths: a LID is that address alone, everything else all LIDs of a port.
ib::Result<std::vector<End>> resolve(CommandContext& context, const ib::tools::Target& target);

/// All paths of a pair. None is not an error.
ib::Result<std::vector<ib::wire::PathRecord>> fetch_paths(CommandContext& context,
                                                          const Pair& pair);

/// What is said when there is none.
std::string no_path(const Pair& pair);

/// `ibpath SRC DST [FIELD=VALUE...]`
ib::Result<Job> plan_paths(const Options& options, Words words);
/// `ibpath trace SRC DST`: the nodes on the way, as TraceRecords.
ib::Result<Job> plan_trace(const Options& options, Words words);
/// `ibpath multi SRC[,SRC...] DST[,DST...]`: by MultiPathRecord.
ib::Result<Job> plan_multi(const Options& options, Words words);

}  // namespace ibpath
