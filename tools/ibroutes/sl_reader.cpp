// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibroutes/sl_reader.h"

#include <fmt/format.h>

namespace ib::tools {
namespace {

/// Requests handed to the Transactor at a time: it keeps its own, smaller window.
constexpr std::size_t kQueriesMax = 1024;
/// Pairs that are asked for: some seconds of the SA's time, and 362 switches with hosts.
constexpr std::size_t kPairsMax = 131072;

}  // namespace

SlReader::SlReader(const fabric::CompactGraph& graph, const query::SaAddress& sa)
    : sa_(sa), sls_(graph.switch_count(), Sl{}) {
  std::vector<bool> has(graph.switch_count(), false);
  for (const auto& d : graph.destinations()) {
    if (d.is_switch() || d.leaf == fabric::kNoSwitch || has[d.leaf]) continue;
    has[d.leaf] = true;
    hosts_.push_back({d.leaf, d.lid});
  }
}

std::pair<const SlReader::Host&, const SlReader::Host&> SlReader::pair(std::size_t i) const {
  const std::size_t from = i / (hosts_.size() - 1), other = i % (hosts_.size() - 1);
  return {hosts_[from], hosts_[other < from ? other : other + 1]};
}

std::vector<mad::Request> SlReader::take_requests() {
  std::vector<mad::Request> requests;
  if (under_way_ > kQueriesMax / 2) return requests;
  for (; !silent_ && next_ < pairs() && under_way_ < kQueriesMax; ++next_, ++under_way_) {
    const auto [from, to] = pair(next_);
    wire::PathRecord wanted;
    wanted.slid = from.lid;
    wanted.dlid = to.lid;
    requests.push_back(
        query::sa_request(next_, sa_, wire::Method::Get, wanted,
                          query::component::kPathSlid | query::component::kPathDlid));
  }
  return requests;
}

tables::PathSls SlReader::sls() const {
  if (pairs() == 0) return {};
  const auto sl = [&](std::size_t i) { return sls_.at(pair(i).first.leaf, pair(i).second.leaf); };
  for (std::size_t i = 1; i < pairs(); ++i)
    if (sl(i) != sl(0)) return sls_;
  return tables::PathSls(sl(0));
}

void SlReader::on_completion(Instant, const mad::Completion& completion) {
  --under_way_;
  if (!completion.reply) {
    silent_ = true;
    return;
  }
  if (!query::check_sa_answer(*completion.reply)) {
    ++without_record_;
    return;
  }
  const auto [from, to] = pair(completion.cookie);
  sls_.set_one_way(from.leaf, to.leaf, wire::body<wire::PathRecord>(completion.reply->mad).sl);
}

PathSlsRead read_path_sls(mad::Session& session, const mad::PortFacts& facts,
                          const fabric::CompactGraph& graph) {
  const auto assume = [](const std::string& why) {
    return PathSlsRead{{}, true, "SL 0 is assumed for all paths: " + why};
  };
  const auto sa = query::sa_address(facts);
  if (!sa) return assume(sa.error().message);
  SlReader reader(graph, *sa);
  if (reader.pairs() > kPairsMax)
    return assume(
        fmt::format("{} pairs of switches with hosts are more than the SA is asked for "
                    "({}); --sls FILE says them",
                    reader.pairs(), kPairsMax));
  // One request alone, before a thousand wait for an SA that is not there.
  query::SaClient client(session, *sa);
  if (const auto there = client.class_port_info(); !there) return assume(there.error().message);
  if (const auto ran = session.run(reader); !ran) return assume(ran.error().message);
  if (reader.silent()) return assume("the SA stopped answering");
  PathSlsRead read{reader.sls(), false,
                   fmt::format("SLs are those of the SA's path records for {} pairs of switches "
                               "with hosts",
                               reader.pairs())};
  if (reader.without_record() != 0)
    read.note += fmt::format("; for {} it has none, and SL 0 is assumed", reader.without_record());
  return read;
}

}  // namespace ib::tools
