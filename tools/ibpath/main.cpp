// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibpath: path records between two ports, as the SA gives them to every program.
#include <cstdio>

#include "tools/common/command_line.h"
#include "tools/common/connection.h"
#include "tools/common/exit_status.h"
#include "tools/ibpath/paths.h"
#include "tools/ibpath/report.h"

namespace {

namespace tools = ib::tools;
constexpr const char* kProgram = "ibpath";

struct Words {
  tools::CommonOptions common;
  std::string source, destination;
  unsigned numb_path{0}, sl{16}, p_key{0x10000};
  std::uint64_t sm_key{0};
  bool reversible{false};
};

std::optional<int> parse(int argc, char** argv, Words& out) {
  tools::CommandLine line(kProgram,
                          "prints the path records between two ports, as subnet administration "
                          "gives them",
                          IBKIT_VERSION);
  tools::add_common(line, out.common);
  line.operand("SRC", out.source,
               "source: LID, GID, GUID, name, or directed route (0 is the local port)");
  line.operand("DST", out.destination, "destination, in the same forms; a multicast GID too");
  line.number("--numb-path", out.numb_path, 1, 127, "at most so many paths a pair of ports");
  line.number("--sl", out.sl, 0, 15, "only paths of this service level");
  line.number("--pkey", out.p_key, 0, 0xFFFF, "only paths of this partition key");
  line.flag("--reversible", out.reversible, "only paths whose way back works by the same values");
  line.number("--smkey", out.sm_key, 0, UINT64_MAX, "SM_Key of the queries (0: none)");
  line.documents(ibpath::kSchema);
  line.footer(tools::exit_status_help());
  return line.parse(argc, argv);
}

ibpath::Wanted wanted_of(const Words& words) {
  ibpath::Wanted wanted;
  if (words.numb_path != 0) wanted.numb_path = static_cast<std::uint8_t>(words.numb_path);
  if (words.sl < 16) wanted.sl = static_cast<std::uint8_t>(words.sl);
  if (words.p_key <= 0xFFFF) wanted.p_key = static_cast<std::uint16_t>(words.p_key);
  wanted.reversible = words.reversible;
  return wanted;
}

int run(const Words& words) {
  const tools::Refusal refuse{kProgram, ibpath::kSchema, IBKIT_VERSION, words.common.json};
  // Words first: a bad one is an error whether or not there is a fabric.
  const auto source = tools::parse_target(words.source);
  if (!source) return refuse(source.error());
  const auto destination = tools::parse_target(words.destination);
  if (!destination) return refuse(destination.error());

  auto connection = tools::Connection::open(words.common);
  if (!connection) return refuse(connection.error());
  const auto& facts = (*connection)->facts();
  const auto address = ib::query::sa_address(facts, words.sm_key);
  if (!address) return refuse(address.error());
  auto& session = (*connection)->session();
  ib::query::SaClient sa(session, *address);

  const auto from = ibpath::resolve(session, sa, facts, *source);
  if (!from) return refuse(from.error());
  const auto to = ibpath::resolve(session, sa, facts, *destination);
  if (!to) return refuse(to.error());
  const auto paths = ibpath::fetch(sa, *from, *to, wanted_of(words));
  if (!paths) return refuse(paths.error());

  const auto text = words.common.json ? ibpath::json_report(*paths, IBKIT_VERSION)
                                      : ibpath::text_report(*paths, words.common.verbose > 0);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!paths->empty()) return tools::kExitGood;
  return tools::complain(kProgram,
                         "no path from " + to_string(*source) + " to " + to_string(*destination),
                         tools::kExitFound);
}

}  // namespace

int main(int argc, char** argv) {
  return tools::run_main(kProgram, [&] {
    Words words;
    const auto status = parse(argc, argv, words);
    return status ? *status : run(words);
  });
}
