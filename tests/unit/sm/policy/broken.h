// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A file with one mistake, and what is to be said of it: a parameter of tests.
#pragma once

#include <ostream>
#include <string_view>

namespace sm::policy::test {

struct Broken {
  std::string_view text, message;
};
inline void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.text; }

}  // namespace sm::policy::test
