// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibfabric/server_end.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <new>
#include <utility>

namespace ibfabric {

using ib::sim::UserMad;

namespace {

constexpr std::size_t kMessageBytesMax = 64U << 20U;
static_assert(kSlotDataBytes == ib::wire::kMadBytes);

/// Straight into the slot: what is put together elsewhere by small writes and then copied by large
/// ones waits for all that was written before, and that for the other end's cache.
ib_user_mad& put_header(std::uint8_t* slot, std::int32_t agent, std::uint32_t length,
                        const ib::mad::Address& a) {
  static_assert(sizeof(ib_user_mad) == kUmadHeaderBytes);
  ib_user_mad& header = *new (slot) ib_user_mad{};
  header.agent_id = static_cast<std::uint32_t>(agent);
  header.length = static_cast<std::uint32_t>(kUmadHeaderBytes) + length;
  header.addr.lid = htons(a.lid.value);
  header.addr.qpn = htonl(a.qpn);
  header.addr.sl = a.sl.value;
  header.addr.path_bits = a.path_bits;
  header.addr.pkey_index = a.p_key_index;
  if (a.grh) {
    header.addr.grh_present = 1;
    std::memcpy(header.addr.gid, a.grh->gid.bytes.data(), 16);
    header.addr.gid_index = a.grh->gid_index;
    header.addr.hop_limit = a.grh->hop_limit;
    header.addr.traffic_class = a.grh->traffic_class;
    header.addr.flow_label = htonl(a.grh->flow_label);
  }
  return header;
}

/// All but the data.
void fill(UserMad& m, const ib_user_mad& header, std::size_t size) {
  m.agent = static_cast<std::int32_t>(header.agent_id);
  m.status = 0;
  m.timeout_ms = header.timeout_ms;
  m.retries = header.retries;
  m.length = static_cast<std::uint32_t>(size);
  ib::mad::Address& a = m.packet.address;
  a.lid = ib::Lid{ntohs(header.addr.lid)};
  a.qpn = ntohl(header.addr.qpn);
  a.q_key = ntohl(header.addr.qkey);
  a.sl = ib::Sl{header.addr.sl};
  a.path_bits = header.addr.path_bits;
  a.p_key_index = header.addr.pkey_index;
  a.grh.reset();
  if (header.addr.grh_present != 0) {
    ib::mad::Grh& grh = a.grh.emplace();
    std::memcpy(grh.gid.bytes.data(), header.addr.gid, 16);
    grh.gid_index = header.addr.gid_index;
    grh.hop_limit = header.addr.hop_limit;
    grh.traffic_class = header.addr.traffic_class;
    grh.flow_label = ntohl(header.addr.flow_label);
  }
  m.packet.more.clear();
}

void fill(UserMad& m, const ib_user_mad& header, const std::byte* data, std::size_t size) {
  fill(m, header, size);
  auto& bytes = m.packet.mad.bytes;
  const std::size_t first = std::min(size, bytes.size());
  std::memcpy(bytes.data(), data, first);
  std::memset(bytes.data() + first, 0, bytes.size() - first);
  m.packet.more.assign(data + first, data + size);
}

/// Takes the rings of an eventfd that is shared with a program, which may have made it one that
/// blocks.
void take_rings(int fd) {
  std::uint64_t rings;
  iovec part = {&rings, sizeof rings};
  if (preadv2(fd, &part, 1, -1, RWF_NOWAIT) >= 0 || errno != EOPNOTSUPP) return;
  [[maybe_unused]] const auto n = ::read(fd, &rings, sizeof rings);  // Linux before 5.8
}

}  // namespace

UserMad user_mad(const ib_user_mad& header, const std::byte* data, std::size_t size) {
  UserMad m;
  fill(m, header, data, size);
  return m;
}

std::unique_ptr<ServerEnd> ServerEnd::make() {
  std::array<int, kPortFiles> files{-1, -1, -1};
  std::array<int, 2> pipe{-1, -1};
  void* at = MAP_FAILED;
  files[kMemory] = memfd_create("ibfabric port", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  // Sealed, so that no program can cut it short under the server.
  if (files[kMemory] >= 0 && ftruncate(files[kMemory], sizeof(PortMemory)) == 0 &&
      fcntl(files[kMemory], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
      pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) == 0) {
    files[kBellDown] = pipe[0];
    files[kBellUp] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (files[kBellUp] >= 0)
      at = mmap(nullptr, sizeof(PortMemory), PROT_READ | PROT_WRITE, MAP_SHARED, files[kMemory], 0);
  }
  if (at == MAP_FAILED) {
    const int error = errno;
    for (const int fd : {files[kMemory], files[kBellUp], pipe[0], pipe[1]})
      if (fd >= 0) ::close(fd);
    errno = error;
    return nullptr;
  }
  return std::unique_ptr<ServerEnd>(new ServerEnd(static_cast<PortMemory*>(at), files, pipe[1]));
}

ServerEnd::ServerEnd(PortMemory* memory, std::array<int, kPortFiles> for_program, int program)
    : memory_(memory),
      for_program_(for_program),
      bell_(for_program[kBellUp]),
      program_(program),
      up_(memory->up, 0),
      down_(memory->down, 0) {}
ServerEnd::~ServerEnd() {
  munmap(memory_, sizeof *memory_);
  close_for_program();
  ::close(bell_);
  ::close(program_);
}
void ServerEnd::close_for_program() {
  // The bell up has one description, and both ends a descriptor of it.
  for (const std::size_t file : {kMemory, kBellDown})
    if (for_program_[file] >= 0) ::close(std::exchange(for_program_[file], -1));
}

ServerEnd::Taken ServerEnd::take(UserMad& mad) {
  // Slots that are no MAD have an end, too: more than the ring has may be written meanwhile.
  for (std::uint64_t slots = 0; slots < kRingSlots; ++slots) {
    const std::uint64_t available = up_.available();
    if (available == kRingBroken) return Taken::Broken;
    if (available == 0) return Taken::Nothing;
    const Slot& slot = up_.slot(0);
    up_.skip(1);
    if (up_.seen() > kSlotsAhead) fetch_to_read(up_.slot(kSlotsAhead));
    ib_user_mad header;
    std::memcpy(&header, slot.header, sizeof header);

    if (header.length != 0) {  // a beginning; what was coming before has lost its writer
      coming_.clear();
      if (header.length <= kUmadHeaderBytes || header.length > kMessageBytesMax) continue;
      const std::size_t size = header.length - kUmadHeaderBytes;
      if (size == kSlotDataBytes) {
        fill(mad, header, size);
        get_data(slot, mad.packet.mad.bytes.data(), size);
        return Taken::Mad;
      }
      std::array<std::byte, kSlotDataBytes> data;
      get_data(slot, data.data(), data.size());
      if (size < kSlotDataBytes) {
        fill(mad, header, data.data(), size);
        return Taken::Mad;
      }
      long_header_ = header;
      coming_.assign(data.begin(), data.end());
    } else if (!coming_.empty()) {
      const std::size_t left = long_header_.length - kUmadHeaderBytes - coming_.size();
      const std::size_t count = std::min(left, kSlotDataBytes);
      coming_.resize(coming_.size() + count);
      get_data(slot, coming_.data() + coming_.size() - count, count);
      if (left > kSlotDataBytes) continue;
      fill(mad, long_header_, coming_.data(), coming_.size());
      coming_ = {};
      return Taken::Mad;
    }
  }
  return Taken::Nothing;
}

void ServerEnd::made_room() {
  up_.release();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (up_.take_room_wanted())
    syscall(SYS_futex, &memory_->up.room_wanted, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool ServerEnd::silence() {
  if (up_.silence() == Consumer::Bell::Rung) return false;
  take_rings(bell_);
  // The ring may have been that for a MAD that has just come.
  return !has_more();
}

bool ServerEnd::give(const UserMad& mad) {
  do {
    if (down_.room(unshown_ + 1) < unshown_ + 1) {
      down_.want_room();
      if (down_.room() < unshown_ + 1) return false;
    }
    if (is_broken()) return false;
    Slot& slot = down_.slot(unshown_++);
    fetch_to_write(down_.slot(unshown_ + kSlotsAhead));
    if (given_ == 0) {
      ib_user_mad& header = put_header(slot.header, mad.agent, mad.length, mad.packet.address);
      header.status = mad.status;
      header.timeout_ms = mad.timeout_ms;
      header.retries = mad.retries;
    } else {
      std::memset(slot.header, 0, kUmadHeaderBytes);
    }
    const std::size_t n = std::min<std::size_t>(mad.length - given_, kSlotDataBytes);
    put_data(slot,
             given_ == 0 ? mad.packet.mad.bytes.data()
                         : mad.packet.more.data() + (given_ - ib::wire::kMadBytes),
             n);
    given_ += n;
    ++slots_given_;
  } while (given_ < mad.length);
  given_ = 0;
  if (const std::uint64_t slots = slots_of(mad.length); slots > 1)
    long_ones_.emplace_back(slots_given_ - slots, slots_given_);
  return true;
}

std::size_t ServerEnd::unread(std::size_t enough) {
  const std::uint64_t all = kRingSlots + unshown_;
  const std::uint64_t room = down_.room(all >= enough ? all - enough + 1 : 0);
  if (room == kRingBroken) return 0;
  const std::uint64_t slots = all - room;
  if (slots < enough) return slots;
  const std::uint64_t read = slots_given_ - slots;
  while (!long_ones_.empty() && long_ones_.front().second <= read) long_ones_.pop_front();
  std::uint64_t more = 0;  // slots that begin no message
  for (const auto& [begin, end] : long_ones_) more += end - std::max(begin + 1, read);
  return slots - more;
}

bool ServerEnd::finds_room() {
  // Wanted again, and not only looked for: a reader may have given back its slots before it was
  // wanted first, and not have seen until now that it is. The ring that was taken was then his.
  down_.want_room();
  return down_.room() != 0;
}

bool ServerEnd::read(std::int32_t agent, const ib::mad::Packet& packet) {
  const std::uint64_t room = down_.room(unshown_ + 1);
  if (room < unshown_ + 1 || room == kRingBroken) return false;
  Slot& slot = down_.slot(unshown_++);
  fetch_to_write(down_.slot(unshown_ + kSlotsAhead));
  put_header(slot.header, agent, kSlotDataBytes, packet.address);
  put_data(slot, packet.mad.bytes.data(), kSlotDataBytes);
  ++slots_given_;
  return true;
}

void ServerEnd::show() {
  if (unshown_ == 0 || !down_.publish(std::exchange(unshown_, 0))) return;
  const char bell = 0;  // a program that is gone is noticed elsewhere
  [[maybe_unused]] const auto n = ::write(program_, &bell, sizeof bell);
}

}  // namespace ibfabric
