// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Tables of single switches as they were read, and the text formats the field keeps them in:
// dump_fts (LFT and MFT) and OpenSM's opensm-lfts.dump, opensm.fdbs, opensm.mcfdbs.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/result.h"
#include "libdiag/tables/tables.h"

namespace ib::tables {

/// What one switch holds.
struct SwitchTables {
  Guid guid{};
  std::string address;  // as dump_fts words it: "DR path slid 0; dlid 0; 0,1" or "Lid 5"
  std::string name;     // raw
  std::uint8_t num_ports{};
  std::vector<std::uint8_t> lft;  // by LID, 0..LinearFDBTop; kNoPort: no entry
  std::uint16_t multicast_cap{};  // MLIDs it has room for
  std::uint16_t multicast_top{};  // MulticastFDBTop, 0 when the switch has none
  std::map<Lid, PortMask> mft;    // masks that are not empty

  Lid top() const { return Lid{static_cast<std::uint16_t>(lft.empty() ? 0 : lft.size() - 1)}; }
  friend bool operator==(const SwitchTables&, const SwitchTables&) = default;
};

/// Rows of `graph` from what switches hold, by GUID. Switches that `tables` does not name have no
/// entries; GUIDs that the graph does not know go to `strangers`.
LinearTables linear_tables(const fabric::CompactGraph& graph, std::span<const SwitchTables> tables,
                           std::vector<Guid>* strangers = nullptr);
/// Their multicast masks likewise.
MulticastTables multicast_tables(const fabric::CompactGraph& graph,
                                 std::span<const SwitchTables> tables);
/// The other way round: every switch of the graph, addressed by its LID.
std::vector<SwitchTables> switch_tables(const fabric::Fabric& fabric,
                                        const fabric::CompactGraph& graph,
                                        const LinearTables& tables,
                                        const MulticastTables& multicast = {});

/// "Channel Adapter portguid 0x...: 'name'" of every LID, made once for all switches.
class DestinationNames {
 public:
  explicit DestinationNames(const fabric::Fabric& fabric);
  struct Entry {
    std::string text;  // empty: nobody has this LID
    Lid base{};
    std::uint8_t lmc{};
    Guid port_guid{};
  };
  const Entry& at(std::size_t lid) const { return lid < entries_.size() ? entries_[lid] : none_; }

 private:
  std::vector<Entry> entries_;
  Entry none_;
};

struct DumpOptions {
  bool all{false};       // entries without a legal port too
  bool no_names{false};  // do not name destinations
  Lid first{}, last{};   // 0: from the beginning, to the top, inclusive
  bool verbose{false};   // MFT: capability and top
};

// One switch appended to `out`, as dump_fts prints it (trailing blanks included).
void append_dump_fts_lft(std::string& out, const SwitchTables& tables,
                         const DestinationNames& names, const DumpOptions& options = {});
void append_dump_fts_mft(std::string& out, const SwitchTables& tables,
                         const DumpOptions& options = {});

// One switch appended to `out`, as OpenSM writes its dump files.
void append_opensm_lfts(std::string& out, const SwitchTables& tables,
                        const DestinationNames& names);
void append_opensm_mcfdbs(std::string& out, const SwitchTables& tables);

/// Takes the next piece of a file that is too large to be one string.
using TextSink = std::function<void(std::string_view)>;

/// opensm.fdbs of all switches, one after the other. Hops are counted along the tables; "yes" is
/// for a shortest path.
void write_opensm_fdbs(const TextSink& write, const fabric::CompactGraph& graph,
                       const LinearTables& tables);

/// Reads any of these formats, one or several after the other in one text. An error is
/// `FILE:LINE:COL: expected X, got Y`.
/// `owners`, if given, gets the port GUID that rows name for each LID, by LID (zero: none did).
/// `mistakes`, if given, gets all that is wrong with rows up to the first other line that is wrong.
Result<std::vector<SwitchTables>> read_tables(std::string_view text, std::string_view file_name,
                                              std::vector<Guid>* owners = nullptr,
                                              std::vector<Diagnostic>* mistakes = nullptr);
Result<std::vector<SwitchTables>> read_tables_file(const std::string& path);

}  // namespace ib::tables
