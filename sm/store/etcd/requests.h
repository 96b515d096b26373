// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What is asked of etcd, as values, and their texts in the JSON of its gateway (etcd's
// api_grpc_gateway and rpc.proto: keys and values in base64, 64-bit numbers as text, fields that
// have their defaults left out). nlohmann-json stays behind this file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"

namespace sm::store::etcd {

struct KeyValue {
  std::string key, value;
  friend bool operator==(const KeyValue&, const KeyValue&) = default;
};

/// The keys from `first` on and before `end`; of an empty `end`: `first` alone.
struct KeyRange {
  std::string first, end;
  static KeyRange under(const std::string& prefix);
};

/// The condition that `key` has this value; nullopt: that it is not there.
struct Compare {
  std::string key;
  std::optional<std::string> value;
};

/// All of it, or nothing: where one condition does not hold, `otherwise` is read instead. etcd
/// takes 128 operations at most.
struct Txn {
  std::vector<Compare> conditions;
  std::vector<KeyValue> puts;
  std::vector<KeyRange> removes;
  std::vector<KeyRange> reads;      // answered in this order
  std::vector<KeyRange> otherwise;  // likewise
};
struct TxnAnswer {
  bool succeeded{false};
  std::vector<std::vector<KeyValue>> reads;
  std::int64_t revision{};  // of all of etcd, then
  std::uint64_t term{};     // of its leader: another one after each election and each restart
};

struct RangeRequest {
  KeyRange keys;
  std::int64_t limit{};
  std::int64_t revision{};  // as it was then
};
struct RangeAnswer {
  std::vector<KeyValue> found;  // by key
  bool more{false};
};

/// What etcd says instead of an answer: a code of gRPC, and words.
struct Refusal {
  int code{};
  std::string words;
};

std::string text_of(const Txn& txn);
std::string text_of(const RangeRequest& range);
std::string authenticate_text(const std::string& user, const std::string& password);

ib::Result<TxnAnswer> read_txn_answer(std::string_view text);
ib::Result<RangeAnswer> read_range_answer(std::string_view text);
ib::Result<std::string> read_token(std::string_view text);
/// Code 0 where `text` is none.
Refusal read_refusal(std::string_view text);

}  // namespace sm::store::etcd
