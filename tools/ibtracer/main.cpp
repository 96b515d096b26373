// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibtracer: options, target, trace, report.
#include <cstdio>

#include "libdiag/cli/exit_status.h"
#include "tools/common/connection.h"
#include "tools/common/refusal.h"
#include "tools/common/sm_key.h"
#include "tools/ibtracer/options.h"
#include "tools/ibtracer/report.h"
#include "tools/ibtracer/resolve.h"

namespace {

int print(const ibtracer::Options& options, const ibtracer::TraceReport& report, ib::Lid target) {
  const std::string text = options.common.json
                               ? ibtracer::json_report(report, target)
                               : ibtracer::text_report(report, options.common.verbose > 0);
  std::fwrite(text.data(), 1, text.size(), stdout);
  for (const std::string& error : report.errors)
    std::fprintf(stderr, "ibtracer: %s\n", error.c_str());
  return ibtracer::exit_status(report);
}

ib::tools::Refusal refusal(const ibtracer::Options& options) {
  return {"ibtracer", ibtracer::kSchema, IBKIT_VERSION, options.common.json};
}

int run_multicast(const ibtracer::Options& options, ib::mad::Session& session, std::uint64_t sm_key,
                  const ib::fabric::NodeNames& names) {
  ibtracer::MulticastOptions how;
  how.sl = options.sl.value_or(ib::Sl{0});
  how.from = options.from;
  how.sm_key = sm_key;
  how.m_key = options.m_key;
  how.names = &names;
  const auto report = ibtracer::trace_multicast(session, *options.multicast, how);
  if (!report) return refusal(options)(report.error());
  const std::string text = options.common.json
                               ? ibtracer::json_report(*report)
                               : ibtracer::text_report(*report, options.common.verbose > 0);
  std::fwrite(text.data(), 1, text.size(), stdout);
  for (const std::string& error : report->errors)
    std::fprintf(stderr, "ibtracer: %s\n", error.c_str());
  return ibtracer::exit_status(report->verdict());
}

ib::Result<ibtracer::TraceReport> trace_from(ib::mad::Session& session,
                                             const ib::tools::Target& from,
                                             const ib::fabric::NodeNames& names, ib::Lid dlid,
                                             const ibtracer::TraceOptions& how) {
  const auto sender = ibtracer::resolve(session, from, names, how.m_key);
  if (!sender) return tl::unexpected(sender.error());
  if (sender->lid == dlid)
    return ib::fail(
        ib::ErrorKind::Usage,
        "sender and target are one port, lid " + std::to_string(dlid.value) +
            ": what a port sends to itself does not leave its HCA, so there is no path");
  return ibtracer::trace_between(session, {sender->lid, sender->wanted}, dlid, how);
}

int run(const ibtracer::Options& options) {
  const ib::tools::Refusal refuse = refusal(options);
  const auto sm_key = ib::tools::sm_key(options.sm_key, options.sm_key_file);
  if (!sm_key) return refuse(sm_key.error());
  const auto names = ib::fabric::NodeNames::read_file_or_default(options.node_name_map);
  if (!names) return refuse(names.error());
  auto connection =
      ib::tools::Connection::open(options.common, ibtracer::transactor_options(options));
  if (!connection) return refuse(connection.error());
  ib::mad::Session& session = (*connection)->session();

  if (options.multicast) return run_multicast(options, session, *sm_key, *names);

  ibtracer::TraceOptions how;
  how.m_key = options.m_key;
  how.names = &*names;
  const auto target = ibtracer::resolve(session, options.target, *names, options.m_key);
  if (!target) {
    // A directed route that nobody answers at the end of is a broken path like any other; the
    // kernel itself refuses one that leaves by another port than ours.
    const auto* route = std::get_if<ib::mad::DirectedRoute>(&options.target);
    const ib::ErrorKind why = target.error().kind;
    if (route == nullptr || (why != ib::ErrorKind::TimedOut && why != ib::ErrorKind::Io))
      return refuse(target.error());
    const auto broken = ibtracer::trace_route(session, *route, how);
    if (!broken || broken->verdict() != ibtracer::Verdict::Broken) return refuse(target.error());
    return print(options, *broken, ib::Lid{});
  }
  how.sl = options.sl.value_or(target->sl);
  how.both = options.both;
  how.lmc_all = options.lmc_all;
  how.counters = options.counters;
  how.prove = options.prove;
  how.by_sa = options.by_sa;
  how.wanted = target->wanted;
  how.grh = target->grh;
  const auto report = options.from ? trace_from(session, *options.from, *names, target->lid, how)
                                   : ibtracer::trace(session, target->lid, how);
  if (!report) return refuse(report.error());

  return print(options, *report, target->lid);
}

}  // namespace

int main(int argc, char** argv) {
  return ib::cli::run_main("ibtracer", [&] {
    const auto parsed = ibtracer::parse_options(argc, argv);
    if (const int* status = std::get_if<int>(&parsed)) return *status;
    return run(std::get<ibtracer::Options>(parsed));
  });
}
