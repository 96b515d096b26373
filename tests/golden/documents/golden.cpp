// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/golden/documents/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

namespace ib::golden {
namespace {

const std::string kFolder = IBKIT_SOURCE_DIR "/tests/golden/";

std::string masked(std::string text) {
  for (auto at = text.find(kFolder); at != std::string::npos; at = text.find(kFolder))
    text.erase(at, kFolder.size());
  static const std::regex version(R"(("version": ")[^"]*")");
  return std::regex_replace(text, version, "$1VERSION\"");
}

}  // namespace

std::string path(const std::string& name) { return kFolder + name; }

void expect_same(const std::string& document, const std::string& file) {
  const std::string got = masked(document);
  if (std::getenv("IBKIT_REWRITE") != nullptr) {
    std::ofstream out(path("documents/" + file), std::ios::binary);
    out << got;
  }
  std::ifstream in(path("documents/" + file), std::ios::binary);
  ASSERT_TRUE(in) << file;
  std::ostringstream wanted;
  wanted << in.rdbuf();
  EXPECT_EQ(got, wanted.str()) << file;
}

}  // namespace ib::golden
