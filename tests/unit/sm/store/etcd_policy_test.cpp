// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copies of policy files in etcd: what is written a little at a time, and read by anybody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sm/store/etcd/etcd_store.h"
#include "sm/store/etcd/policy_shelf.h"
#include "tests/unit/sm/store/etcd_fake.h"

namespace sm::store::etcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Fault = FakeEtcd::Fault;

constexpr const char* kPolicyPrefix = "/ibkit/default/";
constexpr const char* kPolicyFabric = "fe80000000000000";

PolicyCopy copy_of(std::string text, std::string host = "head1") {
  return {"partitions.conf", std::move(host), "/var/lib/ibsm", "/etc/my partitions.conf",
          std::move(text)};
}
std::string long_text(std::size_t bytes, char with) {
  std::string text(bytes, with);
  for (std::size_t i = 0; i < text.size(); i += 1000) text[i] = '\n';
  return text;
}

class EtcdPolicy : public ::testing::Test {
 protected:
  EtcdPolicy() { etcd_.keys[epoch_key(kPolicyPrefix)] = epoch_; }
  PolicyWriter writer() { return {kPolicyPrefix, kPolicyFabric, cluster_}; }
  ib::Result<std::optional<PolicyCopy>> read() {
    return PolicyShelf(kPolicyPrefix, kPolicyFabric, std::make_unique<FakeCluster>(etcd_))
        .read("partitions.conf");
  }
  /// Until all is there, whatever fails meanwhile.
  void write(PolicyWriter& writer) {
    for (int i = 0; i < 200 && !writer.is_done(); ++i) (void)writer.step(epoch_);
    EXPECT_TRUE(writer.is_done());
  }

  FakeEtcd etcd_;
  FakeCluster cluster_{etcd_};
  std::string epoch_{"ibkit-store=1 epoch=1 holder=head1:1:1"};
};

TEST_F(EtcdPolicy, IsReadAsItWasWritten) {
  auto ours = writer();
  EXPECT_EQ(read().value(), std::nullopt);
  for (const PolicyCopy& copy :
       {copy_of("red=0x1 : ALL ;\n"), copy_of(""), copy_of(long_text(3'000'000, 'x')),
        copy_of(long_text(PolicyWriter::kPartMost, 'y')), copy_of("", "head2")}) {
    ours.set({copy});
    write(ours);
    EXPECT_EQ(read().value(), copy);
  }
  EXPECT_LE(etcd_.largest, PolicyWriter::kPartMost);
  EXPECT_THAT(etcd_.keys.size(), 2U) << "nothing of those before is left";
}

TEST_F(EtcdPolicy, CountsOnceItIsWhole) {
  auto ours = writer();
  ours.set({copy_of("before")});
  write(ours);
  ours.set({copy_of(long_text(1'000'000, 'x'))});
  for (int steps = 0; !ours.is_done(); ++steps) {
    EXPECT_EQ(read().value()->text, "before") << steps;
    ASSERT_TRUE(ours.step(epoch_));
    ASSERT_LT(steps, 20);
  }
  EXPECT_EQ(read().value()->text.size(), 1'000'000U);
}

TEST_F(EtcdPolicy, WhatIsThereIsNotWrittenAgain) {
  auto first = writer(), second = writer();
  first.set({copy_of("one")});
  write(first);
  const auto before = etcd_.keys;
  second.set({copy_of("one")});
  write(second);
  first.doubt();
  write(first);
  EXPECT_EQ(etcd_.keys, before);
}

TEST_F(EtcdPolicy, WhoIsNotTheMasterWritesNothing) {
  auto ours = writer();
  ours.set({copy_of(long_text(1'000'000, 'x'))});
  ASSERT_TRUE(ours.step(epoch_));
  ASSERT_TRUE(ours.step(epoch_));
  const auto before = etcd_.keys[epoch_key(kPolicyPrefix)] = "another one";
  for (int i = 0; i < 3; ++i) {
    const auto refused = ours.step(epoch_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ib::ErrorKind::Unavailable);
  }
  EXPECT_EQ(etcd_.keys[epoch_key(kPolicyPrefix)], before);
  EXPECT_EQ(read().value(), std::nullopt);
}

TEST_F(EtcdPolicy, HowEverRequestsFailTheLastTextIsThereInTheEnd) {
  for (const Fault fault : {Fault::Away, Fault::AnswerLost, Fault::Late}) {
    for (int at = 0; at < 8; ++at) {
      SCOPED_TRACE(at);
      auto ours = writer();
      ours.set({copy_of(long_text(700'000, 'x'))});
      etcd_.next.assign(at, Fault::None);
      etcd_.next.push_back(fault);
      for (int step = 0; step <= at; ++step) (void)ours.step(epoch_);
      etcd_.next.clear();
      ours.set({copy_of(long_text(600'000, 'z'))});
      write(ours);
      etcd_.deliver();  // of a text that counts no more
      EXPECT_EQ(read().value(), copy_of(long_text(600'000, 'z')));
    }
  }
}

TEST_F(EtcdPolicy, OneThatIsTooLongIsNotKeptAndNeitherIsTheOneBefore) {
  auto ours = writer();
  ours.set({copy_of("before")});
  write(ours);
  ours.set({copy_of(std::string(PolicyWriter::kTextMost + 1, 'x'))});
  write(ours);
  EXPECT_THAT(ours.take_refusals(), ElementsAre(HasSubstr("has 8388609 bytes")));
  EXPECT_THAT(ours.take_refusals(), IsEmpty());
  const auto there = read();
  ASSERT_FALSE(there);
  EXPECT_EQ(there.error().kind, ib::ErrorKind::Unavailable);
  EXPECT_THAT(there.error().message,
              HasSubstr("that of head1, /etc/my partitions.conf, has 8388609 bytes"));
}

TEST_F(EtcdPolicy, WhatCannotBeReadIsSaid) {
  auto ours = writer();
  ours.set({copy_of(long_text(600'000, 'x'))});
  write(ours);
  const auto good = etcd_.keys;
  const std::string head = policy_key(kPolicyPrefix, "partitions.conf");
  const auto trouble = [&] {
    const auto there = read();
    etcd_.keys = good;
    return there ? std::string() : there.error().message;
  };
  etcd_.keys.erase(policy_part_key(kPolicyPrefix, "partitions.conf", 1, 1));
  EXPECT_THAT(trouble(), HasSubstr("does not fit its sum"));
  etcd_.keys[policy_part_key(kPolicyPrefix, "partitions.conf", 1, 0)][3] ^= 1;
  EXPECT_THAT(trouble(), HasSubstr("does not fit its sum"));
  etcd_.keys[head] = "x";
  EXPECT_THAT(trouble(), HasSubstr("its head is damaged"));
  etcd_.keys[head].replace(0, 13, "ibkit-store=2");
  EXPECT_THAT(trouble(), HasSubstr("a newer release wrote it"));
  etcd_.keys[head].replace(etcd_.keys[head].find(kPolicyFabric), 4, "fec0");
  EXPECT_THAT(trouble(), HasSubstr("it is that of another fabric, fec0000000000000"));
  etcd_.always = Fault::Away;
  EXPECT_EQ(read().error().kind, ib::ErrorKind::TimedOut);
}

/// The store has it done.
class EtcdStorePolicy : public ::testing::Test {
 protected:
  std::unique_ptr<Store> open(const std::string& holder) {
    BookOptions options;
    options.prefix = kPolicyPrefix;
    options.fabric = kPolicyFabric;
    options.holder = holder;
    auto opened = EtcdStore::open(options, std::make_unique<FakeCluster>(etcd_));
    EXPECT_TRUE(opened);
    return std::move(opened->store);
  }
  static void keep(Store& store, const std::string& text) {
    dynamic_cast<SharedStore&>(store).set_policy({copy_of(text)});
  }
  /// All its turns that are due at once.
  static std::string turns(Store& store) {
    std::string said;
    for (int i = 0; i < 100 && store.rest() == ib::Duration{0}; ++i)
      for (const auto& line : store.on_time()) said += line.message + '\n';
    return said;
  }
  std::string kept() {
    const auto copy =
        PolicyShelf(kPolicyPrefix, kPolicyFabric, std::make_unique<FakeCluster>(etcd_))
            .read("partitions.conf");
    return copy && *copy ? (*copy)->text : "none";
  }
  static Batch change(std::uint16_t lid) {
    Batch batch;
    batch.lids = {{ib::Guid{1}, ib::Lid{lid}, 0}};
    return batch;
  }
  FakeEtcd etcd_;
};

TEST_F(EtcdStorePolicy, IsThatOfWhoeverWritesTheStore) {
  auto first = open("head1"), second = open("head2");
  keep(*first, "of the first");
  keep(*second, "of the second");
  EXPECT_EQ(turns(*first), "");
  EXPECT_EQ(kept(), "none") << "it is nobody's yet";
  ASSERT_TRUE(first->take());
  EXPECT_EQ(turns(*first), "");
  EXPECT_EQ(kept(), "of the first");
  ASSERT_TRUE(second->take());
  turns(*second);
  EXPECT_EQ(kept(), "of the second");
  keep(*first, "of one that sleeps");
  EXPECT_EQ(turns(*first), "");
  EXPECT_EQ(kept(), "of the second");
  first->stand_by();
  ASSERT_TRUE(first->take());
  turns(*first);
  EXPECT_EQ(kept(), "of one that sleeps");
}

TEST_F(EtcdStorePolicy, ACommitNeverWaitsForMoreThanOnePartOfIt) {
  auto store = open("head1");
  ASSERT_TRUE(store->take());
  keep(*store, long_text(2'000'000, 'x'));
  for (std::uint16_t i = 1; i <= 20; ++i) {
    const auto before = etcd_.txns;
    ASSERT_TRUE(store->commit(change(i)));
    EXPECT_LE(etcd_.txns - before, 3U);
    if (store->rest() == ib::Duration{0}) store->on_time();
    EXPECT_LE(etcd_.txns - before, 4U);
  }
  EXPECT_EQ(kept().size(), 2'000'000U);
}

TEST_F(EtcdStorePolicy, IsWrittenWhenEtcdIsBackAndWhenItWasEmptied) {
  auto store = open("head1");
  ASSERT_TRUE(store->take());
  etcd_.always = Fault::Away;
  keep(*store, "while it was away");
  EXPECT_EQ(turns(*store), "") << "what is committed says so";
  ASSERT_TRUE(store->commit(change(1)));
  turns(*store);
  etcd_.always = Fault::None;
  EXPECT_EQ(store->rest(), EtcdStore::kTryEvery);
  store->on_time();
  turns(*store);
  EXPECT_EQ(kept(), "while it was away");
  etcd_.keys.clear();
  EXPECT_EQ(store->rest(), EtcdStore::kLookEvery);
  store->on_time();
  turns(*store);
  EXPECT_EQ(kept(), "while it was away");
}

TEST_F(EtcdStorePolicy, AQuotaThatIsUsedUpIsSaidOnceAndTriedAgain) {
  auto store = open("head1");
  ASSERT_TRUE(store->take());
  turns(*store);
  keep(*store, "new");
  etcd_.always = Fault::Full;
  EXPECT_THAT(turns(*store), HasSubstr("database space exceeded"));
  EXPECT_EQ(store->rest(), EtcdStore::kLookEvery);
  store->on_time();
  EXPECT_EQ(turns(*store), "");
  etcd_.always = Fault::None;
  EXPECT_EQ(store->rest(), EtcdStore::kLookEvery);
  store->on_time();
  turns(*store);
  EXPECT_EQ(kept(), "new");
}

}  // namespace
}  // namespace sm::store::etcd
