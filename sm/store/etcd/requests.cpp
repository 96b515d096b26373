// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/etcd/requests.h"

#include <nlohmann/json.hpp>

#include "libdiag/base/ids.h"
#include "libdiag/base/text.h"
#include "sm/store/etcd/base64.h"

namespace sm::store::etcd {
namespace {

using Json = nlohmann::json;

Json json_of(const KeyRange& keys) {
  Json json = {{"key", to_base64(keys.first)}};
  if (!keys.end.empty()) json["range_end"] = to_base64(keys.end);
  return json;
}

Json json_of(const Compare& condition) {
  Json json = {{"key", to_base64(condition.key)}, {"result", "EQUAL"}};
  if (condition.value) {
    json["target"] = "VALUE";
    json["value"] = to_base64(*condition.value);
  } else {
    json["target"] = "VERSION";
    json["version"] = "0";
  }
  return json;
}

template <class T>
tl::unexpected<ib::Error> unreadable(const T& what) {
  return ib::fail(ib::ErrorKind::Malformed,
                  std::string("etcd's answer cannot be read: ") + what + " is not as it is to be");
}

/// null where `name` is missing, as a field that has its default is.
const Json* member(const Json& json, const char* name) {
  if (!json.is_object()) return nullptr;
  const auto at = json.find(name);
  return at == json.end() ? nullptr : &*at;
}

std::optional<Json> parse(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return json;
}

/// Nothing: it is damaged.
std::optional<std::string> bytes_of(const Json& json, const char* name) {
  const Json* text = member(json, name);
  if (text == nullptr) return std::string();
  if (!text->is_string()) return std::nullopt;
  return from_base64(text->get_ref<const std::string&>());
}

std::optional<std::vector<KeyValue>> key_values(const Json& json) {
  std::vector<KeyValue> found;
  const Json* list = member(json, "kvs");
  if (list == nullptr) return found;
  if (!list->is_array()) return std::nullopt;
  for (const Json& one : *list) {
    auto key = bytes_of(one, "key");
    auto value = bytes_of(one, "value");
    if (!one.is_object() || !key || !value) return std::nullopt;
    found.push_back({*std::move(key), *std::move(value)});
  }
  return found;
}

/// A number of the answer's header; 0: it has none.
std::uint64_t in_header(const Json& json, const char* name) {
  const Json* header = member(json, "header");
  const Json* text = header != nullptr ? member(*header, name) : nullptr;
  std::uint64_t number = 0;
  if (text == nullptr || !text->is_string() ||
      !ib::parse_number(text->get_ref<const std::string&>(), INT64_MAX, number))
    return 0;
  return number;
}

bool is_true(const Json& json, const char* name) {
  const Json* value = member(json, name);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

}  // namespace

KeyRange KeyRange::under(const std::string& prefix) {
  // The first key behind all that begin so; the last byte of ours is a slash.
  std::string end = prefix;
  end.back() = static_cast<char>(end.back() + 1);
  return {prefix, std::move(end)};
}

std::string text_of(const Txn& txn) {
  Json success = Json::array(), failure = Json::array(), compare = Json::array();
  for (const Compare& condition : txn.conditions) compare.push_back(json_of(condition));
  for (const KeyValue& put : txn.puts)
    success.push_back(
        {{"request_put", {{"key", to_base64(put.key)}, {"value", to_base64(put.value)}}}});
  for (const KeyRange& keys : txn.removes)
    success.push_back({{"request_delete_range", json_of(keys)}});
  for (const KeyRange& keys : txn.reads) success.push_back({{"request_range", json_of(keys)}});
  for (const KeyRange& keys : txn.otherwise) failure.push_back({{"request_range", json_of(keys)}});
  return Json{{"compare", std::move(compare)},
              {"success", std::move(success)},
              {"failure", std::move(failure)}}
      .dump();
}

std::string text_of(const RangeRequest& range) {
  Json json = json_of(range.keys);
  json["sort_order"] = "ASCEND";
  json["sort_target"] = "KEY";
  if (range.limit != 0) json["limit"] = std::to_string(range.limit);
  if (range.revision != 0) json["revision"] = std::to_string(range.revision);
  return json.dump();
}

std::string authenticate_text(const std::string& user, const std::string& password) {
  // What is no UTF-8 etcd could not have either.
  return Json{{"name", user}, {"password", password}}.dump(-1, ' ', false,
                                                           Json::error_handler_t::replace);
}

ib::Result<TxnAnswer> read_txn_answer(std::string_view text) {
  const auto json = parse(text);
  if (!json) return unreadable("JSON");
  TxnAnswer answer;
  answer.succeeded = is_true(*json, "succeeded");
  answer.revision = static_cast<std::int64_t>(in_header(*json, "revision"));
  answer.term = in_header(*json, "raft_term");
  if (const Json* responses = member(*json, "responses")) {
    if (!responses->is_array()) return unreadable("responses");
    for (const Json& response : *responses) {
      const Json* range = member(response, "response_range");
      if (range == nullptr) continue;
      auto found = key_values(*range);
      if (!found) return unreadable("response_range");
      answer.reads.push_back(*std::move(found));
    }
  }
  return answer;
}

ib::Result<RangeAnswer> read_range_answer(std::string_view text) {
  const auto json = parse(text);
  if (!json) return unreadable("JSON");
  auto found = key_values(*json);
  if (!found) return unreadable("kvs");
  return RangeAnswer{*std::move(found), is_true(*json, "more")};
}

ib::Result<std::string> read_token(std::string_view text) {
  const auto json = parse(text);
  const Json* token = json ? member(*json, "token") : nullptr;
  if (token == nullptr || !token->is_string()) return unreadable("token");
  const auto& words = token->get_ref<const std::string&>();
  // It becomes a line of a request's header.
  if (words.empty() || ib::printable(words) != words) return unreadable("token");
  return words;
}

Refusal read_refusal(std::string_view text) {
  const auto json = parse(text);
  if (!json) return {};
  const Json* code = member(*json, "code");
  const Json* words = member(*json, "message");
  if (words == nullptr) words = member(*json, "error");
  Refusal refusal;
  if (code != nullptr && code->is_number_integer()) refusal.code = code->get<int>();
  if (words != nullptr && words->is_string())
    refusal.words = ib::printable(words->get_ref<const std::string&>());
  return refusal;
}

}  // namespace sm::store::etcd
