// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Salvage: the records of a store's file that SQLite cannot use as it is. Each record that fits its
// sum is taken, wherever in the file it lies: neither the schema, nor the tree of pages, nor a
// page's own directory need be whole for that. It only reads.
#pragma once

#include <string>
#include <vector>

#include "sm/store/store.h"

namespace sm::store {

struct Salvaged {
  Contents contents;
  std::vector<std::string> lost;  // each record that is known to have been there, and is not read
  bool whole{true};               // false: others may have been there, too
};

/// Of the file `path` and its log. Records of before schema 4 have no sums and are not found.
Salvaged salvage(const std::string& path);

}  // namespace sm::store
