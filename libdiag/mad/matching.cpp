// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/matching.h"

namespace ib::mad {

bool is_answer_to(const wire::Mad& request, const wire::Mad& reply) {
  if (reply.mgmt_class() != request.mgmt_class()) return false;
  if (request.method() == wire::Method::Trap) return reply.method() == wire::Method::TrapRepress;
  // A question for a MultiPathRecord is answered with PathRecords.
  if (request.method() == wire::Method::GetMulti && reply.method() == wire::Method::GetMultiResp)
    return true;
  return wire::is_response(reply.method()) && reply.attribute_id() == request.attribute_id();
}

std::uint64_t queue_of(const Request& request) {
  constexpr std::uint64_t kSaSalt = 0x9E3779B97F4A7C15ULL;
  return request.mad.mgmt_class() == wire::MgmtClass::SubnAdm ? request.target_key ^ kSaSalt
                                                              : request.target_key;
}

}  // namespace ib::mad
