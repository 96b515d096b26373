// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/documents.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "libdiag/base/text.h"
#include "libdiag/report/json.h"
#include "sm/config/table.h"
#include "sm/config/value.h"

namespace sm::config {
namespace {

constexpr const char* kSchema = "ibkit.ibsm-config/1";

std::string value_of(const Configuration& configuration, const Row& row) {
  if (row.field.index() != 0) return value_text(row, configuration.settings);
  const Origin origin = configuration.origin(row);
  const std::string value(origin.from == Origin::From::Default ? row.stock : origin.value);
  return value.empty() ? std::string(kNothing) : value;
}

std::string default_of(const Row& row) { return value_of(Configuration{}, row); }

std::string_view origin_name(Origin::From from) {
  return from == Origin::From::File          ? "file"
         : from == Origin::From::CommandLine ? "command line"
                                             : "default";
}

std::string_view applied_name(const Row& row) {
  return row.applied == Applied::Contents ? "contents on reload"
         : row.applied == Applied::Reload ? "reload"
                                          : "restart";
}

std::string type_of(const Row& row) {
  switch (row.kind) {
    case Kind::Flag:
    case Kind::Unflag:
    case Kind::Truth:
      return "TRUE, FALSE";
    case Kind::Number:
      return row.max == UINT64_MAX ? "64 bits" : fmt::format("{} to {}", row.min, row.max);
    case Kind::Word: {
      std::string words;
      for (const auto word : ib::split(row.words, '|'))
        words += (words.empty() ? "" : ", ") + std::string(word);
      return words;
    }
    case Kind::Text:
      return std::string(row.value_name);
    case Kind::Action:
      return "";
  }
  return "";
}

std::string code_list(std::string_view names) {
  std::string out;
  for (const auto name : ib::split(names, ','))
    if (!name.empty()) out += fmt::format("{}`{}`", out.empty() ? "" : ", ", name);
  return out;
}

std::string in_roff(std::string_view text) {
  std::string out = text.starts_with('.') ? "\\&" : "";  // a dot first is a request
  for (const char c : text) {
    if (c == '\\' || c == '-') out += '\\';
    out += c == '\\' ? 'e' : c;
  }
  return out;
}

/// Sections as headings, and what `print` says of each row.
template <class Heading, class Print>
void by_section(Heading heading, Print print) {
  std::optional<Section> section;
  for (const Row& row : table()) {
    if (section != row.section) heading(*(section = row.section));
    print(row);
  }
}

}  // namespace

std::string show_text(const Configuration& configuration) {
  std::string out;
  for (const Row& row : table()) {
    if (row.keys.empty()) continue;
    const Origin origin = configuration.origin(row);
    std::string from(origin_name(origin.from));
    if (origin.from == Origin::From::File)
      from = fmt::format("{}:{}", configuration.file, origin.line);
    std::string effect = effect_of(row);
    if (!effect.empty()) effect.insert(0, "; ");
    out += fmt::format("{} {}  # {}{}\n", row.key(), ib::printable(value_of(configuration, row)),
                       from, effect);
  }
  return out;
}

std::string show_json(const Configuration& configuration, const std::string& version,
                      const std::string& added_members) {
  ib::report::JsonWriter json;
  ib::report::begin_document(json, {kSchema, "ibsm", version, true, {}});
  json.key("options").begin_array();
  for (const Row& row : table()) {
    if (row.keys.empty()) continue;
    const Origin origin = configuration.origin(row);
    json.begin_object();
    json.field("name", row.key()).field("value", value_of(configuration, row));
    json.field("default", default_of(row)).field("origin", origin_name(origin.from));
    if (origin.from == Origin::From::File)
      json.field("file", configuration.file).field("line", origin.line);
    json.field("reload", row.applied != Applied::Restart).end_object();
  }
  json.end_array();
  json.key("accepted_without_effect").begin_array();
  for (const std::string& line : without_effect(configuration)) json.value(line);
  json.end_array();
  const auto added = nlohmann::ordered_json::parse(added_members, nullptr, false);
  if (added.is_object() && added.contains("members"))
    json.key("added_partition_members").tree(added["members"]);
  json.end_object();
  return json.take();
}

std::string markdown_table() {
  std::string out;
  by_section(
      [&](Section section) {
        out += fmt::format(
            "\n### {}\n\n| key | command line | value | default | changed by | what |\n"
            "|---|---|---|---|---|---|\n",
            section_name(section));
      },
      [&](const Row& row) {
        std::string what(row.help);
        if (const auto effect = effect_of(row); !effect.empty()) what += "; *" + effect + "*";
        std::string value = type_of(row);
        if (!row.unit.empty()) value += fmt::format(" ({})", row.unit);
        const std::string initial = row.kind == Kind::Action ? "" : default_of(row);
        out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", code_list(row.keys),
                           code_list(row.names), value, initial == kNothing ? "" : initial,
                           applied_name(row), what);
      });
  return out;
}

std::string man_page_list() {
  std::string out;
  by_section([&](Section section) { out += fmt::format(".SS {}\n", section_name(section)); },
             [&](const Row& row) {
               if (row.keys.empty() && row.effect == Effect::Works) return;
               std::string names;
               for (const auto name : ib::split(row.names, ','))
                 if (!name.empty()) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
               if (names.empty()) names = row.key();
               out += fmt::format(".TP\n.B {}\n", in_roff(names));
               std::string text = help_of(row);
               if (!row.keys.empty()) text += fmt::format("; key {}", row.key());
               out += in_roff(text) + ".\n";
             });
  return out;
}

std::string bash_completion() {
  std::string words;
  for (const Row& row : table())
    for (const auto name : ib::split(row.names, ','))
      if (name.starts_with("--"))
        words += std::string(words.empty() ? "" : " ") + std::string(name);
  return fmt::format(
      "# Completion of ibsm's options for bash. Made from the option table (sm/config).\n"
      "complete -o default -W '{} --config --create-config --show-config --dry-run --check-config "
      "--against --explain-policy --service-id --pkey --qos-class --json --help "
      "--version plan' ibsm\n",
      words);
}

}  // namespace sm::config
