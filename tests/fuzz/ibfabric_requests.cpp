// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Programs that say anything to an ibfabric server, by sockets and by the memory of ports they have
// open: it goes on serving, and says to each no more than replies of its protocol.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "tests/fuzz/fuzz.h"
#include "tools/ibfabric/capture.h"
#include "tools/ibfabric/control.h"
#include "tools/ibfabric/ring.h"
#include "tools/ibfabric/server.h"

namespace {

using ib::fuzz::Input;
using ib::fuzz::require;
using namespace ibfabric;

class NoCapture final : public Capture {
 public:
  ib::Result<void> start(const std::string&) override { return {}; }
  ib::Result<void> stop() override { return {}; }
};

const ib::fabric::Fabric& fabric() {
  static const auto made = [] {
    ib::fabric::FatTree tree;
    tree.radix = 4;
    return ib::fabric::generate(tree).value();
  }();
  return made;
}

/// A port that a program has open: what it may write to.
struct OpenPort {
  std::uint64_t id{};
  std::array<int, kPortFiles> files{-1, -1, -1};
  PortMemory* memory{};
};

class Run {
 public:
  explicit Run(Input& in)
      : in_(in),
        path_("/tmp/ibkit-fuzz-" + std::to_string(getpid())),
        model_(fabric()),
        server_(model_, [this](ib::Instant now, const std::string& text) {
          const auto done = Control(model_, capture_, server_).execute(now, decode(text));
          return Server::CommandResult{done.status, done.text};
        }) {
    require(server_.listen(path_).has_value(), "a socket in /tmp");
    require(pipe2(signals_.data(), O_CLOEXEC | O_NONBLOCK) == 0, "a pipe");
  }
  ~Run() {
    for (const int fd : clients_) close(fd);
    for (auto& port : ports_) close_port(port);
    for (const int fd : signals_) close(fd);
  }

  void step() {
    switch (in_.byte() % 4) {
      case 0:
        return request();
      case 1:
        return write_ring();
      case 2:
        return serve();
      default:
        return hang_up();
    }
  }
  /// The server has a few turns, and the clients hear what it said.
  void serve() {
    signalfd_siginfo info{};
    for (int i = 0; i < kTurns; ++i)
      require(write(signals_[1], &info, sizeof info) == sizeof info, "a signal");
    int turns = 0;
    server_.run(signals_[0],
                [&](int) { return ++turns == kTurns ? std::optional(0) : std::nullopt; });
    for (const int fd : clients_) listen_to(fd);
  }

 private:
  static constexpr int kTurns = 4;
  static constexpr std::size_t kClientsMost = 8, kPortsMost = 4;

  void request() {
    if (clients_.size() >= kClientsMost) return;
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    require(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "it listens");
    clients_.push_back(fd);
    Request asked{};
    const std::uint8_t how = in_.byte();
    asked.protocol = how == 255 ? in_.word() : kProtocol;
    asked.op = static_cast<Op>(how % 11);
    asked.flags = in_.byte() % 2;
    asked.port_num = static_cast<std::int8_t>(in_.byte());
    asked.agent = static_cast<std::int8_t>(in_.byte());
    if (!ports_.empty()) asked.port_id = ports_[in_.byte() % ports_.size()].id;
    asked.qpn = in_.byte() % 3;
    asked.mgmt_class = in_.byte();
    asked.class_version = in_.byte() % 3;
    asked.rmpp_version = in_.byte() % 2;
    asked.user_rmpp = in_.byte() % 2;
    asked.method_mask[0] = in_.word();
    if (how % 2 == 1) {
      const auto& nodes = fabric().nodes();
      const auto& name = nodes[in_.byte() % nodes.size()].description;
      name.copy(asked.at, sizeof asked.at - 1);
    }
    std::vector<std::byte> frame(sizeof asked);
    std::memcpy(frame.data(), &asked, sizeof asked);
    if (asked.op == Op::Ctl) append(frame, ctl_text());
    for (std::size_t n = in_.byte(); n > 0; --n)
      frame.push_back(static_cast<std::byte>(in_.byte()));
    if (how / 16 == 14) frame.resize(in_.byte());
    (void)::send(fd, frame.data(), frame.size(), MSG_NOSIGNAL);
  }
  std::string ctl_text() {
    constexpr const char* kVerbs[] = {"link",   "node",  "cable", "faults", "seed",  "show",
                                      "device", "stats", "flow",  "locate", "words", "counters"};
    if (in_.byte() % 4 == 0) return "{";
    CtlCommand command{kVerbs[in_.byte() % std::size(kVerbs)], {}, {}, in_.byte() % 2 == 0};
    for (unsigned n = in_.byte() % 4; n > 0; --n) {
      const auto& nodes = fabric().nodes();
      const std::uint8_t word = in_.byte();
      constexpr const char* kWords[] = {"down", "up", "1", "list", "reboot", "-1", "move", ""};
      command.words.push_back(word % 2 == 0 ? nodes[word / 2 % nodes.size()].description
                                            : kWords[word / 2 % std::size(kWords)]);
    }
    return encode(command);
  }
  static void append(std::vector<std::byte>& frame, const std::string& text) {
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    frame.insert(frame.end(), bytes, bytes + text.size());
  }

  void write_ring() {
    if (ports_.empty()) return;
    auto& port = ports_[in_.byte() % ports_.size()];
    auto* memory = port.memory;
    const std::uint8_t how = in_.byte();
    const auto slots = static_cast<std::uint64_t>(how % 4);
    const std::uint64_t tail = memory->up.tail_and_rung >> 1;
    for (std::uint64_t i = 0; i < slots; ++i) {
      auto& slot = memory->up.slots[(tail + i) % kRingSlots];
      ib_header(slot);
      for (std::size_t n = in_.byte(); n > 0; --n) {
        auto* bytes = reinterpret_cast<std::uint8_t*>(&slot);
        bytes[in_.word() % sizeof slot] = in_.byte();
      }
    }
    memory->up.tail_and_rung = (tail + slots) << 1 | 1;
    if (how / 4 % 16 == 15)
      memory->up.tail_and_rung = std::uint64_t{in_.word()} << in_.byte() % 32U;
    if (how / 4 % 16 == 14) memory->down.head = in_.word() % 4096;
    if (how / 4 % 16 == 13) memory->up.room_wanted = in_.byte();
    const std::uint64_t once = 1;
    (void)::write(port.files[kBellUp], &once, sizeof once);
  }
  /// A MAD that the kernel takes, unless the input spoils it.
  void ib_header(Slot& slot) {
    std::memset(&slot, 0, sizeof slot);
    slot.header[0] = in_.byte() % 4;                           // agent
    slot.header[12] = static_cast<std::uint8_t>(in_.byte());   // retries
    slot.header[16] = 0x40, slot.header[17] = in_.byte() % 2;  // length 64 + 256 (or not)
    slot.header[23] = in_.byte() % 3;                          // QP
    slot.data[0] = 1, slot.data[1] = in_.byte(), slot.data[2] = 1, slot.data[3] = in_.byte() % 4;
    slot.header[kUmadHeaderBytes - 1] = kSlotLines;
  }

  void hang_up() {
    if (in_.byte() % 2 == 0 && !ports_.empty()) {
      close_port(ports_.back());
      ports_.pop_back();
    } else if (!clients_.empty()) {
      close(clients_.back());
      clients_.pop_back();
    }
  }

  void listen_to(int fd) {
    std::array<std::byte, kFrameBytes> frame;
    iovec part{frame.data(), frame.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kPortFiles)> control{};
    msghdr message{};
    message.msg_iov = &part, message.msg_iovlen = 1;
    message.msg_control = control.data(), message.msg_controllen = control.size();
    const ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    if (n < static_cast<ssize_t>(sizeof(Reply))) return;
    const cmsghdr* rights = CMSG_FIRSTHDR(&message);
    if (rights == nullptr) return;
    OpenPort port;
    Reply reply;
    std::memcpy(&reply, frame.data(), sizeof reply);
    require(reply.protocol == kProtocol && reply.result >= 0, "who gets a port is told so");
    port.id = reply.port_id;
    std::memcpy(port.files.data(), CMSG_DATA(rights), sizeof port.files);
    void* at = mmap(nullptr, sizeof(PortMemory), PROT_READ | PROT_WRITE, MAP_SHARED,
                    port.files[kMemory], 0);
    require(at != MAP_FAILED, "a port's memory can be mapped");
    port.memory = static_cast<PortMemory*>(at);
    ports_.push_back(port);
    if (ports_.size() > kPortsMost) {
      close_port(ports_.front());
      ports_.erase(ports_.begin());
    }
  }
  static void close_port(OpenPort& port) {
    munmap(port.memory, sizeof *port.memory);
    for (const int fd : port.files) close(fd);
  }

  Input& in_;
  std::string path_;
  ib::sim::Model model_;
  NoCapture capture_;
  Server server_;
  std::array<int, 2> signals_{-1, -1};
  std::vector<int> clients_;
  std::vector<OpenPort> ports_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kStepsMost = 64;
  static const auto ignored = signal(SIGPIPE, SIG_IGN);
  (void)ignored;
  Input in(data, size);
  Run run(in);
  for (std::size_t n = 0; !in.empty() && n < kStepsMost; ++n) run.step();
  run.serve();
  return 0;
}
