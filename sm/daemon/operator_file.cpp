// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/operator_file.h"

#include "libdiag/fabric/text_file.h"

namespace sm::daemon {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{64} << 20;

}  // namespace

ib::Result<std::string> read_operator_file(const std::string& path) {
  return ib::fabric::read_regular_file(path, kFileBytesMax);
}

tl::unexpected<ib::Error> refused(const std::string& what, std::string_view text,
                                  std::span<const ib::Diagnostic> diagnostics) {
  std::string message = "cannot use " + what;
  for (const auto& diagnostic : diagnostics) message += '\n' + ib::with_caret(diagnostic, text);
  return ib::fail(ib::ErrorKind::Usage, std::move(message));
}

std::vector<std::string> shown(std::span<const ib::Diagnostic> diagnostics, std::string_view text) {
  constexpr std::size_t kWithCaret = 200;
  std::vector<std::string> out;
  for (const auto& diagnostic : diagnostics)
    out.push_back(out.size() < kWithCaret ? ib::with_caret(diagnostic, text)
                                          : to_string(diagnostic));
  return out;
}

}  // namespace sm::daemon
