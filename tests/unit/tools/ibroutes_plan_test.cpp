// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibroutes plan` and `ibroutes compare`, on files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <regex>
#include <string>
#include <utility>

#include "libdiag/fabric/topology_text.h"
#include "libdiag/report/plan_files.h"
#include "libdiag/route/choose/plan.h"
#include "tests/unit/tables/judge.h"
#include "tests/unit/tools/ibroutes_program.h"

namespace ib::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// What seconds there are is nobody's promise.
std::string without_seconds(std::string text) {
  const std::string key = "\"seconds\": ";
  for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos;) {
    at += key.size();
    text.replace(at, text.find_first_of(",}", at) - at, "null");
  }
  return text;
}

/// The document with what differs from run to run replaced.
std::string steady(std::string text) {
  text = without_seconds(std::move(text));
  for (const auto& [key, value] :
       {std::pair<std::string, const char*>{"\"version\": \"", "V"}, {"\"topology\": \"", "T"}}) {
    const std::size_t at = text.find(key) + key.size();
    text.replace(at, text.find('"', at) - at, value);
  }
  return text;
}

TEST(Ibroutes, ComparesEnginesWithWhatIsProgrammed) {
  const std::string from = " --from " + kNet4 + "topology," + kNet4 + "dump_fts";
  const Ran text = ibroutes("plan --compare minhop,updn" + from);
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, ::testing::ContainsRegex("engine      result    unreachable .*\n"
                                                 "programmed  verified            0 .*  -\n"
                                                 "minhop      verified            0 .*\n"
                                                 "updn        verified            0 .*\n$"));
  EXPECT_EQ(steady(ibroutes("plan --compare minhop,updn --json" + from).out),
            judge::read_file(kNet4 + "json-comparison"));
  EXPECT_EQ(steady(ibroutes("compare minhop,updn --json" + from).out),
            judge::read_file(kNet4 + "json-comparison"));
  const Ran all = ibroutes("plan --compare" + from);
  for (const auto& engine : route::engines())
    EXPECT_EQ(all.out.find(std::string("\n") + engine.name + ' ') != std::string::npos,
              engine.given == nullptr)
        << engine.name;
  // What is programmed is judged as it is, engines by what would be left.
  const Ran less = ibroutes("plan --compare minhop --damage 10 --seed 2 --lmc 1" + from);
  EXPECT_EQ(less.status, 0);
  EXPECT_THAT(less.out, HasSubstr("\nnote: without "));
  EXPECT_THAT(less.out, HasSubstr("(10 per cent, seed 2)\n\nengine "));
  EXPECT_THAT(less.out, ::testing::ContainsRegex("programmed  verified            0 "));
  const Ran gone = ibroutes("plan --compare minhop --json --without nosuch" + from);
  EXPECT_EQ(gone.status, 1);
  EXPECT_THAT(gone.out, HasSubstr("nosuch"));
  EXPECT_EQ(ibroutes("plan --compare nonsense" + from).status, 2);
  EXPECT_EQ(ibroutes("plan --compare --root_guid_file /nonexistent" + from).status, 2);
}

/// What of the output is not the program's name, a time, or a table that ibsm alone plans.
std::string routes_alone(std::string text) {
  const std::pair<const char*, const char*> cuts[] = {
      {"ibroutes|ibsm", "PROGRAM"},
      {"(seconds: |\"seconds\": | +)[0-9]+\\.[0-9]+\n?", "$1"},
      {",\n  \"tables\": \\[[^\\]]*\\]", ""},
      {"table: [^\n]*\n", ""}};
  for (const auto& [what, by] : cuts) text = std::regex_replace(text, std::regex(what), by);
  return text;
}

/// One command: of a saved topology both programs print the same routes, whatever the options.
TEST(Ibroutes, PlansASavedTopologyAsIbsmDoes) {
  const std::string topology = kNet4 + "topology";
  for (const std::string options :
       {"-R minhop --figures", "--compare minhop,updn --vls 2", "-R updn -l 1 --json",
        "-R minhop,no_fallback --without 'leaf two:12' -X /dev/null", "-R nonsense",
        "--damage 10% --seed 3 -R minhop", "--load x"}) {
    const auto one = [&](const Ran& ran) {
      return std::to_string(ran.status) + ' ' + routes_alone(ran.out);
    };
    EXPECT_EQ(one(ibroutes("plan " + topology + ' ' + options)),
              one(run("ibsm", "plan " + topology + ' ' + options)))
        << options;
  }
}

TEST(Ibroutes, PlansRoutesAndSaysWhatWouldChange) {
  const judge::Scratch scratch;
  const std::string dir = (scratch / "dumps").string(), svg = (scratch / "loads.svg").string();
  const std::string from = " --from " + kNet4 + "topology," + kNet4 + "dump_fts";
  const Ran text = ibroutes("plan -R minhop,no_fallback --dump " + dir + " --svg " + svg + from);
  EXPECT_EQ(text.status, 0) << text.out;
  EXPECT_THAT(text.out, AllOf(StartsWith("topology: "), HasSubstr("\nengine: minhop\n"),
                              HasSubstr("\nverdict: routes are verified\n"),
                              ::testing::ContainsRegex("\nentries-to-change: [0-9]+\n"
                                                       "blocks-to-write: [0-9]+\n")));
  EXPECT_THAT(judge::read_file(svg),
              AllOf(HasSubstr("<svg"), HasSubstr("topology, routed by minhop")));
  // What was dumped is what would be programmed, and nothing is left to change then.
  const std::string dumped = " --from " + dir + "/fabric.topo," + dir + "/dump_fts.txt";
  EXPECT_THAT(ibroutes("plan -R minhop" + dumped).out,
              HasSubstr("\nentries-to-change: 0\nblocks-to-write: 0\n"));
  EXPECT_EQ(ibroutes("verify" + dumped).status, 0);
  EXPECT_EQ(steady(ibroutes("plan -R minhop --figures --json" + from).out),
            judge::read_file(kNet4 + "json-plan"));
  // As it would be: other LIDs or fewer links are no change to what is programmed.
  const Ran less = ibroutes("plan --damage 10% --seed 2 --lmc 1" + from);
  EXPECT_EQ(less.status, 0);
  EXPECT_THAT(less.out, AllOf(HasSubstr("note: without "), ::testing::Not(HasSubstr("-to-write"))));
  for (const char* wrong :
       {"plan -R nonsense", "plan minhop", "plan --without 'host-3 HCA-1'", "plan --damage 5x",
        "plan --svg -", "plan --dump ''", "plan --root_guid_file /nonexistent"})
    EXPECT_EQ(ibroutes(wrong + from).status, 2) << wrong;
  EXPECT_EQ(ibroutes("plan --svg /nonexistent/x.svg" + from).status, 4);
}

/// Credit loops are refused unless they are allowed.
TEST(Ibroutes, PlansThatCanDeadlockAreRefused) {
  const judge::Scratch scratch;
  const std::string dir = (scratch / "ring").string();
  const auto ring =
      fabric::read_topology_file(IBKIT_SOURCE_DIR "/tests/golden/documents/ring.topo");
  ASSERT_TRUE(ring.has_value());
  ASSERT_TRUE(report::write_dumps(dir, route::plan_routes(*ring).value()).has_value());
  const std::string from = " --from " + dir + "/fabric.topo," + dir + "/dump_fts.txt";
  const Ran refused = ibroutes("plan -R minhop,no_fallback --vls 1" + from);
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.out,
              AllOf(HasSubstr("\nverdict: routes can deadlock ("), HasSubstr("credit loop")));
  const Ran allowed = ibroutes("plan -R minhop,no_fallback --vls 1 --allow-credit-loops" + from);
  EXPECT_EQ(allowed.status, 0);
  EXPECT_THAT(allowed.out, HasSubstr("\nverdict: routes can deadlock ("));
  EXPECT_THAT(ibroutes("plan -R minhop --vls 1" + from).out,
              HasSubstr("\nverdict: routes are verified\n"));
}

}  // namespace
}  // namespace ib::tools
