// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// 10,000 nodes join and leave 100 groups while one MAD in twenty is lost, each way, requests and
// SMPs alike, in virtual time: in the end who is in which group is exactly what was asked, memory,
// store and switches agree, and no block of a multicast table was pushed without need.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <queue>
#include <random>
#include <set>

#include "libdiag/fabric/generate.h"
#include "sm/sa/registry/state.h"
#include "sm/sa/server.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/unconfigured.h"
#include "tests/unit/sm/sa/run_commits.h"

namespace sm::test {
namespace {

using ib::Duration;
using ib::Gid;
using ib::Guid;
using ib::Instant;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::mad::Packet;
using ib::wire::McMemberRecord;
using ib::wire::Method;
using ib::wire::MgmtClass;
namespace attr = ib::wire::attr;
using std::chrono::milliseconds;

constexpr unsigned kGroups = 100, kLeaves = 100, kHostsPerLeaf = 100;
constexpr double kLoss = 0.05;
constexpr std::uint64_t kJoinMask = 0x10003;    // MGID, PortGID, JoinState
constexpr std::uint64_t kCreateMask = 0x130C7;  // and what a new group needs

Gid group_id(unsigned n) {
  Gid g;
  g.bytes = {0xFF, 0x12, 0x40, 0x1b, 0xFF, 0xFF};
  g.bytes[15] = static_cast<std::uint8_t>(n + 1);
  return g;
}

/// A store that is a second copy of the state.
class Copy final : public store::Store {
 public:
  ib::Result<store::Contents> load() override { return state.contents(); }
  ib::Result<void> commit(const store::Batch& batch) override {
    state.apply(batch);
    ++commits;
    return {};
  }
  sa::State state;
  std::size_t commits{0};
};

/// What the subnet manager pushes into the switches' multicast tables.
class Pushes {
 public:
  explicit Pushes(const ib::fabric::Fabric& fabric, PortRef from) : fabric_(fabric), from_(from) {}

  void see(const core::SubnetManager& sm, const Packet& packet) {
    if (packet.mad.attribute_id() != attr::kMulticastForwarding ||
        packet.mad.method() != Method::Set)
      return;
    Block content;
    std::copy_n(packet.mad.data(), content.size(), content.begin());
    const Place place{target(sm, packet), packet.mad.attribute_modifier()};
    auto& entry = blocks_[place];
    if (entry.pushed && entry.content == content) {
      // Once more what was lost on its way is the same push; what was confirmed is not.
      if (entry.confirmed) ++needless_;
    } else {
      entry = {content, true, false};
      ++count_;
    }
    asked_[packet.mad.tid().value] = {place, content};
  }
  void hear(const Packet& packet) {
    if (packet.mad.attribute_id() != attr::kMulticastForwarding ||
        packet.mad.method() != Method::GetResp)
      return;
    const auto asked = asked_.find(packet.mad.tid().value);
    if (asked == asked_.end()) return;
    auto& entry = blocks_[asked->second.first];
    entry.confirmed = entry.confirmed || entry.content == asked->second.second;
    asked_.erase(asked);
  }

  std::size_t count() const { return count_; }
  std::size_t needless() const { return needless_; }
  bool has_port(NodeIndex node, ib::Lid mlid, unsigned port) const {
    const unsigned index = mlid.value - 0xC000U, position = port / 16;
    const auto at = blocks_.find({node, position << 28 | index / 32});
    if (at == blocks_.end()) return false;
    const auto high = std::to_integer<unsigned>(at->second.content[std::size_t{index} % 32 * 2]);
    const auto low = std::to_integer<unsigned>(at->second.content[index % 32 * 2 + 1]);
    return ((high << 8 | low) >> port % 16 & 1U) != 0;
  }

 private:
  using Block = std::array<std::byte, 64>;
  using Place = std::pair<NodeIndex, std::uint32_t>;  // switch; block and position
  struct Entry {
    Block content{};
    bool pushed{false};
    bool confirmed{false};
  };
  NodeIndex target(const core::SubnetManager& sm, const Packet& packet) const {
    if (!packet.mad.is_directed())
      return sm.snapshot()->fabric().find_lid(packet.address.lid)->node;
    const auto smp = ib::wire::decode<ib::wire::SmpHeader>(packet.mad.bytes.data());
    NodeIndex node = from_.node;
    for (unsigned hop = 1; hop <= smp.hop_count; ++hop)
      node = fabric_.port(node, smp.initial_path[hop]).peer.node;
    return node;
  }

  const ib::fabric::Fabric& fabric_;
  PortRef from_;
  std::map<std::uint64_t, std::pair<Place, Block>> asked_;  // by TID
  std::map<Place, Entry> blocks_;
  std::size_t count_{0}, needless_{0};
};

/// A node that does one thing after the other, and asks again until it is answered.
struct Client {
  PortRef port;
  ib::Lid lid;
  Guid guid;
  std::vector<std::pair<unsigned, bool>> todo;  // group, join
  std::size_t done{0};
  std::optional<Packet> asked;
};

class Storm {
 public:
  explicit Storm(unsigned seed) : random_(seed) {
    ib::fabric::FatTree tree;
    tree.radix = kHostsPerLeaf + 20;
    tree.hosts_per_leaf = kHostsPerLeaf;
    tree.leaves = kLeaves;
    tree.spines = 20;
    core::Options options;
    options.sweep_interval = Duration{0};
    options.read_tables_after.reset();
    stage_ = std::make_unique<SmOnModel>(unconfigured(tree), ib::sim::ModelOptions{}, options);
    pushes_ = std::make_unique<Pushes>(stage_->model().topology(), stage_->at());
    stage_->watch([this](const Packet& packet) {
      pushes_->see(stage_->sm(), packet);
      return true;
    });
    stage_->listen([this](const Packet& packet) { pushes_->hear(packet); });
  }

  void bring_up() {
    turn();
    ASSERT_TRUE(stage_->run_until_reports(1));
    ASSERT_TRUE(stage_->last().up());
    server_.publish(stage_->now(), stage_->sm().snapshot());
    turn();
    const auto& fabric = stage_->sm().snapshot()->fabric();
    for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
      if (fabric.node(n).is_switch()) continue;
      const auto& port = fabric.port(n, 1);
      clients_.push_back({{n, 1}, port.lid, port.guid, {}, 0, {}});
    }
    ASSERT_EQ(clients_.size(), kLeaves * kHostsPerLeaf);
    auto faults = stage_->model().faults();
    faults.loss_percent = 100 * kLoss;
    stage_->model().set_faults(faults);
  }

  void rage(Duration spread) {
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      std::set<unsigned> in;
      for (int step = 0; step < 5; ++step) {
        const unsigned group = below(kGroups);
        const bool join = !in.contains(group);
        // Leave what was joined, now and then; join something else mostly.
        if (join) {
          in.insert(group);
        } else {
          in.erase(group);
        }
        clients_[i].todo.emplace_back(group, join);
        if (step == 2 && !in.empty()) {
          clients_[i].todo.emplace_back(*in.begin(), false);
          in.erase(in.begin());
        }
      }
      for (const unsigned group : in) expected_[group].insert(clients_[i].guid);
      wake_.push({stage_->now() + Duration(static_cast<std::int64_t>(
                                      random_() % static_cast<std::uint64_t>(spread.count()))),
                  i});
    }
    const Instant limit = stage_->now() + std::chrono::seconds(120);
    while (!wake_.empty() && stage_->now() < limit) {
      while (!wake_.empty() && wake_.top().first <= stage_->now()) {
        const auto client = wake_.top().second;
        wake_.pop();
        act(client);
      }
      turn();
      stage_->run_for(milliseconds(1));
    }
    ASSERT_TRUE(wake_.empty()) << "somebody was never answered";
    stage_->run_for(std::chrono::seconds(20));
  }

  void check() {
    const auto contents = server_.contents();
    EXPECT_EQ(contents, store_.state.contents()) << "memory and store";
    std::map<Gid, std::set<Guid>> found;
    std::map<Gid, ib::Lid> mlids;
    for (const auto& group : contents.groups) mlids[group.mgid] = group.mlid;
    for (const auto& member : contents.members) {
      EXPECT_EQ(member.join_state, 1);
      found[member.mgid].insert(member.port_gid.guid());
    }
    for (unsigned g = 0; g < kGroups; ++g)
      ASSERT_EQ(found[group_id(g)], expected_[g]) << "group " << g;

    const auto& fabric = stage_->sm().snapshot()->fabric();
    std::size_t wrong = 0;
    for (const auto& client : clients_) {
      const PortRef leaf = fabric.port(client.port).peer;
      for (unsigned g = 0; g < kGroups; ++g)
        wrong += pushes_->has_port(leaf.node, mlids[group_id(g)], leaf.port) !=
                         expected_[g].contains(client.guid)
                     ? 1U
                     : 0U;
    }
    EXPECT_EQ(wrong, 0U) << "entries of switches that serve the wrong hosts";
    EXPECT_GT(pushes_->count(), 1000U);
    EXPECT_EQ(pushes_->needless(), 0U) << "of " << pushes_->count();
    EXPECT_GT(answers_, clients_.size() * 5);
    EXPECT_LT(store_.commits * 5, answers_) << "they share transactions";
  }

 private:
  /// So many writes in the time that a client may go on asking.
  static sa::Options server_options() {
    sa::Options options;
    options.replays.writes_bytes_max = std::size_t{256} << 20;
    return options;
  }
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool is_lost() { return std::uniform_real_distribution<>(0, 1)(random_) < kLoss; }

  /// Asks for the next thing, or once more for the same.
  void act(std::size_t i) {
    auto& client = clients_[i];
    if (!client.asked && client.done == client.todo.size()) return;
    if (!client.asked) {
      const auto [group, join] = client.todo[client.done];
      McMemberRecord r;
      r.mgid = group_id(group);
      r.port_gid = Gid::from(ib::kDefaultSubnetPrefix, client.guid);
      r.join_state = 1;
      r.q_key = 0x0b1b;
      r.p_key = ib::kDefaultPKey;
      Packet packet;
      packet.address = ib::mad::gsi_address(client.lid);
      packet.mad = ib::wire::make_mad(MgmtClass::SubnAdm, join ? Method::Set : Method::Delete,
                                      attr::kMcMemberRecord, 0);
      packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{(i + 1) << 16 | client.done});
      packet.mad.set<&ib::wire::SaHeader::component_mask>(join ? kCreateMask : kJoinMask);
      ib::wire::set_body(packet.mad, r);
      client.asked = packet;
      by_lid_[client.lid] = i;
    }
    if (!is_lost()) server_.on_packet(stage_->now(), *client.asked);
    wake_.push({stage_->now() + milliseconds(500), i});
  }

  void turn() {
    const Instant now = stage_->now();
    if (server_.next_deadline() <= now) server_.on_time(now);
    do {
      while (server_.work(now)) {
      }
      EXPECT_EQ(run_commits(server_, store_, now), "");
    } while (server_.has_work());
    while (const auto answer = server_.next_send(now)) {
      if (is_lost()) continue;
      auto& client = clients_[by_lid_.at(answer->address.lid)];
      if (!client.asked || client.asked->mad.tid() != answer->mad.tid()) continue;
      if (answer->mad.status() == ib::wire::status::kBusy) continue;  // asks again later
      EXPECT_EQ(answer->mad.status(), ib::wire::status::kOk);
      client.asked.reset();
      ++client.done;
      ++answers_;
      // Its alarm is the next thing's now.
    }
    if (server_.take_multicast_changed()) {
      std::vector<plan::MlidGroup> groups;
      for (auto& g : server_.multicast())
        groups.push_back({g.mlid, std::move(g.receivers), std::move(g.senders), g.sls});
      stage_->sm().set_groups(now, std::move(groups));
    }
  }

  std::mt19937 random_;
  std::unique_ptr<SmOnModel> stage_;
  std::unique_ptr<Pushes> pushes_;
  sa::Server server_{server_options()};
  Copy store_;
  std::vector<Client> clients_;
  std::map<ib::Lid, std::size_t> by_lid_;
  std::map<unsigned, std::set<Guid>> expected_;
  using Alarm = std::pair<Instant, std::size_t>;
  std::priority_queue<Alarm, std::vector<Alarm>, std::greater<>> wake_;
  std::size_t answers_{0};
};

TEST(MulticastStorm, MembershipsAndTablesAreExactInTheEnd) {
  constexpr unsigned kSeed = 7;
  SCOPED_TRACE(kSeed);
  Storm storm(kSeed);
  storm.bring_up();
  if (HasFatalFailure()) return;
  storm.rage(milliseconds(400));
  if (HasFatalFailure()) return;
  storm.check();
}

}  // namespace
}  // namespace sm::test
