// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Switches that do not take the SL2VL they are told: routes that need it are not programmed where
// what the switches keep would let them deadlock, as a judge of the tests' own finds it in the
// tables of the devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"
#include "sm/policy/qos_sets.h"
#include "sm/sa/subnet/paths.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/unconfigured.h"
#include "tests/unit/sm/sa/path_world.h"
#include "tests/unit/tables/vl_walk.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using testing::HasSubstr;

ib::fabric::Fabric torus_of_25() {
  ib::fabric::Grid grid;
  grid.sizes = {5, 5};
  return unconfigured(grid);
}

/// Lines of the log that have `text` and do not begin with `begin`.
std::ptrdiff_t lines_beside(const SmOnModel& run, std::string_view begin, std::string_view text) {
  return std::ranges::count_if(run.log(), [&](const std::string& line) {
    return line.find(text) != line.npos && !line.starts_with(begin);
  });
}

core::Options routed_by(const char* engine) {
  core::Options options;
  options.plan.qos = true;
  options.plan.choice.engines = {engine};
  return options;
}

class KeptRows : public testing::Test {
 protected:
  /// updn, with every SL on VL 0; then switches stop taking SL2VL, in one way or the other.
  void begin_with_one_vl(const char* trait) {
    core::Options before = routed_by("updn");
    before.plan.qos_sets[0].sl_to_vl = std::vector<std::uint8_t>(16, 0);
    run.boot_as(before);
    ASSERT_TRUE(run.run_until_reports(1));
    ASSERT_TRUE(run.last().up());
    change("sw-", "-0", trait, "SLtoVLMappingTable");
  }
  static core::Options four_levels() {
    core::Options options = routed_by("dfsssp");
    options.plan.level_sls = 0b1111;
    return options;
  }
  void change(std::string_view first, std::string_view last, const char* trait, const char* value) {
    const auto& f = run.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (f.node(n).is_switch() && f.node(n).name().starts_with(first) &&
          f.node(n).name().ends_with(last)) {
        ASSERT_TRUE(run.model().set_trait(run.now(), n, std::nullopt, trait, value));
        ++changed;
      }
  }
  std::string engine() { return run.sm().snapshot()->routing->engine; }
  std::size_t said(const std::string& words) {
    return static_cast<std::size_t>(std::ranges::count_if(
        run.log(), [&](const std::string& line) { return line.find(words) != line.npos; }));
  }

  /// Of what the devices hold, for every pair of hosts on every SL that a record may have.
  ib::tables::test::VlWalkFindings judged() {
    const auto snapshot = run.sm().snapshot();
    const sa::Paths paths(snapshot);
    const auto& f = snapshot->fabric();
    ib::sim::Model& model = run.model();
    const auto at = [&](NodeIndex n) { return *model.topology().find_node(f.node(n).guid); };
    return ib::tables::test::VlWalk(
               {f, [&](NodeIndex n, ib::Lid lid) { return model.lft(at(n), lid); },
                [&](NodeIndex n, std::uint8_t in, std::uint8_t out, ib::Sl sl) {
                  return model.sl_to_vl({at(n), out}, in).vl[sl.value];
                },
                [&](PortRef from, PortRef to) {
                  const auto& a = *paths.find(f.port(from).guid);
                  const auto& b = *paths.find(f.port(to).guid);
                  std::set<std::uint8_t> sls{paths.sl(a, b).value};
                  for (std::uint8_t level = 0; level < 4 && paths.levels() != nullptr; ++level)
                    if (const auto sl = paths.levels()->at(ib::Sl{level}, paths.sl(a, b)))
                      sls.insert(sl->value);
                  return sls;
                }})
        .findings();
  }

  SmOnModel run{torus_of_25()};
  unsigned changed{0};
};

TEST_F(KeptRows, RoutesThatWouldDeadlockWithThemAreLeftForOneVlAndComeBackWhenTheyAreTaken) {
  begin_with_one_vl("refuse");
  ASSERT_EQ(changed, 5U);
  run.boot_as(four_levels());
  bool cycled = false;
  run.on_report([&](const core::Report&) { cycled = cycled || judged().cycle; });
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_FALSE(cycled);
  EXPECT_FALSE(run.last().up());
  EXPECT_NE(engine(), "dfsssp");
  EXPECT_TRUE(run.sm().snapshot()->routing->virtual_lanes.trivial());
  EXPECT_THAT(run.last().lines,
              testing::Contains(testing::AllOf(
                  HasSubstr("5 switches keep another SLtoVLMappingTable than was set"),
                  HasSubstr("'sw-0-0'"), HasSubstr("routes of dfsssp may deadlock: "),
                  HasSubstr("credit loop"), HasSubstr(" routes on one VL, free of deadlock"))));
  EXPECT_EQ(said("Set(SLtoVLMappingTable)"), 5U) << "each is named once";

  // Asked again, they refuse again.
  run.sm().sweep_now(run.now(), core::Reason::Operator);
  ASSERT_TRUE(run.run_until_reports(2));
  EXPECT_FALSE(cycled);
  EXPECT_FALSE(run.last().up());
  EXPECT_NE(engine(), "dfsssp");
  EXPECT_EQ(said("Set(SLtoVLMappingTable)"), 5U) << "and nothing new is said of them";
  const auto sweeps = run.sm().counters().full_sweeps;
  run.run_for(30s);
  EXPECT_EQ(run.sm().counters().full_sweeps, sweeps) << "nobody is bothered by it";

  change("sw-", "-0", "refuse", "none");
  run.run_for(150s);
  EXPECT_EQ(engine(), "dfsssp");
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_FALSE(cycled);
  EXPECT_EQ(said("takes its SLtoVLMappingTable now"), 5U);
}

TEST_F(KeptRows, DevicesThatSayYesAndKeepTheirsAreNamedAlikeAtEverySweepOfTheOperator) {
  begin_with_one_vl("keep");
  run.boot_as(four_levels());
  std::vector<std::string> lines;
  for (unsigned sweep = 1; sweep <= 3; ++sweep) {
    ASSERT_TRUE(run.run_until_reports(sweep));
    EXPECT_FALSE(run.last().up()) << sweep;
    EXPECT_FALSE(judged().cycle);
    if (sweep > 1) {
      EXPECT_EQ(run.last().lines, lines);
    }
    lines = run.last().lines;
    run.sm().sweep_now(run.now(), core::Reason::Operator);
  }
  EXPECT_THAT(lines, testing::Contains(HasSubstr("routes of dfsssp may deadlock: ")));
  EXPECT_EQ(said("another value than was set"), 5U) << "each is named once";
}

TEST_F(KeptRows, WhereNoOtherEngineIsAllowedTheLoopIsNamedAndTheSubnetIsNotUp) {
  begin_with_one_vl("refuse");
  core::Options options = four_levels();
  options.plan.choice.no_fallback = true;
  run.boot_as(options);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_EQ(engine(), "dfsssp");
  EXPECT_FALSE(run.last().up());
  EXPECT_THAT(run.last().lines,
              testing::Contains(testing::AllOf(HasSubstr("routes of dfsssp may deadlock: "),
                                               HasSubstr("no other routes are allowed"))));
}

/// A tree needs no VL to be free of deadlock, whatever a switch maps.
TEST_F(KeptRows, ASwitchThatRefusesOnRoutesOfOneVlChangesNoEngine) {
  begin_with_one_vl("refuse");
  core::Options options = routed_by("updn");
  options.plan.level_sls = 0b1111;
  run.boot_as(options);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_EQ(engine(), "updn");
  EXPECT_FALSE(run.last().up());
  EXPECT_EQ(said("may deadlock"), 0U);
  EXPECT_EQ(said("Set(SLtoVLMappingTable)"), 5U);
}

/// What it holds is what it is to hold: nothing is missing, today and after a restart.
TEST(RefusedTables, ASwitchThatTakesNoRowsAndNeedsNoneIsNamedOnceAndTheSubnetIsUp) {
  for (const char* trait : {"refuse", "keep"})
    for (const char* engine : {"updn", "dfsssp"}) {
      SCOPED_TRACE(std::string(trait) + ", " + engine);
      SmOnModel run(torus_of_25());
      const auto& f = run.model().topology();
      NodeIndex sw = 0;
      while (f.node(sw).name() != "sw-1-1") ++sw;
      ASSERT_TRUE(run.model().set_trait(run.now(), sw, std::nullopt, trait, "SLtoVLMappingTable"));
      const auto rows_set = [&] {
        std::uint64_t count = 0;
        for (const auto& row : run.model().stats())
          if (row.method == static_cast<std::uint8_t>(ib::wire::Method::Set) &&
              row.attribute == ib::wire::attr::kSlToVl)
            count += row.count;
        return count;
      };
      core::Options options = routed_by(engine);
      options.plan.qos = std::string_view(engine) == "updn";
      run.boot_as(options);
      ASSERT_TRUE(run.run_until_reports(1));
      EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
      EXPECT_THAT(run.last().lines, testing::Contains(testing::AllOf(
                                        testing::StartsWith("refused: Set(SLtoVLMappingTable) to "),
                                        HasSubstr("sw-1-1"), HasSubstr("it holds what it is to"))));
      const auto named = [&] {
        return std::ranges::count_if(run.log(), [](const std::string& line) {
          return line.starts_with("Set(SLtoVLMappingTable)");
        });
      };
      EXPECT_EQ(named(), 1);
      const auto sets = rows_set();
      EXPECT_LE(sets, 8 * 25U) << "a few for each of 25 switches";
      run.run_for(120s);
      run.sm().sweep_now(run.now(), core::Reason::Operator);
      ASSERT_TRUE(run.run_until_reports(2));
      EXPECT_TRUE(run.last().up());
      EXPECT_EQ(named(), 1);
      run.boot();
      ASSERT_TRUE(run.run_until_reports(1));
      EXPECT_TRUE(run.last().up());
      EXPECT_EQ(rows_set(), sets) << "it is asked for nothing that it holds";
    }
}

TEST(RefusedTables, ASwitchThatTellsNoRowsIsNamedOnceAndNotUp) {
  SmOnModel run(torus_of_25());
  const auto& f = run.model().topology();
  NodeIndex sw = 0;
  while (f.node(sw).name() != "sw-1-1") ++sw;
  ASSERT_TRUE(
      run.model().set_trait(run.now(), sw, std::nullopt, "unsupported", "SLtoVLMappingTable"));
  run.boot_as(routed_by("updn"));
  for (unsigned sweep = 1; sweep <= 2; ++sweep) {
    ASSERT_TRUE(run.run_until_reports(sweep));
    EXPECT_FALSE(run.last().up());
    EXPECT_THAT(run.last().lines,
                testing::Contains(testing::AllOf(testing::StartsWith("missing: "),
                                                 HasSubstr("(SLtoVLMappingTable) to "),
                                                 HasSubstr("sw-1-1"), HasSubstr("status 0x000c"))));
    run.sm().sweep_now(run.now(), core::Reason::Operator);
  }
  EXPECT_EQ(lines_beside(run, "missing: ", "(SLtoVLMappingTable) to "), 1);
}

/// What it holds is as it is to be, as it tells when all is read for subnet administration.
TEST(RefusedTables, ASwitchThatTellsItsRowsAfterTheReportIsSweptAgainWhenAGroupIsProgrammed) {
  SmOnModel run(torus_of_25());
  const auto& f = run.model().topology();
  NodeIndex sw = 0;
  while (f.node(sw).name() != "sw-1-1") ++sw;
  const auto tells = [&](const char* unsupported) {
    ASSERT_TRUE(run.model().set_trait(run.now(), sw, std::nullopt, "unsupported", unsupported));
  };
  tells("SLtoVLMappingTable");
  run.boot_as(routed_by("updn"));
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_FALSE(run.last().up());
  tells("none");
  run.run_for(20s);
  EXPECT_FALSE(run.last().up()) << "it is asked again after a minute";
  run.sm().set_groups(run.now(), {{ib::kLidMulticastMin, {f.port(run.at()).guid}, {}}});
  run.run_for(5s);
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
}

/// VLCap says 8; told to operate them the port operates 4.
TEST(FewerVls, APortThatOperatesFewerThanItSaysIsNamedOnceAndItsLinkHasAsMany) {
  for (const bool qos : {false, true}) {
    SCOPED_TRACE(qos);
    constexpr std::uint8_t kFourVls = 3;
    SmOnModel run(torus_of_25());
    run.listen([&](ib::mad::Packet& packet) {
      if (packet.mad.attribute_id() != ib::wire::attr::kPortInfo ||
          packet.mad.get<&ib::wire::SmpHeader::hop_count>() != 0)
        return;
      ib::wire::View<ib::wire::PortInfo> info(packet.mad.data());
      if (info.get<&ib::wire::PortInfo::operational_vls>() > kFourVls)
        info.set<&ib::wire::PortInfo::operational_vls>(kFourVls);
    });
    core::Options options;
    options.plan.qos = qos;
    run.boot_as(options);
    ASSERT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
    const PortRef far = run.model().topology().port(run.at()).peer;
    EXPECT_EQ(run.model().port_info(far).operational_vls, kFourVls);
    const auto named = [&] {
      return std::ranges::count_if(run.log(), [](const std::string& line) {
        return line.find("says that it has 8 VLs and operates 4") != line.npos;
      });
    };
    EXPECT_EQ(named(), 1);
    if (qos) {
      for (const unsigned vl :
           run.model().sl_to_vl(far, static_cast<std::uint8_t>(far.port == 1 ? 2 : 1)).vl)
        EXPECT_LT(vl, 4U);
    }
    unsigned others = 0;
    const auto& f = run.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      for (unsigned p = 1; p <= f.node(n).num_ports; ++p)
        if (const PortRef port{n, static_cast<std::uint8_t>(p)}; f.port(port).peer && port != far)
          others += run.model().port_info(port).operational_vls == kFourVls ? 1 : 0;
    EXPECT_LE(others, 1U) << "but the port itself";
    unsigned sets = 0;
    run.watch([&](const ib::mad::Packet& p) {
      sets += p.mad.method() == ib::wire::Method::Set ? 1 : 0;
      return true;
    });
    for (unsigned more = 2; more <= 3; ++more) {
      const auto reports = run.reports();
      run.sm().sweep_now(run.now(), core::Reason::Operator);
      ASSERT_TRUE(run.run_until_reports(reports + 1));
      EXPECT_TRUE(run.last().up());
    }
    EXPECT_EQ(sets, 0U);
    EXPECT_EQ(named(), 1);
  }
}

/// The SA by a snapshot, asked for paths on one SL as GIDs name their ends.
class PathsOnSl {
 public:
  explicit PathsOnSl(SmOnModel& run) : w_(std::make_shared<Snapshot>(*run.sm().snapshot())) {}
  std::size_t host(ib::Guid port) const {
    std::size_t i = 0;
    while (w_.host(i).guid != port) ++i;
    return i;
  }
  std::optional<ib::wire::PathRecord> get(std::size_t from, std::size_t to, unsigned sl,
                                          bool reversible = false) const {
    using sa::bit;
    auto wanted = w_.between(from, to);
    wanted.sl = ib::Sl{static_cast<std::uint8_t>(sl)};
    wanted.reversible = reversible;
    std::uint64_t mask = sa::test::kGids | bit(sa::path_bit::kSl);
    if (reversible) mask |= bit(sa::path_bit::kReversible);
    return w_.get(wanted, mask);
  }

 private:
  sa::test::PathWorld w_;
};

/// As another subnet manager told them, or an ibsm whose store is lost.
TEST(RowsOfAnother, StandUnlessTheyDropPacketsThatAreToArrive) {
  for (const std::uint8_t sl : {std::uint8_t{0}, std::uint8_t{5}}) {
    SCOPED_TRACE(int{sl});
    core::Options before = routed_by("updn");
    before.plan.qos_sets[0].sl_to_vl = std::vector<std::uint8_t>(16, 0);
    before.plan.qos_sets[0].sl_to_vl[sl] = 15;
    SmOnModel run(torus_of_25());
    run.boot_as(before);
    ASSERT_TRUE(run.run_until_reports(1));
    const PortRef host = run.at();
    ASSERT_EQ(run.model().sl_to_vl(host, 0).vl[sl], 15U);
    core::Options options = routed_by("updn");
    options.plan.qos = false;
    run.boot_as(options);
    run.boot_without_memory();
    run.run_for(20s);
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
    EXPECT_EQ(run.model().sl_to_vl(host, 0).vl[sl], sl == 0 ? 0U : 15U);
    const PortRef at_switch = run.model().topology().port(host).peer;
    for (unsigned in = 1; in < 5; ++in)
      EXPECT_EQ(run.model().sl_to_vl(at_switch, static_cast<std::uint8_t>(in)).vl[sl],
                sl == 0 ? 0U : 15U);
    EXPECT_EQ(run.kept().vls, sl == 0 ? store::DeviceVls::PutBack : store::DeviceVls::Untouched);
  }
}

/// None dropped any when they were read; then a link comes up with fewer VLs.
TEST(RowsOfAnother, ArePutBackWhenALinkHasFewerVlsThanTheyName) {
  core::Options before = routed_by("updn");
  before.plan.qos_sets[0].sl_to_vl = std::vector<std::uint8_t>(16, 1);
  SmOnModel run(torus_of_25());
  run.boot_as(before);
  ASSERT_TRUE(run.run_until_reports(1));
  core::Options options = routed_by("updn");
  options.plan.qos = false;
  run.boot_as(options);
  run.boot_without_memory();
  run.run_for(20s);
  const auto& f = run.model().topology();
  PortRef host;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch() && n != run.at().node) host = {n, 1};
  const PortRef far = f.port(host).peer;
  ASSERT_EQ(run.model().sl_to_vl(far, 0).vl[0], 1U);
  ASSERT_TRUE(run.model().set_trait(run.now(), host.node, std::nullopt, "vl_cap", "1"));
  ASSERT_TRUE(run.model().reboot(run.now(), host.node));
  run.run_for(20s);
  EXPECT_TRUE(run.last().up());
  ASSERT_EQ(ib::wire::data_vls(run.model().port_info(far).operational_vls), 1U);
  for (unsigned in = 0; in < 5; ++in)
    EXPECT_EQ(run.model().sl_to_vl(far, static_cast<std::uint8_t>(in)).vl[0], 0U) << in;
}

/// SL 3 was dropped everywhere; then no more, but a host does not take that.
TEST(RefusedTables, AHostThatKeepsRowsWhichDropAnSlHasNoPathOnItAndOthersHave) {
  for (const char* trait : {"refuse", "keep"}) {
    SCOPED_TRACE(trait);
    core::Options before = routed_by("updn");
    before.plan.qos_sets[0].sl_to_vl = std::vector<std::uint8_t>(16, 0);
    before.plan.qos_sets[0].sl_to_vl[3] = 15;
    SmOnModel run(torus_of_25());
    run.boot_as(before);
    ASSERT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.sm().snapshot()->dropped_by_hosts.empty()) << "nobody refused";
    const PortRef host = run.at();
    const ib::Guid guid = run.model().topology().port(host).guid;
    ASSERT_TRUE(
        run.model().set_trait(run.now(), host.node, std::nullopt, trait, "SLtoVLMappingTable"));
    run.boot_as(routed_by("updn"));
    ASSERT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
    {
      const PathsOnSl paths(run);
      const std::size_t odd = paths.host(guid), a = odd == 0 ? 1 : 0, b = odd <= 1 ? 2 : 1;
      EXPECT_FALSE(paths.get(odd, a, 3));
      EXPECT_TRUE(paths.get(odd, a, 2, true));
      EXPECT_TRUE(paths.get(a, b, 3, true));
      ASSERT_TRUE(paths.get(a, odd, 3)) << "packets to it arrive";
      EXPECT_FALSE(paths.get(a, odd, 3)->reversible) << "answers do not";
      EXPECT_FALSE(paths.get(a, odd, 3, true));
    }
    EXPECT_EQ(run.sm().snapshot()->refused_tables.size(), 1U);
    ASSERT_TRUE(run.model().set_trait(run.now(), host.node, std::nullopt, trait, "none"));
    run.run_for(150s);
    EXPECT_TRUE(run.sm().snapshot()->dropped_by_hosts.empty());
    EXPECT_TRUE(run.sm().snapshot()->refused_tables.empty());
    const PathsOnSl paths(run);
    const std::size_t odd = paths.host(guid);
    EXPECT_TRUE(paths.get(odd, odd == 0 ? 1 : 0, 3, true));
  }
}

TEST(RefusedTables, AHostThatKeepsRowsOnVlsWhichItsLinkHasNotHasNoPathOnTheirSls) {
  constexpr std::uint8_t kFourVls = 3;
  core::Options options = routed_by("updn");
  SmOnModel run(torus_of_25());
  run.boot_as(options);
  ASSERT_TRUE(run.run_until_reports(1));
  const PortRef host = run.at();
  const ib::Guid guid = run.model().topology().port(host).guid;
  ASSERT_EQ(run.model().sl_to_vl(host, 0).vl[5], 5U);
  ASSERT_TRUE(
      run.model().set_trait(run.now(), host.node, std::nullopt, "refuse", "SLtoVLMappingTable"));
  run.listen([&](ib::mad::Packet& packet) {
    if (packet.mad.attribute_id() != ib::wire::attr::kPortInfo ||
        packet.mad.get<&ib::wire::SmpHeader::hop_count>() != 0)
      return;
    ib::wire::View<ib::wire::PortInfo> info(packet.mad.data());
    if (info.get<&ib::wire::PortInfo::operational_vls>() > kFourVls)
      info.set<&ib::wire::PortInfo::operational_vls>(kFourVls);
  });
  run.boot_as(options);
  ASSERT_TRUE(run.run_until_reports(1));
  const PathsOnSl paths(run);
  const std::size_t odd = paths.host(guid), other = odd == 0 ? 1 : 0;
  for (unsigned sl = 0; sl < 8; ++sl)
    EXPECT_EQ(paths.get(odd, other, sl).has_value(), sl < 4) << sl;
}

TEST(RefusedTables, AHostThatRefusesIsNamedOnceAndTheSubnetIsUp) {
  core::Options options = routed_by("updn");
  SmOnModel run(torus_of_25());
  ASSERT_TRUE(run.run_until_reports(1));
  const NodeIndex host = run.at().node;
  ASSERT_TRUE(run.model().set_trait(run.now(), host, std::nullopt, "refuse", "VLArbitrationTable"));
  options.plan.qos_sets[0].vlarb_low = policy::VlArbitrationTemplate{{0, 1}, {1, 9}};
  options.plan.qos_sets[0].vlarb_high = policy::VlArbitrationTemplate{{2, 9}};
  run.boot_as(options);
  for (unsigned sweep = 1; sweep <= 2; ++sweep) {
    ASSERT_TRUE(run.run_until_reports(sweep));
    EXPECT_TRUE(run.last().up());
    EXPECT_THAT(run.last().headline(), HasSubstr(" refused=1"));
    EXPECT_THAT(run.last().lines,
                testing::ElementsAre(testing::AllOf(
                    HasSubstr("refused: Set(VLArbitrationTable) to "),
                    HasSubstr("port 1 block 1: status 0x001c (and so 1 other block)"))));
    run.sm().sweep_now(run.now(), core::Reason::Operator);
  }
  EXPECT_EQ(lines_beside(run, "refused: ", "Set(VLArbitrationTable)"), 1);
}

}  // namespace
}  // namespace sm::test
