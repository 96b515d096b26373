// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// libibumad's interface as a program on ibfabric sees it. Runs inside `ibfabric run --lids keep`,
// where an SM has been.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <infiniband/umad.h>
#include <infiniband/umad_str.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kMadBytes = 256, kPatience = 5000;

struct Buffer {
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(umad_size() + kMadBytes);
  void* umad() { return bytes.data(); }
  std::uint8_t* mad() { return static_cast<std::uint8_t*>(umad_get_mad(umad())); }
  std::uint32_t tid_low() {
    std::uint32_t v;
    std::memcpy(&v, mad() + 12, 4);
    return ntohl(v);
  }
};

/// Get(NodeInfo) of the own SMA or, with `hops` 1, of what hangs on the other end of the cable.
Buffer node_info_request(std::uint32_t tid, std::uint8_t hops = 0, std::uint8_t first_port = 1) {
  Buffer b;
  umad_set_addr(b.umad(), 0xFFFF, 0, 0, 0);
  std::uint8_t* m = b.mad();
  m[0] = 1;
  m[1] = 0x81;
  m[2] = 1;
  m[3] = 1;
  m[7] = hops;
  const std::uint32_t big = htonl(tid);
  std::memcpy(m + 12, &big, 4);
  m[17] = 0x11;
  std::memset(m + 32, 0xFF, 4);
  if (hops > 0) m[129] = first_port;
  return b;
}
/// Get of a class nobody serves, to a LID nobody has.
Buffer request_to_nowhere(std::uint32_t tid) {
  Buffer b;
  umad_set_addr(b.umad(), 0xBFF0, 1, 0, static_cast<int>(0x80010000));
  std::uint8_t* m = b.mad();
  m[0] = 1;
  m[1] = 0x04;
  m[2] = 1;
  m[3] = 1;
  const std::uint32_t big = htonl(tid);
  std::memcpy(m + 12, &big, 4);
  m[17] = 0x12;
  return b;
}

class UmadPort : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(umad_init(), 0);
    port = umad_open_port(nullptr, 0);
    ASSERT_GE(port, 0);
    smi = umad_register(port, 0x81, 1, 0, nullptr);
    ASSERT_GE(smi, 0);
    perf = umad_register(port, 0x04, 1, 0, nullptr);
    ASSERT_GE(perf, 0);
  }
  void TearDown() override {
    umad_close_port(port);
    umad_done();
  }
  int send(Buffer b, int agent, int timeout_ms = kPatience, int retries = 0) {
    return umad_send(port, agent, b.umad(), kMadBytes, timeout_ms, retries);
  }
  int port{-1}, smi{-1}, perf{-1};
};

TEST(UmadDevice, HasOneCaWithItsPorts) {
  char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
  ASSERT_EQ(umad_get_cas_names(names, UMAD_MAX_DEVICES), 1);
  umad_ca_t ca;
  ASSERT_EQ(umad_get_ca(names[0], &ca), 0);
  EXPECT_STREQ(ca.ca_name, names[0]);
  EXPECT_EQ(ca.node_type, 1U);
  ASSERT_EQ(ca.numports, 1);
  ASSERT_NE(ca.ports[1], nullptr);
  EXPECT_STREQ(ca.ports[1]->link_layer, "InfiniBand");
  EXPECT_EQ(ca.ports[1]->phys_state, 5U);
  EXPECT_EQ(ca.ports[1]->rate, 100U);  // 4x EDR
  ASSERT_GE(ca.ports[1]->pkeys_size, 1U);
  EXPECT_EQ(ca.ports[1]->pkeys[0], 0xFFFF);

  std::array<__be64, 4> guids{};
  ASSERT_EQ(umad_get_ca_portguids(names[0], guids.data(), 4), 2);
  EXPECT_EQ(guids[0], 0U);
  EXPECT_EQ(guids[1], ca.ports[1]->port_guid);
  EXPECT_EQ(umad_get_ca_portguids(names[0], guids.data(), 1), -ENOMEM);

  umad_port_t port;
  ASSERT_EQ(umad_get_port(names[0], 0, &port), 0);
  EXPECT_EQ(port.portnum, 1);
  EXPECT_NE(port.base_lid, 0U);
  EXPECT_EQ(umad_release_port(&port), 0);
  EXPECT_NE(umad_get_port(names[0], 2, &port), 0);
  EXPECT_NE(umad_get_port("mlx5_7", 1, &port), 0);
  EXPECT_EQ(umad_release_ca(&ca), 0);
  EXPECT_EQ(ca.ports[1], nullptr);

  umad_device_node* list = umad_get_ca_device_list();
  ASSERT_NE(list, nullptr);
  EXPECT_STREQ(list->ca_name, names[0]);
  EXPECT_EQ(umad_sort_ca_device_list(&list, 0), 0);
  umad_free_ca_device_list(list);
  EXPECT_LT(umad_open_port(names[0], 2), 0);
  EXPECT_LT(umad_open_port("mlx5_7", 1), 0);
}

TEST(UmadStrings, AreLibibumads) {
  EXPECT_STREQ(umad_class_str(0x03), "SubnAdm");
  EXPECT_STREQ(umad_class_str(0x32), "Vendor");
  EXPECT_STREQ(umad_method_str(0x03, 0x12), "GetTable");
  EXPECT_STREQ(umad_method_str(0x04, 0x12), "<unknown");
  EXPECT_STREQ(umad_attribute_str(0x81, htons(0x15)), "PortInfo");
  EXPECT_STREQ(umad_common_mad_status_str(htons(0x0C)), "Method/Attribute combo not supported");
  EXPECT_STREQ(umad_sa_mad_status_str(htons(0x0300)), "No Records");
  EXPECT_EQ(umad_size(), 64U);
}

TEST_F(UmadPort, AnswersComeWithTheTidTheyWereAskedWith) {
  ASSERT_EQ(send(node_info_request(0xABCD), smi), 0);
  Buffer b;
  int length = kMadBytes;
  ASSERT_EQ(umad_recv(port, b.umad(), &length, kPatience), smi);
  EXPECT_EQ(length, kMadBytes);
  EXPECT_EQ(umad_status(b.umad()), 0);
  EXPECT_EQ(b.mad()[3], 0x81);
  EXPECT_EQ(b.tid_low(), 0xABCDU);
  EXPECT_EQ(b.mad()[64 + 2], 1) << "node type: the own CA";

  ASSERT_EQ(send(node_info_request(0xABCE, 1), smi), 0);
  ASSERT_EQ(umad_recv(port, b.umad(), &length, kPatience), smi);
  EXPECT_EQ(b.mad()[64 + 2], 2) << "node type: its switch";
}

TEST_F(UmadPort, NothingToReadIsWouldBlockAndPollTimesOut) {
  Buffer b;
  int length = kMadBytes;
  EXPECT_EQ(umad_recv(port, b.umad(), &length, 0), -EWOULDBLOCK);
  EXPECT_EQ(errno, EWOULDBLOCK);
  length = kMadBytes;
  EXPECT_EQ(umad_recv(port, b.umad(), &length, 1), -ETIMEDOUT);
  EXPECT_EQ(umad_poll(port, 1), -ETIMEDOUT);
}

TEST_F(UmadPort, AnUnansweredRequestComesBackAsAHeader) {
  ASSERT_EQ(send(request_to_nowhere(77), perf, 20, 1), 0);
  Buffer b;
  int length = kMadBytes;
  ASSERT_EQ(umad_recv(port, b.umad(), &length, kPatience), perf);
  EXPECT_EQ(umad_status(b.umad()), ETIMEDOUT);
  EXPECT_EQ(length, 24);
  EXPECT_EQ(b.tid_low(), 77U);
  EXPECT_EQ(ntohs(umad_get_mad_addr(b.umad())->lid), 0xBFF0);
}

TEST_F(UmadPort, RefusesWhatTheKernelRefuses) {
  ASSERT_EQ(send(request_to_nowhere(5), perf, 1000), 0);
  EXPECT_EQ(send(request_to_nowhere(5), perf, 1000), -EIO) << "the TID is in use";
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(send(request_to_nowhere(6), perf, 1000), 0);
  EXPECT_EQ(send(node_info_request(1, 1, 2), smi), -EIO) << "a route by a port that is not this";
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(send(node_info_request(1), 31), -EIO) << "no such agent";
  EXPECT_EQ(errno, EINVAL);
  Buffer b = node_info_request(1);
  EXPECT_EQ(umad_send(port, smi, b.umad(), 35, 100, 0), -EIO);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(umad_send(port, smi, nullptr, kMadBytes, 100, 0), -EINVAL);
  EXPECT_EQ(umad_unregister(port, perf), 0);
  EXPECT_EQ(umad_unregister(port, perf), -1);
  EXPECT_EQ(send(request_to_nowhere(7), perf, 1000), -EIO);
}

TEST_F(UmadPort, RegistersLikeTheKernel) {
  std::array<long, 16 / sizeof(long)> get{};
  get[0] = 1L << 1;
  std::uint8_t oui[3] = {0x00, 0x14, 0x05};
  EXPECT_GE(umad_register_oui(port, 0x33, 0, oui, get.data()), 0);
  EXPECT_EQ(umad_register_oui(port, 0x33, 0, oui, get.data()), -EPERM);
  EXPECT_EQ(umad_register_oui(port, 0x04, 0, oui, get.data()), -EINVAL);
  EXPECT_EQ(umad_register(port, 0x33, 1, 0, get.data()), -EPERM) << "the OpenIB OUI is implied";
  umad_reg_attr attr{};
  attr.mgmt_class = 0x03;
  attr.mgmt_class_version = 2;
  attr.rmpp_version = 1;
  attr.flags = UMAD_USER_RMPP;
  std::uint32_t agent = 99;
  EXPECT_EQ(umad_register2(port, &attr, &agent), 0);
  EXPECT_LT(agent, 32U);
  attr.flags = 0x80;
  EXPECT_EQ(umad_register2(port, &attr, &agent), EINVAL);
  EXPECT_EQ(attr.flags, static_cast<std::uint32_t>(UMAD_USER_RMPP));
  attr = {};
  attr.mgmt_class = 0x34;
  attr.mgmt_class_version = 1;
  EXPECT_EQ(umad_register2(port, &attr, &agent), EINVAL) << "no OUI";
}

TEST_F(UmadPort, ItsDescriptorWorksWithPollAndEpoll) {
  const int fd = umad_get_fd(port);
  pollfd p{fd, POLLIN, 0};
  ASSERT_EQ(poll(&p, 1, 0), 0);
  const int set = epoll_create1(EPOLL_CLOEXEC);
  epoll_event e{};
  e.events = EPOLLIN;
  ASSERT_EQ(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e), 0);
  EXPECT_EQ(epoll_wait(set, &e, 1, 0), 0);
  ASSERT_EQ(send(node_info_request(1), smi), 0);
  EXPECT_EQ(epoll_wait(set, &e, 1, kPatience), 1);
  Buffer b;
  int length = kMadBytes;
  EXPECT_EQ(umad_recv(port, b.umad(), &length, 0), smi);
  EXPECT_EQ(epoll_wait(set, &e, 1, 0), 0);
  close(set);
}

TEST_F(UmadPort, ManyThreadsShareIt) {
  constexpr int kThreads = 4, kEach = 500;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < kEach; ++i) {
        const auto tid = static_cast<std::uint32_t>(t * kEach + i);
        EXPECT_EQ(send(node_info_request(tid), smi), 0);
        // Not more under way at once than an SMA's queue takes.
        if (i % 8 == 7) std::this_thread::yield();
      }
    });
  }
  std::set<std::uint32_t> seen;
  int timed_out = 0;
  for (int i = 0; i < kThreads * kEach; ++i) {
    Buffer b;
    int length = kMadBytes;
    ASSERT_EQ(umad_recv(port, b.umad(), &length, 2 * kPatience), smi);
    timed_out += umad_status(b.umad()) != 0;
    seen.insert(b.tid_low());
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kThreads * kEach)) << "each once, none lost";
  // The rest found the SMA's queue full, as a burst of that size does in life.
  EXPECT_LT(timed_out, kThreads * kEach);
}

TEST_F(UmadPort, AChildMayUseItsParentsPortAndItsOwn) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Buffer b;
    int length = kMadBytes;
    bool good = send(node_info_request(0x77), smi) == 0 &&
                umad_recv(port, b.umad(), &length, kPatience) == smi && b.tid_low() == 0x77;
    const int own = umad_open_port(nullptr, 0);
    const int agent = umad_register(own, 0x81, 1, 0, nullptr);
    Buffer ask = node_info_request(0x78);
    good = good && umad_send(own, agent, ask.umad(), kMadBytes, kPatience, 0) == 0 &&
           umad_recv(own, b.umad(), &length, kPatience) == agent && b.tid_low() == 0x78;
    umad_close_port(own);
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(send(node_info_request(0x79), smi), 0) << "the parent's is still good";
  Buffer b;
  int length = kMadBytes;
  EXPECT_EQ(umad_recv(port, b.umad(), &length, kPatience), smi);
}

TEST_F(UmadPort, TwoProcessesMaySendAndReadAtOnce) {
  constexpr std::uint32_t kEach = 400;
  void* shared = mmap(nullptr, sizeof(std::atomic<std::uint32_t>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* read_by_both = new (shared) std::atomic<std::uint32_t>(0);
  // Every request comes back to one of the two, answered or timed out.
  const auto use = [&](std::uint32_t first) {
    bool good = true;
    for (std::uint32_t sent = 0; *read_by_both < 2 * kEach && good;) {
      for (int i = 0; i < 8 && sent < kEach; ++i, ++sent)
        good = good && send(node_info_request(first + sent), smi, 1000) == 0;
      Buffer b;
      int length = kMadBytes;
      const int got = umad_recv(port, b.umad(), &length, 10);
      good = good && (got == smi || got == -ETIMEDOUT || got == -EWOULDBLOCK);
      if (got == smi) ++*read_by_both;
    }
    return good;
  };
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(use(0x10000) ? 0 : 1);
  EXPECT_TRUE(use(0x20000));
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*read_by_both, 2 * kEach);
  EXPECT_EQ(umad_poll(port, 0), -ETIMEDOUT) << "nothing is left";
  munmap(shared, sizeof(std::atomic<std::uint32_t>));
}

/// A ring that never falls silent does not keep the server from noticing who has died.
TEST_F(UmadPort, WhoDiesWhileAnotherTalksIsForgotten) {
  constexpr int kClass = 0x10;
  const auto get_only = [] { return std::array<long, 16 / sizeof(long)>{2}; };
  std::array<int, 2> registered{};
  ASSERT_EQ(pipe(registered.data()), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto mask = get_only();
    const int own = umad_open_port(nullptr, 0);
    char good = umad_register(own, kClass, 1, 0, mask.data()) >= 0 ? 1 : 0;
    [[maybe_unused]] const auto n = write(registered[1], &good, 1);
    const int agent = umad_register(own, 0x04, 1, 0, nullptr);
    for (std::uint32_t tid = 1;; ++tid)
      umad_send(own, agent, request_to_nowhere(tid).umad(), kMadBytes, 0, 0);
  }
  char good = 0;
  ASSERT_EQ(read(registered[0], &good, 1), 1);
  ASSERT_EQ(good, 1);
  std::atomic<bool> ended{false};
  std::thread talker([&] {
    for (std::uint32_t tid = 1; !ended; ++tid) send(request_to_nowhere(tid), perf, 0);
  });
  auto mask = get_only();
  EXPECT_LT(umad_register(port, kClass, 1, 0, mask.data()), 0) << "the child has it";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  int agent = -1;
  for (int i = 0; i < 200 && agent < 0; ++i) {
    usleep(10'000);
    agent = umad_register(port, kClass, 1, 0, mask.data());
  }
  EXPECT_GE(agent, 0);
  ended = true;
  talker.join();
  close(registered[0]);
  close(registered[1]);
}

/// A message longer than the ring comes in pieces, as the reader makes room: no ring for room may
/// be lost, or it stops until something else happens on this host.
TEST_F(UmadPort, LongMessagesComeWithoutAPause) {
  constexpr std::size_t kBytes = 1'000'000, kSaHeader = 56;
  constexpr int kSa = 0x03, kGetMulti = 0x14, kMessages = 12;
  const int to = umad_open_port(nullptr, 0);
  std::array<long, 16 / sizeof(long)> method{1L << kGetMulti};
  const int server = umad_register(to, kSa, 2, 1, method.data());
  const int client = umad_register(port, kSa, 2, 1, nullptr);
  ASSERT_GE(server, 0);
  ASSERT_GE(client, 0);
  umad_port_t own;
  ASSERT_EQ(umad_get_port(nullptr, 0, &own), 0);
  std::vector<std::uint8_t> out(umad_size() + kBytes), in(umad_size() + kBytes);
  umad_set_addr(out.data(), static_cast<int>(own.base_lid), 1, 0, static_cast<int>(0x80010000));
  umad_release_port(&own);
  auto* sent = static_cast<std::uint8_t*>(umad_get_mad(out.data()));
  auto* got = static_cast<std::uint8_t*>(umad_get_mad(in.data()));
  int pauses = 0;
  for (int message = 1; message <= kMessages; ++message) {
    for (std::size_t i = kSaHeader; i < kBytes; ++i)
      sent[i] = static_cast<std::uint8_t>(i * 7 + i / 251 + static_cast<unsigned>(message));
    const std::array<std::uint8_t, 4> head{1, kSa, 2, kGetMulti};
    std::memcpy(sent, head.data(), head.size());
    sent[15] = static_cast<std::uint8_t>(message);  // the TID
    sent[17] = 0x39;
    sent[24] = sent[25] = sent[26] = 1;  // RMPP: version, DATA, active
    std::thread sender(
        [&] { EXPECT_EQ(umad_send(port, client, out.data(), static_cast<int>(kBytes), 0, 0), 0); });
    ASSERT_EQ(umad_poll(to, kPatience), 0) << message;
    int length = static_cast<int>(kBytes);
    const auto begun = std::chrono::steady_clock::now();
    ASSERT_EQ(umad_recv(to, in.data(), &length, kPatience), server) << message;
    // A pause lasts until the kernel's timer for the next ACK, 1.07 s.
    pauses += std::chrono::steady_clock::now() - begun > std::chrono::milliseconds(900);
    sender.join();
    ASSERT_EQ(length, static_cast<int>(kBytes));
    ASSERT_EQ(std::memcmp(got + kSaHeader, sent + kSaHeader, kBytes - kSaHeader), 0) << message;
  }
  EXPECT_LE(pauses, 2) << "of a machine that had other things to do; there were 6 to 9";
  umad_close_port(to);
}

/// Descriptors this process has open.
std::set<int> descriptors() {
  std::set<int> open;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    open.insert(std::stoi(entry.path().filename()));
  std::erase_if(open, [](int fd) { return fcntl(fd, F_GETFD) < 0; });  // the folder's own
  return open;
}

TEST_F(UmadPort, IsClosedWithAllThatBelongsToIt) {
  const auto before = descriptors();
  for (int i = 0; i < 20; ++i) {
    const int other = umad_open_port(nullptr, 0);
    ASSERT_GE(other, 0);
    EXPECT_EQ(umad_close_port(other), 0);
  }
  EXPECT_EQ(descriptors(), before);
}

TEST_F(UmadPort, ItsEndIsNoticedWithoutUmadClosePort) {
  std::array<long, 16 / sizeof(long)> get_only{2};
  const int other = umad_open_port(nullptr, 0);
  ASSERT_GE(umad_register(other, 0x10, 1, 0, get_only.data()), 0);
  EXPECT_LT(umad_register(port, 0x10, 1, 0, get_only.data()), 0) << "the other one has it";
  close(other);
  int agent = -1;
  // The server sees the close when it comes to it.
  for (int i = 0; i < 500 && agent < 0; ++i) {
    usleep(10'000);
    agent = umad_register(port, 0x10, 1, 0, get_only.data());
  }
  EXPECT_GE(agent, 0);
}

TEST_F(UmadPort, APlainCloseLeavesNothingOpenForLong) {
  const int first = umad_open_port(nullptr, 0);
  ASSERT_GE(first, 0);
  const auto before = descriptors();
  for (int i = 0; i < 20; ++i) {
    close(first);
    ASSERT_EQ(umad_open_port(nullptr, 0), first);
  }
  EXPECT_EQ(descriptors().size(), before.size());
  umad_close_port(first);
}

/// What a port needs beside its own descriptor is nothing that a program could hit by chance.
TEST_F(UmadPort, AFileOpenedWhereItsOtherDescriptorWasIsNotWrittenTo) {
  const auto path =
      std::filesystem::temp_directory_path() / ("umad_preload_test." + std::to_string(getpid()));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (int fd = 3; fd < 1024; ++fd)
      if (fd != port) close(fd);
    const int file = open(path.c_str(), O_CREAT | O_RDWR | O_APPEND, 0600);
    const bool told = send(node_info_request(0x55), smi) < 0 && errno == EBADF;
    _exit(file >= 0 && told && lseek(file, 0, SEEK_END) == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::filesystem::remove(path);
}

/// A descriptor's flags are those of all who share it, the server among them.
TEST_F(UmadPort, WhoMakesItsFilesBlockHoldsUpNobody) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int own = umad_open_port(nullptr, 0);
    for (const int fd : descriptors()) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    const int agent = umad_register(own, 0x81, 1, 0, nullptr);
    Buffer b = node_info_request(0x56);
    const bool sent = umad_send(own, agent, b.umad(), kMadBytes, kPatience, 0) == 0;
    int length = kMadBytes;
    _exit(sent && umad_recv(own, b.umad(), &length, kPatience) == agent ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(send(node_info_request(0x57), smi), 0);
  Buffer b;
  int length = kMadBytes;
  EXPECT_EQ(umad_recv(port, b.umad(), &length, kPatience), smi);
}

TEST_F(UmadPort, IsRefusedWhereAProgramMayOpenNoMoreFiles) {
  umad_close_port(umad_open_port(nullptr, 0));  // what an earlier test left is closed with this
  const auto before = descriptors();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  bool opened = false;
  for (unsigned room = 0; !opened; ++room) {
    ASSERT_LT(room, 16U);
    const rlimit less{static_cast<rlim_t>(*before.rbegin()) + 1 + room, limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &less), 0);
    const int other = umad_open_port(nullptr, 0);
    opened = other >= 0;
    if (opened) umad_close_port(other);
    EXPECT_EQ(descriptors(), before) << "with room for " << room;
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

bool is_sm() {
  umad_port_t p;
  if (umad_get_port(nullptr, 0, &p) != 0) return false;
  const bool set = (ntohl(p.capmask) & 2U) != 0;
  umad_release_port(&p);
  return set;
}

TEST(Issm, HasOneOpenerAndSetsIsSm) {
  char path[64];
  ASSERT_EQ(umad_get_issm_path(nullptr, 0, path, sizeof path), 0);
  EXPECT_FALSE(is_sm());
  const int first = open(path, O_NONBLOCK);
  ASSERT_GE(first, 0);
  EXPECT_TRUE(is_sm());
  EXPECT_EQ(open(path, O_NONBLOCK), -1);
  EXPECT_EQ(errno, EAGAIN);
  // Without O_NONBLOCK the second opener waits for the first to close.
  std::thread waiting([&] {
    const int second = open(path, O_RDWR);
    EXPECT_GE(second, 0);
    EXPECT_TRUE(is_sm());
    close(second);
  });
  close(first);
  waiting.join();
  // The server sees the close when it comes to it.
  for (int i = 0; i < 500 && is_sm(); ++i) usleep(10'000);
  EXPECT_FALSE(is_sm());
}

TEST(Issm, IsClearedByTheDeathOfItsOpener) {
  char path[64];
  ASSERT_EQ(umad_get_issm_path(nullptr, 0, path, sizeof path), 0);
  std::array<int, 2> opened{};
  ASSERT_EQ(pipe(opened.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    char good = open(path, O_NONBLOCK) >= 0 ? 1 : 0;
    [[maybe_unused]] const auto n = write(opened[1], &good, 1);
    pause();
    _exit(0);
  }
  char good = 0;
  ASSERT_EQ(read(opened[0], &good, 1), 1);
  ASSERT_EQ(good, 1);
  EXPECT_TRUE(is_sm());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (int i = 0; i < 500 && is_sm(); ++i) usleep(10'000);
  EXPECT_FALSE(is_sm());
}

TEST(Open, OtherFilesAreNotTouched) {
  const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(write(fd, "x", 1), 1);
  close(fd);
  EXPECT_EQ(open("/dev/infiniband/issm99", O_NONBLOCK), -1);
  EXPECT_EQ(open("/dev/infiniband/issmx", O_NONBLOCK), -1);
}

}  // namespace
