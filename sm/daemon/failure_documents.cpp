// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/failure_documents.h"

#include "libdiag/cli/exit_status.h"
#include "libdiag/report/json.h"
#include "sm/events/event.h"
#include "sm/managers/performance/dump.h"

namespace sm::daemon {
namespace {

std::string failure(const char* schema, const std::string& version, const ib::Error& error) {
  return ib::report::failure_document(schema, "ibsm", version, error, ib::cli::status_of(error));
}

/// The document that the request asks for; nullptr: its verb has none.
const char* schema_of(const control::Request& request) {
  const std::string what = request.words.empty() ? std::string() : request.words.front();
  if (request.verb == "explain") return kExplainSchema;
  if (request.verb == "sm") return kManagersSchema;
  if (request.verb == "sa") return kSaSchema;
  if (request.verb == "events") return events::kEventSchema;
  if (request.verb == "partition")
    return what == "add" || what == "remove" ? kMembersChangeSchema : kMembersSchema;
  if (request.verb == "counters")
    return what == "history" ? managers::performance::kHistorySchema
           : what == "sweep" || what == "clear" || what == "dump"
               ? kCountersChangeSchema
               : managers::performance::kCountersSchema;
  return nullptr;
}

}  // namespace

std::string explain_failure(const std::string& version, const ib::Error& error) {
  return failure(kExplainSchema, version, error);
}

std::string dry_run_failure(const std::string& version, const ib::Error& error) {
  return failure(kDryRunSchema, version, error);
}

std::string request_failure(const control::Request& request, const std::string& version,
                            const ib::Error& error) {
  const char* schema = schema_of(request);
  return schema == nullptr ? std::string() : failure(schema, version, error);
}

}  // namespace sm::daemon
