// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/kinds.h"

namespace sm::store {

SubscriptionKey::SubscriptionKey(const Subscription& s) {
  const auto& i = s.inform_info;
  const bool by_gid = !i.gid.is_zero();
  put(s.to.lid.value, 2);
  put(s.to.path_bits, 1);
  put(s.to.qpn, 4);
  put(s.to.q_key, 4);
  put(s.to.p_key_index, 2);
  put(s.to.sl.value, 1);
  for (const auto b : i.gid.bytes) put(b, 1);
  put(by_gid ? 0U : i.lid_range_begin.value, 2);
  put(by_gid ? 0U : i.lid_range_end.value, 2);
  put(i.is_generic, 1);
  put(i.type, 2);
  put(i.trap_number, 2);
  put(i.resp_time_value, 1);
  put(i.producer_type, 4);
}

void SubscriptionKey::put(std::uint32_t value, unsigned width) {
  for (unsigned i = width; i-- > 0;) bytes_[size_++] = static_cast<std::byte>(value >> (8 * i));
}

Subscription SubscriptionKind::take(const Row& row) {
  Subscription one;
  one.subscriber = row.guid(1);
  one.to.lid = ib::Lid{row.integer_as<std::uint16_t>(2)};
  one.to.qpn = row.integer_as<std::uint32_t>(3);
  one.to.q_key = row.integer_as<std::uint32_t>(4);
  one.to.sl = ib::Sl{row.integer_as<std::uint8_t>(5)};
  one.to.path_bits = row.integer_as<std::uint8_t>(6);
  one.to.p_key_index = row.integer_as<std::uint16_t>(7);
  if (!row.bytes(8).empty())
    one.to.grh =
        ib::mad::Grh{row.gid(8), row.integer_as<std::uint8_t>(9), row.integer_as<std::uint8_t>(10),
                     row.integer_as<std::uint8_t>(11), row.integer_as<std::uint32_t>(12)};
  one.inform_info = record_of<ib::wire::InformInfo>(row.bytes(13));
  one.trusted = row.integer_as<unsigned>(14) != 0;
  one.by_secret = row.integer_as<unsigned>(14) == kBySecret;
  return one;
}

}  // namespace sm::store
