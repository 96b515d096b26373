// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/dry_run.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <ostream>
#include <set>
#include <tuple>

#include "libdiag/base/invariant.h"
#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "libdiag/report/json.h"
#include "libdiag/wire/words.h"
#include "sm/daemon/channel.h"
#include "sm/daemon/failure_documents.h"
#include "sm/daemon/partition_verbs.h"
#include "sm/daemon/sa_thread.h"
#include "sm/sa/registry/partitions.h"
#include "sm/sa/server.h"

namespace sm::daemon {
namespace {

using ib::Instant;
using ib::mad::UmadPort;
using ib::wire::Method;
using ib::wire::MgmtClass;

/// What differs of one table.
struct TableSum {
  std::size_t slots{0};
  std::set<ib::Guid> nodes;
};
std::map<std::string, TableSum> sums_of(const DryRunReport& report) {
  std::map<std::string, TableSum> sums;
  for (const NamedDifference& d : report.differences) {
    TableSum& sum = sums[d.table];
    ++sum.slots;
    sum.nodes.insert(d.guid);
  }
  return sums;
}
std::size_t nodes_of(const DryRunReport& report) {
  std::set<ib::Guid> nodes;
  for (const NamedDifference& d : report.differences) nodes.insert(d.guid);
  return nodes.size();
}

class DryRun : private core::Carrier {
 public:
  DryRun(const DaemonOptions& options, std::ostream& complaints)
      : options_(options), complaints_(complaints) {}

  ib::Result<DryRunReport> run() {
    if (auto opened = open(); !opened) return tl::unexpected<ib::Error>(std::move(opened.error()));
    manager_->start(ib::monotonic_now());
    while (true) {
      const Instant now = ib::monotonic_now();
      if (auto got = smi_.receive(); !got) return tl::unexpected<ib::Error>(std::move(got.error()));
      for (const auto& r : smi_.arrived)
        if (!r.timed_out) manager_->on_packet(now, r.packet);
      if (manager_->next_deadline() <= now) manager_->on_time(now);
      carry_out(*manager_, now, *this);
      if (broken_) return tl::unexpected<ib::Error>(*std::move(broken_));
      if (report_) return dry_run_report(*report_, manager_->observed().fabric);
      if (auto waited = wait(); !waited)
        return tl::unexpected<ib::Error>(std::move(waited.error()));
    }
  }

 private:
  ib::Result<void> open() {
    ib::mad::PortChoice choice;
    choice.port_guid = options_.port_guid;
    choice.receive_threshold = options_.rx_threshold;
    auto port = UmadPort::open(choice, UmadPort::Receiving::EventLoop);
    if (!port) return tl::unexpected<ib::Error>(std::move(port.error()));
    smi_.port = *std::move(port);
    // Agents that only ask: who manages the subnet from this port goes on.
    for (const MgmtClass smp : {MgmtClass::SubnLid, MgmtClass::SubnDirected}) {
      ib::mad::AgentSpec asks;
      asks.mgmt_class = smp;
      if (auto ok = smi_.serve(asks); !ok) return ok;
    }
    core::Options core = options_.core;
    core.rehearse = true;
    core.rounds = 1;
    core.read_tables_after.reset();
    if (const std::uint32_t most = smi_.port->window_max(); most != 0)
      core.transactor.window = std::min(core.transactor.window, most);
    auto contents = kept();
    if (!contents) {
      warn(contents.error().message +
           ": LIDs count as ports hold them, and multicast tables are not compared");
      core.plan.multicast = false;
      contents = store::Contents{};
    }
    core.plan.partitions = policy::with_members(options_.partitions.policy,
                                                added_members(contents->partition_members));
    manager_ = std::make_unique<core::SubnetManager>(core, *contents);
    sa::Options sa = options_.sa.server;
    sa.multicast.configured = sa::groups_of(*core.plan.partitions, sa.qos.get());
    const sa::Server server(sa, *contents);
    manager_->set_groups(ib::monotonic_now(), SaThread::groups_of(server));
    manager_->set_aliases(ib::monotonic_now(), SaThread::aliases_of(server));
    return {};
  }

  /// What an ibsm left in the state directory; nothing where there was none.
  ib::Result<store::Contents> kept() {
    const auto& [etcd, sync, dump, dump_every] = options_.registry;
    std::error_code error;
    if (!etcd && !std::filesystem::exists(options_.state_dir + "/ibsm.db", error))
      return store::Contents{};
    auto opened = etcd ? store::open_etcd(*etcd) : store::open_directory(options_.state_dir, sync);
    if (!opened) return tl::unexpected<ib::Error>(std::move(opened.error()));
    for (const ib::LogEvent& line : opened->lines) log(line);
    return std::move(opened->contents);
  }

  ib::Result<void> wait() {
    const Instant deadline = manager_->next_deadline();
    int ms = -1;
    if (deadline != ib::kNever)
      ms = static_cast<int>(std::clamp<std::int64_t>(
          ((deadline - ib::monotonic_now()).count() + 999'999) / 1'000'000, 0, 60'000));
    pollfd fd{smi_.port->readable_fd(), POLLIN, 0};
    if (poll(&fd, 1, ms) < 0 && errno != EINTR)
      return ib::fail(ib::ErrorKind::Io, "poll failed while the fabric was swept");
    return {};
  }

  void warn(const std::string& message) {
    complaints_ << "ibsm: warning: " << ib::printable(message) << '\n';
  }

  void commit(store::Batch) override {}  // LIDs that nobody gets
  void log(const ib::LogEvent& event) override {
    if (event.level == ib::LogLevel::Warning || event.level == ib::LogLevel::Error)
      warn(event.message);
  }
  ib::Result<void> send(const core::Outgoing& out) override {
    ib::invariant(out.packet.mad.method() != Method::Set, "a dry run was to send a Set");
    auto sent = smi_.send(out.packet, out.reply_within);
    if (!sent && sent.error().kind == ib::ErrorKind::Unavailable) broken_ = sent.error();
    return sent;
  }
  void report(core::Report report) override { report_ = std::move(report); }

  const DaemonOptions& options_;
  std::ostream& complaints_;
  Channel smi_;
  std::unique_ptr<core::SubnetManager> manager_;
  std::optional<core::Report> report_;
  std::optional<ib::Error> broken_;
};

}  // namespace

int DryRunReport::exit_status() const {
  if (!complete) return ib::cli::kExitIncomplete;
  return differences.empty() ? ib::cli::kExitGood : ib::cli::kExitFound;
}

DryRunReport dry_run_report(const core::Report& report, const ib::fabric::Fabric& fabric) {
  DryRunReport out;
  for (const apply::Difference& d : report.differences) {
    const auto& node = fabric.node(d.node);
    out.differences.push_back(
        {node.type, node.guid, ib::printable(node.name()), std::string(d.table), d.slot});
  }
  std::ranges::stable_sort(out.differences, [](const auto& a, const auto& b) {
    return std::tie(a.table, a.guid) < std::tie(b.table, b.guid);
  });
  out.lines = report.lines;
  out.complete = report.missing == 0 && report.unmanaged == 0;
  return out;
}

std::string dry_run_text(const DryRunReport& report) {
  std::string out =
      fmt::format("DRY RUN slots={} nodes={}\n", report.differences.size(), nodes_of(report));
  for (const auto& [table, sum] : sums_of(report))
    out += fmt::format("table: {} slots={} nodes={}\n", table, sum.slots, sum.nodes.size());
  for (const NamedDifference& d : report.differences)
    out += fmt::format("differs: {} \"{}\" {}{}{}\n", to_string(d.guid), d.node, d.table,
                       d.slot.empty() ? "" : " ", d.slot);
  for (const std::string& line : report.lines) out += line + '\n';
  return out;
}

std::string dry_run_json(const DryRunReport& report, const std::string& version) {
  ib::report::JsonWriter json;
  begin_document(json, {kDryRunSchema, "ibsm", version, report.complete, report.lines});
  json.field("slots", report.differences.size()).field("nodes", nodes_of(report));
  json.key("tables").begin_array();
  for (const auto& [table, sum] : sums_of(report))
    json.begin_object()
        .field("table", table)
        .field("slots", sum.slots)
        .field("nodes", sum.nodes.size())
        .end_object();
  json.end_array().key("differences").begin_array();
  for (const NamedDifference& d : report.differences) {
    json.begin_object().key("node").begin_object();
    json.field("type", ib::wire::type_word(d.type));
    json.field("node_guid", d.guid).field("name", d.node).end_object();
    json.field("table", d.table).field("slot", d.slot).end_object();
  }
  json.end_array().end_object();
  return json.take();
}

int run_dry(const DaemonOptions& options, const std::string& version, std::ostream& out,
            std::ostream& complaints) {
  for (const std::string& line : options.warnings)
    complaints << "ibsm: warning: " << ib::printable(line) << '\n';
  const auto report = DryRun(options, complaints).run();
  if (!report) {
    complaints << "ibsm: " << ib::printable(report.error().message) << '\n';
    if (options.json) out << dry_run_failure(version, report.error());
    return ib::cli::status_of(report.error());
  }
  out << (options.json ? dry_run_json(*report, version) : dry_run_text(*report));
  return report->exit_status();
}

}  // namespace sm::daemon
