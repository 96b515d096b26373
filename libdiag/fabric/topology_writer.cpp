// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <algorithm>
#include <charconv>
#include <numeric>
#include <ostream>

#include "libdiag/base/text.h"
#include "libdiag/fabric/topology_text.h"

namespace ib::fabric {
namespace {

using wire::NodeType;

class Writer {
 public:
  Writer(const Fabric& fabric, const TopologyTextOptions& options)
      : fabric_(fabric), options_(options) {}

  std::string write() {
    text_.reserve(fabric_.nodes().size() * 400);
    text_ += "#\n";
    if (!options_.generated_on.empty()) {
      text_ += "# Topology file: generated on ";
      text_ += options_.generated_on;
      text_ += '\n';
    }
    text_ += "#\n# Initiated from node ";
    hex(fabric_.initiated_from_node.value, 16);
    text_ += " port ";
    hex(fabric_.initiated_from_port.value, 16);
    text_ += '\n';
    std::vector<NodeIndex> order(fabric_.nodes().size());
    std::iota(order.begin(), order.end(), NodeIndex{0});
    std::stable_sort(order.begin(), order.end(), [&](NodeIndex a, NodeIndex b) {
      return fabric_.node(a).guid < fabric_.node(b).guid;
    });
    for (const NodeType type : {NodeType::Switch, NodeType::ChannelAdapter, NodeType::Router}) {
      for (const NodeIndex n : order) {
        if (fabric_.node(n).type == type) write_node(n);
      }
    }
    return std::move(text_);
  }

 private:
  void hex(std::uint64_t value, std::size_t pad = 0) {
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, value, 16).ptr;
    const auto length = static_cast<std::size_t>(end - digits);
    if (length < pad) text_.append(pad - length, '0');
    text_.append(digits, length);
  }
  std::string name_of(const Node& node) const {
    return options_.names != nullptr ? options_.names->name_of(node) : printable(node.description);
  }
  void decimal(unsigned value) { text_ += std::to_string(value); }

  void id(const Node& node) {
    text_ += '"';
    text_ += node.is_switch() ? 'S' : node.type == NodeType::Router ? 'R' : 'H';
    text_ += '-';
    hex(node.guid.value, 16);
    text_ += '"';
  }

  void write_node(NodeIndex n) {
    const Node& node = fabric_.node(n);
    text_ += "\nvendid=0x";
    hex(node.vendor_id);
    text_ += "\ndevid=0x";
    hex(node.device_id);
    text_ += '\n';
    if (node.system_image_guid.value != 0) {
      text_ += "sysimgguid=0x";
      hex(node.system_image_guid.value);
      text_ += '\n';
    }
    text_ += node.is_switch()                ? "switchguid=0x"
             : node.type == NodeType::Router ? "rtguid=0x"
                                             : "caguid=0x";
    hex(node.guid.value);
    if (node.is_switch()) {
      text_ += '(';
      hex(fabric_.port(n, 0).guid.value);
      text_ += ')';
    }
    text_ += node.is_switch() ? "\nSwitch\t" : node.type == NodeType::Router ? "\nRt\t" : "\nCa\t";
    decimal(node.num_ports);
    text_ += ' ';
    id(node);
    text_ += "\t\t# \"";
    text_ += node.is_switch() ? name_of(node) : printable(node.description);
    text_ += '"';
    if (node.is_switch()) {
      text_ += node.enhanced_port0 ? " enhanced port 0 lid " : " base port 0 lid ";
      decimal(fabric_.port(n, 0).lid.value);
      text_ += " lmc ";
      decimal(fabric_.port(n, 0).lmc);
    }
    text_ += '\n';
    for (unsigned p = 1; p <= node.num_ports; ++p) {
      if (fabric_.port(n, p).peer) write_port(node, fabric_.port(n, p), p);
    }
  }

  void write_port(const Node& node, const Port& port, unsigned number) {
    const Node& far = fabric_.node(port.peer.node);
    text_ += '[';
    decimal(number);
    text_ += ']';
    if (!node.is_switch()) {
      text_ += '(';
      hex(port.guid.value);
      text_ += ") ";
    }
    text_ += '\t';
    id(far);
    text_ += '[';
    decimal(port.peer.port);
    text_ += ']';
    if (!far.is_switch()) {
      text_ += node.is_switch() ? "(" : " (";
      hex(fabric_.port(port.peer).guid.value);
      text_ += ") ";
    }
    text_ += "\t\t# ";
    if (!node.is_switch()) {
      text_ += "lid ";
      decimal(port.lid.value);
      text_ += " lmc ";
      decimal(port.lmc);
      text_ += ' ';
    }
    text_ += '"';
    text_ += name_of(far);
    text_ += "\" lid ";
    decimal(fabric_.port(end_port_of(fabric_, port.peer)).lid.value);
    text_ += ' ';
    text_ += wire::width_name(port.width);
    text_ += wire::speed_name(port.speed);
    if (options_.full_info) write_codes(port);
    text_ += '\n';
  }

  void write_codes(const Port& port) {
    wire::PortInfo info;
    wire::set_active_speed(info, port.speed);
    text_ += " s=";
    decimal(info.link_speed_active);
    text_ += " w=";
    decimal(static_cast<unsigned>(port.width));
    text_ += " v=";
    decimal(port.vl_cap);
  }

  const Fabric& fabric_;
  const TopologyTextOptions& options_;
  std::string text_;
};

}  // namespace

std::string topology_text(const Fabric& fabric, const TopologyTextOptions& options) {
  return Writer(fabric, options).write();
}

void write_topology(std::ostream& out, const Fabric& fabric, const TopologyTextOptions& options) {
  const std::string text = topology_text(fabric, options);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace ib::fabric
