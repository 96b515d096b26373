// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Client: one cluster of etcd. It asks the members in turn, beginning with the one that answered
// last, and authenticates where a user is given. Without I/O: Poster has the HTTP.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libdiag/base/instant.h"
#include "libdiag/base/result.h"
#include "sm/store/etcd/requests.h"

namespace sm::store::etcd {

struct HttpRequest {
  std::string url;
  std::string body;
  std::string token;  // of Authorization; empty: none
  ib::Duration within{};
};
struct HttpAnswer {
  long status{};
  std::string body;
};

class Poster {
 public:
  virtual ~Poster() = default;
  /// An error: there was no answer.
  virtual ib::Result<HttpAnswer> post(const HttpRequest& request) = 0;
};

/// What a store asks of etcd. Errors: TimedOut, nobody answers or there is no quorum, and it is
/// not known whether it was done; Refused, etcd says no, and nothing was done; Malformed.
class Cluster {
 public:
  virtual ~Cluster() = default;
  virtual ib::Result<TxnAnswer> ask(const Txn& txn) = 0;
  virtual ib::Result<RangeAnswer> ask(const RangeRequest& range) = 0;
};

/// All of `keys`, as they were at `revision`, `page` at most in an answer.
ib::Result<std::vector<KeyValue>> read_all(Cluster& cluster, KeyRange keys, std::int64_t revision,
                                           std::int64_t page);

struct ClientOptions {
  std::vector<std::string> endpoints;  // "http://HOST:PORT"
  std::string user, password;          // empty: none
  std::function<ib::Instant()> now{ib::monotonic_now};
};

class Client final : public Cluster {
 public:
  Client(ClientOptions options, std::unique_ptr<Poster> poster)
      : options_(std::move(options)), poster_(std::move(poster)) {}

  ib::Result<TxnAnswer> ask(const Txn& txn) override;
  ib::Result<RangeAnswer> ask(const RangeRequest& range) override;

 private:
  /// The body of a good answer, of the first member that has one.
  ib::Result<std::string> ask(const char* path, const std::string& body);
  ib::Result<std::string> ask_one(const std::string& endpoint, const char* path,
                                  const std::string& body);
  ib::Result<HttpAnswer> post(const std::string& endpoint, const char* path,
                              const std::string& body, const std::string& token);
  ib::Result<void> authenticate(const std::string& endpoint);

  ClientOptions options_;
  ib::Instant until_{};  // the member that is asked has this long
  std::unique_ptr<Poster> poster_;
  std::size_t first_{0};  // whom to ask first
  std::string token_;
};

}  // namespace sm::store::etcd
