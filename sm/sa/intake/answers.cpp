// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/intake/answers.h"

namespace sm::sa {

using ib::mad::Packet;
using ib::wire::MadHeader;
using ib::wire::Method;
using ib::wire::SaHeader;

std::optional<Method> response_to(Method m) {
  switch (m) {
    case Method::Get:
    case Method::Set:
      return Method::GetResp;
    case Method::GetTraceTable:
      return Method::GetTableResp;
    case Method::Send:
    case Method::Trap:
    case Method::TrapRepress:
      return std::nullopt;  // nothing answers these (IBA 13.4.5)
    default:
      if (ib::wire::is_response(m)) return std::nullopt;
      return static_cast<Method>(static_cast<unsigned>(m) | 0x80U);
  }
}

bool is_multi(Method method, std::uint16_t attribute) {
  namespace attr = ib::wire::attr;
  if (method == Method::GetMulti) return attribute == attr::kMultiPathRecord;
  return attribute == attr::kTraceRecord || attribute == attr::kPathRecord;
}

std::uint16_t answered_attribute(const Packet& request) {
  namespace attr = ib::wire::attr;
  if (request.mad.method() == Method::GetMulti) return attr::kPathRecord;
  if (request.mad.method() == Method::GetTraceTable) return attr::kTraceRecord;
  return request.mad.attribute_id();
}

Packet answer_to(const Packet& request, Method method, std::uint16_t status) {
  Packet answer;
  make_answer(answer, request, method, status);
  return answer;
}

void make_answer(Packet& answer, const Packet& request, Method method, std::uint16_t status) {
  answer.address = request.address;
  answer.address.q_key = ib::wire::kQp1QKey;
  // A request with a GRH is answered with one; its hop limit is what was left on the way here.
  if (answer.address.grh) answer.address.grh->hop_limit = 0xFF;
  answer.mad = request.mad;
  answer.mad.set<&MadHeader::method>(method);
  answer.mad.set<&MadHeader::status>(status);
  answer.mad.set<&SaHeader::sm_key>(std::uint64_t{0});
  answer.mad.set<&SaHeader::attribute_offset>(std::uint16_t{0});
  std::fill_n(answer.mad.bytes.begin() + 24, 12, std::byte{0});  // no RMPP
}

void put_record(Packet& answer, std::span<const std::byte> record) {
  std::byte* end = std::copy(record.begin(), record.end(), answer.mad.data());
  std::fill(end, answer.mad.data() + ib::wire::kSaDataBytes, std::byte{0});
  answer.mad.set<&SaHeader::attribute_offset>(static_cast<std::uint16_t>((record.size() + 7) / 8));
}

}  // namespace sm::sa
