// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Dumps of big fabrics are millions of lines, so numbers are written digit by digit rather than
// through a formatting library.
#include <algorithm>

#include "libdiag/base/text.h"
#include "libdiag/tables/dump.h"
#include "libdiag/tables/least_hops.h"
#include "libdiag/wire/words.h"

namespace ib::tables {
namespace {

constexpr char kLower[] = "0123456789abcdef";
constexpr char kUpper[] = "0123456789ABCDEF";

/// `digits` hexadecimal digits.
void hex(std::string& out, std::uint64_t value, unsigned digits, const char* alphabet = kLower) {
  while (digits-- > 0) out += alphabet[(value >> (4 * digits)) & 15];
}
/// Hexadecimal without leading zeros.
void bare_hex(std::string& out, std::uint64_t value) {
  unsigned digits = 1;
  while (digits < 16 && (value >> (4 * digits)) != 0) ++digits;
  hex(out, value, digits);
}
/// At least `digits` decimal digits.
void decimal(std::string& out, std::uint64_t value, unsigned digits = 1) {
  std::string text = std::to_string(value);
  if (text.size() < digits) out.append(digits - text.size(), '0');
  out += text;
}
void port3(std::string& out, std::uint8_t port) {
  out += static_cast<char>('0' + port / 100);
  out += static_cast<char>('0' + port / 10 % 10);
  out += static_cast<char>('0' + port % 10);
}

/// Which LIDs of one range dump_fts names as further paths of the end port before them.
struct PathRange {
  std::size_t base{0}, last{0};
  Guid port_guid{};
};

void append_destination(std::string& out, std::size_t lid, bool legal,
                        const DestinationNames& names, PathRange& range) {
  if (lid <= range.last) {
    out += ": (path #";
    decimal(out, lid - range.base + (legal ? 1 : 0));
    if (!legal) {
      out += " - illegal port)";
      return;
    }
    out += " out of ";
    decimal(out, range.last - range.base + 1);
    if (range.port_guid.value != 0) {
      out += ": portguid 0x";
      hex(out, range.port_guid.value, 16);
    }
    out += ')';
    return;
  }
  if (!legal) {
    out += ": (illegal port)";
    return;
  }
  const auto& entry = names.at(lid);
  range.port_guid = entry.port_guid;
  if (entry.text.empty()) {
    out += ": (node info not available fabric scan)";
    return;
  }
  if (entry.lmc > 0) {
    range.base = entry.base.value;
    range.last = range.base + (std::size_t{1} << entry.lmc) - 1;
  }
  out += ": (";
  out += entry.text;
  out += ')';
}

void append_header(std::string& out, const char* what, std::size_t first, std::size_t last,
                   const SwitchTables& tables) {
  out += what;
  out += " [0x";
  bare_hex(out, first);
  out += "-0x";
  bare_hex(out, last);
  out += "] of switch ";
  out += tables.address;
  out += " guid 0x";
  hex(out, tables.guid.value, 16);
  out += " (";
  out += printable(tables.name);
  out += "):\n";
}

/// No way known.
constexpr std::uint16_t kFar = 0xFFFF;

}  // namespace

DestinationNames::DestinationNames(const fabric::Fabric& fabric) {
  const auto nodes = fabric.nodes();
  for (fabric::NodeIndex n = 0; n < nodes.size(); ++n) {
    const auto ports = fabric.ports(n);
    const std::size_t end = nodes[n].is_switch() ? 1 : ports.size();
    for (std::size_t p = nodes[n].is_switch() ? 0 : 1; p < end; ++p) {
      const auto& port = ports[p];
      if (!port.lid.is_unicast()) continue;
      const Guid guid = nodes[n].is_switch() && port.guid.value == 0 ? nodes[n].guid : port.guid;
      Entry entry{std::string(wire::type_title(nodes[n].type)), port.lid, port.lmc, guid};
      entry.text += " portguid 0x";
      hex(entry.text, guid.value, 16);
      entry.text += ": '";
      entry.text += printable(nodes[n].name());
      entry.text += '\'';
      const std::size_t top = port.lid.value + (std::size_t{1} << port.lmc);
      if (entries_.size() < top) entries_.resize(top);
      for (std::size_t lid = port.lid.value; lid < top; ++lid) entries_[lid] = entry;
    }
  }
}

LinearTables linear_tables(const fabric::CompactGraph& graph, std::span<const SwitchTables> tables,
                           std::vector<Guid>* strangers) {
  std::map<Guid, fabric::SwitchIndex> by_guid;
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) by_guid.emplace(graph.guid(s), s);
  LinearTables result(graph.switch_count(), graph.max_lid());
  for (const auto& table : tables) {
    const auto at = by_guid.find(table.guid);
    if (at == by_guid.end()) {
      if (strangers != nullptr) strangers->push_back(table.guid);
      continue;
    }
    auto row = result.row(at->second);
    std::copy_n(table.lft.begin(), std::min(row.size(), table.lft.size()), row.begin());
  }
  return result;
}

MulticastTables multicast_tables(const fabric::CompactGraph& graph,
                                 std::span<const SwitchTables> tables) {
  std::map<Guid, fabric::SwitchIndex> by_guid;
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) by_guid.emplace(graph.guid(s), s);
  MulticastTables result;
  for (const auto& table : tables)
    if (const auto at = by_guid.find(table.guid); at != by_guid.end())
      for (const auto& [mlid, mask] : table.mft) result[mlid][at->second] = mask;
  return result;
}

std::vector<SwitchTables> switch_tables(const fabric::Fabric& fabric,
                                        const fabric::CompactGraph& graph,
                                        const LinearTables& tables,
                                        const MulticastTables& multicast) {
  std::vector<SwitchTables> result(graph.switch_count());
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const auto& node = fabric.node(graph.node_of(s));
    auto& entry = result[s];
    entry.guid = node.guid;
    entry.address = "Lid " + to_string(fabric.port(graph.node_of(s), 0).lid);
    entry.name = node.name();
    entry.num_ports = node.num_ports;
    const auto row = tables.row(s);
    entry.lft.assign(row.begin(), row.end());
  }
  for (const auto& [mlid, masks] : multicast)
    for (const auto& [s, mask] : masks)
      if (!mask.empty()) result[s].mft.emplace(mlid, mask);
  return result;
}

void append_dump_fts_lft(std::string& out, const SwitchTables& tables,
                         const DestinationNames& names, const DumpOptions& options) {
  const std::size_t first = options.first.value;
  std::size_t last = options.last.value;
  if (last == 0 || last > tables.top().value) last = tables.top().value;
  append_header(out, "Unicast lids", first, last, tables);
  out += "  Lid  Out   Destination\n       Port     Info \n";
  PathRange range;
  std::size_t rows = 0;
  for (std::size_t lid = first; lid <= last && lid < tables.lft.size(); ++lid) {
    const std::uint8_t port = tables.lft[lid];
    const bool legal = port <= tables.num_ports;
    if (!legal && !options.all) continue;
    out += "0x";
    hex(out, lid, 4);
    out += ' ';
    port3(out, port);
    out += ' ';
    if (!options.no_names) append_destination(out, lid, legal, names, range);
    out += '\n';
    ++rows;
  }
  decimal(out, rows);
  out += options.all ? " lids dumped \n" : " valid lids dumped \n";
}

void append_dump_fts_mft(std::string& out, const SwitchTables& tables, const DumpOptions& options) {
  constexpr std::size_t kMin = kLidMulticastMin.value;
  const std::size_t first = std::max<std::size_t>(options.first.value, kMin);
  std::size_t last = options.last.value;
  const std::size_t end = kMin + tables.multicast_cap - 1;
  if (last == 0 || last > end) last = end;
  if (!options.all && tables.multicast_top >= kMin - 1 && tables.multicast_top < last)
    last = tables.multicast_top;
  last = std::min<std::size_t>(last, 0xFFFE);
  append_header(out, "Multicast mlids", first, last, tables);
  const unsigned ports = tables.num_ports;
  if (options.no_names) {
    out += " MLid       Port Mask\n";
  } else {
    if (ports > 9) {
      out += "            ";
      for (unsigned p = 0; p <= ports; ++p) {
        // dump_fts has no third digit: tens above 9 are the characters after '9'.
        out += p % 10 == 0 ? static_cast<char>('0' + p / 10) : ' ';
        out += ' ';
      }
      out += '\n';
    }
    out += "     Ports: ";
    for (unsigned p = 0; p <= ports; ++p) {
      out += static_cast<char>('0' + p % 10);
      out += ' ';
    }
    out += "\n MLid\n";
  }
  if (options.verbose) {
    out += "Switch multicast mlid capability is ";
    decimal(out, tables.multicast_cap);
    out += " top is 0x";
    bare_hex(out, tables.multicast_top);
    out += '\n';
  }
  std::size_t rows = 0;
  for (std::size_t mlid = first; mlid <= last; ++mlid) {
    const auto at = tables.mft.find(Lid{static_cast<std::uint16_t>(mlid)});
    if (at == tables.mft.end() && !options.all) continue;
    const PortMask mask = at == tables.mft.end() ? PortMask{} : at->second;
    out += "0x";
    hex(out, mlid, 4);
    out += "      ";
    if (options.no_names) {
      for (unsigned chunk = 0; chunk * 16 <= ports; ++chunk)
        hex(out, (mask.bits[chunk / 4] >> (chunk % 4 * 16)) & 0xFFFF, 4);
    } else {
      for (unsigned p = 0; p <= ports; ++p) {
        out += mask.test(p) ? 'x' : ' ';
        out += ' ';
      }
    }
    out += '\n';
    ++rows;
  }
  decimal(out, rows);
  out += options.all ? " mlids dumped \n" : " valid mlids dumped \n";
}

void append_opensm_lfts(std::string& out, const SwitchTables& tables,
                        const DestinationNames& names) {
  out += "Unicast lids [0-";
  decimal(out, tables.top().value);
  out += "] of switch ";
  out += tables.address;
  out += " guid 0x";
  hex(out, tables.guid.value, 16);
  out += " ('";
  out += printable(tables.name);
  out += "'):\n";
  for (std::size_t lid = 0; lid < tables.lft.size(); ++lid) {
    const std::uint8_t port = tables.lft[lid];
    if (port > tables.num_ports) continue;
    out += "0x";
    hex(out, lid, 4);
    out += ' ';
    port3(out, port);
    out += " # ";
    const auto& entry = names.at(lid);
    out += entry.text.empty() ? std::string_view("unknown node and type") : entry.text;
    out += '\n';
  }
  decimal(out, tables.top().value);  // OpenSM says the highest LID here, not a count
  out += " lids dumped\n";
}

void append_opensm_mcfdbs(std::string& out, const SwitchTables& tables) {
  if (tables.mft.empty()) return;
  out += "\nSwitch 0x";
  hex(out, tables.guid.value, 16);
  out += "\nLID    : Out Port(s)\n";
  for (const auto& [mlid, mask] : tables.mft) {
    out += "0x";
    hex(out, mlid.value, 4, kUpper);
    out += " :";
    for (unsigned p = 0; p < 256; ++p) {
      if (!mask.test(p)) continue;
      out += " 0x";
      hex(out, p, 3, kUpper);
      out += ' ';
    }
    out += '\n';
  }
}

namespace {

using fabric::SwitchIndex;

/// How far it is from switches to LIDs: by the tables, and at best.
class Hops {
 public:
  Hops(const fabric::CompactGraph& graph, const LinearTables& tables)
      : graph_(graph),
        tables_(tables),
        best_(graph.switch_count() * graph.switch_count(), kFar),
        next_(graph.switch_count(), std::vector<SwitchIndex>(256, fabric::kNoSwitch)) {
    const std::size_t switches = graph.switch_count();
    for (SwitchIndex first = 0; first < switches; first += kTargetsPerBatch) {
      std::vector<SwitchIndex> targets;
      for (SwitchIndex s = first; s < switches && s < first + kTargetsPerBatch; ++s)
        targets.push_back(s);
      batches_.push_back(least_hops(graph, targets));
      batches_.back().for_each([&](std::size_t b, SwitchIndex s, std::size_t distance) {
        best_[(first + b) * switches + s] = static_cast<std::uint16_t>(distance);
      });
    }
    for (SwitchIndex s = 0; s < switches; ++s)
      for (const auto& arc : graph.arcs(s)) next_[s][arc.out_port] = arc.to;
  }

  /// Between switches; kFar: it does not arrive.
  std::uint16_t along(SwitchIndex from, const fabric::Destination& d) const {
    SwitchIndex s = from;
    for (std::uint16_t hops = 0; hops <= 64; ++hops) {
      const std::uint8_t port = tables_.at(s, d.lid);
      if (s == d.leaf) return port == d.port ? hops : kFar;
      s = next_[s][port];
      if (s == fabric::kNoSwitch) return kFar;
    }
    return kFar;
  }
  std::uint16_t at_best(SwitchIndex from, const fabric::Destination& d) const {
    return best_[d.leaf * graph_.switch_count() + from];
  }
  /// The first port of `from` on a way of so many.
  std::uint8_t best_port(SwitchIndex from, const fabric::Destination& d) const {
    const auto arcs = graph_.arcs(from);
    const auto& good = batches_[d.leaf / kTargetsPerBatch].arcs;
    std::size_t choice = 0;
    while (choice + 1 < arcs.size() &&
           ((good[graph_.arc_index(from, choice)] >> (d.leaf % kTargetsPerBatch)) & 1) == 0)
      ++choice;
    return arcs[choice].out_port;
  }

 private:
  const fabric::CompactGraph& graph_;
  const LinearTables& tables_;
  std::vector<LeastHops> batches_;
  std::vector<std::uint16_t> best_;             // by leaf and switch
  std::vector<std::vector<SwitchIndex>> next_;  // by switch and port
};

}  // namespace

void write_opensm_fdbs(const TextSink& write, const fabric::CompactGraph& graph,
                       const LinearTables& tables) {
  const std::size_t switches = graph.switch_count();
  const std::size_t lids = graph.max_lid().value + std::size_t{1};
  std::vector<const fabric::Destination*> by_lid(lids, nullptr);
  for (const auto& d : graph.destinations()) by_lid[d.lid.value] = &d;
  const Hops hops(graph, tables);

  std::vector<SwitchIndex> order(switches);  // by GUID, as OpenSM has them
  for (SwitchIndex s = 0; s < switches; ++s) order[s] = s;
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return graph.guid(a) < graph.guid(b); });
  std::string out;
  for (const SwitchIndex s : order) {
    out = "dump_ucast_routes: Switch 0x";
    hex(out, graph.guid(s).value, 16);
    out += "\nLID    : Port : Hops : Optimal\n";
    for (std::size_t lid = 1; lid < lids; ++lid) {
      out += "0x";
      hex(out, lid, 4, kUpper);
      out += " : ";
      const auto* d = by_lid[lid];
      const std::uint8_t port = tables.at(s, Lid{static_cast<std::uint16_t>(lid)});
      if (d == nullptr || port == kNoPort) {
        out += "UNREACHABLE\n";
        continue;
      }
      port3(out, port);
      out += "  : ";
      const std::uint16_t along = hops.along(s, *d);
      if (along == kFar) {
        out += "HOPS UNKNOWN\n";
        continue;
      }
      const unsigned last_link = d->is_switch() ? 0 : 1;
      decimal(out, along + last_link, 2);
      out += "   : ";
      const std::uint16_t least = hops.at_best(s, *d);
      if (least == along) {
        out += "yes\n";
        continue;
      }
      out += "No ";
      decimal(out, least + last_link);
      out += " hop path possible via port ";
      decimal(out, hops.best_port(s, *d));
      out += "!\n";
    }
    write(out);
  }
}

}  // namespace ib::tables
