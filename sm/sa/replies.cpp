// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/replies.h"

#include <utility>

#include "sm/sa/intake/answers.h"

namespace sm::sa {

using ib::mad::Packet;
using ib::wire::Method;
namespace status = ib::wire::status;

void Replies::refuse(const Packet& request, std::uint16_t mad_status) {
  const auto method = response_to(request.mad.method());
  if (!method) {
    ++shared_.counters.dropped_unanswerable;
    replays_.forget(request);
    return;
  }
  send(request, answer_to(request, *method, mad_status));
}

void Replies::send(const Packet& request, Packet&& answer) {
  // What has no room now may have it when the client tries again.
  const bool passing = answer.mad.status() == status::kBusy ||
                       answer.mad.status() == status::kSaNoResources || !answer.more.empty();
  if (passing) {
    replays_.forget(request);
  } else {
    replays_.end(shared_.now, request, answer);
  }
  ++shared_.counters.answers;
  if (answer.mad.status() != 0) ++shared_.counters.errors;
  outbox_.push(std::move(answer));
}

void Replies::send_record(const Packet& request, std::span<const std::byte> record) {
  auto& answer = outbox_.add();
  make_answer(answer, request, Method::GetResp, status::kOk);
  put_record(answer, record);
  ++shared_.counters.records;
  ++shared_.counters.answers;
  replays_.end(shared_.now, request, record);
}

void Replies::leave_to_transfer(const Packet& request) {
  ++shared_.counters.answers;
  replays_.forget(request);
}

}  // namespace sm::sa
