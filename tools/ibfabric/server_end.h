// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The server's end of an open port: makes the memory of ring.h and the bells, and turns slots into
// UserMads and back. It believes nothing that a program may have written there, and never waits.
#pragma once

#include <infiniband/umad.h>

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "libdiag/sim/kernel.h"
#include "tools/ibfabric/ring.h"

namespace ibfabric {

/// A MAD as it comes from a program: `header` as it stands and `size` bytes of data.
ib::sim::UserMad user_mad(const ib_user_mad& header, const std::byte* data, std::size_t size);

class ServerEnd : public ib::sim::Reader {
 public:
  /// Makes memory and bells; nullptr with errno.
  static std::unique_ptr<ServerEnd> make();
  ~ServerEnd() override;
  ServerEnd(const ServerEnd&) = delete;
  ServerEnd& operator=(const ServerEnd&) = delete;

  /// What the program is to have (kPortFiles), and the server no longer once it is sent.
  const std::array<int, kPortFiles>& for_program() const { return for_program_; }
  void close_for_program();

  /// Readable when the program has rung.
  int bell() const { return bell_; }
  /// Has EPOLLERR when nobody has the port open any more.
  int program() const { return program_; }

  // ---- from the program

  enum class Taken { Mad, Nothing, Broken };
  /// The next message, if all of it has come. Broken: the program spoilt the ring.
  Taken take(ib::sim::UserMad& mad);
  /// After taking: releases the room and wakes the sender that waits for it.
  void made_room();
  bool has_more() { return up_.available() != 0; }
  /// Takes the bell. False: more has come. The ring may have been that for room: finds_room().
  bool silence();

  // ---- to the program

  /// Puts `mad` into the ring. False: not (all) of it has room; a byte will come when there is, and
  /// give() then goes on with the same one.
  bool give(const ib::sim::UserMad& mad);
  /// The same for a MAD that nothing is before. False: it has no room.
  bool read(std::int32_t agent, const ib::mad::Packet& packet) override;
  /// A message of several slots, of which the program has read the first, is a read one.
  std::size_t unread(std::size_t enough) override;
  /// After give() found no room, and the bell was taken. False: the bell will ring when there is.
  bool finds_room();
  /// The program claims to have read what was never given.
  bool is_broken() { return down_.room() == kRingBroken; }
  /// Shows what was given, and rings where that is needed. SIGPIPE must be ignored.
  void show();

 private:
  ServerEnd(PortMemory* memory, std::array<int, kPortFiles> for_program, int program);

  PortMemory* memory_;
  std::array<int, kPortFiles> for_program_;
  int bell_;     // an eventfd
  int program_;  // a pipe; the other end is the program's
  Consumer up_;
  Producer down_;
  std::uint64_t unshown_{0};  // slots given and not shown
  std::size_t given_{0};      // bytes given of a long message
  /// Messages of several slots in the ring, by the counts of slots given before and with each.
  std::deque<std::pair<std::uint64_t, std::uint64_t>> long_ones_;
  std::uint64_t slots_given_{0};
  ib_user_mad long_header_{};      // of a long message that is coming
  std::vector<std::byte> coming_;  // what has come of it
};

}  // namespace ibfabric
