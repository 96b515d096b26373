// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Broken policy files and the exact messages about them: the *.cases files beside this one. With
// IBKIT_REWRITE set in the environment the messages are written again: look at what git says has
// changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "sm/policy/partition_policy.h"
#include "sm/policy/partitions.h"
#include "sm/policy/qos_file.h"
#include "sm/policy/rate_file.h"

namespace sm::policy {
namespace {

struct Case {
  std::string name, text, messages;
};
struct CaseFile {
  std::string head;  // comment lines
  std::vector<Case> cases;
};

const std::string kFolder = IBKIT_SOURCE_DIR "/tests/golden/policy/";

/// \\, \r and \xNN.
std::string without_escapes(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
    } else if (text.at(i + 1) == 'x') {
      out += static_cast<char>(std::stoi(text.substr(i + 2, 2), nullptr, 16));
      i += 3;
    } else {
      out += text[++i] == 'r' ? '\r' : text[i];
    }
  }
  return out;
}

CaseFile read_cases(const std::string& name) {
  std::ifstream in(kFolder + name);
  EXPECT_TRUE(in) << name;
  CaseFile file;
  bool in_text = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("=== ")) {
      file.cases.push_back({line.substr(4), {}, {}});
      in_text = true;
    } else if (line == "---") {
      in_text = false;
    } else if (file.cases.empty()) {
      file.head += line + '\n';
    } else {
      (in_text ? file.cases.back().text : file.cases.back().messages) += line + '\n';
    }
  }
  return file;
}

void write_cases(const CaseFile& file, const std::string& name) {
  std::ofstream out(kFolder + name);
  out << file.head;
  for (const Case& c : file.cases)
    out << "=== " << c.name << '\n' << c.text << "---\n" << c.messages;
}

using Diagnostics = std::vector<ib::Diagnostic>;

Diagnostics of_partitions(const std::string& text) {
  auto file = read_partition_file(text, "p");
  if (ib::has_errors(file.diagnostics)) return file.diagnostics;
  GeneratedKeys keys;
  merge_definitions(file, "p", keys, file.diagnostics);
  check_groups(file, "p", {}, {}, file.diagnostics);
  return file.diagnostics;
}
Diagnostics of_qos_policy(const std::string& text) { return read_qos_file(text, "q").diagnostics; }
Diagnostics of_rates(const std::string& text) { return read_rate_file(text, "r").diagnostics; }

struct Grammar {
  const char* file;
  Diagnostics (*read)(const std::string& text);
  std::size_t cases_min;
};
void PrintTo(const Grammar& grammar, std::ostream* out) { *out << grammar.file; }

class BrokenPolicyFiles : public testing::TestWithParam<Grammar> {};

TEST_P(BrokenPolicyFiles, HaveTheirMessages) {
  CaseFile file = read_cases(GetParam().file);
  EXPECT_GE(file.cases.size(), GetParam().cases_min);
  CaseFile got = file;
  for (std::size_t i = 0; i < file.cases.size(); ++i) {
    std::string text = file.cases[i].text;
    if (!text.empty()) text.pop_back();
    got.cases[i].messages.clear();
    for (const auto& d : GetParam().read(without_escapes(text)))
      got.cases[i].messages += to_string(d) + '\n';
    EXPECT_EQ(got.cases[i].messages, file.cases[i].messages) << file.cases[i].name;
    EXPECT_FALSE(got.cases[i].messages.empty()) << file.cases[i].name;
  }
  if (std::getenv("IBKIT_REWRITE") != nullptr) write_cases(got, GetParam().file);
}

INSTANTIATE_TEST_SUITE_P(Of, BrokenPolicyFiles,
                         testing::Values(Grammar{"partitions.cases", of_partitions, 200},
                                         Grammar{"qos-policy.cases", of_qos_policy, 150},
                                         Grammar{"rates.cases", of_rates, 50}));

std::string times(std::size_t count, std::string_view text) {
  std::string out;
  out.reserve(count * text.size());
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

/// Megabytes that no operator wrote: what is said of them is short, and said soon.
TEST(HugeBrokenPolicyFiles, HaveFewMessages) {
  constexpr std::size_t kMany = 1'000'000;
  const std::string head = "A=1 : ";
  const auto last = [](const std::string& text) {
    const auto said = of_partitions(text);
    EXPECT_LE(said.size(), 202U);
    return said.empty() ? "nothing" : to_string(said.back());
  };
  EXPECT_EQ(last(times(kMany, "A=0:;\n")),
            "p:200:6: error: too many problems; the rest of the file was not read");
  EXPECT_EQ(last(head + times(kMany, ",") + "0x1=fulll;\n"),
            "p:1:1000017: error: too many problems; the rest of the file was not read");
  EXPECT_EQ(last(head + times(kMany, "0x7, ") + "0x8=lim 0x9;\n"),
            "p:1:5000015: error: expected ',' or ';' after a member, got '0x9'");
  EXPECT_EQ(last(times(8 * kMany, "x")),
            "p:1:8000001: error: expected ',' and a flag, or ':' and the members, got the end of "
            "the file");
  EXPECT_EQ(last(times(kMany, "\"")),
            "p:1:1000001: error: expected ',' and a flag, or ':' and the members, got the end of "
            "the file");
  EXPECT_LE(of_qos_policy("qos-ulps\n" + times(kMany, "sdp : 99\n") + "end-qos-ulps\n").size(),
            200U);
  EXPECT_LE(of_rates("BW_NAMES\n" + times(kMany, "x = y\n")).size(), 200U);
}

}  // namespace
}  // namespace sm::policy
