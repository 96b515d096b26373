// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Both ends of a port, the program's and the server's, in one process.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "tools/ibfabric/library_end.h"
#include "tools/ibfabric/ring.h"
#include "tools/ibfabric/server_end.h"

namespace ibfabric {

using ib::sim::UserMad;
using Taken = ServerEnd::Taken;

constexpr std::size_t kMad = kSlotDataBytes;

inline bool readable(int fd, int timeout_ms = 0) {
  pollfd p{fd, POLLIN, 0};
  return poll(&p, 1, timeout_ms) == 1;
}

struct Message {
  ib_user_mad header{};
  std::vector<std::uint8_t> data;
};
/// `bytes` of data that depend on `number`.
inline Message message(std::uint32_t number, std::size_t bytes = kMad) {
  Message m;
  m.header.agent_id = number;
  m.header.length = static_cast<std::uint32_t>(kUmadHeaderBytes + bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    m.data.push_back(static_cast<std::uint8_t>(number + i + i / 251));
  return m;
}
inline std::vector<std::uint8_t> data_of(const UserMad& m) {
  std::vector<std::uint8_t> all(m.length);
  const std::size_t first = std::min<std::size_t>(m.length, kMad);
  std::memcpy(all.data(), m.packet.mad.bytes.data(), first);
  if (first < all.size()) std::memcpy(all.data() + first, m.packet.more.data(), all.size() - first);
  return all;
}
inline UserMad mad_of(const Message& m) {
  return user_mad(m.header, reinterpret_cast<const std::byte*>(m.data.data()), m.data.size());
}

class PortEnds : public testing::Test {
 protected:
  void SetUp() override {
    server = ServerEnd::make();
    ASSERT_NE(server, nullptr);
    for (std::size_t i = 0; i < kPortFiles; ++i) files[i] = dup(server->for_program()[i]);
    server->close_for_program();
    memory = map_port(files[kMemory]);
    ASSERT_NE(memory, nullptr);
  }
  void TearDown() override {
    unmap_port(memory);
    for (const int fd : files) close(fd);
  }
  Bells bells() const { return {files[kBellDown], files[kBellUp]}; }
  int library_fd() const { return files[kBellDown]; }
  int server_fd() const { return files[kBellUp]; }
  void server_dies() { server.reset(); }

  bool write(const Message& m) {
    return write_message(*memory, bells(), &m.header, m.data.data(), m.data.size());
  }
  ssize_t read(Message& m, std::size_t room = kMad, bool awaited = false) {
    std::vector<std::uint8_t> buffer(kUmadHeaderBytes + room);
    const ssize_t n = read_message(*memory, bells(), buffer.data(), buffer.size(), awaited);
    std::memcpy(&m.header, buffer.data(), kUmadHeaderBytes);
    if (n > 0) m.data.assign(buffer.begin() + kUmadHeaderBytes, buffer.begin() + n);
    return n;
  }
  void give(const Message& m) {
    ASSERT_TRUE(server->give(mad_of(m)));
    server->show();
  }
  /// How often the server was rung for since it last looked.
  std::uint64_t rings() const {
    std::uint64_t count = 0;
    return ::read(server_fd(), &count, sizeof count) == sizeof count ? count : 0;
  }
  /// What a server does between two sleeps: everything there is, and the bell.
  template <class Function>
  void serve(Function on_mad) {
    for (;;) {
      UserMad mad;
      Taken taken;
      while ((taken = server->take(mad)) == Taken::Mad) on_mad(mad);
      ASSERT_EQ(taken, Taken::Nothing);
      server->made_room();
      if (server->silence()) return;
    }
  }

  std::array<int, kPortFiles> files{-1, -1, -1};
  std::unique_ptr<ServerEnd> server;
  PortMemory* memory{};
};

}  // namespace ibfabric
