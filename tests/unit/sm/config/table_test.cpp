// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Every row of the option table: its spellings, its range, its default, its way into a file and
// back. A new row is tested by being there.
#include "sm/config/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "libdiag/base/text.h"
#include "sm/config/command_words.h"
#include "sm/config/congestion.h"
#include "sm/config/qos.h"
#include "sm/config/value.h"

namespace sm::config {
namespace {

/// A value of the row that is not its default.
std::string other_value(const Row& row) {
  const std::string initial = value_text(row, Settings{});
  switch (row.kind) {
    case Kind::Flag:
    case Kind::Unflag:
    case Kind::Truth:
      return initial == "TRUE" ? "FALSE" : "TRUE";
    case Kind::Number: {
      Settings settings;
      EXPECT_TRUE(read_value(row, std::to_string(row.max), settings)) << row.name();
      const bool is_max = value_text(row, settings) == initial;
      return std::to_string(is_max ? row.min : row.max);
    }
    case Kind::Word: {
      const auto words = ib::split(row.words, '|');
      return std::string(words.front() == initial ? words.back() : words.front());
    }
    default:
      if (row.name() == "guid") return "0x0002c90300000001";
      if (row.name() == "allowed_sm_guids") return "0x0002c90300000001,0x0002c90300000002";
      if (row.name() == "routing_engine") return "ftree,updn";
      if (row.name() == "sa_key") return "auto";
      if (row.name() == "console_allow") return "192.0.2.7,10.0.0.0/8";
      if (row.name() == "sa_db_dump") return "7";
      if (row.name() == "store") return "etcds://sm1:2379,[fd00::7]";
      if (row.name() == "store_prefix") return "/ibkit/other/";
      if (row.key().ends_with("high_limit")) return "9";
      if (row.key().ends_with("sl2vl")) return "0,1,2";
      if (row.key().find("vlarb") != std::string_view::npos) return "0:4,1:64";
      if (row.key() == "cc_cct") return "0:0,1:7";
      if (row.key() == "perfmgr_error_thresholds") return "LinkDownedCounter=0,VL15Dropped=off";
      if (row.key() == "activity_report_subjects") return "mc,routing";
      if (row.key().ends_with("return_delay")) return "1:7";
      if (row.key().starts_with("cc_ca_")) return "3 5";
      if (row.key().starts_with("cc_sw_")) return "0x1e";
      return "/some where/else#1";
  }
}

/// What a command line of these words says.
std::optional<Configuration> typed(const std::vector<std::string>& words) {
  ib::cli::CommandLine line("ibsm", "Options.", "0");
  line.spelled_as_in_opensm();
  CommandWords said;
  said.add_to(line);
  std::vector<const char*> argv{"ibsm"};
  for (const auto& word : words) argv.push_back(word.c_str());
  testing::internal::CaptureStderr();
  const auto status = line.parse(static_cast<int>(argv.size()), argv.data());
  const std::string text = testing::internal::GetCapturedStderr();
  if (status) return std::nullopt;
  Configuration configuration;
  said.apply(configuration);
  return configuration;
}

TEST(Table, NamesAndKeysAreThereOnce) {
  std::set<std::string> names, keys;
  for (const Row& row : table()) {
    EXPECT_FALSE(row.names.empty() && row.keys.empty());
    EXPECT_FALSE(row.help.empty()) << row.name();
    for (const auto name : ib::split(row.names, ',')) {
      if (name.empty()) continue;
      EXPECT_TRUE(names.emplace(name).second) << name;
    }
    for (const auto key : ib::split(row.keys, ',')) {
      if (key.empty()) continue;
      EXPECT_TRUE(keys.emplace(key).second) << key;
      EXPECT_EQ(find_key(key), &row) << key;
    }
  }
}

TEST(Table, WhatHasNoEffectSaysWhyAndWhatHasOneHasAField) {
  for (const Row& row : table()) {
    EXPECT_EQ(row.effect == Effect::Works, row.note.empty()) << row.name();
    if (row.effect != Effect::Works || row.kind == Kind::Action || row.field.index() != 0) continue;
    // Those of VLs and of congestion control are read by their names.
    Configuration said;
    const bool number = row.kind == Kind::Number;
    said.origins[&row] = {Origin::From::File, 1,
                          number ? std::to_string(row.max) : other_value(row)};
    EXPECT_TRUE(qos_sets(said) != policy::QosSets{} ||
                congestion_settings(said) != congestion_settings({}))
        << row.name();
  }
}

TEST(Table, NumbersHaveTheirRange) {
  for (const Row& row : table()) {
    if (row.kind != Kind::Number) continue;
    Settings settings;
    EXPECT_TRUE(read_value(row, std::to_string(row.min), settings)) << row.name();
    EXPECT_TRUE(read_value(row, std::to_string(row.max), settings)) << row.name();
    for (const char* wrong : {"x", "", "-1", "1.5", "18446744073709551616"})
      EXPECT_FALSE(read_value(row, wrong, settings)) << row.name() << ' ' << wrong;
    if (row.max != UINT64_MAX) {
      EXPECT_FALSE(read_value(row, std::to_string(row.max + 1), settings)) << row.name();
    }
    if (row.min > 0) {
      EXPECT_FALSE(read_value(row, std::to_string(row.min - 1), settings)) << row.name();
    }
  }
}

TEST(Table, HelpHasTheDefault) {
  for (const Row& row : table()) {
    const auto at = row.help.find("(default ");
    if (at == std::string_view::npos || row.field.index() == 0) continue;
    const auto end = row.help.find_first_of(":) ", at + 9);
    const std::string said(row.help.substr(at + 9, end - at - 9));
    if (said.starts_with('$') || said.starts_with('/')) continue;  // by the environment
    Settings settings;
    ASSERT_TRUE(read_value(row, said, settings)) << row.name() << ' ' << said;
    EXPECT_EQ(settings, Settings{}) << row.name();
  }
}

TEST(Table, OpensmsDefaultsCanBeRead) {
  for (const Row& row : table()) {
    Settings settings;
    if (!row.stock.empty()) {
      EXPECT_TRUE(read_value(row, row.stock, settings)) << row.name();
    }
  }
}

TEST(Table, AWrongWordIsAnsweredWithTheRightOnes) {
  Settings settings;
  const auto wrong = read_value(*find_key("part_enforce"), "bot", settings);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "expected both, in, out or off, got 'bot'");
}

/// The words that give `row` a value, by one of its names.
std::vector<std::string> words_of(const Row& row, std::string_view name, bool one_word) {
  const bool bare = row.kind == Kind::Flag || row.kind == Kind::Unflag || row.kind == Kind::Action;
  if (bare) return {std::string(name)};
  if (one_word) return {std::string(name) + "=" + other_value(row)};
  return {std::string(name), other_value(row)};
}

TEST(CommandLineOfTheTable, EverySpellingSetsTheField) {
  for (const Row& row : table()) {
    for (const auto name : ib::split(row.names, ',')) {
      if (name.empty()) continue;
      std::vector<std::string> spellings{std::string(name)};
      if (name.starts_with("--")) {
        spellings.emplace_back(name.substr(1));  // one dash
        std::string dashes(name), underscores(name.substr(2));
        std::ranges::replace(dashes, '_', '-');
        std::ranges::replace(underscores, '-', '_');
        spellings.push_back(dashes);
        spellings.push_back("--" + underscores);
      }
      for (const auto& spelling : spellings)
        for (const bool one_word : {false, true}) {
          const auto said = typed(words_of(row, spelling, one_word));
          ASSERT_TRUE(said.has_value()) << spelling;
          EXPECT_EQ(said->origin(row).from, Origin::From::CommandLine) << spelling;
          if (row.field.index() != 0 && row.kind != Kind::Flag) {
            EXPECT_NE(value_text(row, said->settings), value_text(row, Settings{})) << spelling;
          }
        }
    }
  }
}

TEST(CommandLineOfTheTable, OptionsOfTheManualAsTheManualHasThem) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"-maxsmps", "4"},
                                             {"-smkey", "0x1"},
                                             {"-g=0x2c90300000001"},
                                             {"-ignore-guids", "f"},
                                             {"-console", "local"},
                                             {"-console-port", "10000"},
                                             {"-perfmgr"},
                                             {"-perfmgr_sweep_time_s", "180"},
                                             {"--consolidate_ipv6_snm_reqests"},
                                             {"-d0"},
                                             {"-d", "2"},
                                             {"-p", "14"},
                                             {"-U", "f"},
                                             {"--ucast_file", "f"},
                                             {"-y"},
                                             {"-x"},
                                             {"-I"},
                                             {"-e"},
                                             {"-L", "10"},
                                             {"-t", "0"},
                                             {"-N"},
                                             {"-A"},
                                             {"-Y", "f"},
                                             {"-V"},
                                             {"-v", "-v"}})
    EXPECT_TRUE(typed(words)) << words[0];
  EXPECT_EQ(typed({"-ignore-guids", "f"})->settings.port_prof_ignore_file, "f");
  EXPECT_EQ(typed({"-smkey", "0x7"})->settings.sm_key, 7U);
  EXPECT_EQ(typed({"-D", "1", "-v"})->settings.log_flags, 3U);
}

TEST(OptionsFileOfTheTable, EveryKeyGoesThroughAFileAndBack) {
  for (const Row& row : table()) {
    for (const auto key : ib::split(row.keys, ',')) {
      if (key.empty()) continue;
      for (const char* between : {" ", "=", " = ", "\t"}) {
        Configuration first, second;
        std::vector<ib::Diagnostic> problems;
        const std::string text = std::string(key) + between + "\"" + other_value(row) + "\"";
        read_options_text(text, "f", first, problems);
        EXPECT_FALSE(ib::has_errors(problems)) << text;
        EXPECT_EQ(first.origin(row).from, Origin::From::File) << text;
        if (row.field.index() != 0) {
          EXPECT_NE(first.settings, Settings{}) << text;
        }
        problems.clear();
        read_options_text(options_text(first), "g", second, problems);
        EXPECT_EQ(first.settings, second.settings) << text;
        EXPECT_EQ(second.origin(row).value,
                  row.field.index() == 0 ? other_value(row) : value_text(row, first.settings))
            << text;
      }
    }
  }
}

}  // namespace
}  // namespace sm::config
