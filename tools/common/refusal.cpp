// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/common/refusal.h"

#include <cstdio>

#include "libdiag/cli/exit_status.h"
#include "libdiag/report/json.h"

namespace ib::tools {

int Refusal::operator()(const Error& error) const {
  const int status = cli::complain(program, error);
  if (json) {
    const auto text = failures_of(program, schema, version)(error);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return status;
}

std::function<std::string(const Error&)> failures_of(std::string program, std::string schema,
                                                     std::string version) {
  return [program = std::move(program), schema = std::move(schema),
          version = std::move(version)](const Error& error) {
    return report::failure_document(schema, program, version, error, cli::status_of(error));
  };
}

}  // namespace ib::tools
