// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Look-alikes of real installations: the shape, the numbers and the kinds of damage that their
// topology files show, with made-up names and GUIDs.
#include <algorithm>
#include <cstdio>

#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_builder.h"

namespace ib::fabric {
namespace {

using Id = TopologyBuilder::Id;

template <class... Args>
std::string text(const char* format, Args... args) {
  char buffer[80];
  std::snprintf(buffer, sizeof buffer, format, args...);
  return buffer;
}

/// A director: 27 line chips with 18 ports to the outside, 18 spine chips; one SystemImageGUID.
struct Director {
  std::vector<Id> lines, spines;
};

Director add_director(TopologyBuilder& b, unsigned number) {
  Director d;
  for (unsigned i = 1; i <= 27; ++i) {
    d.lines.push_back(b.add_switch(text("MF0;Director-%u:IS5600/L%02u/U1", number, i), 36));
  }
  for (unsigned i = 1; i <= 18; ++i) {
    d.spines.push_back(b.add_switch(text("MF0;Director-%u:IS5600/S%02u/U1", number, i), 36));
  }
  const Guid system{b.node(d.lines[0]).guid.value + 3};
  for (const auto& chips : {d.lines, d.spines}) {
    for (const Id chip : chips) {
      b.node(chip).system_image_guid = system;
      b.node(chip).device_id = 0xbd36;
      b.node(chip).enhanced_port0 = false;
    }
  }
  for (unsigned l = 0; l < 27; ++l) {
    for (unsigned s = 0; s < 18; ++s) b.connect_ports(d.lines[l], 19 + s, d.spines[s], l + 1);
  }
  return d;
}

/// `count` cables from leaf to the director's line cards, in runs of 1 to 6 on one card.
void join_unevenly(TopologyBuilder& b, Id leaf, const Director& d, unsigned count) {
  while (count > 0) {
    const Id line = d.lines[b.dice().roll(d.lines.size())];
    const auto run =
        std::min({count, b.free_ports(line), 1 + static_cast<unsigned>(b.dice().roll(6))});
    b.connect(leaf, line, run);
    count -= run;
  }
}

/// Drops random cables of one sort until `left` remain.
template <class Predicate>
void thin_out(TopologyBuilder& b, std::size_t left, Predicate of_this_sort) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < b.cables().size(); ++i) {
    if (of_this_sort(b.cables()[i])) candidates.push_back(i);
  }
  b.dice().shuffle(candidates);
  std::vector<bool> drop(b.cables().size(), false);
  for (std::size_t i = left; i < candidates.size(); ++i) drop[candidates[i]] = true;
  std::size_t i = 0;
  std::erase_if(b.cables(), [&](const TopologyBuilder::Cable&) { return drop[i++]; });
}

}  // namespace

Result<Fabric> generate_janus_like(std::uint64_t seed) {
  GenerateCommon common;
  common.speed = wire::LinkSpeed::Qdr;
  common.seed = seed;
  TopologyBuilder b(common);
  std::vector<Id> leaves;
  for (unsigned i = 0; i < 79; ++i) {
    leaves.push_back(b.add_switch("Infiniscale-IV Mellanox Technologies", i == 78 ? 32 : 36));
    b.node(leaves.back()).device_id = 0xbd36;
    b.node(leaves.back()).enhanced_port0 = false;
  }
  std::vector<Director> directors;
  for (unsigned i = 1; i <= 3; ++i) directors.push_back(add_director(b, i));
  for (const Id leaf : leaves) {
    for (const Director& d : directors) join_unevenly(b, leaf, d, leaf == leaves.back() ? 4 : 6);
  }
  // Two management hosts sit on line cards, one level above all others.
  const std::size_t first_host = b.size();
  for (const unsigned d : {0U, 1U}) {
    for (const Id line : directors[d].lines) {
      if (b.free_ports(line) == 0) continue;
      b.attach_hosts(line, 1);
      break;
    }
  }
  for (const Id leaf : leaves) b.attach_hosts(leaf, leaf == leaves.back() ? 2 : 18);
  for (std::size_t h = first_host; h < b.size(); ++h) {
    Node& host = b.node(static_cast<Id>(h));
    host.device_id = 0x673c;
    if (h % 113 == 0) host.num_ports = 2;  // the second port never cabled
  }
  const auto is_host = [&](Id id) { return !b.node(id).is_switch(); };
  const auto is_leaf = [&](Id id) { return id < 79; };
  thin_out(b, 1356, [&](const auto& c) { return is_host(c.a) || is_host(c.b); });
  thin_out(b, 1354, [&](const auto& c) { return is_leaf(c.a) && !is_host(c.b); });
  return b.finish();
}

Result<Fabric> generate_superpod_like(std::uint64_t seed) {
  GenerateCommon common;
  common.speed = wire::LinkSpeed::Ndr;
  common.seed = seed;
  TopologyBuilder b(common);
  std::vector<Id> leaves, spines;
  for (unsigned i = 0; i < 31; ++i) {
    leaves.push_back(b.add_switch(text("MF0;%c%02u-P1-IBLEAF-%02u-%02u:MQM9701/U1",
                                       i < 15 ? 'A' : 'B', 2 + i % 15, 1 + i / 8, 1 + i % 8),
                                  65));
  }
  for (unsigned i = 0; i < 9; ++i) {
    spines.push_back(
        b.add_switch(text("MF0;%c10-P1-IBSPINE-%02u:MQM9701/U1", i < 4 ? 'A' : 'B', i + 1), 65));
  }
  for (unsigned l = 0; l < 31; ++l) {
    // The 8 rails of a host end on 8 leaves.
    const unsigned hosts = 17 + static_cast<unsigned>(b.dice().roll(4));
    for (unsigned h = 1; h <= hosts; ++h) {
      const Id host =
          b.add_host(text("a%02u-p1-dgx-%02u-c%02u mlx5_%u", 1 + l / 8, 1 + l / 8, h, l % 8));
      b.node(host).device_id = 0x1021;
      b.connect_ports(leaves[l], h, host, 1);
    }
    for (unsigned s = 0; s < 9; ++s) {
      for (unsigned c = 0; c < 2; ++c) {
        b.connect_ports(leaves[l], 33 + 2 * s + c, spines[s], 1 + 2 * l + c);
      }
    }
  }
  const auto is_switch = [&](Id id) { return b.node(id).is_switch(); };
  thin_out(b, 542, [&](const auto& c) { return !is_switch(c.b); });
  thin_out(b, 532, [&](const auto& c) { return is_switch(c.a) && is_switch(c.b); });
  for (const auto& tier : {leaves, spines}) {
    for (const Id s : tier) {
      b.node(s).device_id = 0xd2f2;
      const Id aggregation = b.add_host("Mellanox Technologies Aggregation Node");
      b.node(aggregation).device_id = 0xcf09;
      b.node(aggregation).system_image_guid = b.node(s).system_image_guid;
      b.connect_ports(s, 65, aggregation, 1);
    }
  }
  return b.finish();
}

Result<Fabric> generate_lab_like() {
  using wire::LinkSpeed;
  using wire::LinkWidth;
  TopologyBuilder b(GenerateCommon{});
  const Id young = b.add_switch("MF0;lab-sw95:MQM8700/U1", 41);
  const Id old = b.add_switch("MF0;lab-sw226:SX6036/U1", 36);
  b.node(young).device_id = 0xd2f0;
  b.node(old).device_id = 0xc738;
  const auto cable = [&](Id a, unsigned p, Id c, unsigned q, LinkSpeed speed) {
    b.connect_ports(a, p, c, q, LinkWidth::W4x, speed);
  };
  cable(young, 3, old, 1, LinkSpeed::Fdr);
  cable(old, 25, old, 26, LinkSpeed::Fdr10);
  cable(old, 28, old, 29, LinkSpeed::Fdr);
  cable(young, 23, b.add_host("lab-96 HCA-1"), 1, LinkSpeed::Edr);
  cable(young, 24, b.add_host("lab-96 HCA-2"), 1, LinkSpeed::Edr);
  cable(young, 41, b.add_host("Mellanox Technologies Aggregation Node"), 1, LinkSpeed::Hdr);
  unsigned port = 3;
  for (unsigned host = 126; host < 136; host += 2) {
    for (unsigned hca = 1; hca <= 2; ++hca, port += port % 7 == 0 ? 3 : 1) {
      cable(old, port, b.add_host(text("lab-%u HCA-%u", host, hca)), 1, LinkSpeed::Fdr);
    }
  }
  return b.finish();
}

}  // namespace ib::fabric
