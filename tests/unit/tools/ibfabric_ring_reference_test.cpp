// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The rings against a plain socket: whatever programs and server do, in any order, comes out of
// both alike, and the bell is readable when the socket is.
#include <sys/socket.h>

#include <random>

#include "tests/unit/tools/ibfabric_port_ends.h"

namespace ibfabric {
namespace {

/// Messages both ways, each as one packet of a SOCK_SEQPACKET socket.
class PlainSocket {
 public:
  PlainSocket() {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends_.data()) != 0) std::abort();
  }
  ~PlainSocket() {
    for (const int fd : ends_) close(fd);
  }
  PlainSocket(const PlainSocket&) = delete;
  PlainSocket& operator=(const PlainSocket&) = delete;

  int program() const { return ends_[0]; }
  int server() const { return ends_[1]; }
  static bool send(int fd, const Message& m) {
    std::vector<std::uint8_t> bytes(kUmadHeaderBytes);
    std::memcpy(bytes.data(), &m.header, kUmadHeaderBytes);
    bytes.insert(bytes.end(), m.data.begin(), m.data.end());
    return ::send(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  }
  /// False: there is none.
  static bool receive(int fd, Message& m) {
    std::vector<std::uint8_t> bytes(kUmadHeaderBytes + kLongest);
    const ssize_t n = ::recv(fd, bytes.data(), bytes.size(), 0);
    if (n < static_cast<ssize_t>(kUmadHeaderBytes)) return false;
    std::memcpy(&m.header, bytes.data(), kUmadHeaderBytes);
    m.data.assign(bytes.begin() + kUmadHeaderBytes, bytes.begin() + n);
    return true;
  }

  static constexpr std::size_t kLongest = 8 * kMad;

 private:
  std::array<int, 2> ends_{};
};

/// Mostly a MAD, at times a long message, with zeros at its end or all zeros.
Message any_message(std::uint32_t number, std::mt19937& random) {
  const std::size_t bytes =
      random() % 8 == 0 ? 1 + random() % PlainSocket::kLongest : std::size_t{kMad};
  Message m = message(number, bytes);
  const std::size_t kept = random() % 2 == 0 ? bytes : random() % (bytes + 1);
  std::fill(m.data.begin() + static_cast<std::ptrdiff_t>(kept), m.data.end(), std::uint8_t{0});
  return m;
}

TEST_F(PortEnds, WhateverPassesPassesAsThroughAPlainSocket) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    PlainSocket socket;
    constexpr unsigned kUnderWay = 40;  // each way; a socket's buffer has room for them
    unsigned up = 0, down = 0;
    for (std::uint32_t step = 0; step < 4000; ++step) {
      Message seen, expected;
      switch (random() % 4) {
        case 0: {
          if (up == kUnderWay) break;
          const Message m = any_message(step, random);
          ASSERT_TRUE(PlainSocket::send(socket.program(), m));
          ASSERT_TRUE(write(m));
          ++up;
          break;
        }
        case 1: {
          UserMad mad;
          const bool is_there = PlainSocket::receive(socket.server(), expected);
          ASSERT_EQ(server->take(mad) == Taken::Mad, is_there);
          server->made_room();
          if (!is_there) break;
          ASSERT_EQ(mad.agent, static_cast<std::int32_t>(expected.header.agent_id));
          ASSERT_EQ(data_of(mad), expected.data);
          --up;
          break;
        }
        case 2: {
          if (down == kUnderWay) break;
          const Message m = any_message(step, random);
          ASSERT_TRUE(PlainSocket::send(socket.server(), m));
          give(m);
          ++down;
          break;
        }
        default: {
          const bool is_there = PlainSocket::receive(socket.program(), expected);
          ASSERT_EQ(read(seen, PlainSocket::kLongest) > 0, is_there);
          if (!is_there) break;
          ASSERT_EQ(seen.header.agent_id, expected.header.agent_id);
          ASSERT_EQ(seen.data, expected.data);
          --down;
        }
      }
      ASSERT_EQ(has_message(*memory), readable(socket.program()));
      if (down == 0) {
        ASSERT_FALSE(readable(library_fd()) && has_message(*memory));
      } else {
        ASSERT_TRUE(readable(library_fd()));
      }
      if (server->silence()) {
        ASSERT_EQ(readable(server_fd()), readable(socket.server()));
      }
    }
    // What is left, so that the next seed begins with nothing.
    for (Message m; down > 0; --down) ASSERT_GT(read(m, PlainSocket::kLongest), 0);
    for (UserMad mad; up > 0; --up) ASSERT_EQ(server->take(mad), Taken::Mad);
    server->made_room();
    ASSERT_TRUE(server->silence());
  }
}

}  // namespace
}  // namespace ibfabric
