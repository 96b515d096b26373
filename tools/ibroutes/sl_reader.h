// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Asks subnet administration by which SL hosts reach each other: one path record for each ordered
// pair of switches with hosts, since hosts of one switch share their SLs.
#pragma once

#include <string>
#include <vector>

#include "libdiag/fabric/graph.h"
#include "libdiag/query/sa_client.h"
#include "libdiag/tables/virtual_lanes.h"

namespace ib::tools {

class SlReader final : public mad::Exchange {
 public:
  SlReader(const fabric::CompactGraph& graph, const query::SaAddress& sa);

  /// How many are to be asked for.
  std::size_t pairs() const { return hosts_.empty() ? 0 : hosts_.size() * (hosts_.size() - 1); }

  std::vector<mad::Request> take_requests() override;
  void on_completion(Instant now, const mad::Completion& completion) override;
  bool done() const override { return (next_ == pairs() || silent_) && under_way_ == 0; }

  /// SL 0 where no record was got; one for all where they are the same.
  tables::PathSls sls() const;
  std::size_t without_record() const { return without_record_; }
  /// The SA has stopped to answer: what is not asked is not known.
  bool silent() const { return silent_; }

 private:
  struct Host {
    fabric::SwitchIndex leaf{};
    Lid lid{};
  };
  std::pair<const Host&, const Host&> pair(std::size_t i) const;

  query::SaAddress sa_;
  std::vector<Host> hosts_;  // one a switch
  tables::PathSls sls_;
  std::size_t next_{0}, under_way_{0}, without_record_{0};
  bool silent_{false};
};

/// What is known of SLs of paths.
struct PathSlsRead {
  tables::PathSls sls;  // SL 0 for all where nothing is
  bool assumed{true};   // nothing is: the SA did not answer, or is not asked so much
  std::string note;     // where they are from, or why they are assumed
};
PathSlsRead read_path_sls(mad::Session& session, const mad::PortFacts& facts,
                          const fabric::CompactGraph& graph);

}  // namespace ib::tools
