// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A server that says anything to the library in a program and to `ibfabric ctl`: replies are taken
// whole or not at all, and what lies in a port's memory is read without going beyond it.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "tools/ibfabric/library_end.h"
#include "tools/ibfabric/library_talk.h"

namespace {

using ib::fuzz::Input;
using ib::fuzz::require;
using namespace ibfabric;

/// A reply as the server would write it, spoilt here and there.
template <class T>
std::vector<std::byte> frame_of(const T& reply, Input& in) {
  std::vector<std::byte> frame(sizeof reply);
  std::memcpy(frame.data(), &reply, sizeof reply);
  for (unsigned changed = in.byte() % 16; changed > 0; --changed)
    frame[in.word() % frame.size()] = static_cast<std::byte>(in.byte());
  if (in.byte() % 8 == 0) frame.resize(in.byte() * std::size_t{16} % (frame.size() + 1));
  return frame;
}

void answer_description(Input& in) {
  std::array<int, 2> ends{};
  require(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) == 0, "a pair of sockets");
  Description said{};
  said.reply.protocol = kProtocol;
  said.num_ports = static_cast<std::int8_t>(in.byte());
  said.default_port = static_cast<std::int8_t>(in.byte());
  for (auto& port : said.ports) port.p_key_count = in.byte();
  const auto frame = frame_of(said, in);
  (void)::send(ends[1], frame.data(), frame.size(), MSG_NOSIGNAL);
  Description heard{};
  const Request asked = request_of(Op::Describe);
  if (ask_on(ends[0], asked, nullptr, 0, &heard, sizeof heard) && is_sound(heard)) {
    require(heard.num_ports >= 0 && heard.num_ports < static_cast<int>(kPortsMax),
            "ports that there are");
    for (const auto& port : heard.ports)
      require(port.p_key_count <= kPKeysMax, "P_Keys that there are");
  }
  for (const int fd : ends) close(fd);
}

void answer_open(Input& in) {
  std::array<int, 2> ends{};
  require(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) == 0, "a pair of sockets");
  Reply said{};
  said.protocol = kProtocol;
  auto frame = frame_of(said, in);
  const std::size_t count = in.byte() % 6;  // descriptors
  std::array<int, 6> files{};
  files.fill(ends[1]);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof files)> control{};
  iovec part{frame.data(), frame.size()};
  msghdr message{};
  message.msg_iov = &part, message.msg_iovlen = 1;
  if (count > 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET, rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(rights), files.data(), count * sizeof(int));
  }
  (void)sendmsg(ends[1], &message, MSG_NOSIGNAL);
  Reply heard{};
  PortFiles got{};
  const bool good =
      ask_on(ends[0], request_of(Op::OpenPort), nullptr, 0, &heard, sizeof heard, &got);
  require(!good || heard.protocol == kProtocol, "a reply of this protocol");
  for (const int fd : got)
    if (fd >= 0) close(fd);
  for (const int fd : ends) close(fd);
}

/// The server is gone, and left memory and bell as the input has it.
void read_memory(Input& in) {
  std::array<int, 2> bell{};
  require(pipe2(bell.data(), O_CLOEXEC | O_NONBLOCK) == 0, "a pipe");
  const int up = open("/dev/null", O_WRONLY | O_CLOEXEC);
  auto memory = std::make_unique<PortMemory>();
  memory->readers.set_up();
  memory->writers.set_up();
  const std::uint64_t head = in.byte() % 2 == 0 ? 0 : in.word();
  memory->down.head = head;
  const std::uint64_t slots = in.byte() % 8;
  for (std::uint64_t i = 0; i < slots; ++i) {
    auto& slot = memory->down.slots[(head + i) % kRingSlots];
    const std::uint32_t length = in.byte() % 2 == 0 ? 320 : in.word() % 4096;
    std::memcpy(slot.header + 16, &length, sizeof length);
    slot.header[kUmadHeaderBytes - 1] = in.byte();
    for (unsigned changed = in.byte() % 16; changed > 0; --changed)
      reinterpret_cast<std::uint8_t*>(&slot)[in.word() % sizeof slot] = in.byte();
  }
  const std::uint8_t how = in.byte();
  memory->down.tail_and_rung = (head + slots) << 1 | (how & 1U);
  if (how / 4 == 63) memory->down.tail_and_rung = std::uint64_t{in.word()} << how % 32U;
  memory->down.room_wanted = how & 2U;
  memory->found_empty = in.byte();
  memory->up.head = in.byte() % 4 == 0 ? in.word() : 0;
  if (const std::size_t n = in.byte() % 3; n > 0) (void)!write(bell[1], "ring", n);
  close(bell[1]);
  const Bells bells{bell[0], up};
  for (unsigned reads = 1 + in.byte() % 8U; reads > 0; --reads) {
    // Exactly so long, so that a byte beyond it is found.
    const std::size_t room = in.word() % 2048;
    const auto buffer = std::make_unique<std::uint8_t[]>(room);
    const ssize_t n = read_message(*memory, bells, buffer.get(), room, in.byte() % 2 == 0);
    require(n < 0 || static_cast<std::size_t>(n) <= room, "no more than there is room");
  }
  std::array<std::uint8_t, kUmadHeaderBytes> header{};
  const std::size_t bytes = in.word() % 1024;
  const auto mad = std::make_unique<std::uint8_t[]>(bytes);
  (void)write_message(*memory, bells, header.data(), mad.get(), bytes);
  close(bell[0]);
  close(up);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  switch (in.byte() % 3) {
    case 0:
      answer_description(in);
      break;
    case 1:
      answer_open(in);
      break;
    default:
      read_memory(in);
  }
  return 0;
}
