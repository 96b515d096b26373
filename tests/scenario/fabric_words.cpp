// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/scenario/fabric_words.h"

#include <sstream>

#include "libdiag/base/ids.h"

namespace scenario {

using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream in{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

unsigned number_of(const std::string& word, unsigned max) {
  std::uint64_t value = 0;
  if (!ib::parse_number(word, max, value))
    throw Complaint("expected a number up to " + std::to_string(max) + ", got " + word);
  return static_cast<unsigned>(value);
}

NodeIndex find(const Fabric& fabric, const std::string& name) {
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (fabric.node(n).description == name || short_name(fabric, n) == name) return n;
  throw Complaint("no node is called " + name);
}

PortRef host_port(const Fabric& fabric, const std::string& name) {
  const NodeIndex n = find(fabric, name);
  for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p)
    if (fabric.port(n, p).peer) return {n, static_cast<std::uint8_t>(p)};
  throw Complaint(name + " has no cable");
}

std::string short_name(const Fabric& fabric, NodeIndex node) {
  const std::string& whole = fabric.node(node).description;
  return whole.substr(0, whole.find(' '));
}

namespace {

void add(Fabric& fabric, bool is_switch, const std::string& name, unsigned ports) {
  constexpr std::uint64_t kGuids = 0x0002c90300000000;
  ib::fabric::Node node;
  node.type = is_switch ? ib::wire::NodeType::Switch : ib::wire::NodeType::ChannelAdapter;
  node.guid = ib::Guid{kGuids + (std::uint64_t{fabric.nodes().size()} + 1) * 0x10};
  node.system_image_guid = node.guid;
  node.num_ports = static_cast<std::uint8_t>(ports);
  node.description = name;
  const NodeIndex n = fabric.add_node(node);
  for (unsigned p = 0; p <= ports; ++p) {
    if (p == 0 && !is_switch) continue;
    ib::fabric::Port& port = fabric.port(n, p);
    port.present = true;
    port.guid = is_switch ? node.guid : ib::Guid{node.guid.value + p};
  }
}

PortRef end_of(const Fabric& fabric, const std::string& name, const std::string& port) {
  const NodeIndex n = find(fabric, name);
  return {n, static_cast<std::uint8_t>(number_of(port, fabric.node(n).num_ports))};
}

}  // namespace

Fabric draw(const std::vector<std::string>& lines) {
  Fabric fabric;
  for (const std::string& line : lines) {
    const auto words = words_of(line);
    if (words.size() == 3 && words[0] == "switch") {
      add(fabric, true, words[1], number_of(words[2], 254));
    } else if (words.size() >= 2 && words[0] == "host") {
      add(fabric, false, words[1], words.size() > 2 ? number_of(words[2], 4) : 1);
    } else if (words.size() == 5 && words[0] == "cable") {
      fabric.connect(end_of(fabric, words[1], words[2]), end_of(fabric, words[3], words[4]),
                     ib::wire::LinkWidth::W4x, ib::wire::LinkSpeed::Edr);
    } else {
      throw Complaint("not a line of a drawing: " + line);
    }
  }
  fabric.reindex();
  return fabric;
}

}  // namespace scenario
