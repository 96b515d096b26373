// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/configuration.h"

#include <algorithm>

#include "libdiag/base/text.h"
#include "sm/config/table.h"
#include "sm/config/value.h"
#include "sm/policy/text_line.h"

namespace sm::config {
namespace {

/// A line without its comment; # inside quotes is none.
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote != 0) {
      if (line[i] == quote) quote = 0;
    } else if (line[i] == '"' || line[i] == '\'') {
      quote = line[i];
    } else if (line[i] == '#') {
      return line.substr(0, i);
    }
  }
  // A quote that is not closed is a character like others.
  return quote != 0 ? line.substr(0, line.find('#')) : line;
}

std::string_view unquoted(std::string_view value) {
  const bool quoted = value.size() >= 2 && value.front() == value.back() &&
                      (value.front() == '"' || value.front() == '\'');
  return quoted ? value.substr(1, value.size() - 2) : value;
}

/// The item of a list that is refused by itself; where none is, all of them.
std::string_view wrong_item(const Row& row, std::string_view items) {
  for (const std::string_view item : ib::split(items, ','))
    if (const std::string_view word = ib::trim(item); word.empty() || !row.check(word)) return word;
  return items;
}

class Reader {
 public:
  Reader(const std::string& file, Configuration& to, std::vector<ib::Diagnostic>& problems)
      : file_(file), to_(to), problems_(problems) {}

  void line(std::string_view text, std::uint32_t number) {
    number_ = number;
    line_ = text;
    const std::string_view said = ib::trim(without_comment(text));
    if (said.empty()) return;
    const auto key_end = said.find_first_of(" \t=");
    const std::string_view key = said.substr(0, key_end);
    if (key.empty()) return report(ib::Severity::Error, said, "expected a key, got '='");
    std::string_view value =
        key_end == std::string_view::npos ? said.substr(said.size()) : said.substr(key_end);
    value = ib::trim(value);
    if (value.starts_with('=')) value = ib::trim(value.substr(1));
    const Row* row = find_key(key);
    if (row == nullptr) return say_unknown(key);
    if (value.empty())
      return report(ib::Severity::Error, key,
                    "expected a value after '" + std::string(key) + "', got nothing");
    take(*row, key, value);
  }

 private:
  /// `at` is a part of the line.
  void report(ib::Severity severity, std::string_view at, std::string message) {
    const auto column = static_cast<std::uint32_t>(at.data() - line_.data() + 1);
    problems_.push_back({severity, file_, {number_, column}, std::move(message)});
  }

  void say_unknown(std::string_view key) {
    const std::string quoted = "'" + ib::printable(key.substr(0, 60)) + "'";
    if (const auto meant = meant_key(key); !meant.empty())
      return report(
          ib::Severity::Error, key,
          "no option is called " + quoted + "; did you mean '" + std::string(meant) + "'?");
    if (find_name(key) != nullptr)
      return report(ib::Severity::Error, key, quoted + " is for the command line alone");
    report(ib::Severity::Warning, key, "no option is called " + quoted + "; ignored");
  }

  void take(const Row& row, std::string_view key, std::string_view value) {
    const Origin before = to_.origin(row);
    const bool again = before.from == Origin::From::File;
    if (again && !row.repeated)
      report(ib::Severity::Warning, key,
             "'" + std::string(row.key()) + "' is in line " + std::to_string(before.line) +
                 " already; this line counts");
    if (value == kNothing) {
      copy_value(row, Settings{}, to_.settings);
      to_.origins.erase(&row);
      return;
    }
    const std::string_view said = unquoted(value);
    // It could not be written again.
    if (said.find('"') != said.npos && said.find('\'') != said.npos)
      return report(ib::Severity::Error, value, "expected one kind of quotes in a value, got two");
    if (said == kNothing)
      return report(ib::Severity::Error, value, "expected (null) without quotes, or another value");
    if (const auto done = read_value(row, said, to_.settings); !done)
      return report(ib::Severity::Error, row.list ? wrong_item(row, said) : value,
                    done.error().message);
    warn_of_odd_truth(row, value);
    std::string whole = again && row.repeated ? before.value + ", " : std::string();
    to_.origins[&row] = {Origin::From::File, number_, whole.append(said)};
    const bool stock = same_value(row, said, row.stock);
    if (row.effect == Effect::NotYet && !stock)
      report(ib::Severity::Warning, key, std::string(key) + ": " + effect_of(row));
  }

  void warn_of_odd_truth(const Row& row, std::string_view value) {
    bool odd = false;
    if (row.kind != Kind::Flag && row.kind != Kind::Unflag && row.kind != Kind::Truth) return;
    if (const auto truth = read_truth(unquoted(value), odd); truth && odd)
      report(ib::Severity::Warning, value,
             "expected TRUE or FALSE, got '" + ib::printable(value) + "'; taken for " +
                 (*truth ? "TRUE" : "FALSE") + " (opensm takes it for FALSE)");
  }

  const std::string& file_;
  Configuration& to_;
  std::vector<ib::Diagnostic>& problems_;
  std::string_view line_;
  std::uint32_t number_{0};
};

/// In quotes, where the value would be taken for something else without.
std::string as_written(const std::string& value) {
  const bool plain = value.find_first_of("#\"'") == std::string::npos && ib::trim(value) == value &&
                     !value.starts_with('=');
  if (plain) return value;
  const char quote = value.find('"') == std::string::npos ? '"' : '\'';
  return quote + value + quote;
}

/// "0 to 7, default 0, in s".
std::string about_value(const Row& row) {
  std::string about;
  const auto add = [&about](const std::string& text) {
    about += (about.empty() ? "" : ", ") + text;
  };
  if (row.kind == Kind::Number && row.max != UINT64_MAX)
    add(std::to_string(row.min) + " to " + std::to_string(row.max));
  if (row.kind == Kind::Word) add(std::string(row.words));
  if (!row.unit.empty()) add("in " + std::string(row.unit));
  if (row.field.index() != 0) add("default " + value_text(row, Settings{}));
  return about;
}

}  // namespace

Origin Configuration::origin(const Row& row) const {
  const auto at = origins.find(&row);
  return at == origins.end() ? Origin{} : at->second;
}

void read_options_text(std::string_view text, const std::string& file, Configuration& to,
                       std::vector<ib::Diagnostic>& problems) {
  // Of what is no text no line says anything, and all of it would be passed over as unknown keys.
  if (auto binary = policy::not_text(text, file)) {
    problems.push_back(*std::move(binary));
    return;
  }
  Reader reader(file, to, problems);
  std::uint32_t number = 0;
  for (std::string_view line : ib::split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    reader.line(line, ++number);
  }
  // A number that lost its last digits is a number.
  if (!text.empty() && !text.ends_with('\n'))
    problems.push_back({ib::Severity::Warning,
                        file,
                        {number, static_cast<std::uint32_t>(text.size() - text.rfind('\n'))},
                        "the last line does not end: the file may be cut"});
  to.file = file;
}

std::string options_text(const Configuration& configuration) {
  std::string out = "# Options of ibsm(8). A line is a key and its value; # begins a comment.\n";
  std::optional<Section> section;
  for (const Row& row : table()) {
    if (row.keys.empty()) continue;
    if (section != row.section) {
      section = row.section;
      out += "\n# ---- " + std::string(section_name(row.section)) + "\n";
    }
    out += "\n# " + std::string(row.help) + "\n";
    if (const auto about = about_value(row); !about.empty()) out += "# " + about + "\n";
    if (const auto effect = effect_of(row); !effect.empty()) out += "# " + effect + "\n";
    if (row.field.index() != 0) {
      out +=
          std::string(row.key()) + " " + as_written(value_text(row, configuration.settings)) + "\n";
      continue;
    }
    const Origin origin = configuration.origin(row);
    const std::string value(origin.from == Origin::From::Default ? row.stock : origin.value);
    out += std::string(origin.from == Origin::From::Default ? "# " : "") + std::string(row.key()) +
           " " + (value.empty() ? std::string(kNothing) : as_written(value)) + "\n";
  }
  return out;
}

Reloaded reloaded(const Configuration& running, Configuration fresh) {
  Reloaded out;
  for (const Row& row : table()) {
    if (row.applied == Applied::Reload) continue;
    const bool same = row.field.index() != 0
                          ? value_text(row, running.settings) == value_text(row, fresh.settings)
                          : same_value(row, running.origin(row).value, fresh.origin(row).value);
    if (same) continue;
    out.waiting.emplace_back(row.key().empty() ? row.name() : row.key());
    copy_value(row, running.settings, fresh.settings);
    fresh.origins.erase(&row);
    if (const auto said = running.origins.find(&row); said != running.origins.end())
      fresh.origins.insert(*said);
  }
  out.configuration = std::move(fresh);
  return out;
}

std::vector<std::string> without_effect(const Configuration& configuration) {
  std::vector<std::string> lines;
  for (const Row& row : table()) {
    const Origin origin = configuration.origin(row);
    if (row.effect == Effect::Works || origin.from == Origin::From::Default) continue;
    if (origin.from == Origin::From::File && same_value(row, origin.value, row.stock)) continue;
    const std::string name =
        origin.from == Origin::From::File ? std::string(row.key()) : "--" + std::string(row.name());
    lines.push_back(name + ": " + effect_of(row));
  }
  return lines;
}

}  // namespace sm::config
