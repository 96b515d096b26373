// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/command_words.h"

#include "sm/config/table.h"
#include "sm/config/value.h"

namespace sm::config {
namespace {

constexpr const char* kCacheFile = "-";  // no file has this name on a command line

bool decides_plans(const Row& row) {
  switch (row.section) {
    case Section::Lids:
    case Section::Links:
    case Section::Partitions:
    case Section::Qos:
    case Section::Routing:
      return true;
    default:
      return row.name() == "guid" || row.name() == "subnet_prefix" || row.name() == "sm_sl" ||
             row.name() == "node_name_map";
  }
}

/// What -d N says of other options.
void apply_debug(Configuration& to) {
  struct Implied {
    std::uint64_t level;
    const char* key;
  };
  constexpr Implied kImplied[] = {
      {0, "ignore_other_sm"}, {2, "force_log_flush"}, {3, "disable_multicast"}};
  for (const auto& [level, key] : kImplied) {
    const Row& row = *find_key(key);
    if (to.settings.debug == level && read_value(row, "TRUE", to.settings))
      to.origins[&row] = {Origin::From::CommandLine, 0, "TRUE"};
  }
}

}  // namespace

void CommandWords::add_to(ib::cli::CommandLine& line) {
  for (const Row& row : table())
    if (!row.names.empty()) add(line, row, help_of(row));
}

void CommandWords::add_those_of_plans_to(ib::cli::CommandLine& line) {
  for (const Row& row : table()) {
    if (row.names.empty() || !decides_plans(row)) continue;
    // Ports of a saved topology keep what they have.
    const bool is_lmc = row.key() == "lmc";
    add(line, row,
        is_lmc ? "2^LMC LIDs for each host port (default: as in the topology); 0 to 7"
               : help_of(row));
  }
}

void CommandWords::add(ib::cli::CommandLine& line, const Row& row, const std::string& help) {
  const std::string names(row.names);
  switch (row.kind) {
    case Kind::Flag:
      return line.flag(names, help,
                       [this, &row](bool on) { values_[&row] = on ? "TRUE" : "FALSE"; });
    case Kind::Unflag:
      return line.given(names, help, [this, &row](unsigned) { values_[&row] = "FALSE"; });
    case Kind::Action:
      return line.given(names, help, [this, &row](unsigned times) { actions_[&row] = times; });
    default:
      return line.option(names, std::string(row.value_name), help,
                         [this, &row](const std::string& text) -> ib::Result<void> {
                           Settings scratch;
                           return read_value(row, text, scratch).map([&] { values_[&row] = text; });
                         });
  }
}

void CommandWords::apply(Configuration& to) const {
  for (const auto& [row, text] : values_) {
    // Checked when it was read.
    if (read_value(*row, text, to.settings)) to.origins[row] = {Origin::From::CommandLine, 0, text};
  }
  for (const auto& [row, times] : actions_) {
    row->action(to.settings, times);
    to.origins[row] = {Origin::From::CommandLine, 0, std::to_string(times)};
  }
  apply_debug(to);
}

void Requests::add_to(ib::cli::CommandLine& line) {
  line.text("-F,--config", file, "FILE", "Read options from this file first");
  line.optional_value(
      "-c,--create-config,--cache-options", "FILE",
      "Write all options into FILE, then exit; without FILE into opensm.opts of the state "
      "directory, and go on",
      kCacheFile, [](const std::string& word) { return !word.starts_with('-'); },
      [this](const std::string& path) -> ib::Result<void> {
        create = path == kCacheFile ? std::string() : path;
        return {};
      });
  line.optional_value(
      "--show-config", "FORM", "Print all options with their origins, as text or json, then exit",
      "text", [](const std::string& word) { return word == "text" || word == "json"; },
      [this](const std::string& form) -> ib::Result<void> {
        if (form != "text" && form != "json")
          return ib::fail(ib::ErrorKind::Usage, "expected text or json, got '" + form + "'");
        show = form;
        return {};
      });
  line.flag("--dry-run", dry_run,
            "Sweep, print what devices hold that is not as planned, then exit; nothing is set");
  line.flag("--check-config", check,
            "Read all files that the options name and say what is wrong with them, then exit");
  line.text(
      "--against", against, "TOPOLOGY",
      "With --check-config: also say which GUIDs, nodes and port groups of the files this saved "
      "topology does not have. With --explain-policy: the topology");
  line.pair("--explain-policy", explain, "SRC DST",
            "Say who decides what of the path between two ports of the saved topology, then exit");
  const auto take = [](auto& to) {
    return [&to](std::uint64_t v) {
      to = static_cast<typename std::remove_reference_t<decltype(to)>::value_type>(v);
    };
  };
  line.number("--service-id", {0, ~std::uint64_t{0}}, "With --explain-policy: a request for it",
              take(service_id));
  line.number("--pkey", {1, 0xFFFF}, "... in this partition", take(p_key));
  line.number("--qos-class", {0, 0xFFF}, "... of this class", take(qos_class));
  line.flag("--json", json, "With --dry-run or --explain-policy: JSON instead of text");
}

}  // namespace sm::config
