// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Partitions that an operator changes while what devices are to hold by those of before is still
// being read or programmed, since some device keeps that waiting.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/wire/smp_attributes.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"
#include "tests/unit/sm/policy/policy_of.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::PKey;
using ib::wire::Method;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
namespace attr = ib::wire::attr;

constexpr PKey kRed{0x8001}, kBlue{0x8002};
constexpr const char* kBrokenOff = "what is being programmed is broken off";
constexpr const char* kDropped = "the plan is dropped before it is programmed";

/// Beside the default one.
core::Options with_partitions(const std::string& others = {}) {
  core::Options options;
  options.plan.partitions = policy::test::policy_of("Default=0x7fff : ALL, SELF=full;\n" + others);
  return options;
}

class PartitionChanges : public testing::Test {
 protected:
  PartitionChanges() : run_(small_tree(), {}, with_partitions()) {
    run_.watch([this](const ib::mad::Packet& p) {
      if (p.mad.method() == Method::Set && p.mad.attribute_id() == attr::kPKeyTable)
        for (const PKey key : ib::wire::body<ib::wire::PKeyTable>(p.mad).p_keys)
          told_.insert(key.value);
      return !(kept_waiting_ && p.mad.method() == Method::Get &&
               p.mad.attribute_id() == *kept_waiting_);
    });
    EXPECT_TRUE(run_.run_until_reports(1));
    run_.run_for(1s);
  }

  /// Hosts that the partitions red and blue have as full members, by their number; none: it is not
  /// there.
  struct Members {
    std::vector<std::size_t> red{}, blue{};
  };
  void change_partitions(const Members& members) {
    std::string text;
    for (const auto& [name, hosts] :
         {std::pair("red=0x1", &members.red), std::pair("blue=0x2", &members.blue)})
      for (const std::size_t host : *hosts)
        text += fmt::format("{} : {}=full;\n", name, to_string(guid(host)));
    reload(with_partitions(text));
  }
  void reload(const core::Options& options) {
    run_.sm().set_options(options);
    run_.sm().set_partitions(options.plan.partitions);
    run_.sm().sweep_now(run_.now(), core::Reason::Operator);
  }
  /// Nobody answers Gets of it from now on.
  void keep_waiting(std::uint16_t attribute) { kept_waiting_ = attribute; }
  void answer_again() { kept_waiting_.reset(); }
  void settle() {
    ASSERT_TRUE(run_.run_until_reports(run_.reports() + 1));
    run_.run_for(20s);
    EXPECT_TRUE(run_.last().up()) << testing::PrintToString(run_.last().lines);
  }
  /// A plan that devices keep waiting, as they do not answer Gets of `attribute`, gives host 1 a
  /// P_Key that the partitions after it give nobody.
  void expect_left_for_others(std::uint16_t attribute, const char* line) {
    keep_waiting(attribute);
    change_partitions({.red = {1}});
    run_.run_for(100ms);
    change_partitions({.blue = {2}});
    answer_again();
    settle();
    EXPECT_FALSE(was_told(kRed));
    EXPECT_THAT(keys(1), Not(Contains(kRed)));
    EXPECT_THAT(keys(2), Contains(kBlue));
    EXPECT_THAT(run_.log(), Contains(HasSubstr(line)));
  }
  bool was_told(PKey key) const { return told_.contains(key.value); }
  std::vector<PKey> keys(std::size_t host) { return run_.model().p_keys(port(host)); }
  ib::Guid node_guid(std::size_t host) {
    return run_.model().topology().node(port(host).node).guid;
  }

  SmOnModel run_;

 private:
  ib::fabric::PortRef port(std::size_t host) {
    const auto& f = run_.model().topology();
    for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (!f.node(n).is_switch() && host-- == 0) return {n, 1};
    return {};
  }
  ib::Guid guid(std::size_t host) { return run_.model().topology().port(port(host)).guid; }

  std::optional<std::uint16_t> kept_waiting_;
  std::set<std::uint16_t> told_;  // P_Keys, in Sets that left
};

TEST_F(PartitionChanges, WhatTheyTakeAwayIsNotProgrammedAnyMore) {
  expect_left_for_others(attr::kLinearForwarding, kBrokenOff);
}

TEST_F(PartitionChanges, NorByAPlanThatTablesAreStillReadFor) {
  expect_left_for_others(attr::kPKeyTable, kDropped);
}

TEST_F(PartitionChanges, TakeKeysFromAHostThatIsCalledOtherwiseSince) {
  const auto named = [this](std::size_t host) {
    core::Options options = with_partitions("red=0x1 : \"storage-1\"=full;\n");
    options.node_names = std::make_shared<const ib::fabric::NodeNames>(
        ib::fabric::NodeNames::read(fmt::format("{} \"storage-1\"\n", to_string(node_guid(host))),
                                    "names")
            .value());
    return options;
  };
  keep_waiting(attr::kLinearForwarding);
  reload(named(1));
  run_.run_for(100ms);
  reload(named(1));
  EXPECT_TRUE(run_.run_until_reports(run_.reports() + 1));
  EXPECT_THAT(keys(1), Contains(kRed));
  EXPECT_THAT(run_.log(), Not(Contains(HasSubstr(kBrokenOff))));
  reload(named(1));
  run_.run_for(100ms);
  reload(named(2));
  answer_again();
  settle();
  EXPECT_THAT(run_.log(), Contains(HasSubstr(kBrokenOff)));
  EXPECT_THAT(keys(1), Not(Contains(kRed)));
  EXPECT_THAT(keys(2), Contains(kRed));
}

TEST_F(PartitionChanges, ThatTakeNothingAwayBreakNothingOff) {
  for (const std::uint16_t attribute : {attr::kLinearForwarding, attr::kPKeyTable}) {
    keep_waiting(attribute);
    change_partitions({.red = {1}});
    run_.run_for(100ms);
    change_partitions({.red = {1}});
    change_partitions({.red = {1}, .blue = {2}});
    answer_again();
    settle();
  }
  EXPECT_TRUE(was_told(kRed));
  EXPECT_THAT(keys(1), Contains(kRed));
  EXPECT_THAT(keys(2), Contains(kBlue));
  EXPECT_THAT(run_.log(), Not(Contains(HasSubstr(kBrokenOff))));
  EXPECT_THAT(run_.log(), Not(Contains(HasSubstr(kDropped))));
}

TEST_F(PartitionChanges, WithoutEndHoldNothingUpForEver) {
  for (const std::uint16_t attribute : {attr::kLinearForwarding, attr::kPKeyTable}) {
    keep_waiting(attribute);
    const std::size_t before = run_.reports();
    for (int i = 0; i < 100; ++i) {
      change_partitions(i % 2 == 0 ? Members{.red = {1}} : Members{.red = {2}});
      run_.run_for(300ms);
    }
    EXPECT_GT(run_.reports(), before);
    answer_again();
    settle();
    EXPECT_THAT(keys(2), Contains(kRed));
    EXPECT_THAT(keys(1), Not(Contains(kRed)));
  }
}

}  // namespace
}  // namespace sm::test
