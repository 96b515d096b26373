// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Records as documents: text, field by field as saquery prints them, and JSON.
#pragma once

#include <span>
#include <string>

#include "libdiag/wire/sa_records.h"
#include "tools/ibpath/command_context.h"
#include "tools/ibpath/record_text.h"

namespace ibpath {

/// saquery's "PathRecord dump:". With `explained` a line before each says in words what the codes
/// mean.
std::string text_report(std::span<const ib::wire::PathRecord> paths, bool explained);

/// The document of doc/formats.md.
std::string json_report(std::span<const ib::wire::PathRecord> paths, const std::string& version);

/// What came of one line of a batch.
struct BatchAnswer {
  std::size_t line{};
  std::string source, destination;  // as they were written
  std::vector<ib::wire::PathRecord> paths;
  std::string error;       // why there are none; empty: the SA says there are none
  bool unanswered{false};  // the error says nothing about the path
};
/// "# LINE SRC -> DST", its error or that there is no path, and the records.
std::string text_batch_answer(const BatchAnswer& answer, bool explained);
std::string json_batch(std::span<const BatchAnswer> answers, const std::string& version);

/// Records of one kind, `bytes` each of the layout `structure`, as a document. Fields have the
/// specification's names (libdiag/wire).
std::string json_records(std::string_view record, const ib::wire::StructureInfo& structure,
                         std::span<const std::span<const std::byte>> records, bool keys,
                         const std::string& version);

/// Members of multicast groups as such a document; what is not shown of one is null.
std::string json_members(std::span<const ib::wire::McMemberRecord> members,
                         const std::string& version);

/// Prints records in the form the options ask for.
template <class Record>
void print_records(std::string_view name, const std::vector<Record>& records,
                   CommandContext& context) {
  if (!context.options().common.json) {
    std::string text;
    for (const Record& record : records)
      text += record_text(record, TextOptions{context.options().keys, false});
    print(text);
    return;
  }
  std::vector<std::vector<std::byte>> bytes;
  bytes.reserve(records.size());
  for (const Record& record : records) bytes.push_back(ib::wire::bytes_of(record));
  const std::vector<std::span<const std::byte>> views(bytes.begin(), bytes.end());
  print(json_records(name, ib::wire::describe<Record>(), views, context.options().keys,
                     IBKIT_VERSION));
}

}  // namespace ibpath
