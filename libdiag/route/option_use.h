// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which engines use which options, so that the operator is told of options without effect.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/route/options.h"

namespace ib::route {

/// An option, and whether routes of an engine may hang on it.
struct OptionUse {
  const char* name;               // as opensm spells it
  bool (*given)(const Options&);  // it says something
  std::string_view engines;       // that use it, with spaces around each
  bool used_by(std::string_view engine) const;
};
std::span<const OptionUse> option_uses();

/// `--hop_weights_file has no effect with routing engine updn`: of what is given, what neither
/// `engine`, whose routes are used, nor any of `named`, which could have come in its place, uses.
/// Empty: nothing.
std::string unused_options(const Options& options, std::string_view engine,
                           std::span<const std::string> named);

}  // namespace ib::route
