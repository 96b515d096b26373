// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Segments and acknowledgements of RMPP made by hand, and what is in those that machines send.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libdiag/mad/rmpp.h"

namespace ib::mad::rmpp {

inline constexpr Instant kStart{1'000'000'000};
inline const Address kServer = gsi_address(Lid{1});
inline const Address kClient = gsi_address(Lid{2});

inline wire::Mad table_head(wire::MgmtClass c = wire::MgmtClass::SubnAdm,
                            std::uint64_t tid = 0x1234500000007) {
  wire::Mad mad = wire::make_mad(c, wire::Method::GetTableResp, wire::attr::kNodeRecord);
  mad.set<&wire::MadHeader::tid>(Tid{tid});
  if (c == wire::MgmtClass::SubnAdm) mad.set<&wire::SaHeader::attribute_offset>(14);
  return mad;
}

inline std::vector<std::byte> pattern(std::size_t n) {
  std::vector<std::byte> data(n);
  for (std::size_t i = 0; i < n; ++i) data[i] = static_cast<std::byte>((i * 7 + i / 251) & 0xFF);
  return data;
}

inline Sender::Fill stream(const std::vector<std::byte>& data, std::size_t at_once = 33) {
  return [&data, at_once, at = std::size_t{0}](std::span<std::byte> out) mutable {
    const std::size_t n = std::min({out.size(), data.size() - at, at_once});
    std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(at), n, out.begin());
    at += n;
    return n;
  };
}

inline std::vector<std::byte> data_of(const Packet& message) {
  const std::size_t total = data_bytes(message);
  const std::size_t header = header_bytes(message.mad.mgmt_class());
  std::vector<std::byte> data(message.mad.bytes.begin() + static_cast<std::ptrdiff_t>(header),
                              message.mad.bytes.end());
  data.insert(data.end(), message.more.begin(), message.more.end());
  data.resize(total);
  return data;
}

inline wire::RmppHeader header_of(const wire::Mad& mad) {
  return wire::decode<wire::RmppHeader>(mad.bytes.data());
}

inline std::vector<wire::Mad> drain(Sender& sender, Instant now) {
  std::vector<wire::Mad> out;
  while (auto mad = sender.next_send(now)) out.push_back(*mad);
  return out;
}

inline wire::Mad ack_for(const wire::Mad& segment, std::uint32_t number,
                         std::uint32_t window_last) {
  wire::Mad ack;
  std::copy_n(segment.bytes.begin(), 56, ack.bytes.begin());
  ack.set<&wire::MadHeader::method>(wire::Method::GetTable);
  wire::RmppHeader h = header_of(segment);
  h.type = 2;
  h.first = h.last = false;
  h.data1 = number;
  h.data2 = window_last;
  wire::encode(h, ack.bytes.data());
  return ack;
}

inline wire::Mad segment(std::uint32_t number, bool first, bool last, std::uint32_t length) {
  wire::Mad mad = table_head();
  wire::RmppHeader h;
  h.version = 1;
  h.type = 1;
  h.active = true;
  h.first = first;
  h.last = last;
  h.data1 = number;
  h.data2 = length;
  wire::encode(h, mad.bytes.data());
  mad.bytes[56] = static_cast<std::byte>(number);
  return mad;
}

}  // namespace ib::mad::rmpp
