// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Keys of a store on etcd that are gone, damaged, or of a release or a fabric that is not ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sm/store/etcd/batch_code.h"
#include "sm/store/etcd/etcd_store.h"
#include "tests/unit/sm/store/etcd_fake.h"
#include "tests/unit/sm/store/etcd_stores.h"

namespace sm::store::etcd {
namespace {

using ib::ErrorKind;
using ib::Guid;
using ib::Lid;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Fault = FakeEtcd::Fault;

TEST(EtcdStore, WhatItDoesNotKnowItLeavesAlone) {
  struct Case {
    const char* what;
    std::function<void(FakeEtcd::Keys&)> change;
    ErrorKind kind;
    const char* word;
  };
  const std::string head = head_key("/ibkit/default/"), epoch = epoch_key("/ibkit/default/");
  const std::string entry = log_key("/ibkit/default/", 3);
  const Case cases[] = {
      {"newer head", [&](auto& k) { k[head].replace(0, 13, "ibkit-store=2"); },
       ErrorKind::Unavailable, "newer release"},
      {"newer epoch", [&](auto& k) { k[epoch].replace(0, 13, "ibkit-store=2"); },
       ErrorKind::Unavailable, "newer release"},
      {"other fabric",
       [&](auto& k) {
         k[head] = text_of(Head{"fe80000000000001", 0, 0, 0, 0});
       },
       ErrorKind::Unavailable, "another fabric"},
      {"head", [&](auto& k) { k[head] = "x"; }, ErrorKind::Malformed, "etcdctl del --prefix"},
      {"entry", [&](auto& k) { k.at(entry)[6] ^= 1; }, ErrorKind::Malformed, "damaged"},
      {"no entry", [&](auto& k) { k.erase(entry); }, ErrorKind::Malformed, "lacks an entry"},
      {"newer entry",
       [&](auto& k) {
         std::string& bytes = k.at(entry);
         bytes = encode(Batch{});
         bytes[4] = 2;
         std::uint64_t sum = 0xCBF29CE484222325ULL;
         for (std::size_t i = 0; i < 5; ++i)
           sum = (sum ^ static_cast<std::uint8_t>(bytes[i])) * 0x100000001B3ULL;
         for (std::size_t i = 0; i < 8; ++i) bytes[5 + i] = static_cast<char>(sum >> (56 - 8 * i));
       },
       ErrorKind::Unavailable, "newer release"},
      {"no part",
       [&](auto& k) {
         std::erase_if(
             k, [](const auto& one) { return one.first.starts_with("/ibkit/default/snapshot/"); });
       },
       ErrorKind::Malformed, "lacks a part"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    FakeEtcd etcd;
    auto store = master(etcd);
    for (std::uint16_t i = 1; i < 5; ++i) ASSERT_TRUE(store->commit(lid(i, i)));
    c.change(etcd.keys);
    const auto before = etcd.keys;
    const auto opened = EtcdStore::open(options("b"), std::make_unique<FakeCluster>(etcd));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().kind, c.kind);
    EXPECT_THAT(opened.error().message, HasSubstr(c.word));
    EXPECT_EQ(etcd.keys, before);
  }
}

TEST(EtcdStore, AStoreThatBecameUnreadableIsNotOverwrittenByATake) {
  FakeEtcd etcd;
  auto store = master(etcd);
  ASSERT_TRUE(store->commit(lid(1, 1)));
  auto standby = open_well(etcd, options("b"));
  etcd.keys[head_key("/ibkit/default/")].replace(0, 13, "ibkit-store=2");
  const auto before = etcd.keys;
  EXPECT_FALSE(standby.store->take());
  EXPECT_TRUE(standby.store->commit(lid(2, 2)));
  EXPECT_THAT(lines_of(*standby.store), HasSubstr("newer release"));
  EXPECT_THAT(retry(*standby.store), IsEmpty());
  EXPECT_EQ(etcd.keys, before);
}

TEST(EtcdStore, KeysThatAreGoneAreWrittenAgain) {
  FakeEtcd etcd;
  auto store = master(etcd);
  ASSERT_TRUE(store->commit(lid(1, 1)));
  etcd.keys.clear();  // etcdctl del --prefix, or another data directory
  EXPECT_TRUE(store->commit(lid(2, 2)));
  EXPECT_THAT(lines_of(*store), HasSubstr("was gone"));
  EXPECT_EQ(kept_in(etcd), *store->load());
  EXPECT_THAT(kept_in(etcd).lids, SizeIs(2));
  ASSERT_TRUE(store->commit(lid(3, 3)));
  EXPECT_THAT(kept_in(etcd).lids, SizeIs(3));
}

/// Nothing is committed meanwhile: a standby that takes over finds everything all the same.
TEST(EtcdStore, KeysThatAreGoneAreNoticedByAMasterThatWritesNothing) {
  FakeEtcd etcd;
  auto store = master(etcd);
  ASSERT_TRUE(store->commit(lid(1, 1)));
  EXPECT_THAT(look(*store), IsEmpty());
  etcd.keys.clear();
  etcd.always = Fault::Away;
  EXPECT_THAT(look(*store), IsEmpty());
  etcd.always = Fault::None;
  EXPECT_THAT(look(*store), HasSubstr("was gone"));
  EXPECT_EQ(kept_in(etcd), *store->load());
  EXPECT_THAT(kept_in(etcd).lids, SizeIs(1));
}

/// Likewise: it learns that the store is another one's.
TEST(EtcdStore, ADeposedWriterThatWritesNothingLearnsOfIt) {
  FakeEtcd etcd;
  auto first = master(etcd, "host-a");
  auto second = master(etcd, "host-b");
  EXPECT_THAT(look(*first), HasSubstr("host-b"));
  EXPECT_EQ(first->rest(), std::nullopt);
  EXPECT_FALSE(first->commit(lid(3, 3)));
}

TEST(EtcdStore, KeysThatAreGoneAfterEtcdWasAwayAreWrittenAgainToo) {
  FakeEtcd etcd;
  auto store = master(etcd);
  ASSERT_TRUE(store->commit(lid(1, 1)));
  etcd.always = Fault::Away;
  ASSERT_TRUE(store->commit(lid(2, 2)));
  lines_of(*store);
  etcd.keys.clear();
  etcd.always = Fault::None;
  EXPECT_THAT(retry(*store), HasSubstr("was gone"));
  EXPECT_EQ(kept_in(etcd), *store->load());
}

TEST(EtcdStore, WhoTookAStoreThatWasGoneKeepsIt) {
  FakeEtcd etcd;
  auto first = master(etcd, "host-a");
  ASSERT_TRUE(first->commit(lid(1, 1)));
  etcd.keys.clear();
  auto second = master(etcd, "host-b");
  ASSERT_TRUE(second->commit(lid(2, 2)));
  EXPECT_FALSE(first->commit(lid(3, 3)));
  EXPECT_THAT(kept_in(etcd).lids, ElementsAre(LidClaim{Guid{2}, Lid{2}, 0}));
}

}  // namespace
}  // namespace sm::store::etcd
