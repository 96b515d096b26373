// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SQLite's write-ahead log as a file (https://sqlite.org/fileformat2.html, 4): its frames, and what
// is wrong with them. SQLite itself reads up to the first frame that is not whole and takes that
// for the end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sm::store {

struct WalFrame {
  std::uint32_t page{};           // number, from 1
  std::uint32_t repaired_page{};  // ... with the one bit changed that would make the checksum fit
  std::uint32_t commit{};         // not 0: the last of a transaction
  bool good{};                    // as its checksum says
  std::span<const std::byte> image;
};

struct Wal {
  std::vector<std::byte> bytes;
  std::vector<WalFrame> frames;  // into `bytes`: up to the end of the last transaction
  std::string damage;            // what a kill at whatever moment cannot leave; else empty
};

/// Without the file: no frames, no damage.
Wal read_wal(const std::string& path);

/// A file's bytes; those that cannot be read are zero.
std::vector<std::byte> read_what_can_be(const std::string& path);

}  // namespace sm::store
