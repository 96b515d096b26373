// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/documents.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "libdiag/base/text.h"
#include "libdiag/report/json.h"
#include "sm/config/table.h"
#include "sm/config/value.h"
#include "sm/policy/selector_text.h"

namespace sm::config {
namespace {

constexpr const char* kSchema = "ibkit.ibsm-config/2";

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

void show_partition(ib::report::JsonWriter& json, const policy::Partition& partition,
                    const std::string& file) {
  json.begin_object().field("p_key", fmt::format("0x{:04x}", partition.p_key));
  json.field("name", partition.name).field("generated", partition.generated);
  json.field("origin", file.empty() ? "default" : "file");
  if (!file.empty()) json.field("file", file);
  if (partition.sl) json.field("sl", unsigned{partition.sl->value});
  json.key("groups").begin_array();
  for (const policy::PartitionGroup& group : partition.groups) json.value(to_string(group.mgid));
  json.end_array().key("members").begin_array();
  for (const policy::PartitionMember& member : partition.members)
    json.begin_object()
        .field("who", to_string(member.who))
        .field("membership", policy::word(member.membership))
        .end_object();
  json.end_array().end_object();
}

}  // namespace

std::string show_text(const Configuration& configuration) {
  std::string out;
  for (const Row& row : table()) {
    const Origin origin = configuration.origin(row);
    if (row.keys.empty()) {
      if (origin.from != Origin::From::Default)
        out += fmt::format("# --{} {}  # command line\n", row.name(), ib::printable(origin.value));
      continue;
    }
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
                      const ShownPartitions& partitions, const std::string& added_members) {
  ib::report::JsonWriter json;
  ib::report::begin_document(json, {kSchema, "ibsm", version, true, {}});
  json.key("options").begin_array();
  for (const Row& row : table()) {
    const Origin origin = configuration.origin(row);
    if (row.keys.empty() && origin.from == Origin::From::Default) continue;
    json.begin_object();
    json.field("name", row.keys.empty() ? row.name() : row.key());
    json.field("value", value_of(configuration, row));
    json.field("default", default_of(row)).field("origin", origin_name(origin.from));
    if (origin.from == Origin::From::File)
      json.field("file", configuration.file).field("line", origin.line);
    json.field("reload", row.applied != Applied::Restart).end_object();
  }
  json.end_array();
  json.key("partitions").begin_array(ib::report::JsonWriter::Items::Lines);
  if (partitions.of != nullptr)
    for (const policy::Partition& partition : partitions.of->all)
      show_partition(json, partition, partitions.file);
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

std::string show_text(const ShownPartitions& partitions) {
  std::string out;
  if (partitions.of == nullptr) return out;
  for (const policy::Partition& partition : partitions.of->all) {
    std::string members;
    for (const policy::PartitionMember& member : partition.members)
      members += fmt::format("{}{}={}", members.empty() ? "" : ", ",
                             ib::printable(to_string(member.who)), policy::word(member.membership));
    out += fmt::format("# partition 0x{:04x} \"{}\": {}  # {}\n", partition.p_key,
                       ib::printable(partition.name), members.empty() ? "no members" : members,
                       partitions.file.empty() ? "default" : partitions.file);
  }
  return out;
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
      "--version plan ctl' ibsm\n",
      words);
}

}  // namespace sm::config
