// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// TopologyBuilder: nodes and cables added one by one, then damaged by percentages, then turned into
// a Fabric. GUIDs go by the order of adding, so what is left after damage keeps them. Private to
// this room.
#pragma once

#include <string>
#include <vector>

#include "libdiag/fabric/generate.h"

namespace ib::fabric {

/// Splitmix64: the same numbers everywhere, unlike the distributions of <random>.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// 0 .. sides-1.
  std::size_t roll(std::size_t sides) { return static_cast<std::size_t>(next() % sides); }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[roll(i)]);
  }

 private:
  std::uint64_t state_;
};

class TopologyBuilder {
 public:
  using Id = std::uint32_t;
  static constexpr std::size_t kNodesMax = 200'000;  // beyond that nothing is built any more
  struct Cable {
    Id a, b;
    unsigned a_port, b_port;
    wire::LinkWidth width;
    wire::LinkSpeed speed;
  };

  explicit TopologyBuilder(const GenerateCommon& common);

  Id add_switch(std::string name, unsigned ports);
  Id add_host(std::string name, unsigned ports = 1);
  /// The node as it will be; name, vendor, device and system GUID may be changed.
  Node& node(Id id) { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }

  /// A cable between the lowest free ports, or between given ones.
  void connect(Id a, Id b, unsigned count = 1);
  void connect_ports(Id a, unsigned a_port, Id b, unsigned b_port);
  void connect_ports(Id a, unsigned a_port, Id b, unsigned b_port, wire::LinkWidth width,
                     wire::LinkSpeed speed);
  /// Puts `count` hosts called hostNNNN on switch s.
  void attach_hosts(Id s, unsigned count);
  unsigned free_ports(Id id) const;

  std::vector<Cable>& cables() { return cables_; }
  Dice& dice() { return dice_; }

  /// Takes parts away, keeps the largest connected piece. Fails when a node ran out of ports, or
  /// there are more nodes than can be.
  Result<Fabric> finish();

 private:
  Id add(Node node, unsigned ports);
  bool is_hopeless() const { return too_many_ || !overflow_.empty(); }
  unsigned next_free(Id id);
  void remove_switches();
  void remove_links();
  void remove_hosts();
  void keep_largest_piece();

  GenerateCommon common_;
  Dice dice_;
  std::vector<Node> nodes_;
  std::vector<std::vector<bool>> used_;
  std::vector<bool> gone_;
  std::vector<Cable> cables_;
  std::size_t switches_{0}, hosts_{0};
  std::string overflow_;
  bool too_many_{false};
};

}  // namespace ib::fabric
