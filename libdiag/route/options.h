// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What an operator may tell the routing engines, as values. Files become these values in files.h;
// names and meanings are those of opensm 3.3.23 (its option letters in parentheses).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libdiag/base/ids.h"
#include "libdiag/tables/dump.h"
#include "libdiag/tables/lid_matrix.h"

namespace ib::route {

/// GUIDs an operator listed, each with the line it stands in, so that a complaint can name it.
struct GuidList {
  struct Entry {
    Guid guid{};
    std::uint32_t line{};
    std::optional<std::uint8_t> rank;     // root files: 0 is the top
    std::optional<std::uint64_t> number;  // id files: stands for the GUID in comparisons
  };
  std::string file;
  std::vector<Entry> entries;
  bool empty() const { return entries.empty(); }
  std::vector<Guid> guids() const {
    std::vector<Guid> all;
    all.reserve(entries.size());
    for (const Entry& entry : entries) all.push_back(entry.guid);
    return all;
  }
};

/// One port of a switch (or CA) by the GUID of its node.
using PortName = std::pair<Guid, std::uint8_t>;

/// torus-2QoS.conf as it was read (torus-2QoS.conf(5)).
struct TorusConfig {
  struct Link {
    Guid from{}, to{};
    std::uint32_t line{};
  };
  /// A corner of the torus: one link from the origin switch in each direction given.
  struct Seed {
    std::array<std::optional<Link>, 3> plus;   // xp_link, yp_link, zp_link
    std::array<std::optional<Link>, 3> minus;  // xm_link, ym_link, zm_link
    std::array<int, 3> dateline{};  // x_dateline, ...: moves the origin from the dateline
  };
  std::string file;
  std::array<unsigned, 3> radix{};  // 1: a flat dimension
  std::array<bool, 3> mesh{};       // true: no wrap-around in that dimension
  std::vector<Seed> seeds;  // a later one is used where switches of earlier ones are missing
  unsigned portgroup_max_ports{16};      // parallel links between two switches, at most
  std::vector<std::uint8_t> port_order;  // in which order ports of a switch are visited
};

/// Tables that engine `file` takes over (-U, -M), by GUID; texts are read in files.h.
struct TableFiles {
  std::string lfts_file, lid_matrix_file;
  std::vector<tables::SwitchTables> lfts;
  std::vector<Guid> owners;  // of `lfts`: the port GUID of each LID, where the file says it
  std::vector<tables::LidMatrix> matrix;
};

struct Chain;  // chain/chain.h

struct Options {
  /// Where the graph is made: behind these nodes (or ports) is no host, so they count in no
  /// rank, place or load.
  GuidList no_hosts;

  // Every engine that spreads LIDs over candidates.
  bool honour_previous{false};                   // keep entries of Request::previous that still fit
  std::uint32_t scatter_seed{0};                 // --scatter-ports: 0 is off
  GuidList guid_routing_order;                   // (-X) these end ports are routed first
  std::map<PortName, bool> ignored;              // (-i) load not counted; 0: of an end port
  std::map<PortName, std::uint8_t> hop_weights;  // --hop_weights_file
  /// (-O) By switch: these ports first, the others behind them in the order of their numbers.
  std::map<Guid, std::vector<std::uint8_t>> port_search_order;
  bool link_capacity{true};  // wide and fast links get a larger share

  // updn, dnup, ftree.
  GuidList roots;                // (-a) switch or CA GUIDs
  GuidList ids;                  // (-m) GUID and the number that replaces it in comparisons
  bool connect_roots{false};     // (-z)
  GuidList compute_nodes;        // (-u)
  GuidList io_nodes;             // (-G)
  unsigned max_reverse_hops{0};  // (-H)

  // Engines with several VLs.
  unsigned lash_start_vl{0};
  bool do_mesh_analysis{false};
  unsigned nue_max_num_vls{0};  // 0: all there are
  bool nue_include_switches{false};
  std::optional<TorusConfig> torus;  // --torus_config

  std::shared_ptr<const TableFiles> tables;  // engine `file`; null: none given
  std::shared_ptr<const Chain> chain;        // engine `chain`; null: none given
};

}  // namespace ib::route
