// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/subnet_lst.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include "libdiag/base/text.h"

namespace ib::tables {
namespace {

using fabric::Fabric;
using fabric::NodeIndex;
using fabric::PortRef;
using wire::LinkSpeed;
using wire::NodeType;
using wire::PortState;

struct SpeedWord {
  LinkSpeed speed;
  std::string_view word;
};
constexpr SpeedWord kSpeeds[] = {
    {LinkSpeed::Sdr, "2.5"},     {LinkSpeed::Ddr, "5"},   {LinkSpeed::Qdr, "10"},
    {LinkSpeed::Fdr10, "FDR10"}, {LinkSpeed::Fdr, "14"},  {LinkSpeed::Edr, "25"},
    {LinkSpeed::Hdr, "50"},      {LinkSpeed::Ndr, "100"}, {LinkSpeed::Xdr, "200"}};

std::string_view speed_word(LinkSpeed speed) {
  for (const auto& s : kSpeeds)
    if (s.speed == speed) return s.word;
  return "??";
}

std::string_view state_word(PortState state) {
  switch (state) {
    case PortState::Down:
      return "DWN";
    case PortState::Initialize:
      return "INI";
    case PortState::Armed:
      return "ARM";
    case PortState::Active:
    case PortState::NoChange:
      return "ACT";
  }
  return "ACT";
}

void append_end(std::string& out, const Fabric& fabric, PortRef at, Lid sm_lid) {
  const auto& node = fabric.node(at.node);
  const auto& own = fabric.port(at);
  const auto& end = fabric.port(end_port_of(fabric, at));
  const Guid port_guid = node.is_switch() ? node.guid : own.guid;
  const char* type = node.type == NodeType::Switch           ? "SW"
                     : node.type == NodeType::ChannelAdapter ? "CA"
                                                             : "Rt";
  // Braces would end the name for every reader of this format.
  std::string name = printable(node.name());
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '{' || c == '}'; }, ' ');
  fmt::format_to(std::back_inserter(out),
                 "{{ {}{} Ports:{:02X} SystemGUID:{:016x} NodeGUID:{:016x} PortGUID:{:016x} "
                 "VenID:{:06X} DevID:{:04X} Rev:{:08X} {{{}}} LID:{:04X} PN:{:02X} }} ",
                 type, sm_lid != kNoLid && end.lid == sm_lid ? "-SM" : "", node.num_ports,
                 node.system_image_guid.value, node.guid.value, port_guid.value, node.vendor_id,
                 node.device_id, node.revision, name, end.lid.value, at.port);
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<Fabric> read() {
    while (!text_.empty()) {
      const std::size_t end = text_.find('\n');
      line_ = text_.substr(0, end);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
      if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
      ++number_;
      at_ = 0;
      if (trim(line_).empty() || line_.front() == '#') continue;
      if (!read_line()) return tl::unexpected<Error>(std::move(error_));
    }
    fabric_.reindex();
    return std::move(fabric_);
  }

 private:
  struct End {
    fabric::Node node;
    Guid port_guid{};
    Lid lid{};
    std::uint8_t port{};
  };

  bool expected(std::string_view what) {
    const std::string_view got = line_.substr(std::min(at_, line_.size()), 24);
    error_ = {ErrorKind::Usage,
              fmt::format("{}:{}:{}: expected {}, got {}", file_, number_, at_ + 1, what,
                          got.empty() ? "end of line" : "'" + printable(got) + "'"),
              0};
    return false;
  }

  bool word(std::string_view text) {
    if (line_.substr(std::min(at_, line_.size()), text.size()) != text)
      return expected(fmt::format("'{}'", text));
    at_ += text.size();
    return true;
  }

  template <class T>
  bool field(std::string_view name, T& value) {
    if (!word(name)) return false;
    const char* first = line_.data() + at_;
    const auto [end, error] = std::from_chars(first, line_.data() + line_.size(), value, 16);
    if (end == first || error != std::errc{}) return expected("a hexadecimal number");
    at_ += static_cast<std::size_t>(end - first);
    return true;
  }

  /// What runs up to `stop`, which is passed over.
  bool until(char stop, std::string_view& text) {
    const std::size_t end = line_.find(stop, at_);
    if (end == std::string_view::npos) {
      at_ = line_.size();
      return expected(fmt::format("'{}'", stop));
    }
    text = line_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }

  bool read_end(End& end) {
    std::string_view type, name;
    if (!word("{ ") || !until(' ', type)) return false;
    if (type.starts_with("SW"))
      end.node.type = NodeType::Switch;
    else if (type.starts_with("CA"))
      end.node.type = NodeType::ChannelAdapter;
    else if (type.starts_with("Rt"))
      end.node.type = NodeType::Router;
    else
      return at_ -= type.size() + 1, expected("CA, SW or Rt");
    std::uint32_t device = 0;
    if (!field("Ports:", end.node.num_ports) ||
        !field(" SystemGUID:", end.node.system_image_guid.value) ||
        !field(" NodeGUID:", end.node.guid.value) || !field(" PortGUID:", end.port_guid.value) ||
        !field(" VenID:", end.node.vendor_id) || !field(" DevID:", device) ||
        !field(" Rev:", end.node.revision) || !word(" {") || !until('}', name) ||
        !field(" LID:", end.lid.value) || !field(" PN:", end.port) || !word(" } "))
      return false;
    // OpenSM writes the peer's device as the upper half of 32 bits.
    end.node.device_id = static_cast<std::uint16_t>(device > 0xFFFF ? device >> 16 : device);
    end.node.description = name;
    if (end.port == 0 || end.port > end.node.num_ports)
      return expected(fmt::format("a port from 1 to {} before", end.node.num_ports));
    return true;
  }

  /// The node of `end`; its facts are those of the first line that begins with it.
  bool node_of(const End& end, bool first, NodeIndex& n) {
    const auto known = nodes_.find(end.node.guid);
    if (known == nodes_.end()) {
      n = fabric_.add_node(end.node);
      nodes_.emplace(end.node.guid, n);
    } else {
      n = known->second;
      if (fabric_.node(n).num_ports != end.node.num_ports || fabric_.node(n).type != end.node.type)
        return expected(fmt::format("the same type and number of ports for {} as before",
                                    to_string(end.node.guid)));
      if (first) {
        fabric_.node(n).vendor_id = end.node.vendor_id;
        fabric_.node(n).device_id = end.node.device_id;
      }
    }
    auto& port = fabric_.port(end_port_of(fabric_, PortRef{n, end.port}));
    port.present = true;
    port.guid = end.port_guid;
    port.lid = end.lid;
    return true;
  }

  bool read_line() {
    End a, b;
    std::string_view phy, log;
    if (!read_end(a) || !read_end(b) || !word("PHY=") || !until(' ', phy) || !word("LOG=") ||
        !until(' ', log) || !word("SPD="))
      return false;
    const auto width = wire::parse_width(phy).value_or(wire::LinkWidth::Unknown);
    const std::string_view speed_text = trim(line_.substr(at_));
    LinkSpeed speed = LinkSpeed::Unknown;
    for (const auto& s : kSpeeds)
      if (s.word == speed_text) speed = s.speed;
    PortRef from{fabric::kNoNode, a.port}, to{fabric::kNoNode, b.port};
    if (!node_of(a, true, from.node) || !node_of(b, false, to.node)) return false;
    const auto known = fabric_.port(from).peer;
    if (!known) {
      if (fabric_.port(to).peer) return expected("a port with one cable");
      fabric_.connect(from, to, width, speed);
    } else if (known != to) {
      return expected("the same peer as before");
    }
    auto& port = fabric_.port(from);
    port.state = log == "ACT"   ? PortState::Active
                 : log == "ARM" ? PortState::Armed
                 : log == "INI" ? PortState::Initialize
                                : PortState::Down;
    return true;
  }

  std::string_view text_, file_, line_;
  std::size_t number_{0}, at_{0};
  Fabric fabric_;
  std::map<Guid, NodeIndex> nodes_;
  Error error_;
};

}  // namespace

void append_subnet_lst(std::string& out, const Fabric& fabric, Lid sm_lid) {
  const auto nodes = fabric.nodes();
  std::vector<NodeIndex> order(nodes.size());
  for (NodeIndex n = 0; n < nodes.size(); ++n) order[n] = n;
  std::stable_sort(order.begin(), order.end(),
                   [&](NodeIndex a, NodeIndex b) { return nodes[a].guid < nodes[b].guid; });
  for (const NodeIndex n : order) {
    for (unsigned p = 1; p <= nodes[n].num_ports; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      const auto& port = fabric.port(at);
      if (!port.peer) continue;
      append_end(out, fabric, at, sm_lid);
      append_end(out, fabric, port.peer, sm_lid);
      fmt::format_to(std::back_inserter(out), "PHY={} LOG={} SPD={}\n",
                     wire::width_name(port.width), state_word(port.state), speed_word(port.speed));
    }
  }
}

Result<Fabric> read_subnet_lst(std::string_view text, std::string_view file_name) {
  return Reader(text, file_name).read();
}

bool looks_like_subnet_lst(std::string_view text) { return text.starts_with("{ "); }

}  // namespace ib::tables
