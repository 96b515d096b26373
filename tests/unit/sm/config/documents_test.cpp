// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What is made from the option table and kept as a file is what the table makes.
// IBKIT_REWRITE=1 writes the files again: read the diff.
#include "sm/config/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace sm::config {
namespace {

using ::testing::HasSubstr;

std::string load(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The part of the file between two lines is `made`.
void expect_made(const char* name, const std::string& begin, const std::string& end,
                 const std::string& made) {
  const std::string path = std::string(IBKIT_SOURCE_DIR "/") + name;
  const std::string text = load(path);
  const auto from = text.find(begin);
  const auto to = text.find(end, from);
  ASSERT_NE(from, std::string::npos) << name;
  ASSERT_NE(to, std::string::npos) << name;
  const auto first = from + begin.size();
  if (std::getenv("IBKIT_REWRITE") != nullptr)
    std::ofstream(path) << text.substr(0, first) << made << text.substr(to);
  EXPECT_EQ(load(path).substr(first, made.size()), made) << name;
  EXPECT_EQ(load(path).substr(first + made.size(), end.size()), end) << name;
}

TEST(Documents, TheTableOfConfigurationMdIsMadeFromTheRows) {
  expect_made("doc/configuration.md", "<!-- made from the option table -->\n", "<!-- end -->",
              markdown_table());
}

TEST(Documents, TheListOfKeysInTheManPageIsMadeFromTheRows) {
  expect_made("doc/man/ibsm.8", ".\\\" made from the option table\n", ".\\\" end of the table",
              man_page_list());
}

TEST(Documents, TheCompletionIsMadeFromTheRows) {
  const std::string path = IBKIT_SOURCE_DIR "/sm/config/ibsm.bash-completion";
  if (std::getenv("IBKIT_REWRITE") != nullptr) std::ofstream(path) << bash_completion();
  EXPECT_EQ(load(path), bash_completion());
}

TEST(Documents, ShowSaysWhereAValueComesFrom) {
  Configuration configuration;
  std::vector<ib::Diagnostic> problems;
  read_options_text("\nlmc 2\nsm_assigned_guid 5\n", "my.conf", configuration, problems);
  const std::string text = show_text(configuration);
  EXPECT_THAT(text, HasSubstr("\nlmc 2  # my.conf:2\n"));
  EXPECT_THAT(text, HasSubstr("\nsweep_interval 10  # default\n"));
  EXPECT_THAT(text, HasSubstr("\nsm_assigned_guid 5  # my.conf:3; not supported yet: "));
  const std::string json = show_json(configuration, "0");
  EXPECT_THAT(json, HasSubstr(R"("schema": "ibkit.ibsm-config/2")"));
  EXPECT_THAT(json, HasSubstr(R"("name": "lmc", "value": "2", "default": "0", "origin": "file", )"
                              R"("file": "my.conf", "line": 2, "reload": false)"));
  EXPECT_THAT(json, HasSubstr(R"("partitions": [])"));
}

TEST(Documents, ShowHasThePartitions) {
  auto file = policy::read_partition_file(
      "red=0x8001, ipoib, sl=3 : \"a b\"/P2, 0x1-0x2=full, storage=both, ALL_CAS;\n", "p");
  policy::GeneratedKeys keys;
  const auto partitions = policy::merge_definitions(file, "p", keys, file.diagnostics);
  EXPECT_EQ(show_text(ShownPartitions{&partitions, "p"}),
            "# partition 0x7fff \"Default\": no members  # p\n"
            "# partition 0x0001 \"red\": \"a b\"/P2=limited, "
            "0x0000000000000001-0x0000000000000002=full, storage=both, ALL_CAS=limited  # p\n");
  const std::string json = show_json({}, "0", {&partitions, "p"});
  EXPECT_THAT(json, HasSubstr(R"({"p_key": "0x0001", "name": "red", "generated": false, )"
                              R"("origin": "file", "file": "p", "sl": 3, "groups": )"
                              R"(["ff12:401b:8001::ffff:ffff"], "members": [{"who": "\"a b\"/P2", )"
                              R"("membership": "limited"}, )"));
}

}  // namespace
}  // namespace sm::config
