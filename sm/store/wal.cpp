// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/wal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <utility>

#include "sm/store/sqlite_file.h"

namespace sm::store {
namespace {

constexpr std::size_t kHeaderBytes = 32, kFrameHeaderBytes = 24;
constexpr std::uint32_t kMagic = 0x377F0682;  // bit 0: sums over big-endian words

using Sum = std::pair<std::uint32_t, std::uint32_t>;

std::uint32_t big_endian(std::span<const std::byte> at) {
  std::uint32_t v = 0;
  for (std::size_t i = 0; i < 4; ++i) v = v << 8 | static_cast<std::uint8_t>(at[i]);
  return v;
}

Sum add(Sum sum, std::span<const std::byte> bytes, bool big) {
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    std::uint32_t x = big_endian(bytes.subspan(i)), y = big_endian(bytes.subspan(i + 4));
    if (!big) {
      x = __builtin_bswap32(x);
      y = __builtin_bswap32(y);
    }
    sum.first += x + sum.second;
    sum.second += y + sum.first;
  }
  return sum;
}

Sum sum_at(std::span<const std::byte> at) { return {big_endian(at), big_endian(at.subspan(4))}; }

/// A frame with its header, and the sum of all before it.
struct Framed {
  std::span<const std::byte> bytes;
  Sum before;
  bool big;

  bool fits(std::uint64_t flipped) const {
    std::array<std::byte, 8> head;
    for (std::size_t i = 0; i < head.size(); ++i)
      head[i] = bytes[i] ^ static_cast<std::byte>(flipped >> (56 - 8 * i));
    const Sum sum = add(add(before, head, big), bytes.subspan(kFrameHeaderBytes), big);
    return sum == sum_at(bytes.subspan(16));
  }
  /// Page and commit in one number: as written, and with the one bit changed that would make the
  /// checksum fit, if there is one.
  std::uint64_t head() const {
    return std::uint64_t{big_endian(bytes)} << 32 | big_endian(bytes.subspan(4));
  }
  std::uint64_t repaired_head() const {
    if (fits(0)) return head();
    for (unsigned bit = 0; bit < 64; ++bit)
      if (const std::uint64_t flipped = std::uint64_t{1} << bit; fits(flipped))
        return head() ^ flipped;
    return head();
  }
};

}  // namespace

std::vector<std::byte> read_what_can_be(const std::string& path) {
  std::vector<std::byte> bytes;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return bytes;
  struct stat about {};
  if (::fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
    bytes.resize(static_cast<std::size_t>(about.st_size));
  for (std::size_t at = 0; at < bytes.size(); at += kPageBytes)
    // A sector that cannot be read is one page of zeros.
    (void)!::pread(fd, bytes.data() + at, std::min(kPageBytes, bytes.size() - at),
                   static_cast<off_t>(at));
  ::close(fd);
  return bytes;
}

Wal read_wal(const std::string& path) {
  Wal wal;
  wal.bytes = read_what_can_be(path);
  const std::span<const std::byte> all(wal.bytes);
  if (all.empty()) return wal;
  if (all.size() < kHeaderBytes) {
    wal.damage = fmt::format("{} is cut off in its header", path);
    return wal;
  }
  const auto header = all.first(kHeaderBytes);
  bool big = (big_endian(header) & 1) != 0;
  const bool header_good = (big_endian(header) & ~1U) == kMagic &&
                           add({}, header.first(24), big) == sum_at(header.subspan(24));
  // Pages of another size somebody else made: SQLite's word on them has to do.
  if (header_good && big_endian(header.subspan(8)) != kPageBytes) return wal;
  if (!header_good) big = std::endian::native == std::endian::big;  // as SQLite writes it

  const Sum salts = sum_at(header.subspan(16));
  Sum before = sum_at(header.subspan(24));
  std::size_t end = 0;        // behind the last transaction, as far as one can tell
  std::size_t last_good = 0;  // behind the last one that is whole
  std::size_t first_bad = SIZE_MAX;
  std::size_t at = kHeaderBytes;
  for (; at + kFrameHeaderBytes + kPageBytes <= all.size(); at += kFrameHeaderBytes + kPageBytes) {
    const auto frame = all.subspan(at, kFrameHeaderBytes + kPageBytes);
    const Sum own = sum_at(frame.subspan(8));
    // Frames of an earlier round have other salts, both of them.
    if (own.first != salts.first && own.second != salts.second) break;
    const Framed framed{frame, before, big};
    const std::uint64_t head = framed.head(), repaired = framed.repaired_head();
    const std::size_t index = wal.frames.size();
    wal.frames.push_back({static_cast<std::uint32_t>(head >> 32),
                          static_cast<std::uint32_t>(repaired >> 32),
                          static_cast<std::uint32_t>(head | repaired),
                          own == salts && framed.fits(0), frame.subspan(kFrameHeaderBytes)});
    before = sum_at(frame.subspan(16));
    if (!wal.frames.back().good) first_bad = std::min(first_bad, index);
    if (wal.frames.back().commit != 0) {
      end = index + 1;
      if (wal.frames.back().good) last_good = index + 1;
    }
  }
  // A kill leaves a frame that is not whole only at the end, and there either cut off or, over one
  // of an earlier round, with that one's page.
  const bool whole_file = at == all.size() && first_bad != SIZE_MAX;
  if (whole_file) end = std::max(end, first_bad + 1);
  if (!header_good) {
    wal.damage = fmt::format("the header of {} does not fit its checksum", path);
  } else if (first_bad < last_good || whole_file) {
    wal.damage = fmt::format("frame {} of {} does not fit its checksum", first_bad + 1, path);
  } else {
    end = last_good;
  }
  wal.frames.resize(end);
  return wal;
}

}  // namespace sm::store
