// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibfabric/capture.h"

#include <array>
#include <chrono>
#include <cstring>

#include "libdiag/base/bytes.h"

namespace ibfabric {

namespace {

// LRH 8, BTH 12, DETH 8, MAD 256, ICRC 4, VCRC 2 (IBA 7.7, 9.2). The CRCs are left zero.
constexpr std::size_t kBth = 8, kDeth = 20, kMad = 28, kIcrc = kMad + ib::wire::kMadBytes;
constexpr std::size_t kPacketBytes = kIcrc + 6;
constexpr std::uint8_t kUdSendOnly = 0x64, kNextIsBth = 2;

using PacketBytes = std::array<std::byte, kPacketBytes>;

PacketBytes on_the_wire(ib::Lid slid, ib::Lid dlid, bool smi, const ib::mad::Packet& packet) {
  PacketBytes b{};
  const unsigned vl = smi ? 15 : 0;
  b[0] = static_cast<std::byte>(vl << 4U);
  b[1] = static_cast<std::byte>(packet.address.sl.value << 4U | kNextIsBth);
  ib::store_be<std::uint16_t>(&b[2], dlid.value);
  ib::store_be<std::uint16_t>(&b[4], kIcrc / 4 + 1);
  ib::store_be<std::uint16_t>(&b[6], slid.value);
  b[kBth] = std::byte{kUdSendOnly};
  ib::store_be<std::uint16_t>(&b[kBth + 2], ib::kDefaultPKey.value);
  ib::store_be<std::uint32_t>(&b[kBth + 4], smi ? 0 : packet.address.qpn);
  ib::store_be<std::uint32_t>(&b[kDeth], smi ? 0 : ib::wire::kQp1QKey);
  ib::store_be<std::uint32_t>(&b[kDeth + 4], smi ? 0 : 1);
  std::memcpy(&b[kMad], packet.mad.bytes.data(), ib::wire::kMadBytes);
  return b;
}

template <class T>
void put(std::ofstream& file, T value) {
  file.write(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

ib::Result<void> PcapCapture::start(const std::string& path) {
  stop();
  file_.open(path, std::ios::binary | std::ios::trunc);
  // Magic of nanosecond pcap in this host's byte order, version 2.4, LINKTYPE_INFINIBAND.
  put<std::uint32_t>(file_, 0xA1B23C4D);
  put<std::uint16_t>(file_, 2);
  put<std::uint16_t>(file_, 4);
  put<std::uint64_t>(file_, 0);
  put<std::uint32_t>(file_, 65535);
  put<std::uint32_t>(file_, 247);
  if (!file_.flush()) {
    file_.close();
    file_.clear();
    return ib::fail(ib::ErrorKind::Io, path + ": cannot write");
  }
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  wall_offset_ns_ = std::chrono::duration_cast<ib::Duration>(wall).count() - ib::monotonic_now().ns;
  model_.set_tap(
      [](void* self, ib::Instant now, ib::Lid slid, ib::Lid dlid, bool smi,
         const ib::mad::Packet& packet) {
        static_cast<PcapCapture*>(self)->write(now, slid, dlid, smi, packet);
      },
      this);
  return {};
}

void PcapCapture::stop() {
  model_.set_tap(nullptr, nullptr);
  file_.close();
  file_.clear();
}

void PcapCapture::write(ib::Instant now, ib::Lid slid, ib::Lid dlid, bool smi,
                        const ib::mad::Packet& packet) {
  const std::int64_t ns = now.ns + wall_offset_ns_;
  const PacketBytes bytes = on_the_wire(slid, dlid, smi, packet);
  put<std::uint32_t>(file_, static_cast<std::uint32_t>(ns / 1'000'000'000));
  put<std::uint32_t>(file_, static_cast<std::uint32_t>(ns % 1'000'000'000));
  put<std::uint32_t>(file_, kPacketBytes);
  put<std::uint32_t>(file_, kPacketBytes);
  file_.write(reinterpret_cast<const char*>(bytes.data()), kPacketBytes);
}

}  // namespace ibfabric
