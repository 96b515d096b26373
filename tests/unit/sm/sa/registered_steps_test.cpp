// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What clients registered, looked through in steps: others are served in between, and what they
// register meanwhile neither doubles a record nor hides one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "sm/sa/intake/searches.h"
#include "sm/sa/queries.h"
#include "sm/sa/registry/mask.h"
#include "sm/sa/registry/services.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::wire::GuidInfoRecord;
using ib::wire::InformInfoRecord;
using ib::wire::McMemberRecord;
using ib::wire::ServiceRecord;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

Gid mgid_of(std::uint64_t n) { return Gid::from(0xff12401bffff0000ULL, Guid{n + 1}); }

store::McGroup group_of(std::uint64_t n) {
  store::McGroup group;
  group.mgid = mgid_of(n);
  group.mlid = Lid{static_cast<std::uint16_t>(0xC001 + n)};
  group.p_key = ib::kDefaultPKey;
  group.mtu = 4;
  group.rate = 3;
  return group;
}
store::McMember member_of(std::uint64_t group, std::uint64_t port, std::uint8_t state = 1) {
  return {mgid_of(group), Gid::from(ib::kDefaultSubnetPrefix, Guid{port + 1}), state, false};
}
store::Service service_of(std::uint64_t n, Guid owner) {
  store::Service service;
  service.record.service_id = n;
  service.record.service_gid = Gid::from(ib::kDefaultSubnetPrefix, owner);
  service.owner = owner;
  return service;
}
store::Subscription subscription_of(std::uint32_t n, Guid subscriber) {
  store::Subscription one;
  one.subscriber = subscriber;
  one.to = ib::mad::gsi_address(Lid{1});
  one.to.qpn = n + 1;
  one.inform_info.subscribe = 1;
  one.inform_info.is_generic = 1;
  one.inform_info.trap_number = 64;
  return one;
}

/// Everything 1,000 times.
constexpr std::size_t kMany = 1000;
store::Contents many() {
  const auto fabric = small_tree();
  const Guid owner = fabric.port(hosts_of(fabric)[2]).guid;
  store::Contents all;
  for (std::uint32_t n = 0; n < kMany; ++n) {
    if (n < 10) all.groups.push_back(group_of(n));
    all.members.push_back(member_of(n / 100, n % 100));
    all.services.push_back(service_of(n, owner));
    all.subscriptions.push_back(subscription_of(n, owner));
  }
  return all;
}

TEST(SaRegistered, IsLookedThroughInSteps) {
  ServiceRecord service;
  service.data8[0] = 9;
  InformInfoRecord subscription;
  subscription.inform_info.trap_number = 9;
  McMemberRecord member;
  member.join_state = 2;
  const std::pair<const char*, std::function<Packet(Bench&)>> questions[] = {
      {"services",
       [&](Bench& b) {
         return b.request(Method::Get, attr::kServiceRecord, service, bit(7), 0, 1);
       }},
      {"subscriptions",
       [&](Bench& b) {
         return b.request(Method::Get, attr::kInformInfoRecord, subscription, bit(7), 0, 1);
       }},
      {"members",
       [&](Bench& b) {
         return b.request(Method::Get, attr::kMcMemberRecord, member, bit(mc_bit::kJoinState), 0,
                          1);
       }},
  };
  for (const auto& [what, question] : questions) {
    SCOPED_TRACE(what);
    Bench bench(small_tree(), {}, many());
    bench.sm_key = 1;
    const auto [others, answer] = ask_beside_others(bench, question(bench));
    EXPECT_EQ(answer.mad.status(), status::kSaNoRecords);
    EXPECT_GE(others, kMany / kCandidatesPerStep - 1);
  }
}

/// Looks at `candidates` and returns what it found, if anything.
template <class Record>
std::optional<Record> look(RecordSource& source, std::size_t candidates, bool& at_end) {
  std::vector<std::byte> bytes(source.record_bytes());
  const auto what = source.next_among(bytes.data(), candidates);
  at_end = what == RecordSource::Found::Nothing;
  if (what != RecordSource::Found::Record) return std::nullopt;
  return ib::wire::decode<Record>(bytes.data());
}

/// A table that is made while clients go on: `change` does something to the state between the steps
/// and says by its number what was touched. Every record that nobody touched comes once, none comes
/// twice, and they come in order.
template <class Record>
void expect_steady(Bench& bench, std::uint16_t attribute, State& state, std::size_t there,
                   const std::function<std::uint64_t(const Record&)>& number,
                   const std::function<std::uint64_t(std::mt19937&)>& change) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Policy policy;
    const World world{std::make_shared<const Paths>(bench.snapshot), state, policy};
    Query query;
    query.method = Method::GetTable;
    query.attribute = attribute;
    query.requester = {world.paths->find(bench.host(2).guid), true};
    std::set<std::uint64_t> before, touched, told;
    const auto all = [&](const std::function<void(std::uint64_t)>& each) {
      auto opened = open_query(world, query);
      std::vector<std::byte> bytes(200);
      auto& source = *std::get<std::unique_ptr<RecordSource>>(opened);
      while (source.next(bytes.data())) each(number(ib::wire::decode<Record>(bytes.data())));
    };
    all([&](std::uint64_t n) { before.insert(n); });
    ASSERT_GE(before.size(), there / 4);
    auto opened = open_query(world, query);
    auto& source = *std::get<std::unique_ptr<RecordSource>>(opened);
    bool at_end = false;
    for (std::uint64_t last = 0; !at_end;) {
      if (const auto record = look<Record>(source, 1 + random() % 5, at_end)) {
        const auto n = number(*record);
        ASSERT_TRUE(told.insert(n).second) << "twice: " << n;
        ASSERT_TRUE(told.size() == 1 || last < n) << "in order";
        last = n;
      }
      touched.insert(change(random));
    }
    for (const auto n : touched) {
      before.erase(n);
      told.erase(n);
    }
    EXPECT_EQ(told, before);
  }
}

TEST(SaRegistered, ServicesComeAndGoUnderATable) {
  Bench bench(small_tree());
  const Guid owner = bench.host(2).guid;
  State state;
  store::Batch batch;
  for (std::uint64_t n = 0; n < 100; ++n) batch.services.push_back(service_of(n, owner));
  state.apply(batch);
  expect_steady<ServiceRecord>(
      bench, attr::kServiceRecord, state, 100, [](const auto& r) { return r.service_id; },
      [&](std::mt19937& random) {
        const auto n = random() % 100;
        store::Batch one;
        if (random() % 2 == 0) {
          one.services.push_back(service_of(n, owner));
        } else {
          one.services_removed.push_back(service_of(n, owner).key());
        }
        state.apply(one);
        return std::uint64_t{n};
      });
}

TEST(SaRegistered, SubscriptionsComeAndGoUnderATable) {
  Bench bench(small_tree());
  const Guid owner = bench.host(2).guid;
  State state;
  store::Batch batch;
  for (std::uint32_t n = 0; n < 100; ++n) batch.subscriptions.push_back(subscription_of(n, owner));
  for (auto& s : batch.subscriptions) s.inform_info.qpn = s.to.qpn;
  state.apply(batch);
  expect_steady<InformInfoRecord>(
      bench, attr::kInformInfoRecord, state, 100,
      [](const auto& r) { return r.inform_info.qpn - 1; },
      [&](std::mt19937& random) {
        const auto n = static_cast<std::uint32_t>(random() % 100);
        auto subscription = subscription_of(n, owner);
        subscription.inform_info.qpn = subscription.to.qpn;
        store::Batch one;
        (random() % 2 == 0 ? one.subscriptions : one.subscriptions_removed).push_back(subscription);
        state.apply(one);
        return std::uint64_t{n};
      });
}

/// Members come and go, and whole groups with all of theirs.
TEST(SaRegistered, GroupsComeAndGoUnderATable) {
  Bench bench(small_tree());
  State state;
  store::Batch batch;
  const auto number_of = [](std::uint64_t group, std::uint64_t port) { return 100 * group + port; };
  for (std::uint64_t g = 0; g < 10; ++g) {
    batch.groups.push_back(group_of(g));
    for (std::uint64_t p = 0; p < 12; ++p) batch.members.push_back(member_of(g, p));
  }
  state.apply(batch);
  expect_steady<McMemberRecord>(
      bench, attr::kMcMemberRecord, state, 120,
      [&](const auto& r) {
        return number_of(r.mgid.guid().value - 1, r.port_gid.guid().value - 1);
      },
      [&](std::mt19937& random) {
        const auto g = random() % 10, p = random() % 12;
        store::Batch one;
        // What is touched is this one member: a group that goes comes back at once with the others.
        if (random() % 4 == 0) {
          one.groups_removed.push_back(mgid_of(g));
          one.groups.push_back(group_of(g));
          for (const auto& m : state.multicast.members(mgid_of(g)))
            if (m.port_gid != member_of(g, p).port_gid) one.members.push_back(m);
        } else {
          one.members.push_back(member_of(g, p, random() % 2 == 0 ? 1 : 0));
        }
        state.apply(one);
        return number_of(g, p);
      });
}

/// A group that comes back as another's between two steps is not shown any more.
TEST(SaRegistered, AGroupOfAnotherPartitionIsNotShownOn) {
  Bench bench(small_tree());
  State state;
  store::Batch batch;
  batch.groups.push_back(group_of(0));
  for (std::uint64_t p = 0; p < 10; ++p) batch.members.push_back(member_of(0, p));
  state.apply(batch);
  Policy policy;
  const World world{std::make_shared<const Paths>(bench.snapshot), state, policy};
  Query query;
  query.method = Method::GetTable;
  query.attribute = attr::kMcMemberRecord;
  query.requester = {world.paths->find(bench.host(2).guid), true};
  auto opened = open_query(world, query);
  auto& source = *std::get<std::unique_ptr<RecordSource>>(opened);
  bool at_end = false;
  EXPECT_TRUE(look<McMemberRecord>(source, 5, at_end));
  batch.groups_removed.push_back(mgid_of(0));
  batch.groups[0].p_key = ib::PKey{0x8123};
  state.apply(batch);
  EXPECT_FALSE(look<McMemberRecord>(source, 50, at_end));
  EXPECT_TRUE(at_end);
}

/// Alias GUIDs are shown as they are when their block's turn comes.
TEST(SaRegistered, AliasesComeAndGoUnderATable) {
  Bench bench(small_tree());
  State state;
  store::Batch batch;
  for (std::size_t host = 0; host < 4; ++host)
    batch.aliases.push_back({bench.host(host).guid, 1, Guid{0xA0 + host}});
  state.apply(batch);
  Policy policy;
  const World world{std::make_shared<const Paths>(bench.snapshot), state, policy};
  Query query;
  query.method = Method::GetTable;
  query.attribute = attr::kGuidInfoRecord;
  query.requester = {world.paths->find(bench.host(2).guid), true};
  auto opened = open_query(world, query);
  auto& source = *std::get<std::unique_ptr<RecordSource>>(opened);
  std::vector<std::byte> bytes(source.record_bytes());
  ASSERT_TRUE(source.next(bytes.data()));
  EXPECT_EQ(ib::wire::decode<GuidInfoRecord>(bytes.data()).guid_info.guid[1], Guid{0xA0});
  store::Batch change;
  change.aliases = {{bench.host(0).guid, 1, Guid{}},
                    {bench.host(1).guid, 1, Guid{}},
                    {bench.host(2).guid, 1, Guid{0xB2}}};
  state.apply(change);
  std::vector<Guid> rest;
  while (source.next(bytes.data()))
    rest.push_back(ib::wire::decode<GuidInfoRecord>(bytes.data()).guid_info.guid[1]);
  EXPECT_THAT(rest, ::testing::ElementsAre(Guid{0xB2}, Guid{0xA3}));
}

}  // namespace
}  // namespace sm::sa::test
