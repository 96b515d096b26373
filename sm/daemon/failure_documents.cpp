// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/failure_documents.h"

#include "libdiag/cli/exit_status.h"
#include "libdiag/report/json.h"

namespace sm::daemon {

std::string explain_failure(const std::string& version, const ib::Error& error) {
  return ib::report::failure_document(kExplainSchema, "ibsm", version, error,
                                      ib::cli::status_of(error));
}

std::string dry_run_failure(const std::string& version, const ib::Error& error) {
  return ib::report::failure_document(kDryRunSchema, "ibsm", version, error,
                                      ib::cli::status_of(error));
}

}  // namespace sm::daemon
