// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/dump_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "libdiag/report/dump_files.h"
#include "libdiag/route/shape/ca_order.h"
#include "libdiag/route/shape/ranks.h"
#include "sm/device/tables/kinds.h"
#include "sm/plan/kept_rows.h"

namespace sm::daemon {
namespace {

namespace files = ib::report::dump_files;
using ib::tables::TextSink;

ib::route::Request request_of(const DumpOptions& options, const Snapshot& snapshot) {
  ib::route::Request request;
  request.fabric = &snapshot.fabric();
  request.graph = &snapshot.routing->graph;
  request.options = options.engine;
  return request;
}

/// One line for each place of a host, leaf by leaf.
void write_ca_order(const TextSink& write, const ib::fabric::Fabric& fabric,
                    const std::vector<std::optional<ib::Lid>>& order) {
  for (const auto& lid : order) {
    const auto port = lid ? fabric.find_lid(*lid) : std::nullopt;
    write(port ? fmt::format("0x{:04x}\t{}\n", lid->value, fabric.node(port->node).name())
               : std::string("0xFFFF\tDUMMY\n"));
  }
}

void write_roots(const TextSink& write, const ib::fabric::CompactGraph& graph,
                 const ib::route::Ranks& ranks) {
  for (const ib::fabric::SwitchIndex root : ranks.roots) write(to_string(graph.guid(root)) + '\n');
}

/// What only one engine has to tell.
ib::Result<void> write_engine_files(const DumpOptions& options, const Snapshot& snapshot) {
  const std::string& engine = snapshot.routing->engine;
  const ib::route::Request request = request_of(options, snapshot);
  if (engine == "ftree")
    if (const auto order = ib::route::ca_order(request))
      return ib::report::write_dump_file(
          options.directory + "/opensm-ftree-ca-order.dump",
          [&](const TextSink& write) { write_ca_order(write, snapshot.fabric(), *order); });
  if (engine == "updn" && options.routing)
    if (const auto ranks = ib::route::ranks_from_roots(request))
      return ib::report::write_dump_file(
          options.directory + "/opensm-updn-roots.dump",
          [&](const TextSink& write) { write_roots(write, snapshot.routing->graph, *ranks); });
  return {};
}

/// SL2VL as switches hold it; of rows that nobody read or told, as it is planned.
ib::tables::SlToVl held_rows(const Routing& routing, const device::Inventory& held) {
  std::set<ib::Guid> switches;
  for (ib::fabric::SwitchIndex s = 0; s < routing.graph.switch_count(); ++s)
    switches.insert(routing.graph.guid(s));
  return plan::with_kept_rows(routing.virtual_lanes.sl_to_vl, routing.graph, switches, held);
}
ib::tables::HostRows held_host_rows(const ib::fabric::Fabric& fabric,
                                    const device::Inventory& held) {
  ib::tables::HostRows rows;
  for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const auto& node = fabric.node(n);
    if (node.is_switch()) continue;
    for (unsigned p = 1; p <= node.num_ports; ++p) {
      const auto port = static_cast<std::uint8_t>(p);
      const device::Block* block = held.held(device::kSlToVl, node.guid, {port, 0, 0});
      if (block == nullptr) continue;
      ib::tables::SlToVlRow row;
      std::ranges::copy(ib::wire::decode<ib::wire::SlToVlTable>(block->data()).vl, row.vl.begin());
      rows.emplace(ib::fabric::PortRef{n, port}, row);
    }
  }
  return rows;
}

}  // namespace

ib::Result<void> write_dumps(const DumpOptions& options, const Snapshot& snapshot,
                             const DeviceState& device_state) {
  const Routing& routing = *snapshot.routing;
  const ib::tables::MulticastTables none;
  const bool has_trees = device_state.multicast != nullptr && device_state.graph != nullptr &&
                         device_state.graph->switch_count() == routing.graph.switch_count();
  std::vector<ib::tables::SwitchTables> switches;
  if (options.routing)
    switches = ib::tables::switch_tables(snapshot.fabric(), routing.graph, routing.lfts,
                                         has_trees ? *device_state.multicast : none);
  ib::report::DumpContent content;
  content.fabric = &snapshot.fabric();
  content.graph = &routing.graph;
  content.switches = switches;
  content.lfts = &routing.lfts;
  ib::tables::SlToVl rows;
  if (options.sl_to_vl || !routing.virtual_lanes.trivial()) {
    rows = held_rows(routing, *device_state.tables);
    content.sl_to_vl = &rows;
    content.host_rows = held_host_rows(snapshot.fabric(), *device_state.tables);
    content.path_sls = &routing.virtual_lanes.sls;
  }
  content.sm_lid = snapshot.sm_lid;
  static constexpr const ib::report::DumpFile* kAlways[] = {&files::kSubnet};
  static constexpr const ib::report::DumpFile* kRouting[] = {
      &files::kSubnet,    &files::kLfts,  &files::kFdbs,   &files::kMcFdbs,
      &files::kLidMatrix, &files::kSl2Vl, &files::kPathSls};
  const std::span<const ib::report::DumpFile* const> wanted =
      options.routing ? std::span<const ib::report::DumpFile* const>(kRouting) : kAlways;
  auto written = ib::report::write_dump_files(options.directory, wanted, content);
  if (!written) return tl::unexpected<ib::Error>(std::move(written.error()));
  return write_engine_files(options, snapshot);
}

DumpFiles::DumpFiles(DumpOptions options, ib::LogSink say)
    : options_(std::move(options)), say_(std::move(say)), thread_([this] { run(); }) {}

DumpFiles::~DumpFiles() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void DumpFiles::write(SnapshotPtr snapshot, DeviceStatePtr device_state) {
  if (snapshot == nullptr || snapshot->routing == nullptr || device_state == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    next_ = State{std::move(snapshot), std::move(device_state)};
  }
  changed_.notify_one();
}

void DumpFiles::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || next_; });
    if (!next_) return;
    const State state = *std::exchange(next_, std::nullopt);
    lock.unlock();
    tell(write_dumps(options_, *state.snapshot, *state.device_state));
    lock.lock();
  }
}

void DumpFiles::tell(const ib::Result<void>& done) {
  const std::string trouble = done ? std::string() : done.error().message;
  if (trouble == trouble_) return;
  trouble_ = trouble;
  if (done)
    say_({ib::LogLevel::Info, "dump", "dump files are written again to " + options_.directory});
  else
    say_({ib::LogLevel::Error, "dump",
          trouble + ": dump files are as they were; it is tried again after the next sweep"});
}

}  // namespace sm::daemon
