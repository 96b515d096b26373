// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SaPathWalk: the path that packets take as subnet administration knows it, from its NodeRecords,
// PortInfoRecords, LinkRecords and LinearForwardingTableRecords. It sends no SMP, and it needs no
// TraceRecords, which an SA need not have (IBA 15.2.5). What PathWalk finds on the devices, this
// finds in the SA, in the same words.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "libdiag/query/path_walk.h"
#include "libdiag/query/sa_client.h"

namespace ib::query {

class SaPathWalk {
 public:
  /// `own` is the local port, where every walk begins.
  SaPathWalk(SaClient& sa, const mad::PortFacts& own, const fabric::NodeNames* names = nullptr)
      : sa_(sa),
        names_(names),
        own_lid_(own.lid),
        own_port_(own.port_num),
        own_node_(own.node_guid) {}

  /// From the local port toward `dlid`. Error: the SA does not answer, or refuses.
  Result<Walk> walk(Lid dlid);

  /// What was asked so far is asked again: the SA may know better by now.
  void forget();

 private:
  template <class Record>
  Result<std::optional<Record>> first(const Record& wanted, std::uint64_t mask);
  using LidAndNumber = std::pair<Lid, std::uint16_t>;  // of a port, or of a block of a table
  template <class Record>
  using Known = std::map<LidAndNumber, std::optional<Record>>;

  Result<std::optional<wire::NodeRecord>> node(Lid lid);
  Result<std::optional<wire::PortInfoRecord>> port(Lid lid, std::uint8_t number);
  Result<std::optional<wire::LinkRecord>> link(Lid lid, std::uint8_t number);
  Result<std::optional<wire::LinearFdtRecord>> table(Lid lid, std::uint16_t block);

  Result<void> enter(Walk& walk, Lid lid, std::uint8_t ingress);
  Result<std::optional<Lid>> leave(Walk& walk, Lid dlid, std::uint8_t& ingress);
  Result<void> choose_egress(Walk& walk, Lid dlid);

  SaClient& sa_;
  const fabric::NodeNames* names_;  // in place of NodeDescriptions, where it names a node
  Lid own_lid_;
  std::uint8_t own_port_;
  Guid own_node_;
  Known<wire::NodeRecord> nodes_;
  Known<wire::PortInfoRecord> ports_;
  Known<wire::LinkRecord> links_;
  Known<wire::LinearFdtRecord> tables_;
};

}  // namespace ib::query
