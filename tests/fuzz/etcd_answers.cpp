// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any bytes as etcd's answers and as values that are kept there: errors of one line, or what is
// written again as it was read.
#include <string>
#include <string_view>

#include "sm/store/etcd/batch_code.h"
#include "sm/store/etcd/layout.h"
#include "sm/store/etcd/requests.h"
#include "tests/fuzz/fuzz.h"

namespace {

namespace etcd = sm::store::etcd;
using ib::fuzz::require;

/// A batch that fits its sum, whatever is in it.
std::string with_sum(std::string_view inside) {
  std::string bytes = "ibkb\x01" + std::string(inside);
  std::uint64_t sum = 0xCBF29CE484222325ULL;
  for (const char c : bytes) sum = (sum ^ static_cast<std::uint8_t>(c)) * 0x100000001B3ULL;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(sum >> shift);
  return bytes;
}

template <class T>
bool is_read(const ib::Result<T>& result) {
  if (!result)
    require(result.error().message.find('\n') == std::string::npos, "an error is one line");
  return result.has_value();
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)is_read(etcd::read_txn_answer(text));
  (void)is_read(etcd::read_range_answer(text));
  (void)is_read(etcd::read_token(text));
  require(etcd::read_refusal(text).words.find('\n') == std::string::npos, "a reason is one line");
  if (const auto head = etcd::read_head(text); is_read(head))
    require(*etcd::read_head(etcd::text_of(*head)) == *head, "a head is read again");
  if (const auto epoch = etcd::read_epoch(text); is_read(epoch))
    require(*etcd::read_epoch(etcd::text_of(*epoch)) == *epoch, "an epoch is read again");
  if (const auto head = etcd::read_policy_head(text); is_read(head))
    require(*etcd::read_policy_head(etcd::text_of(*head)) == *head, "a policy head is read again");
  (void)is_read(etcd::decode(text));
  if (const auto batch = etcd::decode(with_sum(text)); is_read(batch)) {
    const std::string written = etcd::encode(*batch);
    const auto again = etcd::decode(written);
    require(again && etcd::encode(*again) == written, "a batch is read as it is written");
    sm::store::Contents contents;
    sm::store::apply(*batch, contents);
  }
  return 0;
}
