// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibroutes/sl2vl_reader.h"

#include <fmt/format.h>

#include <optional>

#include "libdiag/tables/names.h"

namespace ib::tools {
namespace {

/// Requests handed to the Transactor at a time: it keeps its own, smaller window.
constexpr std::size_t kRowsUnderWayMax = 4096;
constexpr std::uint8_t kOneVl = 1;  // VLCap's code

}  // namespace

Sl2VlReader::Sl2VlReader(const discover::Observed& observed, std::uint64_t m_key)
    : observed_(observed), m_key_(m_key) {
  const auto& fabric = observed.fabric;
  for (fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const auto ports = fabric.ports(n);
    if (!fabric.node(n).is_switch()) {
      // The table of the port that the request comes in by (IBA 14.2.5.8).
      for (unsigned p = 1; p < ports.size(); ++p)
        if (ports[p].peer && ports[p].vl_cap != kOneVl) {
          jobs_.push_back({n, 0, 0, {}, false});
          break;
        }
      continue;
    }
    for (unsigned out = 1; out < ports.size(); ++out) {
      if (!ports[out].peer || ports[out].vl_cap == kOneVl) continue;
      for (unsigned in = 0; in < ports.size(); ++in)
        if (in == 0 || (in != out && ports[in].peer))
          jobs_.push_back(
              {n, static_cast<std::uint8_t>(in), static_cast<std::uint8_t>(out), {}, false});
    }
  }
}

std::vector<mad::Request> Sl2VlReader::take_requests() {
  std::vector<mad::Request> requests;
  if (under_way_ > kRowsUnderWayMax / 2) return requests;
  for (; next_ < jobs_.size() && under_way_ < kRowsUnderWayMax; ++next_, ++under_way_) {
    const Job& job = jobs_[next_];
    requests.push_back(mad::smp_request(next_, observed_.fabric.node(job.node).guid.value,
                                        observed_.nodes[job.node].route, wire::Method::Get,
                                        wire::attr::kSlToVl,
                                        static_cast<std::uint32_t>(job.in << 8 | job.out), m_key_));
  }
  return requests;
}

void Sl2VlReader::on_completion(Instant, const mad::Completion& completion) {
  --under_way_;
  Job& job = jobs_[completion.cookie];
  std::string why;
  if (!completion.reply)
    why = completion.reply.error().message;
  else if (const auto status = completion.reply->mad.status(); status != 0)
    why = fmt::format("status 0x{:04x}", status);
  if (why.empty()) {
    job.row.vl = wire::body<wire::SlToVlTable>(completion.reply->mad).vl;
    job.known = true;
    return;
  }
  errors_.push_back(fmt::format("SL2VL table of {}, from port {} to port {}, is not read: {}",
                                tables::node_name(observed_.fabric, job.node), job.in, job.out,
                                why));
}

tables::SlToVl Sl2VlReader::tables(const fabric::CompactGraph& graph) {
  std::optional<tables::SlToVlRow> injection;
  for (const Job& job : jobs_) {
    if (!job.known || observed_.fabric.node(job.node).is_switch()) continue;
    if (!injection) injection = job.row;
    if (*injection != job.row)
      errors_.push_back(fmt::format("{} maps SLs to VLs otherwise than the CAs before it",
                                    tables::node_name(observed_.fabric, job.node)));
  }
  tables::SlToVl result(graph, injection.value_or(tables::SlToVlRow{}));
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (unsigned out = 1; out <= graph.num_ports(s); ++out)
      if (observed_.fabric.port(graph.node_of(s), out).vl_cap == kOneVl)
        for (unsigned in = 0; in <= graph.num_ports(s); ++in)
          result.set(s, static_cast<std::uint8_t>(in), static_cast<std::uint8_t>(out), {});
  for (const Job& job : jobs_)
    if (job.known && observed_.fabric.node(job.node).is_switch())
      result.set(graph.switch_of(job.node), job.in, job.out, job.row);
  return result;
}

}  // namespace ib::tools
