// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Documents that scripts read (doc/formats.md) against files beside this one. Two things in them
// are not promised and are masked: the program's version and the place of the source folder.
#pragma once

#include <string>

namespace ib::golden {

/// Expects `document` to be what the file has. With IBKIT_REWRITE set in the environment
/// the file is written first: look at what git says has changed.
void expect_same(const std::string& document, const std::string& file);

/// A file of tests/golden.
std::string path(const std::string& name);

}  // namespace ib::golden
