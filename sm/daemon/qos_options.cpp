// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/qos_options.h"

#include "libdiag/fabric/text_file.h"

namespace sm::daemon {
namespace {

constexpr std::size_t kPolicyBytesMax = std::size_t{64} << 20;

}  // namespace

ib::Result<QosRules> read_qos_rules(const std::string& file, const policy::Partitions& partitions) {
  QosRules out;
  if (file.empty()) return out;
  const auto text = ib::fabric::read_regular_file(file, kPolicyBytesMax);
  if (!text) return tl::unexpected<ib::Error>(text.error());
  const policy::QosFile read = policy::read_qos_file(*text, file);
  if (ib::has_errors(read.diagnostics)) {
    std::string message = "cannot use the QoS policy of " + file;
    for (const auto& diagnostic : read.diagnostics)
      message += '\n' + ib::with_caret(diagnostic, *text);
    return ib::fail(ib::ErrorKind::Usage, std::move(message));
  }
  std::vector<ib::Diagnostic> diagnostics = read.diagnostics;
  out.rules = std::make_shared<const policy::QosPolicy>(read, file, partitions, diagnostics);
  for (const auto& diagnostic : diagnostics) out.warnings.push_back(to_string(diagnostic));
  return out;
}

}  // namespace sm::daemon
