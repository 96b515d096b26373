// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The option table: every option of ibsm, a row each, by sections.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sm/config/row.h"

namespace sm::config {

std::span<const Row> table();

/// The row that has this key in the options file; nullptr: none. Dashes may stand for underscores.
const Row* find_key(std::string_view key);
/// Every key there is, other spellings included.
const std::vector<std::string_view>& all_keys();
/// The row with this long name on the command line, dashes and underscores alike; nullptr: none.
const Row* find_name(std::string_view name);
/// The key that somebody means who wrote `word`, which is none: one that differs by two edits, that
/// of the option with such a long name, or the only one with all parts of the word
/// ("partition_file"). Empty: nobody can tell.
std::string_view meant_key(std::string_view word);

/// What the option says is of a subnet manager and its host, and nothing of it is programmed.
bool is_of_host(const Row& row);

std::string_view section_name(Section section);  // "Routing"

/// What --help says of it: its effect, its default and its range included.
std::string help_of(const Row& row);
/// "accepted, no effect: WHY" or "not supported yet: WHAT FOLLOWS"; empty where it works.
std::string effect_of(const Row& row);

}  // namespace sm::config
