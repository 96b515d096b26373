// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The path that subnet administration expects packets to take, by its TraceRecords, or where it has
// none by its LinkRecords and forwarding-table records: no switch is asked for its tables, so
// every client of the SA may trace.
#pragma once

#include <map>

#include "libdiag/query/path_walk.h"
#include "libdiag/query/sa_client.h"
#include "libdiag/query/sa_path_walk.h"

namespace ibtracer {

class SaRoutes {
 public:
  SaRoutes(ib::mad::Session& session, const ib::query::SaAddress& sa, const ib::mad::PortFacts& own,
           const ib::fabric::NodeNames* names)
      : sa_(session, sa),
        by_records_(sa_, own, names),
        names_(names),
        own_lid_(own.lid),
        own_node_(own.node_guid) {}
  SaRoutes(const SaRoutes&) = delete;  // by_records_ refers to sa_
  SaRoutes& operator=(const SaRoutes&) = delete;

  /// From our own port to `dlid`, with what NodeRecords say of each node. A path that the SA does
  /// not have is a walk that ends at its source, or with other records where they say so. Error:
  /// the SA does not answer.
  ib::Result<ib::query::Walk> walk(ib::Lid dlid);

  /// False once the SA has turned out to have none.
  bool has_trace_records() const { return has_trace_records_; }

  /// The next walk asks everything again.
  void forget() { by_records_.forget(); }

  /// The LMC of the port that has `lid`. Error: the SA does not answer, or knows no such port.
  ib::Result<std::uint8_t> lmc_of(ib::Lid lid);

 private:
  ib::Result<ib::query::Walk> walk_of(const std::vector<ib::wire::TraceRecord>& records,
                                      ib::Lid dlid);
  ib::Result<ib::query::Hop> hop_of(const ib::wire::TraceRecord& record);
  ib::Result<std::vector<ib::wire::NodeRecord>> node(ib::Guid guid);

  ib::query::SaClient sa_;
  ib::query::SaPathWalk by_records_;
  const ib::fabric::NodeNames* names_;  // in place of NodeDescriptions
  bool has_trace_records_{true};
  ib::Lid own_lid_;
  ib::Guid own_node_;
  std::map<ib::Guid, std::vector<ib::wire::NodeRecord>> nodes_;  // asked for already
};

}  // namespace ibtracer
