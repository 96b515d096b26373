// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A file of the operator's that an option names: its text, and the refusal of one with mistakes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/result.h"

namespace sm::daemon {

/// An error of kind Usage names the file and says why it cannot be read.
ib::Result<std::string> read_operator_file(const std::string& path);

/// "cannot use WHAT", then every mistake with its line and a caret under the place.
tl::unexpected<ib::Error> refused(const std::string& what, std::string_view text,
                                  std::span<const ib::Diagnostic> diagnostics);

/// A text for each: of the first ones with the line and a caret under the place, too. To find a
/// line takes as long as the text is.
std::vector<std::string> shown(std::span<const ib::Diagnostic> diagnostics, std::string_view text);

}  // namespace sm::daemon
