// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/report/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace ib::report {
namespace {

using nlohmann::json;

TEST(JsonWriter, LaysOutObjectsByLine) {
  JsonWriter w;
  w.begin_object().field("lid", Lid{7}).field("up", true).key("nodes").begin_array();
  w.begin_object().field("guid", Guid{0x10}).key("hops").begin_array().value(1).value(2);
  w.end_array().end_object();
  w.begin_object().field("name", "b").end_object().end_array();
  w.key("none").begin_array().end_array().key("at").begin_object().field("x", 1.5).end_object();
  w.end_object();
  EXPECT_EQ(w.take(),
            "{\n"
            "  \"lid\": 7,\n"
            "  \"up\": true,\n"
            "  \"nodes\": [\n"
            "    {\"guid\": \"0x0000000000000010\", \"hops\": [1, 2]},\n"
            "    {\"name\": \"b\"}\n"
            "  ],\n"
            "  \"none\": [],\n"
            "  \"at\": {\n"
            "    \"x\": 1.5\n"
            "  }\n"
            "}\n");
}

TEST(JsonWriter, WritesTreesAsItsOwn) {
  JsonWriter w;
  w.begin_object().key("node").tree({{"name", "a\x1b"}, {"lids", {1, 2}}, {"peer", nullptr}});
  w.key("all").begin_array().begin_object().key("hops").begin_array(JsonWriter::Items::Lines);
  w.tree({{"hop", 1}}).tree({{"hop", 2}}).end_array().end_object().end_array().end_object();
  EXPECT_EQ(w.take(),
            "{\n"
            "  \"node\": {\n"
            "    \"name\": \"a \",\n"
            "    \"lids\": [1, 2],\n"
            "    \"peer\": null\n"
            "  },\n"
            "  \"all\": [\n"
            "    {\"hops\": [\n"
            "        {\"hop\": 1},\n"
            "        {\"hop\": 2}\n"
            "      ]}\n"
            "  ]\n"
            "}\n");
}

TEST(JsonWriter, IsReadBackByAnIndependentParser) {
  JsonWriter w;
  w.begin_object().field("max", std::numeric_limits<std::uint64_t>::max());
  w.field("low", -3).field("absent", std::optional<int>{}).field("nan", std::nan(""));
  w.key("deep").begin_array().begin_array().begin_object().key("a").begin_object();
  w.field("b", 1).end_object().end_object().end_array().value("x").end_array().end_object();
  const json j = json::parse(w.take());
  EXPECT_EQ(j["max"], std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(j["low"], -3);
  EXPECT_TRUE(j["absent"].is_null());
  EXPECT_TRUE(j["nan"].is_null());
  EXPECT_EQ(j["deep"][0][0]["a"]["b"], 1);
  EXPECT_EQ(j["deep"][1], "x");
}

TEST(JsonWriter, HostileTextStaysInItsString) {
  const std::string hostile = "\"}],\\\x1b[2J\n\t\xff\xfe</script>";
  JsonWriter w;
  w.begin_object().field("name", hostile).field(hostile, 1).end_object();
  const std::string text = w.take();
  const json j = json::parse(text);
  EXPECT_EQ(j.size(), 2U);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_TRUE(j["name"].get<std::string>().starts_with("\"}],\\ [2J"));
}

TEST(Envelope, ComesFirst) {
  JsonWriter w;
  begin_document(w, {"ibkit.test/1", "ibtest", "0.1.0", false, {"a \"b\""}});
  w.field("own", 1).end_object();
  const json j = json::parse(w.take());
  EXPECT_EQ(j["schema"], "ibkit.test/1");
  EXPECT_EQ(j["tool"], "ibtest");
  EXPECT_EQ(j["version"], "0.1.0");
  EXPECT_EQ(j["complete"], false);
  EXPECT_EQ(j["errors"], json::array({"a \"b\""}));
  EXPECT_EQ(j["own"], 1);
}

}  // namespace
}  // namespace ib::report
