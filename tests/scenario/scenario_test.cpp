// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Plays every text file of data/ and compares what each command prints with what stands below its
// ----. A file is paragraphs: a command, lines that belong to it, ----, its output, an empty line;
// what begins with # is for the reader. IBKIT_REWRITE=1 writes the outputs again: read the diff.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/scenario/stage.h"

namespace scenario {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// The file as it should be: its own words, with the output that really came.
std::string play(const std::vector<std::string>& lines, std::size_t& commands) {
  Stage stage;
  std::string out;
  for (std::size_t i = 0; i < lines.size();) {
    if (lines[i].empty() || lines[i].starts_with('#')) {
      out += lines[i++] + "\n";
      continue;
    }
    const std::string& command = lines[i++];
    std::vector<std::string> body;
    while (i < lines.size() && lines[i] != "----" && !lines[i].empty()) body.push_back(lines[i++]);
    if (i < lines.size() && lines[i] == "----") {
      while (i < lines.size() && !lines[i].empty()) ++i;
    }
    ++commands;
    out += command + "\n" + text_of(body) + "----\n" + stage.run(command, body);
  }
  return out;
}

/// The first line that differs, in both.
std::string first_difference(const std::string& want, const std::string& got) {
  std::istringstream a(want), b(got);
  for (std::size_t number = 1;; ++number) {
    std::string x, y;
    const bool more_a = static_cast<bool>(std::getline(a, x));
    const bool more_b = static_cast<bool>(std::getline(b, y));
    if (!more_a && !more_b) return "";
    if (x != y || more_a != more_b)
      return "line " + std::to_string(number) + "\n  is:  " + (more_a ? x : "(end)") +
             "\n  got: " + (more_b ? y : "(end)");
  }
}

std::vector<std::string> scenarios() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(IBKIT_SOURCE_DIR "/tests/scenario/data"))
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Scenario : public ::testing::TestWithParam<std::string> {};

TEST_P(Scenario, PlaysAsWritten) {
  const fs::path file = fs::path(IBKIT_SOURCE_DIR "/tests/scenario/data") / (GetParam() + ".txt");
  const auto lines = lines_of(file);
  std::size_t commands = 0;
  const std::string played = play(lines, commands);
  ASSERT_GT(commands, 2U) << "a scenario does something and looks";
  if (std::getenv("IBKIT_REWRITE") != nullptr) {
    std::ofstream(file) << played;
    return;
  }
  EXPECT_EQ(text_of(lines), played) << first_difference(text_of(lines), played);
}

INSTANTIATE_TEST_SUITE_P(Files, Scenario, ::testing::ValuesIn(scenarios()),
                         [](const auto& p) { return p.param; });

TEST(ScenarioLanguage, AWrongCommandIsItsOwnOutput) {
  Stage stage;
  EXPECT_EQ(stage.run("dance", {}), "error: no such command: dance\n");
  EXPECT_EQ(stage.run("lids", {}), "error: there is no fabric yet\n");
  EXPECT_EQ(stage.run("fabric", {"switch S1"}), "error: not a line of a drawing: switch S1\n");
}

}  // namespace
}  // namespace scenario
