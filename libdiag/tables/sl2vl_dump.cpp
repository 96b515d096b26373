// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/sl2vl_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "libdiag/base/text.h"
#include "libdiag/wire/words.h"

namespace ib::tables {
namespace {

using fabric::SwitchIndex;

constexpr std::string_view kSeparator =
    "#--------------------------------------------------------\n";

/// `Switch 0x..., base LID 5, "name"`: what every section begins with. A switch is known by the
/// GUID of its port 0, which is its own unless the file says otherwise.
void append_header(std::string& out, const fabric::Fabric& fabric, fabric::PortRef at) {
  const auto& node = fabric.node(at.node);
  const auto& port = fabric.port(at);
  out += fmt::format("{} 0x{:016x}, base LID {}, \"{}\"\n", wire::type_title(node.type),
                     port.guid.value != 0 ? port.guid.value : node.guid.value, port.lid.value,
                     printable(node.name()));
}

void append_row(std::string& out, unsigned in, unsigned port, const SlToVlRow& row) {
  out += fmt::format("{:<3} {:<3} :", in, port);
  for (const std::uint8_t vl : row.vl) out += fmt::format(" {:<2}", vl);
  out += '\n';
}

/// Lines of sections, with numbers taken off from the left.
class Lines {
 public:
  Lines(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  bool next() {
    if (text_.empty()) return false;
    const std::size_t end = text_.find('\n');
    begin_ = text_.data();
    whole_ = line_ = trim(text_.substr(0, end));
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    ++number_;
    return true;
  }
  std::string_view rest() const { return line_; }
  /// The line before anything was taken off.
  std::string_view whole() const { return whole_; }
  bool take(std::string_view what) {
    if (!line_.starts_with(what)) return false;
    line_.remove_prefix(what.size());
    return true;
  }
  void skip_blanks() {
    while (!line_.empty() && line_.front() == ' ') line_.remove_prefix(1);
  }
  /// Decimal, or hexadecimal after 0x.
  std::optional<std::uint64_t> number(std::uint64_t max) {
    const bool hex = take("0x");
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(line_.data(), line_.data() + line_.size(), value, hex ? 16 : 10);
    if (error != std::errc{} || value > max) return std::nullopt;
    line_.remove_prefix(static_cast<std::size_t>(end - line_.data()));
    return value;
  }
  tl::unexpected<Error> expected(std::string_view what) const { return expected(what, line_); }
  /// `got`: what was rest() there.
  tl::unexpected<Error> expected(std::string_view what, std::string_view got) const {
    return wrong(
        fmt::format("expected {}, got {}", what,
                    got.empty() ? "end of line" : "'" + printable(got.substr(0, 24)) + "'"),
        got);
  }
  tl::unexpected<Error> wrong(const std::string& what, std::string_view at) const {
    return fail(ErrorKind::Usage,
                fmt::format("{}:{}:{}: {}", file_, number_, at.data() - begin_ + 1, what));
  }

  /// A section's header: the end port it names. nullopt: this line is none.
  Result<std::optional<fabric::PortRef>> header(const fabric::Fabric& fabric) {
    if (!take("Switch ") && !take("Channel Adapter ") && !take("Router "))
      return std::optional<fabric::PortRef>();
    const auto named = rest();
    if (!named.starts_with("0x")) return expected("a GUID");
    const auto guid = number(~std::uint64_t{0});
    if (!guid || *guid == 0) return expected("a GUID", named);
    auto at = fabric.find_port_guid(Guid{*guid});
    if (!at)
      if (const auto node = fabric.find_node(Guid{*guid}); node && fabric.node(*node).is_switch())
        at = fabric::PortRef{*node, 0};
    if (!at) return wrong("the topology has no port " + to_string(Guid{*guid}), named);
    return std::optional(*at);
  }

 private:
  std::string_view text_, file_, line_, whole_;
  const char* begin_{nullptr};  // of the line, blanks included
  std::size_t number_{0};
};

/// The switch that end port `at` is or hangs from.
SwitchIndex switch_of(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                      fabric::PortRef at) {
  if (fabric.node(at.node).is_switch()) return graph.switch_of(at.node);
  const auto peer = fabric.port(at).peer;
  return peer ? graph.switch_of(peer.node) : fabric::kNoSwitch;
}

}  // namespace

void append_sl2vl(std::string& out, const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                  const SlToVl& tables, const HostRows& hosts) {
  const auto begin = [&](fabric::PortRef at) {
    append_header(out, fabric, at);
    out += "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n";
    out += kSeparator;
  };
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const auto node = graph.node_of(s);
    begin({node, 0});
    for (unsigned port = 1; port <= graph.num_ports(s); ++port) {
      if (!fabric.port(node, port).peer) continue;
      for (unsigned in = 0; in <= graph.num_ports(s); ++in)
        append_row(out, in, port,
                   tables.row(s, static_cast<std::uint8_t>(in), static_cast<std::uint8_t>(port)));
    }
    out += kSeparator;
    out += '\n';
  }
  for (fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (fabric.node(n).is_switch()) continue;
    for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p) {
      if (!fabric.port(n, p).lid.is_unicast()) continue;
      const fabric::PortRef port{n, static_cast<std::uint8_t>(p)};
      begin(port);
      const auto own = hosts.find(port);
      append_row(out, 0, 0, own == hosts.end() ? tables.injection() : own->second);
      out += kSeparator;
      out += '\n';
    }
  }
}

Result<SlToVl> read_sl2vl(std::string_view text, std::string_view file_name,
                          const fabric::Fabric& fabric, const fabric::CompactGraph& graph) {
  struct Row {
    SwitchIndex at;
    std::uint8_t in, out;
    SlToVlRow row;
  };
  std::vector<Row> rows;
  std::optional<SlToVlRow> injection;
  std::optional<fabric::PortRef> section;
  std::vector<SlToVlRow> kinds;
  Lines lines(text, file_name);
  while (lines.next()) {
    if (lines.rest().empty() || lines.rest().front() == '#') continue;
    auto header = lines.header(fabric);
    if (!header) return tl::unexpected<Error>(std::move(header.error()));
    if (*header) {
      section = **header;
      continue;
    }
    if (!section) return lines.expected("the header of a port");
    const bool is_switch = fabric.node(section->node).is_switch();
    const std::uint64_t ports = is_switch ? fabric.node(section->node).num_ports : 0;
    const auto in = lines.number(ports);
    if (!in) return lines.expected("an input port");
    lines.skip_blanks();
    const auto out = lines.number(ports);
    if (!out) return lines.expected("an output port");
    lines.skip_blanks();
    if (!lines.take(":")) return lines.expected("':'");
    SlToVlRow row;
    for (std::uint8_t& vl : row.vl) {
      lines.skip_blanks();
      const auto value = lines.number(15);
      if (!value) return lines.expected("a VL from 0 to 15");
      vl = static_cast<std::uint8_t>(*value);
    }
    lines.skip_blanks();
    if (!lines.rest().empty()) return lines.expected("end of line");
    if (!is_switch) {
      if (injection && *injection != row)
        return lines.wrong("this port maps SLs otherwise than the CA ports before it",
                           lines.whole());
      injection = row;
      continue;
    }
    if (std::find(kinds.begin(), kinds.end(), row) == kinds.end()) {
      if (kinds.size() == 254)
        return lines.wrong("there are more than 254 different rows", lines.whole());
      kinds.push_back(row);
    }
    rows.push_back({graph.switch_of(section->node), static_cast<std::uint8_t>(*in),
                    static_cast<std::uint8_t>(*out), row});
  }
  SlToVlRow identity;
  for (unsigned sl = 0; sl < 16; ++sl) identity.vl[sl] = static_cast<std::uint8_t>(sl);
  SlToVl result(graph, injection.value_or(identity));
  for (const Row& row : rows) result.set(row.at, row.in, row.out, row.row);
  return result;
}

void append_path_sls(std::string& out, const fabric::Fabric& fabric,
                     const fabric::CompactGraph& graph, const PathSls& sls) {
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    if (graph.end_ports()[s] == 0) continue;
    append_header(out, fabric, {graph.node_of(s), 0});
    out += "# LIDs          : SL\n";
    // Runs of LIDs in use, gaps between them included.
    std::uint16_t first = 0, last = 0;
    Sl sl{};
    const auto flush = [&] {
      if (first != 0) out += fmt::format("0x{:04x}-0x{:04x} : {}\n", first, last, sl.value);
    };
    for (const auto& d : graph.destinations()) {
      const Sl here = sls.at(s, d.leaf);
      if (first == 0 || here != sl) {
        flush();
        first = d.lid.value;
        sl = here;
      }
      last = d.lid.value;
    }
    flush();
    out += '\n';
  }
}

Result<PathSls> read_path_sls(std::string_view text, std::string_view file_name,
                              const fabric::Fabric& fabric, const fabric::CompactGraph& graph) {
  const std::size_t switches = graph.switch_count();
  PathSls result(switches, Sl{0});
  std::vector<bool> known(switches * switches, false);
  SwitchIndex from = fabric::kNoSwitch;
  Lines lines(text, file_name);
  while (lines.next()) {
    if (lines.rest().empty() || lines.rest().front() == '#') continue;
    auto header = lines.header(fabric);
    if (!header) return tl::unexpected<Error>(std::move(header.error()));
    if (*header) {
      from = switch_of(fabric, graph, **header);
      if (from == fabric::kNoSwitch)
        return lines.wrong("this port is not linked to a switch", lines.whole());
      continue;
    }
    if (from == fabric::kNoSwitch) return lines.expected("the header of a port");
    const auto first = lines.number(kLidUnicastMax.value);
    if (!first || *first == 0) return lines.expected("a unicast LID", lines.whole());
    std::uint64_t last = *first;
    if (lines.take("-")) {
      const auto second = lines.rest();
      const auto end = lines.number(kLidUnicastMax.value);
      if (!end || *end < *first) return lines.expected("a LID not below the first", second);
      last = *end;
    }
    lines.skip_blanks();
    if (!lines.take(":")) return lines.expected("':'");
    lines.skip_blanks();
    const auto sl = lines.number(15);
    if (!sl) return lines.expected("an SL from 0 to 15");
    lines.skip_blanks();
    if (!lines.rest().empty()) return lines.expected("end of line");
    auto d = std::lower_bound(graph.destinations().begin(), graph.destinations().end(),
                              Lid{static_cast<std::uint16_t>(*first)},
                              [](const auto& x, Lid lid) { return x.lid < lid; });
    for (; d != graph.destinations().end() && d->lid.value <= last; ++d) {
      const Sl value{static_cast<std::uint8_t>(*sl)};
      if (d->is_switch()) {
        // Where hosts are, their LIDs say it: others may write ranges across those of switches.
        if (graph.end_ports()[d->leaf] == 0) result.set_one_way(from, d->leaf, value);
        continue;
      }
      if (known[from * switches + d->leaf] && result.at(from, d->leaf) != value)
        return lines.wrong(
            fmt::format(
                "SL {} to LID {}, but others between these two switches have SL {}: not supported",
                *sl, d->lid.value, result.at(from, d->leaf).value),
            lines.whole());
      known[from * switches + d->leaf] = true;
      result.set_one_way(from, d->leaf, value);
    }
  }
  return result;
}

}  // namespace ib::tables
