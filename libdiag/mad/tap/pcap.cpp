// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/tap/pcap.h"

#include <array>
#include <cerrno>
#include <cstring>

#include "libdiag/base/bytes.h"

namespace ib::mad {
namespace {

constexpr std::uint32_t kMagicNanoseconds = 0xA1B23C4D;
constexpr std::uint32_t kLinkTypeInfiniband = 247, kLinkTypeErf = 197;
constexpr std::uint8_t kErfInfiniband = 21;
constexpr std::uint8_t kErfVariableLength = 0x04;
constexpr std::size_t kErf = 16, kLrh = 8, kGrh = 40, kBth = 12, kDeth = 8, kIcrc = 4, kVcrc = 2;
constexpr std::uint8_t kUdSendOnly = 0x64;
constexpr std::uint8_t kNextBth = 2, kNextGrh = 3;  // LRH: link next header
constexpr std::uint8_t kIbaTransport = 0x1B;        // GRH: next header

// Host byte order, as the magic number tells the reader.
struct FileHeader {
  std::uint32_t magic{kMagicNanoseconds};
  std::uint16_t version_major{2}, version_minor{4};
  std::int32_t zone{0};
  std::uint32_t accuracy{0};
  std::uint32_t longest{65535};
  std::uint32_t link_type{kLinkTypeInfiniband};
};
static_assert(sizeof(FileHeader) == 24);

struct RecordHeader {
  std::uint32_t seconds{}, nanoseconds{};
  std::uint32_t kept{}, length{};
};
static_assert(sizeof(RecordHeader) == 16);

void put8(std::byte* at, unsigned v) { *at = static_cast<std::byte>(v); }

/// Endace's record header: time as seconds in 32.32 fixed point, little endian; type; flags;
/// lengths of record and packet, big endian.
void put_erf(std::byte* p, std::uint64_t time_ns, std::size_t length) {
  const std::uint64_t seconds = time_ns / 1'000'000'000;
  const std::uint64_t fraction = ((time_ns % 1'000'000'000) << 32) / 1'000'000'000;
  store_be(p, __builtin_bswap64(seconds << 32 | fraction));
  put8(p + 8, kErfInfiniband);
  put8(p + 9, kErfVariableLength);
  store_be(p + 10, static_cast<std::uint16_t>(kErf + length));
  store_be(p + 14, static_cast<std::uint16_t>(length));
}

}  // namespace

Result<PcapWriter> PcapWriter::open(const std::string& path, Duration epoch) {
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr)
    return fail(ErrorKind::Io, "creating the capture " + path + ": " + std::strerror(errno));
  const bool erf = path.ends_with(".erf") || path.ends_with(".erf.pcap");
  PcapWriter writer(path, file, epoch, erf);
  FileHeader header;
  if (erf) header.link_type = kLinkTypeErf;
  std::fwrite(&header, sizeof header, 1, file);
  if (auto flushed = writer.flush(); !flushed) return tl::unexpected<Error>(flushed.error());
  return writer;
}

void PcapWriter::write(Instant at, Lid slid, Lid dlid, bool smi, const Packet& packet) {
  std::array<std::byte, kLrh + kGrh + kBth + kDeth + wire::kMadBytes + kIcrc + kVcrc> bytes{};
  const Address& address = packet.address;
  const bool has_grh = address.grh.has_value();
  const std::size_t length = bytes.size() - (has_grh ? 0 : kGrh);

  // LRH (IBA 7.7): VL and LVer; SL and LNH; DLID; length in words, ICRC included; SLID.
  std::byte* p = bytes.data();
  put8(p, smi ? 0xF0 : 0x00);
  put8(p + 1, static_cast<unsigned>(address.sl.value << 4) | (has_grh ? kNextGrh : kNextBth));
  store_be(p + 2, dlid.value);
  store_be(p + 4, static_cast<std::uint16_t>((length - kVcrc) / 4));
  store_be(p + 6, slid.value);
  p += kLrh;
  if (has_grh) {  // IBA 8.3
    const Grh& grh = *address.grh;
    store_be(p, 0x60000000U | static_cast<std::uint32_t>(grh.traffic_class) << 20 |
                    (grh.flow_label & 0xFFFFF));
    store_be(p + 4, static_cast<std::uint16_t>(kBth + kDeth + wire::kMadBytes + kIcrc));
    put8(p + 6, kIbaTransport);
    put8(p + 7, grh.hop_limit);
    // Only the other side's GID is known; it stands as destination.
    std::memcpy(p + 24, grh.gid.bytes.data(), 16);
    p += kGrh;
  }
  // BTH (IBA 9.2): opcode; flags; P_Key; destination QP; PSN.
  put8(p, kUdSendOnly);
  store_be(p + 2, kDefaultPKey.value);
  store_be(p + 4, static_cast<std::uint32_t>(smi ? 0 : 1));
  p += kBth;
  // DETH (IBA 9.3.1): Q_Key, source QP.
  store_be(p, smi ? 0 : wire::kQp1QKey);
  store_be(p + 4, static_cast<std::uint32_t>(smi ? 0 : 1));
  p += kDeth;
  std::memcpy(p, packet.mad.bytes.data(), wire::kMadBytes);

  const auto time = static_cast<std::uint64_t>(at.ns + epoch_.count());
  const auto kept = static_cast<std::uint32_t>(length + (erf_ ? kErf : 0));
  const RecordHeader record{static_cast<std::uint32_t>(time / 1'000'000'000),
                            static_cast<std::uint32_t>(time % 1'000'000'000), kept, kept};
  std::fwrite(&record, sizeof record, 1, file_.get());
  if (erf_) {
    std::array<std::byte, kErf> erf{};
    put_erf(erf.data(), time, length);
    std::fwrite(erf.data(), erf.size(), 1, file_.get());
  }
  std::fwrite(bytes.data(), length, 1, file_.get());
}

Result<void> PcapWriter::flush() {
  errno = 0;
  if (std::fflush(file_.get()) != 0 || std::ferror(file_.get()) != 0)
    return fail(ErrorKind::Io, "writing the capture " + path_ + ": " + std::strerror(errno));
  return {};
}

Duration wall_clock_offset() {
  const auto wall =
      std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch());
  return wall - (monotonic_now() - Instant{0});
}

}  // namespace ib::mad
