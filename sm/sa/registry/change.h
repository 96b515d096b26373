// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a Set or Delete asks, and what comes of it: values between the server, which receives and
// answers, and the rules of each kind of record.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "libdiag/wire/mad.h"
#include "libdiag/wire/sa_records.h"
#include "sm/sa/subnet/paths.h"
#include "sm/store/store.h"

namespace sm::sa {

/// Who asks, as found by the source LID of the request.
struct Requester {
  const EndPort* port{nullptr};  // nullptr: no port of the subnet has this LID
  bool trusted{false};           // carried the SA key
};

/// A Set or Delete as it arrived.
struct WriteRequest {
  ib::wire::Method method{ib::wire::Method::Set};
  std::uint16_t attribute{};
  std::uint64_t mask{};
  std::array<std::byte, ib::wire::kSaDataBytes> data{};  // the record
  Requester requester;
  ib::mad::Address from;        // where the request came from
  std::int64_t unix_seconds{};  // when it is looked at; leases begin then
};

/// A notice that subnet administration itself makes, or passes on for the subnet manager.
struct Event {
  ib::wire::Notice notice;  // issuer LID 0: the subnet manager's own
  ib::Gid issuer_gid{};
  ib::PKey p_key{};  // of the group that a notice is about
};

/// What is to become durable, and what follows once it is.
struct Change {
  store::Batch batch;            // may be empty: nothing to make durable
  std::vector<std::byte> reply;  // the record of the answer
  bool routes_change{};          // some port begins or ceases to receive or send multicast
  std::vector<Event> events;     // forwarded to subscribers
  std::vector<std::string> log;  // lines worth writing
};

/// A request that is not granted: the status of the answer, and where a reason helps an operator,
/// the line to log (who, what, why, which value would work).
struct Refusal {
  std::uint16_t status{};
  std::string why;
};

using Outcome = std::variant<Change, Refusal>;

/// `record` as the bytes of an answer.
template <class Record>
std::vector<std::byte> reply_of(const Record& record) {
  std::vector<std::byte> bytes(ib::wire::record_bytes<Record>());
  ib::wire::encode(record, bytes.data());
  return bytes;
}

}  // namespace sm::sa
