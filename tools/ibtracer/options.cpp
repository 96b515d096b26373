// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtracer/options.h"

#include <fmt/format.h>

#include "libdiag/base/text.h"
#include "libdiag/fabric/names.h"
#include "tools/common/connection.h"
#include "tools/common/refusal.h"
#include "tools/ibtracer/report.h"

namespace ibtracer {

using ib::tools::Target;

namespace {

constexpr unsigned kNoSl = 16, kRetriesMax = 100, kNoRetries = kRetriesMax + 1;

/// The spellings of a target as they were given.
struct Spellings {
  std::optional<std::string> name, route, operand, group, from;
  std::optional<std::string> gid;
  std::optional<ib::Guid> guid;
  std::optional<ib::Lid> lid;
};

ib::Result<Target> take_target(const Spellings& s) {
  const int given = s.lid.has_value() + s.gid.has_value() + s.guid.has_value() +
                    s.name.has_value() + s.route.has_value() + s.operand.has_value();
  if (given != 1)
    return ib::fail(ib::ErrorKind::Usage,
                    fmt::format("expected exactly one target (-l, -g, --guid, --name, -D or an "
                                "operand), got {}; see --help",
                                given));
  Target target;
  if (s.lid) {
    target = *s.lid;
  } else if (s.guid) {
    target = *s.guid;
  } else if (s.name) {
    target = ib::tools::NodeName{*s.name};
  } else if (s.gid) {
    ib::Gid gid;
    if (!ib::parse_gid(*s.gid, gid))
      return ib::fail(ib::ErrorKind::Usage,
                      "-g: expected a GID such as fe80::2:c903:0:1, got '" + *s.gid + "'");
    target = gid;
  } else if (s.route) {
    auto route = ib::tools::parse_route(*s.route);
    if (!route) return tl::unexpected(route.error());
    target = *route;
  } else {
    const auto lid = ib::fabric::read_lid_word(*s.operand);
    if (lid && !*lid && *s.operand != "0") return tl::unexpected((*lid).error());
    auto parsed = ib::tools::parse_target(*s.operand);
    if (!parsed) return tl::unexpected(parsed.error());
    target = *parsed;
  }
  if (const auto* lid = std::get_if<ib::Lid>(&target); lid != nullptr && !lid->is_unicast())
    return ib::fail(ib::ErrorKind::Usage,
                    fmt::format("expected a LID up to 0xbfff, got 0x{:x}", lid->value));
  if (s.operand && *s.operand == "0")
    return ib::fail(ib::ErrorKind::Usage,
                    "expected a LID up to 0xbfff, got 0; -D 0 is the local port");
  return target;
}

ib::Result<Group> take_group(const std::string& text) {
  ib::Gid gid;
  if (ib::parse_gid(text, gid) && gid.is_multicast()) return Group{gid};
  ib::Lid lid;
  if (ib::parse_lid(text, lid) && lid.is_multicast()) return Group{lid};
  return ib::fail(ib::ErrorKind::Usage,
                  "--multicast: expected a multicast GID such as ff12:401b:ffff::ffff:ffff or a "
                  "multicast LID (0xc000 to 0xfffe), got '" +
                      ib::printable(text) + "'");
}

/// What only a way of our own packets has.
const char* only_from_here(const Options& o) {
  return o.by_sa     ? "--sa"
         : o.both    ? "--both"
         : o.lmc_all ? "--lmc-all"
         : o.prove   ? "--prove"
                     : nullptr;
}
/// What a trace of a group does not have.
const char* not_of_a_group(const Options& o) {
  return o.counters && only_from_here(o) == nullptr ? "--counters" : only_from_here(o);
}

ib::Result<void> take_from(const std::string& text, Options& o) {
  auto from = ib::tools::parse_target(text);
  if (!from) return tl::unexpected(from.error());
  o.from = *from;
  return {};
}

ib::Result<void> take_multicast(const Spellings& s, Options& o) {
  const bool has_target = s.lid || s.gid || s.guid || s.name || s.route || s.operand;
  if (has_target)
    return ib::fail(ib::ErrorKind::Usage, "expected --multicast or another target, got both");
  if (const char* word = not_of_a_group(o))
    return ib::fail(ib::ErrorKind::Usage,
                    fmt::format("{} applies to a trace to a LID, not to --multicast", word));
  auto group = take_group(*s.group);
  if (!group) return tl::unexpected(group.error());
  o.multicast = *group;
  return s.from ? take_from(*s.from, o) : ib::Result<void>{};
}

}  // namespace

std::variant<Options, int> parse_options(int argc, char** argv) {
  Options o;
  Spellings s;
  unsigned sl = kNoSl, retries = kNoRetries;
  ib::cli::CommandLine line(
      "ibtracer", "Prove the path that packets take to a LID, GUID, GID or host, hop by hop.",
      IBKIT_VERSION);
  ib::cli::CommonLetters letters;
  letters.device = "-C,-I,--device";
  letters.port = "-P,-p,--port";
  ib::cli::add_common(line, o.common, letters);
  line.number("-r,--retries", retries, 0, kRetriesMax,
              "Retries of an unanswered MAD (default 7; 11 to a node that answered before)");
  line.lid("-l,--lid", s.lid, "Target LID");
  line.text("-g,--gid", s.gid, "DGID", "Target GID; the SA gives its LID and SL");
  line.guid("--guid", s.guid, "Target port or node GUID");
  line.text("--name", s.name, "NAME", "Target node name");
  line.text("-D,--direct", s.route, "ROUTE", "Target by directed route: 0,1,2");
  line.operand("TARGET", s.operand, "The same as one operand of any form");
  line.number("--sl", sl, 0, 15,
              "Service level of the requests (default: the path record's, or 0)");
  line.flag("--sa", o.by_sa, "Expect the route that the SA reports; LFTs of switches are not read");
  line.flag("--both", o.both, "Trace the return path too");
  line.flag("--lmc-all", o.lmc_all, "Every LID of the target port");
  line.flag("--counters", o.counters, "Counters of each hop's ingress port");
  line.flag("--prove", o.prove, "Count packets on the target's own path; resets no counter");
  line.text("--multicast", s.group, "MGID",
            "The tree of a multicast group, by its GID or LID, in place of a target");
  line.text("--from", s.from, "SENDER",
            "The way from another host to the target; of a group the sending member (default: this "
            "port, or else the first)");
  line.number("--sa-key,--smkey", o.sm_key, 0, UINT64_MAX,
              "SA key, without which the SA hides members of groups (0: none)");
  line.text("--sa-key-file,--smkey-file", o.sm_key_file, "FILE",
            "The same, read from a file (ibsm keeps one: --sa_key auto)");
  line.number("-y,--m-key", o.m_key, 0, UINT64_MAX, "M_Key of SMPs");
  line.text("--node-name-map", o.node_name_map, "FILE", "Names for node GUIDs");
  line.documents(ib::tools::failures_of("ibtracer", kSchema, IBKIT_VERSION));
  line.footer(
      "Exit status: 0 verified, 1 mismatch or broken, 2 usage, 3 some hop has no proof, 4 cannot "
      "run.");
  if (const auto status = line.parse(argc, argv)) return *status;
  if (retries != kNoRetries) o.retries = retries;
  if (sl != kNoSl) o.sl = ib::Sl{static_cast<std::uint8_t>(sl)};
  const ib::tools::Refusal refuse{"ibtracer", kSchema, IBKIT_VERSION, o.common.json};
  if (s.group) {
    if (auto taken = take_multicast(s, o); !taken) return refuse(taken.error());
    return o;
  }
  if (s.from) {
    if (const char* word = only_from_here(o))
      return refuse({ib::ErrorKind::Usage,
                     fmt::format("{} applies to a trace from here, not to --from", word), 0});
    if (auto taken = take_from(*s.from, o); !taken) return refuse(taken.error());
  }
  auto target = take_target(s);
  if (!target) return refuse(target.error());
  if (o.by_sa && o.both)
    return refuse({ib::ErrorKind::Usage,
                   "--sa reports the forward path only; expected --sa or --both, got both", 0});
  o.target = *target;
  return o;
}

ib::mad::TransactorOptions transactor_options(const Options& options) {
  auto t = ib::tools::transactor_options(options.common);
  if (options.retries) {
    const auto attempts = static_cast<std::uint8_t>(*options.retries + 1);
    // Few attempts wait in full: measured round trips would give a node up within milliseconds.
    if (attempts < t.attempts_min) t.timeout_start = t.timeout_floor = t.timeout_ceiling;
    t.attempts_min = t.attempts_known = attempts;
  }
  return t;
}

}  // namespace ibtracer
