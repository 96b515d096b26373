// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which engines heed which options, so that an operator is told of one that does nothing.
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
  std::string_view engines;       // that heed it, with spaces around each
  bool used_by(std::string_view engine) const;
};
std::span<const OptionUse> option_uses();

/// `updn takes no notice of --hop_weights_file`: of what is given, what neither `engine`, whose
/// routes are taken, nor any of `named`, which could have come in its place, heeds. Empty: nothing.
std::string unused_options(const Options& options, std::string_view engine,
                           std::span<const std::string> named);

}  // namespace ib::route
