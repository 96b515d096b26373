// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The rings in which MADs pass between ibfabric's two ends, on one pair of bells and one memory as
// they have them in life.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "tests/unit/tools/ibfabric_port_ends.h"

namespace ibfabric {
namespace {

using Bell = Consumer::Bell;

// ---- the ring itself ----------------------------------------------------------------------------

class RingTest : public testing::Test {
 protected:
  std::unique_ptr<Ring> ring{new Ring{}};
  Producer in{*ring, 0};
  Consumer out{*ring, 0};
};

TEST_F(RingTest, IsRungForTheFirstOfManyAndSilencedAfterTheLast) {
  EXPECT_EQ(out.available(), 0U);
  EXPECT_EQ(out.silence(), Bell::Silent);
  EXPECT_TRUE(in.publish(1));
  EXPECT_FALSE(in.publish(2)) << "it rings already";
  ASSERT_EQ(out.available(), 3U);
  out.skip(2);
  EXPECT_EQ(out.silence(), Bell::Rung);
  out.skip(1);
  EXPECT_EQ(out.silence(), Bell::Silenced);
  EXPECT_EQ(out.silence(), Bell::Silent);
  EXPECT_TRUE(in.publish(1));
}

TEST_F(RingTest, KeepsOrderAroundItsEnd) {
  std::uint64_t written = 0, read = 0;
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 100; ++i, ++written)
      std::memcpy(in.slot(static_cast<std::uint64_t>(i)).data, &written, sizeof written);
    ASSERT_GE(in.room(100), 100U);
    (void)in.publish(100);
    for (; out.available() > 0; ++read) {
      std::uint64_t seen = 0;
      std::memcpy(&seen, out.slot(0).data, sizeof seen);
      ASSERT_EQ(seen, read);
      out.skip(1);
    }
    out.release();
  }
  EXPECT_EQ(read, 4000U);
}

TEST_F(RingTest, AFullOneTellsItsProducerOnceThatThereIsRoom) {
  EXPECT_EQ(in.room(), kRingSlots);
  (void)in.publish(kRingSlots);
  EXPECT_EQ(in.room(), 0U);
  EXPECT_FALSE(out.take_room_wanted());
  in.want_room();
  EXPECT_EQ(in.room(), 0U);
  ASSERT_EQ(out.available(), kRingSlots);
  out.skip(3);
  EXPECT_EQ(in.room(), 0U) << "not given back yet";
  out.release();
  EXPECT_EQ(in.room(), 3U);
  EXPECT_TRUE(out.take_room_wanted());
  EXPECT_FALSE(out.take_room_wanted());
}

TEST_F(RingTest, SaysSoWhenAnIndexCannotBe) {
  ring->head = 1;
  EXPECT_EQ(Producer(*ring, 0).room(), kRingBroken);
  ring->head = 0;
  ring->tail_and_rung = (kRingSlots + 1) << 1;
  EXPECT_EQ(out.available(), kRingBroken);
  EXPECT_EQ(out.silence(), Bell::Rung);
  ring->tail_and_rung = ~std::uint64_t{0};
  EXPECT_EQ(Consumer(*ring, 0).available(), kRingBroken);
}

// ---- both ends ----------------------------------------------------------------------------------

TEST_F(PortEnds, TheBellIsReadableWhileThereIsAMadAndNoLonger) {
  Message m;
  EXPECT_EQ(read(m), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_FALSE(has_message(*memory));
  for (std::uint32_t round = 0; round < 3 * kRingSlots; round += 3) {
    for (std::uint32_t i = 0; i < 3; ++i) give(message(round + i));
    for (std::uint32_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(has_message(*memory));
      ASSERT_TRUE(readable(library_fd()));
      ASSERT_EQ(read(m), static_cast<ssize_t>(kUmadHeaderBytes + kMad));
      ASSERT_EQ(m.header.agent_id, round + i);
      ASSERT_EQ(m.data, message(round + i).data);
    }
    ASSERT_FALSE(readable(library_fd()));
    if (round % 2 == 0) {
      ASSERT_EQ(read(m), -1);
      ASSERT_EQ(errno, EAGAIN);
    }
  }
}

TEST_F(PortEnds, TheServerIsRungOnceForManyMads) {
  for (std::uint32_t i = 0; i < 20; ++i) ASSERT_TRUE(write(message(i)));
  std::uint32_t next = 0;
  UserMad mad;
  while (server->take(mad) == Taken::Mad) {
    EXPECT_EQ(mad.agent, static_cast<std::int32_t>(next));
    EXPECT_EQ(data_of(mad), message(next).data);
    ++next;
  }
  EXPECT_EQ(next, 20U);
  EXPECT_EQ(rings(), 1U);
  EXPECT_TRUE(server->silence());
  ASSERT_TRUE(write(message(99)));
  EXPECT_EQ(rings(), 1U);
}

/// The bell up means MADs and room. Who takes it for the one must not lose the other.
TEST_F(PortEnds, ARingForRoomThatIsTakenIsNotLost) {
  Message m;
  std::uint32_t given = 0;
  while (server->give(mad_of(message(given)))) ++given;
  server->show();
  EXPECT_EQ(given, kRingSlots);
  EXPECT_FALSE(server->finds_room());
  ASSERT_GT(read(m), 0);
  EXPECT_EQ(rings(), 0U) << "not for every slot";
  for (std::uint64_t i = 1; i < kRingSlots / 4; ++i) ASSERT_GT(read(m), 0);
  EXPECT_TRUE(readable(server_fd()));
  EXPECT_TRUE(server->silence());
  EXPECT_FALSE(readable(server_fd())) << "this was the ring for room";
  EXPECT_TRUE(server->finds_room());
}

/// A reader gives back slots, which the server sees and fills again before the reader looks whether
/// room is wanted: it rings for what is wanted now, and has nothing to ring for.
TEST_F(PortEnds, RoomIsWantedAnewAfterARingThatCameTooLate) {
  Message m;
  std::uint32_t given = 0;
  while (server->give(mad_of(message(given)))) ++given;
  server->show();
  ASSERT_EQ(std::exchange(memory->down.room_wanted, 0U), 1U);
  const std::uint64_t once = 1;
  ASSERT_EQ(::write(server_fd(), &once, sizeof once), static_cast<ssize_t>(sizeof once));
  EXPECT_TRUE(server->silence());
  EXPECT_FALSE(server->finds_room());
  for (std::uint64_t i = 0; i < kRingSlots / 4; ++i) ASSERT_GT(read(m), 0);
  EXPECT_TRUE(readable(server_fd())) << "somebody waits for it";
}

TEST_F(PortEnds, ABellThatWasMadeToBlockDoesNotHoldUpTheServer) {
  fcntl(server_fd(), F_SETFL, fcntl(server_fd(), F_GETFL) & ~O_NONBLOCK);
  EXPECT_TRUE(server->silence());
  ASSERT_TRUE(write(message(1)));
  EXPECT_FALSE(server->silence());
  UserMad mad;
  ASSERT_EQ(server->take(mad), Taken::Mad);
  EXPECT_TRUE(server->silence());
  EXPECT_FALSE(readable(server_fd()));
}

TEST_F(PortEnds, AHeadThatWasSpoiltBetweenTwoMadsIsNoticed) {
  server->show();
  for (std::uint32_t i = 0; i < 10; ++i) give(message(i));
  memory->down.head = 99'999;
  for (std::uint32_t i = 0; i < 2 * kRingSlots && !server->is_broken(); ++i) {
    server->give(mad_of(message(i)));
    server->give(mad_of(message(i)));
    server->show();
  }
  EXPECT_TRUE(server->is_broken());
}

/// The writer goes on as long as he likes; who takes from him comes back.
TEST_F(PortEnds, SlotsThatAreNoMadAreTakenInTurns) {
  std::memset(memory->up.slots, 0, sizeof memory->up.slots);
  memory->up.tail_and_rung = kRingSlots << 1 | 1;
  UserMad mad;
  EXPECT_EQ(server->take(mad), Taken::Nothing);
  memory->up.tail_and_rung = (2 * kRingSlots) << 1 | 1;
  EXPECT_TRUE(server->has_more());
  EXPECT_EQ(server->take(mad), Taken::Nothing);
  server->made_room();
  EXPECT_TRUE(server->silence());
}

TEST_F(PortEnds, TheServerCountsMessagesThatWaitToBeRead) {
  EXPECT_EQ(server->unread(0), 0U);
  for (std::uint32_t i = 0; i < 10; ++i) give(message(i));
  give(message(10, 5 * kMad));
  ASSERT_TRUE(server->read(0, mad_of(message(11)).packet));
  EXPECT_EQ(server->unread(0), 12U) << "the last one is not shown yet";
  server->show();
  EXPECT_EQ(server->unread(12), 12U);
  Message m;
  for (std::uint32_t i = 0; i < 4; ++i) ASSERT_GT(read(m), 0);
  EXPECT_EQ(server->unread(0), 8U);
  for (std::uint32_t i = 4; i < 10; ++i) ASSERT_GT(read(m), 0);
  EXPECT_EQ(server->unread(0), 2U);
  memory->down.head += 2;  // a reader is in the midst of the long one
  EXPECT_EQ(server->unread(0), 1U);
  memory->down.head += 3;
  EXPECT_EQ(server->unread(0), 1U);
  ASSERT_GT(read(m), 0);
  EXPECT_EQ(server->unread(0), 0U);
  for (std::uint32_t i = 0; i < 3; ++i) give(message(i));
  EXPECT_LT(server->unread(100), 100U);
  EXPECT_EQ(server->unread(3), 3U);
  memory->down.head = 99'999;
  EXPECT_EQ(server->unread(0), 0U);
}

TEST_F(PortEnds, AddressesSurvive) {
  Message m = message(5, 100);
  m.header.timeout_ms = 70;
  m.header.retries = 3;
  m.header.addr.lid = 0x1234;
  m.header.addr.qpn = 0x01000000;
  m.header.addr.sl = 4;
  m.header.addr.path_bits = 2;
  m.header.addr.pkey_index = 9;
  m.header.addr.grh_present = 1;
  m.header.addr.gid[15] = 7;
  m.header.addr.hop_limit = 11;
  ASSERT_TRUE(write(m));
  UserMad mad;
  ASSERT_EQ(server->take(mad), Taken::Mad);
  ASSERT_TRUE(server->give(mad));
  server->show();
  Message back;
  ASSERT_EQ(read(back), static_cast<ssize_t>(kUmadHeaderBytes + 100));
  EXPECT_EQ(std::memcmp(&back.header, &m.header, sizeof m.header), 0);
  EXPECT_EQ(back.data, m.data);
}

TEST_F(PortEnds, ZerosAtTheEndComeOutAlthoughTheSlotHeldOthers) {
  const auto there_and_back = [this](const Message& m) {
    ASSERT_TRUE(write(m));
    UserMad mad;
    ASSERT_EQ(server->take(mad), Taken::Mad);
    server->made_room();
    ASSERT_EQ(data_of(mad), m.data);
    ASSERT_TRUE(server->give(mad));
    server->show();
    Message back;
    ASSERT_GT(read(back, m.data.size()), 0);
    ASSERT_EQ(back.data, m.data);
    ASSERT_EQ(std::memcmp(&back.header, &m.header, sizeof m.header), 0);
  };
  for (std::uint32_t i = 0; i < kRingSlots; ++i) there_and_back(message(i));
  for (const std::size_t bytes : {kMad, 2 * kMad, 5 * kMad, std::size_t{100}, kMad + 77})
    for (const std::size_t full : {0U, 1U, 63U, 64U, 65U, 128U, 192U, 255U, 256U, 300U, 513U}) {
      SCOPED_TRACE(testing::Message() << full << " of " << bytes);
      Message m = message(7, bytes);
      for (std::size_t i = full; i < m.data.size(); ++i) m.data[i] = 0;
      there_and_back(m);
    }
}

TEST_F(PortEnds, ABufferTooSmallLeavesTheMessage) {
  give(message(1));
  Message m;
  EXPECT_EQ(read(m, 100), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_GT(read(m), 0);
  give(message(2, 1000));
  EXPECT_EQ(read(m), -1);
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(m.header.length, kUmadHeaderBytes + 1000);
  EXPECT_TRUE(readable(library_fd()));
  EXPECT_EQ(read(m, 1000), static_cast<ssize_t>(kUmadHeaderBytes + 1000));
  EXPECT_EQ(m.data, message(2, 1000).data);
  EXPECT_FALSE(readable(library_fd()));
}

constexpr std::size_t kLong = 3 * kRingSlots * kMad + 77;

TEST_F(PortEnds, AMessageLongerThanTheRingGoesUpInPieces) {
  std::thread writer([&] {
    EXPECT_TRUE(write(message(1, kLong)));
    EXPECT_TRUE(write(message(2)));
  });
  std::vector<UserMad> come;
  while (come.size() < 2) {
    ASSERT_TRUE(readable(server_fd(), 10'000));
    serve([&](const UserMad& m) { come.push_back(m); });
  }
  writer.join();
  EXPECT_EQ(data_of(come[0]), message(1, kLong).data);
  EXPECT_EQ(data_of(come[1]), message(2).data);
}

TEST_F(PortEnds, AMessageLongerThanTheRingComesDownInPieces) {
  Message first, second;
  std::thread reader([&] {
    EXPECT_TRUE(readable(library_fd(), 10'000));
    EXPECT_EQ(read(first, kLong), static_cast<ssize_t>(kUmadHeaderBytes + kLong));
    while (read(second) < 0 && errno == EAGAIN) (void)readable(library_fd(), 10'000);
  });
  for (std::uint32_t number : {1U, 2U}) {
    const UserMad mad = mad_of(message(number, number == 1 ? kLong : kMad));
    for (bool whole = false; !whole;) {
      whole = server->give(mad);
      server->show();
      if (!whole) {
        ASSERT_TRUE(readable(server_fd(), 10'000)) << "told when there is room";
        EXPECT_GT(rings(), 0U);
      }
    }
  }
  reader.join();
  EXPECT_EQ(first.data, message(1, kLong).data);
  EXPECT_EQ(second.data, message(2).data);
  EXPECT_FALSE(readable(library_fd()));
}

TEST_F(PortEnds, ManyThreadsWriteAndRead) {
  constexpr std::uint32_t kThreads = 3, kEach = 4000;
  std::vector<std::thread> threads;
  std::array<std::atomic<int>, std::size_t{kThreads} * kEach> seen{};
  std::atomic<std::uint32_t> read_so_far{0};
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < kEach; ++i) EXPECT_TRUE(write(message(t * kEach + i, 64)));
    });
    threads.emplace_back([&] {
      while (read_so_far < kThreads * kEach) {
        (void)readable(library_fd(), 10);
        Message m;
        while (read(m) > 0) {
          ++seen[m.header.agent_id];
          ++read_so_far;
        }
      }
    });
  }
  // The server sends back what comes.
  std::uint32_t sent = 0;
  std::vector<UserMad> waiting;
  while (sent < kThreads * kEach) {
    ASSERT_TRUE(readable(server_fd(), 10'000));
    serve([&](const UserMad& m) { waiting.push_back(m); });
    std::size_t given = 0;
    while (given < waiting.size() && server->give(waiting[given])) ++given;
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(given));
    sent += static_cast<std::uint32_t>(given);
    server->show();
  }
  for (auto& t : threads) t.join();
  for (const auto& count : seen) ASSERT_EQ(count, 1) << "each once, none lost";
  EXPECT_FALSE(readable(library_fd()));
}

/// Runs `work` in a child that dies of it.
template <class Function>
void in_a_child_that_dies(Function work) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
}

TEST_F(PortEnds, AMadGoesStraightDownWhileThereIsRoom) {
  ib::mad::Packet packet;
  packet.address.lid = ib::Lid{0x1234};
  packet.mad.bytes[100] = std::byte{7};
  for (std::uint64_t i = 0; i < kRingSlots; ++i)
    ASSERT_TRUE(server->read(static_cast<std::int32_t>(i), packet));
  EXPECT_FALSE(server->read(0, packet));
  EXPECT_FALSE(readable(library_fd())) << "not shown yet";
  server->show();
  Message m;
  for (std::uint32_t i = 0; i < kRingSlots; ++i) {
    ASSERT_EQ(read(m), static_cast<ssize_t>(kUmadHeaderBytes + kMad));
    EXPECT_EQ(m.header.agent_id, i);
    EXPECT_EQ(m.header.status, 0U);
    EXPECT_EQ(ntohs(m.header.addr.lid), 0x1234);
    EXPECT_EQ(std::memcmp(m.data.data(), packet.mad.bytes.data(), kMad), 0);
  }
  EXPECT_FALSE(readable(library_fd()));
  EXPECT_TRUE(server->read(0, packet));
  memory->down.head = 99999;
  for (std::uint64_t i = 0; i < kRingSlots; ++i) (void)server->read(0, packet);
  EXPECT_FALSE(server->read(0, packet));
  EXPECT_TRUE(server->is_broken());
}

TEST_F(PortEnds, AWriterThatDiedInALongMessageHoldsUpNobody) {
  in_a_child_that_dies([&] {
    new OwnerLockGuard(memory->writers);
    Producer up(memory->up);
    const Message half = message(1, 1000);
    std::memcpy(up.slot(0).header, &half.header, sizeof half.header);
    std::memcpy(up.slot(0).data, half.data.data(), kMad);
    (void)up.publish(1);  // and the bell is not rung
  });
  EXPECT_EQ(rings(), 0U);
  ASSERT_TRUE(write(message(2)));
  EXPECT_EQ(rings(), 1U) << "for both of them";
  UserMad mad;
  ASSERT_EQ(server->take(mad), Taken::Mad);
  EXPECT_EQ(data_of(mad), message(2).data);
  EXPECT_EQ(server->take(mad), Taken::Nothing);
}

TEST_F(PortEnds, AReaderThatDiedBeforeSilencingLeavesNoBell) {
  give(message(1));
  in_a_child_that_dies([&] {
    new OwnerLockGuard(memory->readers);
    Consumer down(memory->down);
    (void)down.available();
    down.skip(1);
    down.release();
  });
  EXPECT_TRUE(readable(library_fd()));
  Message m;
  EXPECT_EQ(read(m), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_FALSE(readable(library_fd()));
  EXPECT_EQ(rings(), 1U) << "the server looks whether there is room";
}

TEST_F(PortEnds, AReaderThatDiedAfterSilencingLeavesNoBell) {
  give(message(1));
  in_a_child_that_dies([&] {
    new OwnerLockGuard(memory->readers);
    Consumer down(memory->down);
    (void)down.available();
    down.skip(1);
    down.release();
    if (down.silence() != Bell::Silenced) _exit(1);
  });
  give(message(2));
  Message m;
  ASSERT_GT(read(m), 0);
  EXPECT_EQ(m.header.agent_id, 2U);
  // One bell too many is there; the readers find nothing and take it.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(read(m), -1);
    EXPECT_EQ(errno, EAGAIN);
  }
  EXPECT_FALSE(readable(library_fd()));
}

TEST_F(PortEnds, TheRestOfAMessageWhoseReaderDiedIsPassedOver) {
  give(message(1, 1000));
  in_a_child_that_dies([&] {
    new OwnerLockGuard(memory->readers);
    Consumer down(memory->down);
    (void)down.available();
    down.skip(2);
    down.release();
  });
  give(message(2));
  Message m;
  ASSERT_GT(read(m), 0);
  EXPECT_EQ(m.header.agent_id, 2U);
  EXPECT_FALSE(readable(library_fd()));
}

TEST_F(PortEnds, AfterTheServersEndWhatCameIsReadAndThenEio) {
  give(message(1));
  server_dies();
  Message m;
  EXPECT_GT(read(m), 0);
  EXPECT_TRUE(readable(library_fd()));
  EXPECT_EQ(read(m, kMad, true), -1);
  EXPECT_EQ(errno, EIO);
  EXPECT_FALSE(write(message(2)));
  EXPECT_FALSE(write(message(3)));
}

TEST_F(PortEnds, AWriterAloneNoticesTheServersEnd) {
  server_dies();
  EXPECT_FALSE(write(message(1)));
  EXPECT_FALSE(write(message(2)));
}

TEST_F(PortEnds, TheServerLearnsThatThePortIsClosed) {
  pollfd program{server->program(), 0, 0};
  EXPECT_EQ(poll(&program, 1, 0), 0);
  const int copy = dup(files[kBellDown]);
  close(std::exchange(files[kBellDown], -1));
  EXPECT_EQ(poll(&program, 1, 0), 0) << "somebody has it open still, as after fork";
  close(copy);
  EXPECT_EQ(poll(&program, 1, 0), 1);
  EXPECT_EQ(program.revents, POLLERR);
}

TEST_F(PortEnds, NoRingIsTooMany) {
  const std::uint64_t most = ~std::uint64_t{0} - 1;
  ASSERT_EQ(::write(server_fd(), &most, sizeof most), static_cast<ssize_t>(sizeof most));
  ASSERT_TRUE(write(message(1))) << "and nobody waits";
  int come = 0;
  serve([&](const UserMad&) { ++come; });
  EXPECT_EQ(come, 1);
  EXPECT_FALSE(readable(server_fd()));
}

TEST_F(PortEnds, AWriterThatWaitsForRoomNoticesTheServersEnd) {
  for (std::uint32_t i = 0; i < kRingSlots; ++i) ASSERT_TRUE(write(message(i)));
  std::thread writer([&] {
    EXPECT_FALSE(write(message(1)));
    EXPECT_EQ(errno, EIO);
  });
  server_dies();
  writer.join();
}

TEST_F(PortEnds, AReaderOfALongMessageNoticesTheServersEnd) {
  EXPECT_FALSE(server->give(mad_of(message(1, kLong))));
  server->show();
  std::thread reader([&] {
    Message m;
    EXPECT_EQ(read(m, kLong), -1);
    EXPECT_EQ(errno, EIO);
  });
  server_dies();
  reader.join();
}

TEST_F(PortEnds, TheServerBelievesNoIndex) {
  memory->up.tail_and_rung = (kRingSlots + 5) << 1 | 1;
  UserMad mad;
  EXPECT_EQ(server->take(mad), Taken::Broken);
  EXPECT_FALSE(server->is_broken());
  memory->down.head = 12345;
  for (std::uint32_t i = 0; i < kRingSlots; ++i) (void)server->give(mad_of(message(i)));
  EXPECT_FALSE(server->give(mad_of(message(1))));
  EXPECT_TRUE(server->is_broken());
}

TEST_F(PortEnds, TheServerBelievesNoLength) {
  // What claims to be longer than any message, or shorter than its header, is no message; nor is
  // what goes on after nothing.
  for (const std::uint32_t length : {1U, 64U, 65U << 20U, 0xFFFFFFFFU, 0U}) {
    Message m = message(1);
    m.header.length = length;
    ASSERT_TRUE(write(m));
  }
  ASSERT_TRUE(write(message(2)));
  UserMad mad;
  ASSERT_EQ(server->take(mad), Taken::Mad);
  EXPECT_EQ(mad.agent, 2);
  EXPECT_EQ(server->take(mad), Taken::Nothing);
}

TEST_F(PortEnds, AProgramCannotCutTheMemoryShort) {
  EXPECT_EQ(ftruncate(files[kMemory], 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(fcntl(files[kMemory], F_ADD_SEALS, F_SEAL_WRITE), -1);
}

}  // namespace
}  // namespace ibfabric
