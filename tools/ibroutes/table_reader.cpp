// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibroutes/table_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/tables/names.h"

namespace ib::tools {
namespace {

constexpr unsigned kLidsPerBlock = 64;
constexpr unsigned kMlidsPerBlock = 32;
constexpr unsigned kPortsPerPosition = 16;
/// Requests handed to the Transactor at a time: it keeps its own, smaller window.
constexpr std::size_t kUnderWayMax = 4096;

}  // namespace

TableReader::TableReader(const discover::Observed& observed, const TableReaderOptions& options)
    : observed_(observed), options_(options) {
  for (fabric::NodeIndex n = 0; n < observed.nodes.size(); ++n) {
    const auto& node = observed.fabric.node(n);
    if (!node.is_switch() || (options.only != fabric::kNoNode && options.only != n)) continue;
    const auto& seen = observed.nodes[n];
    if (!seen.switch_info) {
      errors_.push_back(tables::node_name(observed.fabric, n) +
                        ": SwitchInfo is not known, tables are not read");
      continue;
    }
    const auto index = static_cast<std::uint32_t>(tables_.size());
    auto& table = tables_.emplace_back();
    nodes_.push_back(n);
    table.guid = node.guid;
    table.address = "DR path slid 0; dlid 0; " + mad::to_string(seen.route);
    table.name = node.description;
    table.num_ports = node.num_ports;
    table.multicast_cap = seen.switch_info->multicast_fdb_cap;
    table.multicast_top = seen.switch_info->multicast_fdb_top;
    if (options.unicast) plan_unicast(index, *seen.switch_info);
    if (options.multicast) plan_multicast(index, *seen.switch_info);
  }
  // Block by block over all switches rather than switch by switch: every SMA has something to do.
  std::stable_sort(jobs_.begin(), jobs_.end(),
                   [](const Job& a, const Job& b) { return a.modifier < b.modifier; });
}

void TableReader::plan_unicast(std::uint32_t table, const wire::SwitchInfo& info) {
  const unsigned top = std::min(info.linear_fdb_top, kLidUnicastMax.value);
  tables_[table].lft.assign(std::size_t{top} + 1, tables::kNoPort);
  const unsigned last =
      options_.last.value == 0 ? top : std::min<unsigned>(top, options_.last.value);
  for (unsigned block = options_.first.value / kLidsPerBlock; block <= last / kLidsPerBlock;
       ++block)
    jobs_.push_back({table, false, block});
}

void TableReader::plan_multicast(std::uint32_t table, const wire::SwitchInfo& info) {
  constexpr unsigned kMin = kLidMulticastMin.value;
  // The top counts where the switch knows it (IBA 14.2.5.4); below the range it means "none".
  unsigned end = std::min<unsigned>(kMin + info.multicast_fdb_cap, 0xFFFF);
  if (info.multicast_fdb_top >= kMin - 1)
    end = std::min<unsigned>(end, info.multicast_fdb_top + 1U);
  if (options_.last.value != 0) end = std::min<unsigned>(end, options_.last.value + 1U);
  const unsigned first = std::max<unsigned>(options_.first.value, kMin);
  if (first >= end) return;
  const unsigned positions = tables_[table].num_ports / kPortsPerPosition + 1;
  for (unsigned block = (first - kMin) / kMlidsPerBlock; block <= (end - 1 - kMin) / kMlidsPerBlock;
       ++block)
    for (unsigned position = 0; position < positions; ++position)
      jobs_.push_back({table, true, position << 28 | block});
}

std::vector<mad::Request> TableReader::take_requests() {
  std::vector<mad::Request> requests;
  // Refilled in portions, so that each completion does not bring a vector of one.
  if (under_way_ > kUnderWayMax / 2) return requests;
  for (; next_ < jobs_.size() && under_way_ < kUnderWayMax; ++next_, ++under_way_) {
    const Job& job = jobs_[next_];
    const auto node = nodes_[job.table];
    requests.push_back(mad::smp_request(
        next_, observed_.fabric.node(node).guid.value, observed_.nodes[node].route,
        wire::Method::Get,
        job.multicast ? wire::attr::kMulticastForwarding : wire::attr::kLinearForwarding,
        job.modifier, options_.m_key));
  }
  return requests;
}

void TableReader::on_completion(Instant, const mad::Completion& completion) {
  --under_way_;
  const Job& job = jobs_[completion.cookie];
  std::string why;
  if (!completion.reply)
    why = completion.reply.error().message;
  else if (const auto status = completion.reply->mad.status(); status != 0)
    why = fmt::format("status 0x{:04x}", status);
  if (why.empty()) return store(job, completion.reply->mad);
  const std::string what = job.multicast ? fmt::format("MFT block {} position {}",
                                                       job.modifier & 0x1FF, job.modifier >> 28)
                                         : fmt::format("LFT block {}", job.modifier);
  errors_.push_back(fmt::format("{} of {} is not read: {}", what,
                                tables::node_name(observed_.fabric, nodes_[job.table]), why));
}

void TableReader::store(const Job& job, const wire::Mad& mad) {
  auto& table = tables_[job.table];
  if (!job.multicast) {
    const auto block = wire::body<wire::LinearForwardingTable>(mad);
    const std::size_t first = std::size_t{job.modifier} * kLidsPerBlock;
    const std::size_t count = std::min<std::size_t>(kLidsPerBlock, table.lft.size() - first);
    std::copy_n(block.port.begin(), count, table.lft.begin() + static_cast<std::ptrdiff_t>(first));
    return;
  }
  const auto block = wire::body<wire::MulticastForwardingTable>(mad);
  const unsigned position = job.modifier >> 28;
  for (unsigned i = 0; i < kMlidsPerBlock; ++i) {
    if (block.port_mask[i] == 0) continue;
    const Lid mlid{static_cast<std::uint16_t>(kLidMulticastMin.value +
                                              (job.modifier & 0x1FF) * kMlidsPerBlock + i)};
    table.mft[mlid].bits[position / 4] |= std::uint64_t{block.port_mask[i]} << (position % 4 * 16);
  }
}

}  // namespace ib::tools
