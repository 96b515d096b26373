// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Row: one option of ibsm, whatever there is to know about it. The command line, the options file,
// -c, --show-config, the documents and the completion of shells are made from rows; to add an
// option is to add a row (and a value in Settings).
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "libdiag/base/result.h"
#include "sm/config/settings.h"

namespace sm::config {

/// What of ibsm an option is about; the order of sections in files and documents.
enum class Section {
  Port,
  Lids,
  Links,
  Sweep,
  Partitions,
  Qos,
  Routing,  // of `ibsm plan`, too
  Sa,
  Store,
  Log,
  Process,
  Managers
};

enum class Kind {
  Flag,    // no value on the command line, or TRUE or FALSE
  Unflag,  // no value on the command line, which then means FALSE
  Truth,   // TRUE or FALSE
  Number,
  Word,  // one of `words`
  Text,
  Action  // on the command line only, may be repeated; changes what other rows set
};

enum class Effect {
  Works,
  None,   // accepted, no effect: `note` says why
  NotYet  // not supported yet: `note` says what follows; a warning
};

/// When a change in a file takes effect.
enum class Applied {
  Restart,
  Reload,   // SIGHUP, with the sweep that follows
  Contents  // what the named file says is read again on SIGHUP; its path only at a restart
};

using Field = std::variant<std::monostate, bool Settings::*, std::uint64_t Settings::*,
                           std::optional<std::uint64_t> Settings::*, std::string Settings::*>;

struct Row {
  std::string_view names;  // "-l,--lmc" on the command line; empty: none. The first long one is it
  std::string_view keys;   // "a,b" in the options file; empty: none. The first one is written
  Kind kind{Kind::Text};
  Field field{};  // none: the value is checked, and kept for --show-config alone
  std::uint64_t min{0}, max{0};
  std::string_view words{};           // "both|in|out|off"
  std::string_view value_name{};      // in --help
  std::string_view what{"a number"};  // "a code": of a number, in messages
  bool hexadecimal{false};            // as a number is written
  bool repeated{false};  // a text: in a file, one line adds to the other, behind a comma
  bool list{false};      // a text: items with commas between them, each of which `check` takes, too
  ib::Result<void> (*check)(std::string_view text){nullptr};  // of a text
  void (*action)(Settings&, unsigned times){nullptr};
  std::string_view unit{};
  std::string_view help{};
  std::string_view note{};
  std::string_view stock{};  // opensm's default, where it is not ibsm's
  Effect effect{Effect::Works};
  Applied applied{Applied::Restart};
  Section section{Section::Process};
  bool of_host{false};  // of two subnet managers of a subnet each may have its own

  /// "lmc": the first long name, else the first key.
  std::string_view name() const;
  std::string_view key() const { return keys.substr(0, keys.find(',')); }

  // What the functions below leave out.
  constexpr Row in(std::string_view the_unit) const {
    Row row = *this;
    row.unit = the_unit;
    return row;
  }
  constexpr Row a(std::string_view the_what) const {
    Row row = *this;
    row.what = the_what;
    return row;
  }
  constexpr Row hex() const {
    Row row = *this;
    row.hexadecimal = true;
    return row;
  }
  constexpr Row may_be_repeated() const {
    Row row = *this;
    row.repeated = true;
    return row;
  }
  constexpr Row is_list() const {
    Row row = *this;
    row.list = true;
    return row;
  }
  constexpr Row opensm_has(std::string_view value) const {
    Row row = *this;
    row.stock = value;
    return row;
  }
  constexpr Row on_reload() const {
    Row row = *this;
    row.applied = Applied::Reload;
    return row;
  }
  constexpr Row contents_on_reload() const {
    Row row = *this;
    row.applied = Applied::Contents;
    return row;
  }
  constexpr Row may_differ() const {
    Row row = *this;
    row.of_host = true;
    return row;
  }
  constexpr Row no_effect(std::string_view why) const {
    Row row = *this;
    row.effect = Effect::None;
    row.note = why;
    return row;
  }
  constexpr Row not_yet(std::string_view what_follows) const {
    Row row = *this;
    row.effect = Effect::NotYet;
    row.note = what_follows;
    return row;
  }
};

constexpr Row flag(std::string_view names, std::string_view keys, Field field,
                   std::string_view help) {
  Row row;
  row.names = names, row.keys = keys, row.field = field, row.help = help;
  row.kind = Kind::Flag;
  return row;
}
constexpr Row unflag(std::string_view names, std::string_view keys, Field field,
                     std::string_view help) {
  Row row = flag(names, keys, field, help);
  row.kind = Kind::Unflag;
  return row;
}
constexpr Row truth(std::string_view names, std::string_view keys, Field field,
                    std::string_view help) {
  Row row = flag(names, keys, field, help);
  row.kind = Kind::Truth;
  row.value_name = "BOOL";
  return row;
}
constexpr Row number(std::string_view names, std::string_view keys, Field field, std::uint64_t min,
                     std::uint64_t max, std::string_view help) {
  Row row = flag(names, keys, field, help);
  row.kind = Kind::Number;
  row.min = min, row.max = max, row.value_name = "N";
  return row;
}
constexpr Row word(std::string_view names, std::string_view keys, Field field,
                   std::string_view value_name, std::string_view words, std::string_view help) {
  Row row = flag(names, keys, field, help);
  row.kind = Kind::Word;
  row.words = words, row.value_name = value_name;
  return row;
}
constexpr Row text(std::string_view names, std::string_view keys, Field field,
                   std::string_view value_name, std::string_view help,
                   ib::Result<void> (*check)(std::string_view) = nullptr) {
  Row row = flag(names, keys, field, help);
  row.kind = Kind::Text;
  row.value_name = value_name, row.check = check;
  return row;
}
constexpr Row action(std::string_view names, void (*act)(Settings&, unsigned),
                     std::string_view help) {
  Row row = flag(names, {}, {}, help);
  row.kind = Kind::Action;
  row.action = act;
  return row;
}

}  // namespace sm::config
