// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/events/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "sm/events/journal.h"

namespace sm::events {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::chrono::system_clock::time_point at(std::int64_t ms) {
  return std::chrono::system_clock::time_point(std::chrono::milliseconds(ms));
}

TEST(EventTable, RowsStandInTheOrderOfTheirKindsWithNamesOfTheirOwn) {
  std::set<std::string_view> names;
  std::set<unsigned> activities;
  for (std::size_t i = 0; i < rows().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(rows()[i].kind), i);
    EXPECT_TRUE(names.insert(rows()[i].name).second) << rows()[i].name;
    EXPECT_EQ(rows()[i].activity == 0, rows()[i].subjects == 0) << rows()[i].name;
    if (rows()[i].activity != 0) activities.insert(rows()[i].activity);
  }
  EXPECT_EQ(activities.size(), 12U) << "the ids of the activity report, 1 to 12";
}

TEST(EventTable, EveryFieldOfATextIsOneOfTheRow) {
  for (const Row& row : rows())
    for (auto open = row.text.find('{'); open != std::string_view::npos;
         open = row.text.find('{', open + 1)) {
      const auto name = row.text.substr(open + 1, row.text.find_first_of("}.:", open) - open - 1);
      const std::string all = "," + std::string(row.fields) + ",";
      EXPECT_THAT(all, HasSubstr("," + std::string(name) + ",")) << row.name;
    }
}

TEST(Events, HaveALineAJsonLineAndALineOfTheActivityReport) {
  using ib::report::PortShape;
  const Event down = make(Kind::LinkDown, {PortShape{ib::wire::NodeType::Switch, ib::Guid{0x30},
                                                     "leaf-003", 9, ib::Guid{0x30}, ib::Lid{3}},
                                           PortShape{{}, {}, "spine-001", 5, {}, {}}});
  EXPECT_EQ(text_of(down), "link down: \"leaf-003\" port 9 - \"spine-001\" port 5");
  EXPECT_EQ(
      json_of({7, at(1'700'000'000'123), down}),
      R"({"schema":"ibkit.ibsm-event/2","number":7,"time":"2023-11-14T22:13:20.123Z",)"
      R"("event":"link.down","a":{"type":"switch","node_guid":"0x0000000000000030",)"
      R"("name":"leaf-003","port":9,"port_guid":"0x0000000000000030","lid":3},)"
      R"("b":{"type":null,"node_guid":null,"name":"spine-001","port":5,"port_guid":null,"lid":0}})");
  const Event member =
      make(Kind::MemberJoinsGroup, {std::string("0xc001"), std::string("ff12:401b:ffff::1"),
                                    std::string("0x0002c903000085d1"), std::int64_t{-1}});
  EXPECT_EQ(activity_line({8, at(1'700'000'000'000), member}),
            "2023-11-14T22:13:20.000Z 1 mcm_member mlid=0xc001 mgid=ff12:401b:ffff::1 "
            "port_guid=0x0002c903000085d1 join_state=-1");
}

TEST(Events, TextFromTheWireBreaksOutOfNothing) {
  const Event joined = make(
      Kind::NodeJoined,
      {ib::report::NodeShape{ib::wire::NodeType::ChannelAdapter, ib::Guid{1}, "a\"\n{node.guid}"}});
  EXPECT_EQ(text_of(joined), "joined: a\" {node.guid} 0x0000000000000001 (CA)");
  EXPECT_EQ(text_of(joined).find('\n'), std::string::npos);
  EXPECT_EQ(json_of({1, at(0), joined}).find('\n'), std::string::npos);
}

TEST(Journal, NumbersAndKeepsTheLast) {
  Journal journal(7, 3);
  std::vector<std::uint64_t> told;
  journal.add_sink([&](const Record& record) { told.push_back(record.number); });
  for (int i = 0; i < 5; ++i) journal.take({make(Kind::ConfigurationTaken, {})}, at(i));
  EXPECT_THAT(told, ElementsAre(1, 2, 3, 4, 5));
  const auto numbers = [](const std::vector<Record>& records) {
    std::vector<std::uint64_t> out;
    for (const Record& r : records) out.push_back(r.number);
    return out;
  };
  EXPECT_THAT(numbers(journal.after(0)), ElementsAre(3, 4, 5));
  EXPECT_THAT(numbers(journal.after(4)), ElementsAre(5));
  EXPECT_TRUE(journal.after(5).empty());
  EXPECT_THAT(numbers(journal.after(4, 7)), ElementsAre(5));
  EXPECT_THAT(numbers(journal.after(4, 6)), ElementsAre(3, 4, 5)) << "the 4 of another run";
}

TEST(Journal, KnowsWhenANodeLeftAndWhereItWas) {
  using ib::report::NodeShape;
  using ib::report::PortShape;
  using ib::wire::NodeType;
  Journal journal;
  const PortShape host{NodeType::ChannelAdapter, ib::Guid{0x32}, "host0032 HCA-1", 1, {}, {}};
  const PortShape leaf{NodeType::Switch, ib::Guid{0x4}, "leaf-004", 8, {}, {}};
  const NodeShape node{host.type, host.node_guid, host.name};
  journal.take({make(Kind::LinkDown, {leaf, leaf})}, at(1'000));
  journal.take({make(Kind::NodeLeft, {node}), make(Kind::LinkDown, {leaf, host})}, at(2'000));
  const std::string said =
      "\"host0032 HCA-1\" (0x0000000000000032) left at 1970-01-01T00:00:02.000Z; it was on "
      "\"leaf-004\" port 8";
  for (const char* name : {"host0032", "host0032 HCA-1", "host0032:HCA-1", "0x32"})
    EXPECT_EQ(journal.departure_of(name), said) << name;
  EXPECT_EQ(journal.departure_of("leaf-004"), "");
}

/// doc/events.md has the table. With IBKIT_REWRITE set it is written: look at what git says has
/// changed.
TEST(EventTable, IsInTheDocument) {
  const std::string path = IBKIT_SOURCE_DIR "/doc/events.md";
  constexpr std::string_view kBegin = "<!-- made from the table -->\n", kEnd = "<!-- end -->\n";
  std::ostringstream table;
  table << "| event | fields | level | activity | what |\n|---|---|---|---|---|\n";
  constexpr std::string_view kLevels[] = {"error", "warning", "information", "verbose", "debug"};
  for (const Row& row : rows()) {
    table << "| `" << row.name << "` | " << row.fields << " | "
          << kLevels[static_cast<std::size_t>(row.level)] << " | ";
    if (row.activity != 0) table << unsigned{row.activity} << " `" << row.activity_name << '`';
    table << " | " << row.meaning << " |\n";
  }
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  const std::string was = text.str();
  const auto begin = was.find(kBegin), end = was.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::string made =
      was.substr(0, begin) + std::string(kBegin) + table.str() + was.substr(end);
  if (std::getenv("IBKIT_REWRITE") != nullptr) std::ofstream(path) << made;
  EXPECT_EQ(was, made);
}

}  // namespace
}  // namespace sm::events
