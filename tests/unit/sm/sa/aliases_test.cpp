// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Registering alias GUIDs: whose, which, how they are made up, and what keeps them.
#include "sm/sa/registry/aliases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "sm/device/tables/kinds.h"
#include "sm/sa/registry/alias_rules.h"
#include "sm/sa/registry/membership.h"
#include "sm/sa/registry/state.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::wire::GuidInfoRecord;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

constexpr std::uint64_t kLidAndBlock = 3;
constexpr std::uint64_t entry(unsigned i) { return std::uint64_t{1} << (4 + i); }

class SaAliases : public ::testing::Test {
 protected:
  Bench bench{small_tree()};

  GuidInfoRecord record(std::size_t host, const std::map<unsigned, std::uint64_t>& guids = {},
                        std::uint8_t block = 0) {
    GuidInfoRecord r;
    r.lid = bench.host(host).lid;
    r.block = block;
    for (const auto& [i, guid] : guids) r.guid_info.guid[i] = Guid{guid};
    return r;
  }
  static std::uint64_t mask_of(const std::map<unsigned, std::uint64_t>& guids) {
    std::uint64_t mask = kLidAndBlock;
    for (const auto& [i, guid] : guids) mask |= entry(i);
    return mask;
  }
  Packet send(Method method, const GuidInfoRecord& r, std::uint64_t mask, std::size_t from) {
    return bench.ask(bench.request(method, attr::kGuidInfoRecord, r, mask, 0, from));
  }
  Packet set(std::size_t host, const std::map<unsigned, std::uint64_t>& guids) {
    return send(Method::Set, record(host, guids), mask_of(guids), host);
  }
  Packet remove(std::size_t host, const std::map<unsigned, std::uint64_t>& guids) {
    return send(Method::Delete, record(host), mask_of(guids), host);
  }
  static std::array<Guid, 8> shown(const Packet& answer) {
    return ib::wire::body<GuidInfoRecord>(answer.mad).guid_info.guid;
  }
  /// As a restart would know them.
  std::vector<store::AliasGuid> kept() { return State(*bench.store->load()).contents().aliases; }
};

TEST_F(SaAliases, ALateCopyOfASetDoesNotUndoTheDelete) {
  const std::map<unsigned, std::uint64_t> wanted{{1, 0xA1}};
  const auto request =
      bench.request(Method::Set, attr::kGuidInfoRecord, record(3, wanted), mask_of(wanted), 0, 3);
  const auto first = bench.ask(request);
  ASSERT_EQ(first.mad.status(), status::kOk);
  EXPECT_EQ(remove(3, wanted).mad.status(), status::kOk);
  EXPECT_EQ(bench.ask(request).mad, first.mad);
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(SaAliases, AreKeptAndShown) {
  const auto answer = set(3, {{1, 0xA1}, {4, 0xA4}});
  EXPECT_EQ(answer.mad.method(), Method::GetResp);
  ASSERT_EQ(answer.mad.status(), status::kOk);
  EXPECT_EQ(answer.mad.get<&ib::wire::SaHeader::attribute_offset>(), 9);
  EXPECT_THAT(shown(answer), ElementsAre(bench.host(3).guid, Guid{0xA1}, Guid{}, Guid{}, Guid{0xA4},
                                         Guid{}, Guid{}, Guid{}));
  EXPECT_THAT(kept(), ElementsAre(store::AliasGuid{bench.host(3).guid, 1, Guid{0xA1}},
                                  store::AliasGuid{bench.host(3).guid, 4, Guid{0xA4}}));
  EXPECT_TRUE(bench.server.take_aliases_changed());
  EXPECT_FALSE(bench.server.take_aliases_changed());
  EXPECT_EQ(bench.server.aliases().at({bench.host(3).guid, 4}), Guid{0xA4});
  Bench after(small_tree(), {}, *bench.store->load());
  EXPECT_EQ(after.server.aliases(), bench.server.aliases());
}

TEST_F(SaAliases, AreDurableBeforeTheAnswerAndTheDevice) {
  bench.give(bench.request(Method::Set, attr::kGuidInfoRecord, record(3, {{1, 0xA1}}),
                           kLidAndBlock | entry(1), 0, 3));
  const auto commit = bench.server.next_commit();
  ASSERT_TRUE(commit);
  EXPECT_THAT(commit->batch.aliases, SizeIs(1));
  EXPECT_FALSE(bench.server.next_send(bench.now));
  EXPECT_FALSE(bench.server.take_aliases_changed());
  bench.server.on_commit_done(bench.now, commit->ticket, true);
  EXPECT_TRUE(bench.server.next_send(bench.now));
  EXPECT_TRUE(bench.server.take_aliases_changed());
}

TEST_F(SaAliases, WhatIsAskedForHasAPlace) {
  const auto status_of = [&](GuidInfoRecord r, std::uint64_t mask) {
    return send(Method::Set, r, mask, 3).mad.status();
  };
  EXPECT_EQ(status_of(record(3), entry(1) | 1), status::kSaInsufficientComponents);
  EXPECT_EQ(status_of(record(3), entry(1) | 2), status::kSaInsufficientComponents);
  EXPECT_EQ(status_of(record(3), kLidAndBlock | entry(0)), status::kSaReqInvalid)
      << "the hardware's own";
  auto nowhere = record(3);
  nowhere.lid = Lid{0xBFFF};
  EXPECT_EQ(status_of(nowhere, kLidAndBlock | entry(1)), status::kSaNoRecords);
  for (const unsigned block : {1U, 2U, 254U, 255U})
    EXPECT_EQ(status_of(record(3, {}, static_cast<std::uint8_t>(block)), kLidAndBlock | entry(1)),
              status::kSaNoRecords)
        << block << ": the port has one block";
  auto stranger =
      bench.request(Method::Set, attr::kGuidInfoRecord, record(3), kLidAndBlock | entry(1), 0, 3);
  stranger.address.lid = Lid{0xBFFF};
  EXPECT_EQ(bench.ask(stranger).mad.status(), status::kSaReqInvalid);
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(SaAliases, EntriesBeyondTheTable) {
  auto snapshot = std::make_shared<Snapshot>(*bench.snapshot);
  auto observed = std::make_shared<ib::discover::Observed>(*snapshot->observed);
  fields_of(observed->port(bench.hosts[3]))
      .set<&ib::wire::PortInfo::guid_cap>(11);  // a block and three entries
  snapshot->observed = observed;
  bench.server.publish(bench.now, snapshot);
  const auto ask = [&](unsigned block, unsigned i) {
    return send(Method::Set, record(3, {}, static_cast<std::uint8_t>(block)),
                kLidAndBlock | entry(i), 3)
        .mad.status();
  };
  EXPECT_EQ(ask(0, 7), status::kOk);
  EXPECT_EQ(ask(1, 0), status::kOk) << "only the very first entry is the hardware's";
  EXPECT_EQ(ask(1, 2), status::kOk);
  EXPECT_EQ(ask(1, 3), status::kSaReqInvalid);
  EXPECT_EQ(ask(2, 0), status::kSaNoRecords);
}

TEST_F(SaAliases, AreThePortsOwnToAskFor) {
  EXPECT_EQ(send(Method::Set, record(3, {{1, 0xA1}}), kLidAndBlock | entry(1), 4).mad.status(),
            status::kSaReqDenied);
  set(3, {{1, 0xA1}});
  EXPECT_EQ(send(Method::Delete, record(3), kLidAndBlock | entry(1), 4).mad.status(),
            status::kSaReqDenied);
  bench.sm_key = 1;
  EXPECT_EQ(send(Method::Set, record(3, {{2, 0xA2}}), kLidAndBlock | entry(2), 4).mad.status(),
            status::kOk);
  EXPECT_THAT(kept(), SizeIs(2));
}

TEST_F(SaAliases, NobodyGetsAGuidThatIsTaken) {
  set(3, {{1, 0xA1}});
  const auto other_port = bench.host(5).guid.value;
  const auto node = bench.snapshot->fabric().node(bench.hosts[5].node).guid.value;
  const auto answer = set(4, {{1, 0xA1}, {2, 0xB2}, {3, 0xB2}, {4, other_port}, {5, node}});
  ASSERT_EQ(answer.mad.status(), status::kOk) << "entry by entry";
  EXPECT_THAT(shown(answer), ElementsAre(bench.host(4).guid, Guid{}, Guid{0xB2}, Guid{}, Guid{},
                                         Guid{}, Guid{}, Guid{}));
  EXPECT_THAT(kept(), SizeIs(2));
  // What an entry holds it is given again.
  EXPECT_EQ(shown(set(3, {{1, 0xA1}}))[1], Guid{0xA1});
  // And a GUID that was given back is free.
  remove(3, {{1, 0}});
  EXPECT_EQ(shown(set(4, {{1, 0xA1}}))[1], Guid{0xA1});
}

TEST_F(SaAliases, ThoseThatAreLeftToUsFollowFromThePlace) {
  const auto first = shown(set(3, {{1, 0}, {2, 0}}));
  EXPECT_EQ(first[1], assigned_guid({bench.host(3).guid, 1}, 0, 0));
  EXPECT_EQ(first[1].value >> 40, 0x001405U) << "the OUI, then the byte that tells subnets apart";
  EXPECT_EQ(first[1].value >> 24 & 0xFFFF, 0U);
  EXPECT_NE(first[1], first[2]);
  EXPECT_EQ(shown(set(3, {{1, 0}}))[1], first[1]) << "an entry keeps what it has";
  set(3, {{1, 0xA1}});
  EXPECT_EQ(shown(set(3, {{1, 0}}))[1], Guid{0xA1});
  remove(3, {{1, 0}});
  EXPECT_EQ(shown(set(3, {{1, 0}}))[1], first[1]) << "the same again";

  Options options;
  options.sm_assigned_guid = 0x5A;
  Bench other(small_tree(), options);
  const auto answer = other.ask(
      other.request(Method::Set, attr::kGuidInfoRecord, record(3), kLidAndBlock | entry(1), 0, 3));
  EXPECT_EQ(shown(answer)[1].value >> 24, 0x0014055A00U);
}

TEST_F(SaAliases, AMadeUpGuidIsNobodyElses) {
  const auto guid = assigned_guid({bench.host(3).guid, 1}, 0, 0);
  set(4, {{1, guid.value}});
  EXPECT_EQ(shown(set(3, {{1, 0}}))[1], assigned_guid({bench.host(3).guid, 1}, 0, 1));
}

TEST_F(SaAliases, AMemberStaysWhatItIs) {
  set(3, {{1, 0xA1}, {2, 0xA2}});
  ib::wire::McMemberRecord join;
  join.mgid = ipoib_group(ib::kDefaultPKey).mgid;
  join.port_gid = Gid::from(ib::kDefaultSubnetPrefix, Guid{0xA1});
  join.join_state = 1;
  ASSERT_EQ(bench.ask(bench.request(Method::Set, attr::kMcMemberRecord, join, 0x10003, 0, 3))
                .mad.status(),
            status::kOk);
  EXPECT_EQ(remove(3, {{1, 0}, {2, 0}}).mad.status(), status::kSaReqDenied);
  EXPECT_EQ(set(3, {{1, 0xA9}}).mad.status(), status::kSaReqDenied);
  EXPECT_THAT(kept(), SizeIs(2)) << "all or nothing";
  EXPECT_EQ(remove(3, {{2, 0}}).mad.status(), status::kOk);
  ASSERT_EQ(bench.ask(bench.request(Method::Delete, attr::kMcMemberRecord, join, 0x10003, 0, 3))
                .mad.status(),
            status::kOk);
  EXPECT_EQ(remove(3, {{1, 0}}).mad.status(), status::kOk);
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(SaAliases, RemovalShowsWhatIsLeft) {
  set(3, {{1, 0xA1}, {2, 0xA2}});
  const auto answer = remove(3, {{1, 0}, {5, 0}});
  EXPECT_EQ(answer.mad.method(), Method::DeleteResp);
  ASSERT_EQ(answer.mad.status(), status::kOk);
  EXPECT_THAT(shown(answer), ElementsAre(bench.host(3).guid, Guid{}, Guid{0xA2}, Guid{}, Guid{},
                                         Guid{}, Guid{}, Guid{}));
  EXPECT_EQ(remove(3, {{0, 0}}).mad.status(), status::kSaReqInvalid);
}

/// A port that is away must find its GUID its own when it comes back.
TEST_F(SaAliases, TheHardwareHasItsGuidWhoeverTookItMeanwhile) {
  const Guid away{0xF00D};
  set(4, {{1, away.value}, {2, 0xA2}});
  auto joined = bench.request(
      Method::Set, attr::kMcMemberRecord,
      [&] {
        ib::wire::McMemberRecord member;
        member.mgid = ipoib_group(ib::kDefaultPKey).mgid;
        member.port_gid = Gid::from(ib::kDefaultSubnetPrefix, away);
        member.join_state = 1;
        return member;
      }(),
      0x10003, 0, 4);
  ASSERT_EQ(bench.ask(joined).mad.status(), status::kOk);
  auto fabric = bench.snapshot->fabric();
  fabric.port(bench.hosts[3]).guid = away;
  fabric.reindex();
  bench.server.publish(bench.now, snapshot_of(std::move(fabric)));
  bench.drain();
  bench.now = std::max(bench.now, bench.server.next_deadline());
  bench.server.on_time(bench.now);
  bench.drain();
  EXPECT_THAT(bench.server.aliases(), ElementsAre(Pair(Pair(bench.host(4).guid, 2), Guid{0xA2})));
  EXPECT_THAT(bench.store->load()->members, IsEmpty());
  const auto said = bench.server.next_log();
  ASSERT_TRUE(said);
  EXPECT_THAT(said->message, HasSubstr("is withdrawn: it is the GUID of a port that has come"));
  EXPECT_THAT(shown(set(4, {{1, away.value}}))[1], Guid{}) << "it is taken";
}

TEST_F(SaAliases, WhatAPortThatIsAwayHasRegisteredKeepsItsGuidFree) {
  ib::wire::ServiceRecord service;
  service.service_id = 7;
  service.service_gid = bench.gid(3);
  service.lease = 0xFFFFFFFF;
  ASSERT_EQ(
      bench.ask(bench.request(Method::Set, attr::kServiceRecord, service, 0x5F, 0, 3)).mad.status(),
      status::kOk);
  auto fabric = bench.snapshot->fabric();
  const Guid away = fabric.port(bench.hosts[3]).guid;
  fabric.port(bench.hosts[3]).guid = Guid{0xF00D};
  fabric.node(bench.hosts[3].node).guid = Guid{0xF00C};
  fabric.reindex();
  bench.server.publish(bench.now, snapshot_of(std::move(fabric)));
  bench.drain();
  EXPECT_THAT(shown(set(4, {{1, away.value}}))[1], Guid{}) << "it is known";
}

/// What ports hold, as a sweep would publish it.
class SaAliasesGivenBack : public SaAliases {
 protected:
  void put_guids(device::Inventory& tables, std::size_t host, const ib::wire::GuidInfo& guids) {
    device::Block block{};
    ib::wire::encode(guids, block.data());
    const auto& node = bench.snapshot->fabric().node(bench.hosts[host].node);
    tables.put(device::kGuidInfo, node.guid, node.num_ports, {bench.hosts[host].port, 0, 0}, block);
  }
  using Entries = std::map<unsigned, std::uint64_t>;
  void publish(std::uint64_t revision, std::size_t host, const std::optional<Entries>& held) {
    DeviceState device_state;
    device_state.aliases_revision = revision;
    device::Inventory tables;
    if (held) {
      ib::wire::GuidInfo block{};
      block.guid[0] = bench.host(host).guid;
      for (const auto& [i, guid] : *held) block.guid[i] = Guid{guid};
      put_guids(tables, host, block);
    }
    device_state.tables = tables.publish();
    bench.server.publish(std::make_shared<const DeviceState>(device_state));
  }
  /// What the store holds after that, with the places that were given back.
  std::vector<store::AliasGuid> stored() {
    bench.drain();
    return bench.store->load()->aliases;
  }
  store::AliasGuid kept_at(std::size_t host, std::uint16_t i, std::uint64_t guid) {
    return {bench.host(host).guid, i, Guid{guid}};
  }
};

TEST_F(SaAliasesGivenBack, AreForgottenWhenTheirPortHasHeard) {
  set(3, {{1, 0xA1}, {2, 0xA2}});
  remove(3, {{1, 0}});
  const auto now = bench.server.aliases_revision();
  const auto both = ElementsAre(kept_at(3, 1, 0), kept_at(3, 2, 0xA2));
  EXPECT_THAT(stored(), both);
  publish(now - 1, 3, Entries{{2, 0xA2}});
  EXPECT_THAT(stored(), both) << "the port may have been programmed with what was before";
  publish(now, 3, std::nullopt);
  EXPECT_THAT(stored(), both) << "it did not answer";
  publish(now, 3, Entries{{1, 0xA1}, {2, 0xA2}});
  EXPECT_THAT(stored(), both) << "it did not do it";
  publish(now, 4, Entries{});
  EXPECT_THAT(stored(), both) << "another port";
  publish(now, 3, Entries{{2, 0xA2}});
  EXPECT_THAT(stored(), ElementsAre(kept_at(3, 2, 0xA2)));
  EXPECT_EQ(bench.server.aliases_revision(), now) << "nothing to program";
  EXPECT_FALSE(bench.server.next_commit());
}

/// Who has given one back does not find it there, although the port has not heard of it yet.
TEST_F(SaAliasesGivenBack, AreNotShownAlthoughTheirPortHoldsThemStill) {
  set(3, {{1, 0xA1}, {2, 0xA2}});
  DeviceState device_state;
  device::Inventory tables;
  put_guids(tables, 3, {{bench.host(3).guid, Guid{0xA1}, Guid{0xA2}, Guid{0xF3}}});
  device_state.tables = tables.publish();
  bench.server.publish(std::make_shared<const DeviceState>(device_state));
  remove(3, {{1, 0}});
  const auto get = bench.ask(
      bench.request(Method::Get, attr::kGuidInfoRecord, record(3, {}), kLidAndBlock, 0, 3));
  ASSERT_EQ(get.mad.status(), status::kOk);
  EXPECT_THAT(shown(get), ElementsAre(bench.host(3).guid, Guid{}, Guid{0xA2}, Guid{0xF3}, Guid{},
                                      Guid{}, Guid{}, Guid{}));
}

TEST_F(SaAliasesGivenBack, AStoreDoesNotGrowByComingAndGoing) {
  for (std::size_t turn = 0; turn < 300; ++turn) {
    const std::size_t host = turn % 16;
    ASSERT_EQ(set(host, {{1 + turn % 7, 0xA000 + turn}}).mad.status(), status::kOk);
    ASSERT_EQ(remove(host, {{1 + turn % 7, 0}}).mad.status(), status::kOk);
    publish(bench.server.aliases_revision(), host, Entries{});
    ASSERT_THAT(stored(), IsEmpty()) << turn;
  }
}

TEST_F(SaAliasesGivenBack, APlaceThatIsTakenAgainStays) {
  set(3, {{1, 0xA1}});
  remove(3, {{1, 0}});
  const auto again = [&](std::uint64_t guid) {
    bench.give(bench.request(Method::Set, attr::kGuidInfoRecord, record(3, {{1, guid}}),
                             kLidAndBlock | entry(1), 0, 3));
  };
  // Both orders in which they may come into one transaction.
  publish(bench.server.aliases_revision(), 3, Entries{});
  again(0xA7);
  EXPECT_THAT(stored(), ElementsAre(kept_at(3, 1, 0xA7)));
  remove(3, {{1, 0}});
  again(0xA8);
  publish(bench.server.aliases_revision(), 3, Entries{});
  EXPECT_THAT(stored(), ElementsAre(kept_at(3, 1, 0xA8)));
  EXPECT_EQ(bench.server.aliases().at({bench.host(3).guid, 1}), Guid{0xA8});
}

TEST_F(SaAliasesGivenBack, AStoreThatFailsIsAskedAgain) {
  set(3, {{1, 0xA1}});
  remove(3, {{1, 0}});
  publish(bench.server.aliases_revision(), 3, Entries{});
  const auto commit = bench.server.next_commit();
  ASSERT_TRUE(commit);
  EXPECT_THAT(commit->batch.aliases_forgotten, SizeIs(1));
  bench.server.on_commit_done(bench.now, commit->ticket, false);
  EXPECT_THAT(stored(), ElementsAre(kept_at(3, 1, 0)));
  publish(bench.server.aliases_revision(), 3, Entries{});
  EXPECT_THAT(stored(), IsEmpty());
}

/// A place that a restart found given back, too.
TEST_F(SaAliasesGivenBack, AreForgottenAfterARestart) {
  set(3, {{1, 0xA1}});
  remove(3, {{1, 0}});
  const auto contents = *bench.store->load();
  bench = Bench(small_tree(), {}, contents);
  EXPECT_THAT(stored(), ElementsAre(kept_at(3, 1, 0)));
  publish(0, 3, Entries{});
  EXPECT_THAT(stored(), IsEmpty());
}

/// Ports are programmed with what is durable only.
TEST_F(SaAliases, AnAliasThatWasNotStoredIsNoPorts) {
  bench.give(bench.request(Method::Set, attr::kGuidInfoRecord, record(3, {{1, 0xA1}}),
                           kLidAndBlock | entry(1), 0, 3));
  const auto commit = bench.server.next_commit();
  ASSERT_TRUE(commit);
  EXPECT_THAT(bench.server.aliases(), IsEmpty());
  bench.server.on_commit_done(bench.now, commit->ticket, false);
  EXPECT_THAT(bench.server.aliases(), IsEmpty());
  EXPECT_FALSE(bench.server.take_aliases_changed());
  EXPECT_EQ(bench.server.aliases_revision(), 0U);
}

TEST_F(SaAliases, ABatchMayMoveAGuid) {
  Aliases aliases;
  store::Batch batch;
  batch.aliases = {{Guid{1}, 1, Guid{0xA}}, {Guid{1}, 2, Guid{0xB}}};
  aliases.apply(batch);
  batch.aliases = {{Guid{1}, 1, Guid{0xB}}, {Guid{1}, 2, Guid{}}};
  aliases.apply(batch);
  EXPECT_EQ(aliases.port_of(Guid{0xB}), Guid{1});
  EXPECT_EQ(aliases.port_of(Guid{0xA}), Guid{});
  EXPECT_THAT(aliases.all(), SizeIs(1));
}

/// Whatever is asked for, no GUID has two places, and memory and store agree.
TEST_F(SaAliases, NoSequenceGivesAGuidTwice) {
  std::mt19937 random(9);
  SCOPED_TRACE("seed 9");
  for (int turn = 0; turn < 1500; ++turn) {
    const std::size_t host = random() % 4;
    std::map<unsigned, std::uint64_t> guids;
    for (unsigned i = 1; i < 8; ++i)
      if (random() % 3 == 0) guids[i] = random() % 3 == 0 ? 0 : 0xA0 + random() % 12;
    if (random() % 3 == 0) {
      remove(host, guids);
    } else {
      const auto got = shown(set(host, guids));
      for (const auto& [i, guid] : guids) {
        const auto held = bench.server.aliases();
        const auto at = held.find({bench.host(host).guid, static_cast<std::uint16_t>(i)});
        if (guid == 0) {
          ASSERT_NE(got[i], Guid{});
        } else if (got[i].value != 0) {
          ASSERT_EQ(at->second, Guid{guid});
        }
      }
    }
    std::set<Guid> seen;
    for (const auto& alias : kept()) ASSERT_TRUE(seen.insert(alias.guid).second) << turn;
    ASSERT_EQ(bench.server.contents().aliases, kept()) << turn;
  }
}

}  // namespace
}  // namespace sm::sa::test
