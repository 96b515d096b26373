// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/etcd/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace sm::store::etcd {
namespace {

// Codes of gRPC (its statuscodes.md).
constexpr int kDeadlineExceeded = 4, kUnavailable = 14, kUnauthenticated = 16;
constexpr int kInternal = 13, kUnknown = 2;
/// Another member may know better: this one has no leader, or is about to end.
constexpr std::array kAskAnother = {kDeadlineExceeded, kUnavailable, kInternal, kUnknown};

/// All members together: a client of subnet administration, whose registration is answered once
/// this is over, gives up after 2 s and more (8 requests 250 ms apart).
constexpr ib::Duration kTogether = std::chrono::milliseconds(1500);
/// One that is asked is given a chance.
constexpr ib::Duration kLeast = std::chrono::milliseconds(50);

bool is_good(const HttpAnswer& answer) { return answer.status == 200; }

ib::Error error_of(const std::string& endpoint, const HttpAnswer& answer) {
  const Refusal refusal = read_refusal(answer.body);
  const bool ask_another =
      refusal.words.empty() || std::ranges::find(kAskAnother, refusal.code) != kAskAnother.end();
  return {ask_another ? ib::ErrorKind::TimedOut : ib::ErrorKind::Refused,
          refusal.words.empty()
              ? fmt::format("{} answers with HTTP status {}", endpoint, answer.status)
              : fmt::format("{} refuses: {}", endpoint, refusal.words),
          0};
}

}  // namespace

ib::Result<std::vector<KeyValue>> read_all(Cluster& cluster, KeyRange keys, std::int64_t revision,
                                           std::int64_t page) {
  std::vector<KeyValue> all;
  while (true) {
    auto answer = cluster.ask(RangeRequest{keys, page, revision});
    if (!answer) return tl::unexpected<ib::Error>(std::move(answer.error()));
    std::ranges::move(answer->found, std::back_inserter(all));
    if (!answer->more || answer->found.empty()) return all;
    keys.first = all.back().key + '\0';
  }
}

ib::Result<TxnAnswer> Client::ask(const Txn& txn) {
  return ask("/v3/kv/txn", text_of(txn)).and_then([](const std::string& body) {
    return read_txn_answer(body);
  });
}

ib::Result<RangeAnswer> Client::ask(const RangeRequest& range) {
  return ask("/v3/kv/range", text_of(range)).and_then([](const std::string& body) {
    return read_range_answer(body);
  });
}

ib::Result<std::string> Client::ask(const char* path, const std::string& body) {
  std::string failures;
  const std::size_t count = options_.endpoints.size();
  const ib::Instant end = options_.now() + kTogether;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = (first_ + i) % count;
    const ib::Instant now = options_.now();
    until_ = now + (end - now) / static_cast<std::int64_t>(count - i);
    auto answer = ask_one(options_.endpoints[at], path, body);
    if (answer || answer.error().kind != ib::ErrorKind::TimedOut) {
      first_ = at;
      return answer;
    }
    failures += (failures.empty() ? "" : "; ") + answer.error().message;
  }
  return ib::fail(ib::ErrorKind::TimedOut, std::move(failures));
}

ib::Result<std::string> Client::ask_one(const std::string& endpoint, const char* path,
                                        const std::string& body) {
  if (!options_.user.empty() && token_.empty())
    if (auto done = authenticate(endpoint); !done)
      return tl::unexpected<ib::Error>(std::move(done.error()));
  auto answer = post(endpoint, path, body, token_);
  // Tokens expire, and a member that was started again knows none.
  if (answer && !is_good(*answer) && !options_.user.empty() &&
      read_refusal(answer->body).code == kUnauthenticated) {
    if (auto done = authenticate(endpoint); !done)
      return tl::unexpected<ib::Error>(std::move(done.error()));
    answer = post(endpoint, path, body, token_);
  }
  if (!answer) return tl::unexpected<ib::Error>(std::move(answer.error()));
  if (!is_good(*answer)) return tl::unexpected<ib::Error>(error_of(endpoint, *answer));
  return std::move(answer->body);
}

ib::Result<HttpAnswer> Client::post(const std::string& endpoint, const char* path,
                                    const std::string& body, const std::string& token) {
  auto answer =
      poster_->post({endpoint + path, body, token, std::max(until_ - options_.now(), kLeast)});
  if (!answer)
    return ib::fail(ib::ErrorKind::TimedOut,
                    fmt::format("{} does not answer: {}", endpoint, answer.error().message));
  return answer;
}

ib::Result<void> Client::authenticate(const std::string& endpoint) {
  token_.clear();
  const auto answer = post(endpoint, "/v3/auth/authenticate",
                           authenticate_text(options_.user, options_.password), {});
  if (!answer) return tl::unexpected<ib::Error>(answer.error());
  if (!is_good(*answer)) return tl::unexpected<ib::Error>(error_of(endpoint, *answer));
  auto token = read_token(answer->body);
  if (!token) return tl::unexpected<ib::Error>(std::move(token.error()));
  token_ = *std::move(token);
  return {};
}

}  // namespace sm::store::etcd
