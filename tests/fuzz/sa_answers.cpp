// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any bytes as the answer of an SA: whatever its lengths and offsets say, every reader of the
// client stays inside it, and what ibpath prints of the records is printable.
#include <algorithm>

#include "libdiag/query/sa_client.h"
#include "tests/fuzz/fuzz.h"
#include "tools/ibpath/filter.h"
#include "tools/ibpath/records.h"

namespace {

using ib::fuzz::require;

void check_text(const std::string& text) {
  for (const char c : text)
    require(c == '\n' || c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F),
            "no control character in a record's text");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ib::fuzz::Input in(data, size);
  const auto kinds = ibpath::record_kinds();
  const ibpath::RecordKind& kind = kinds[in.byte() % kinds.size()];
  const auto input = in.rest();
  ib::mad::Packet answer;
  const std::size_t first = std::min(input.size(), answer.mad.bytes.size());
  std::copy_n(input.begin(), first, answer.mad.bytes.begin());
  answer.more.assign(input.begin() + static_cast<std::ptrdiff_t>(first), input.end());
  answer.mad.set<&ib::wire::MadHeader::mgmt_class>(ib::wire::MgmtClass::SubnAdm);
  answer.mad.set<&ib::wire::MadHeader::status>(ib::wire::status::kOk);

  const auto records = ib::query::read_records(answer, kind.structure->bytes);
  if (!records) return 0;
  require(records->bytes.size() <= ib::wire::kSaDataBytes + answer.more.size() + 8,
          "no more than was sent");
  const ibpath::Query everything(*kind.structure);
  for (std::size_t i = 0; i < records->size(); ++i) {
    const auto record = (*records)[i];
    require(record.size() == kind.structure->bytes, "a whole record");
    require(everything.satisfied_by(record), "no condition is always met");
    check_text(kind.text(record, {true, true}));
    check_text(kind.text(record, {false, false}));
  }
  return 0;
}
