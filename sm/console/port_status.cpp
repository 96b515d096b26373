// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "libdiag/base/text.h"
#include "libdiag/wire/rates.h"
#include "libdiag/wire/words.h"
#include "sm/console/texts.h"

namespace sm::console {
namespace {

using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::LinkSpeed;
using ib::wire::LinkWidth;
using ib::wire::NodeType;
using ib::wire::PortInfo;

struct NamedType {
  std::string_view word;
  NodeType type;
};
constexpr std::array kTypes = {
    NamedType{"ca", NodeType::ChannelAdapter},
    NamedType{"switch", NodeType::Switch},
    NamedType{"router", NodeType::Router},
};

constexpr std::array kWidths = {std::pair{LinkWidth::W1x, "1X"}, std::pair{LinkWidth::W4x, "4X"},
                                std::pair{LinkWidth::W8x, "8X"}, std::pair{LinkWidth::W12x, "12X"},
                                std::pair{LinkWidth::W2x, "2X"}};
constexpr std::array kSpeeds = {
    std::pair{LinkSpeed::Sdr, "2.5 Gbps"},     std::pair{LinkSpeed::Ddr, "5.0 Gbps"},
    std::pair{LinkSpeed::Qdr, "10.0 Gbps"},    std::pair{LinkSpeed::Fdr10, "10.0 Gbps (FDR10)"},
    std::pair{LinkSpeed::Fdr, "14.0625 Gbps"}, std::pair{LinkSpeed::Edr, "25.78125 Gbps"},
    std::pair{LinkSpeed::Hdr, "53.125 Gbps"},  std::pair{LinkSpeed::Ndr, "106.25 Gbps"},
    std::pair{LinkSpeed::Xdr, "212.5 Gbps"},
};

enum class Issue {
  Disabled,
  UnenabledSpeed,
  ReducedSpeed,
  UnknownSpeed,
  UnenabledWidth,
  ReducedWidth,
  UnknownWidth
};
constexpr std::array<std::string_view, 7> kIssues = {
    "disabled",           "with unenabled speed", "with reduced speed",
    "with unknown speed", "with unenabled width", "with reduced width",
    "with unknown width"};

struct Figures {
  std::size_t nodes{}, ports{}, down{}, active{};
  std::map<LinkWidth, std::size_t> widths;
  std::map<LinkSpeed, std::size_t> speeds;
  std::map<Issue, std::vector<PortRef>> issues;
};

bool enables_more_lanes(const PortInfo& info, LinkWidth active) {
  return std::ranges::any_of(kWidths, [&](const auto& width) {
    return (info.link_width_enabled & static_cast<unsigned>(width.first)) != 0 &&
           ib::wire::lanes(width.first) > ib::wire::lanes(active);
  });
}

/// Speeds that are expressed by one field: some bit above the active one is enabled.
constexpr bool enables_above(unsigned enabled, unsigned active) {
  return (enabled & ~active) > active;
}

void take_width(const PortInfo& info, PortRef at, Figures& to) {
  const LinkWidth active = ib::wire::active_width(info);
  ++to.widths[active];
  if (active == LinkWidth::Unknown) to.issues[Issue::UnknownWidth].push_back(at);
  if ((info.link_width_active & info.link_width_enabled) == 0)
    to.issues[Issue::UnenabledWidth].push_back(at);
  else if (enables_more_lanes(info, active))
    to.issues[Issue::ReducedWidth].push_back(at);
}

void take_speed(const PortInfo& info, bool fdr10, PortRef at, Figures& to) {
  const LinkSpeed active = ib::wire::active_speed(info, fdr10);
  ++to.speeds[active];
  if (active == LinkSpeed::Unknown) to.issues[Issue::UnknownSpeed].push_back(at);
  const bool extended = info.link_speed_ext_active != 0;
  const unsigned enabled = extended ? info.link_speed_ext_enabled : info.link_speed_enabled;
  const unsigned is = extended ? info.link_speed_ext_active : info.link_speed_active;
  // XDR and beyond stand in fields of their own.
  if (info.link_speed_ext_active2 != 0) return;
  if ((is & enabled) == 0)
    to.issues[Issue::UnenabledSpeed].push_back(at);
  else if (enables_above(enabled, is) ||
           (!extended && info.link_speed_ext_enabled != 0 && info.link_speed_ext_supported != 0))
    to.issues[Issue::ReducedSpeed].push_back(at);
}

void take_port(const ib::discover::ObservedPort& port, PortRef at, Figures& to) {
  const PortInfo info = port.info();
  ++to.ports;
  if (info.port_physical_state == ib::wire::PhysState::Disabled)
    to.issues[Issue::Disabled].push_back(at);
  if (info.port_state == ib::wire::PortState::Active) ++to.active;
  if (info.port_state == ib::wire::PortState::Down) {
    ++to.down;
    return;
  }
  take_width(info, at, to);
  take_speed(info, port.fdr10, at, to);
}

Figures figures_of(const ib::discover::Observed& observed, std::optional<NodeType> only) {
  Figures figures;
  for (NodeIndex n = 0; n < observed.nodes.size(); ++n) {
    const auto& node = observed.fabric.node(n);
    if (only && node.type != *only) continue;
    ++figures.nodes;
    for (unsigned p = 1; p <= node.num_ports; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      if (const auto* port = observed.known_port(at)) take_port(*port, at, figures);
    }
  }
  return figures;
}

std::string counts_text(const Figures& figures) {
  std::string text;
  const auto line = [&](std::size_t count, std::string_view what) {
    if (count != 0) text += fmt::format("   {} {}\n", count, what);
  };
  line(figures.down, "down");
  line(figures.active, "active");
  for (const auto& [width, name] : kWidths)
    if (const auto at = figures.widths.find(width); at != figures.widths.end())
      line(at->second, fmt::format("at {}", name));
  for (const auto& [speed, name] : kSpeeds)
    if (const auto at = figures.speeds.find(speed); at != figures.speeds.end())
      line(at->second, fmt::format("at {}", name));
  return text;
}

std::string issues_text(const Figures& figures, const ib::fabric::Fabric& fabric) {
  if (figures.issues.empty()) return {};
  std::string text = "\nPossible issues:\n";
  for (const auto& [issue, ports] : figures.issues) {
    text += fmt::format("   {} {}\n", ports.size(), kIssues[static_cast<std::size_t>(issue)]);
    for (const PortRef at : ports)
      text += fmt::format("      {}\n", node_text(fabric, at.node, fmt::format(" {} ", at.port)));
  }
  return text;
}

}  // namespace

std::string node_text(const ib::fabric::Fabric& fabric, NodeIndex node,
                      std::string_view before_name) {
  return fmt::format("{}{}({})", to_string(fabric.node(node).guid), before_name,
                     ib::printable(fabric.node(node).name()));
}

Outcome port_status(const View& view, Words words) {
  std::optional<NodeType> only;
  if (!words.empty()) {
    const auto* const row = std::ranges::find(kTypes, words.front(), &NamedType::word);
    if (row == kTypes.end()) return usage("Node type not understood", "portstatus");
    only = row->type;
  }
  if (!view.snapshot) return not_ready();
  const ib::Instant began = view.clock();
  const Figures figures = figures_of(*view.snapshot->observed, only);
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(view.clock() - began);
  return {fmt::format(
      "\"{}\" port status:\n"
      "   {} port(s) scanned on {} nodes in {} us\n{}{}\n",
      only ? ib::wire::type_title(*only) : "ALL", figures.ports, figures.nodes, took.count(),
      counts_text(figures), issues_text(figures, view.snapshot->fabric()))};
}

Outcome query_lid(const View& view, Words words) {
  if (words.empty()) return usage("no LID specified", "querylid");
  const auto invalid = [&](int status) {
    return failed(status, fmt::format("Invalid lid {}\n", ib::printable(words.front())));
  };
  ib::Lid lid;
  if (!ib::parse_lid(words.front(), lid)) return invalid(ib::cli::kExitUsage);
  if (!view.snapshot) return invalid(ib::cli::kExitCannotRun);
  const auto& observed = *view.snapshot->observed;
  const auto port = observed.fabric.find_lid(lid);
  if (!port) return invalid(ib::cli::kExitFound);
  const auto& node = observed.fabric.node(port->node);
  std::string text = fmt::format(
      "Query results for LID {}\n"
      "   GUID                : {}\n"
      "   Node Desc           : {}\n"
      "   Node Type           : {}\n"
      "   Num Ports           : {}\n",
      lid.value, to_string(observed.fabric.port(*port).guid), ib::printable(node.name()),
      ib::wire::type_title(node.type), node.num_ports);
  const auto is_in_trouble = [&](unsigned p) {
    return std::ranges::any_of(observed.troubles, [&](const auto& trouble) {
      return trouble.node_guid == node.guid && trouble.port == p;
    });
  };
  for (unsigned p = node.is_switch() ? 0 : 1; p <= node.num_ports; ++p) {
    const PortRef at{port->node, static_cast<std::uint8_t>(p)};
    const bool is_healthy = observed.known_port(at) != nullptr && !is_in_trouble(p);
    text += fmt::format("   Port {} health       : {}\n", p, is_healthy ? "OK" : "ERROR");
  }
  return {std::move(text)};
}

}  // namespace sm::console
