// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The server's end of an open port: makes the memory of ring.h and turns its slots into UserMads
// and back. It believes nothing that a program may have written there, and never waits. Sockets and
// doorbells are the caller's.
#pragma once

#include <infiniband/umad.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "libdiag/sim/kernel.h"
#include "tools/ibfabric/ring.h"

namespace ibfabric {

/// A MAD as it comes from a program: `header` as it stands and `size` bytes of data.
ib::sim::UserMad user_mad(const ib_user_mad& header, const std::byte* data, std::size_t size);

class ServerEnd {
 public:
  /// Makes the memory; nullptr with errno.
  static std::unique_ptr<ServerEnd> make();
  ~ServerEnd();
  ServerEnd(const ServerEnd&) = delete;
  ServerEnd& operator=(const ServerEnd&) = delete;

  /// What the program is to map.
  int descriptor() const { return descriptor_; }
  void close_descriptor();

  // ---- from the program

  enum class Taken { Mad, Nothing, Broken };
  /// The next message, if all of it has come. Broken: the program spoilt the ring.
  Taken take(ib::sim::UserMad& mad);
  /// After taking: gives back the room and wakes whoever waits for it.
  void made_room();
  bool has_more() { return up_.available() != 0; }
  /// For the caller to take the bell's byte, or to come back.
  Consumer::Bell silence() { return up_.silence(); }

  // ---- to the program

  /// Puts `mad` into the ring. False: not (all) of it has room; a byte will come when there is, and
  /// give() then goes on with the same one.
  bool give(const ib::sim::UserMad& mad);
  /// The program claims to have read what was never given.
  bool is_broken() { return down_.room() == kRingBroken; }
  /// Shows what was given. True: the bell is to be rung.
  bool show();

 private:
  ServerEnd(PortMemory* memory, int descriptor);

  PortMemory* memory_;
  int descriptor_;
  Consumer up_;
  Producer down_;
  std::uint64_t unshown_{0};       // slots given and not shown
  std::size_t given_{0};           // bytes given of a long message
  ib_user_mad long_header_{};      // of a long message that is coming
  std::vector<std::byte> coming_;  // what has come of it
};

}  // namespace ibfabric
