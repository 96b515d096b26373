// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/set_aside.h"

#include <fmt/format.h>

#include <filesystem>

namespace sm::store {

ib::Result<std::string> set_aside(const std::string& path, const std::string& word) {
  namespace fs = std::filesystem;
  std::string aside;
  std::error_code error;
  unsigned n = 1;
  do {
    aside = fmt::format("{}.{}-{}", path, word, n++);
  } while (fs::exists(aside, error));
  fs::rename(path, aside, error);
  if (error)
    return ib::fail(ib::ErrorKind::Io,
                    fmt::format("cannot keep {} as {}: {}", path, aside, error.message()));
  return aside;
}

}  // namespace sm::store
