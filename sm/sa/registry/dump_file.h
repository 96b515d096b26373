// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The incumbent's SA dump (opensm-sa.dump, option sa_db_file): what clients have registered, as
// text that both can read. Fields that only we have come after the incumbent's in a line, where it
// does not look. The store is where things are kept; this is for moving from one to the other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sm/store/store.h"

namespace sm::sa {

/// How a dump of ours begins; the incumbent's does not.
inline constexpr std::string_view kDumpBegins = "# SA dump of ibsm";

std::string write_dump(const store::Contents& contents);

struct ReadDump {
  store::Contents contents;             // no LIDs; groups without a full member are left out
  std::vector<std::string> complaints;  // "line 7: ...": the first of those that are skipped
  std::size_t passed_over{0};           // lines in all
};
/// Never fails as a whole: what can be read is.
ReadDump read_dump(std::string_view text);

/// Whether `text` can be read as a dump: it has a record, or it is one of ours of an empty state.
bool is_dump(std::string_view text);

struct Missing {
  store::Batch batch;
  std::vector<std::string> left_out;  // groups whose members cannot be taken, each with the reason
};
/// What of a dump is not in `contents` yet. What is there stays as it is. Members go by the MLID
/// they were told: those of a group whose MLID another has, or that has another here, are left out.
/// So is what has become invalid in the meantime.
Missing missing_from(const store::Contents& contents, const store::Contents& dump,
                     std::int64_t unix_seconds);

}  // namespace sm::sa
