// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What ibpath is to print, from tests/golden/ibpath.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace ibpath::test {

inline std::string golden(const std::string& name) {
  std::ifstream file(std::string(IBKIT_SOURCE_DIR) + "/tests/golden/ibpath/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace ibpath::test
