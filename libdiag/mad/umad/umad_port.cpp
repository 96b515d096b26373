// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/umad/umad_port.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <infiniband/umad.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "libdiag/mad/describe.h"
#include "libdiag/mad/rmpp.h"
#include "libdiag/mad/umad/local_ports.h"

namespace ib::mad {
namespace {

constexpr std::size_t kHeaderBytes = 24;
constexpr std::size_t kBufferStart = 16U << 10;
constexpr int kFailuresMost = 100;
/// A receiver that cannot be woken looks this often whether it is to end.
constexpr int kSliceMs = 50;

/// The number in a file of sysfs. By open(): ibfabric's library answers it.
std::optional<std::uint32_t> read_number(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  char text[32] = {};
  const auto n = ::read(file, text, sizeof text - 1);
  ::close(file);
  std::uint32_t value = 0;
  const auto parsed = std::from_chars(text, text + std::max<ssize_t>(n, 0), value);
  return parsed.ec == std::errc{} ? std::optional(value) : std::nullopt;
}

/// umad2sim, ibsim's preloaded library, answers for the kernel in this process.
bool under_ibsim() { return dlsym(RTLD_DEFAULT, "sim_client_init") != nullptr; }

Address address_of(const ib_mad_addr_t& from, int p_key_index) {
  Address address;
  address.lid = Lid{be16toh(from.lid)};
  address.qpn = be32toh(from.qpn);
  // The kernel leaves the Q_Key 0 on receipt; an answer to QP1's peer needs the well-known one.
  address.q_key = from.qkey != 0 ? be32toh(from.qkey) : address.qpn == 0 ? 0 : wire::kQp1QKey;
  address.sl = Sl{from.sl};
  address.path_bits = from.path_bits;
  address.p_key_index = static_cast<std::uint16_t>(p_key_index);
  if (from.grh_present != 0) {
    Grh grh;
    std::copy_n(from.gid, 16, grh.gid.bytes.begin());
    grh.gid_index = from.gid_index;
    grh.hop_limit = from.hop_limit;
    grh.traffic_class = from.traffic_class;
    grh.flow_label = be32toh(from.flow_label);
    address.grh = grh;
  }
  return address;
}

void put_address(ib_mad_addr_t& to, const Address& address) {
  to.lid = htobe16(address.lid.value);
  to.qpn = htobe32(address.qpn);
  to.qkey = htobe32(address.q_key);
  to.sl = address.sl.value;
  to.path_bits = address.path_bits;
  if (!address.grh) return;
  to.grh_present = 1;
  std::copy_n(address.grh->gid.bytes.begin(), 16, to.gid);
  to.gid_index = address.grh->gid_index;
  to.hop_limit = address.grh->hop_limit;
  to.traffic_class = address.grh->traffic_class;
  to.flow_label = htobe32(address.grh->flow_label);
}

int milliseconds(Duration d) {
  using std::chrono::milliseconds;
  // Upwards: a wait of less than a millisecond must not become a busy loop.
  const auto ms = (d + milliseconds(1) - Duration(1)) / milliseconds(1);
  return static_cast<int>(std::clamp<std::int64_t>(ms, 0, 1'000'000'000));
}

}  // namespace

struct UmadPort::Impl {
  int fd{-1};
  PortFacts first_facts;
  Receiving receiving{Receiving::Direct};
  bool ibsim{false};
  std::vector<std::byte> send_buffer;
  std::vector<std::byte> receive_buffer;
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<std::uint32_t> queue_most{kReceiveThreshold};
  std::string no_kernel_threshold;

  // Between the receiver thread and the consumer.
  std::thread receiver;
  std::atomic<bool> ending{false};
  std::mutex mutex;
  std::condition_variable arrived;
  std::vector<Received> queue;
  std::optional<Error> broken;
  int event_fd{-1};
  bool has_event_loop{false};      // somebody looks at event_fd
  std::vector<AgentId> segmented;  // agents whose messages the kernel takes apart

  ~Impl() {
    ending = true;
    if (receiver.joinable()) receiver.join();
    if (event_fd >= 0) ::close(event_fd);
    if (fd >= 0) umad_close_port(fd);
  }

  std::string name() const {
    return fmt::format("{} port {}", first_facts.device, first_facts.port_num);
  }

  enum class Outcome { Got, Nothing, Dropped, Failed };

  /// One umad_recv. `error` is set with Failed.
  Outcome receive_one(Received& out, int wait_ms, int& error) {
    const std::size_t header = umad_size();
    while (true) {
      auto* umad = receive_buffer.data();
      int length = static_cast<int>(receive_buffer.size() - header);
      errno = 0;
      const int agent = umad_recv(fd, umad, &length, wait_ms);
      if (agent < 0) {
        const int code = errno_of(agent);
        if (code == ETIMEDOUT || code == EAGAIN || code == EWOULDBLOCK || code == EINTR)
          return Outcome::Nothing;
        if (code == ENOSPC && receive_buffer.size() < (std::size_t{1} << 30)) {
          // A long RMPP message. It stays queued until the buffer can take it; its header says how
          // long it is, older kernels excepted.
          ib_user_mad_t head;
          std::memcpy(&head, umad, sizeof head);
          receive_buffer.resize(std::max<std::size_t>(
              2 * receive_buffer.size(),
              head.length < (1U << 30) ? std::size_t{head.length} + header : 0));
          continue;
        }
        error = code;
        return Outcome::Failed;
      }
      const auto* mad = static_cast<const std::byte*>(umad_get_mad(umad));
      const auto bytes = static_cast<std::size_t>(std::max(length, 0));
      if (bytes < kHeaderBytes) {
        ++dropped;
        return Outcome::Dropped;
      }
      out.agent = agent;
      out.timed_out = umad_status(umad) != 0;
      out.packet.address = address_of(*umad_get_mad_addr(umad), umad_get_pkey(umad));
      if (bytes == wire::kMadBytes) {  // nearly always
        std::memcpy(out.packet.mad.bytes.data(), mad, wire::kMadBytes);
        out.packet.more.clear();
        return Outcome::Got;
      }
      const std::size_t first = std::min(bytes, wire::kMadBytes);
      std::copy_n(mad, first, out.packet.mad.bytes.begin());
      std::fill(out.packet.mad.bytes.begin() + static_cast<std::ptrdiff_t>(first),
                out.packet.mad.bytes.end(), std::byte{0});
      out.packet.more.assign(mad + first, mad + bytes);
      return Outcome::Got;
    }
  }

  Error receive_error(int code) const {
    return {ErrorKind::Unavailable, fmt::format("receiving on {}: {}", name(), std::strerror(code)),
            0};
  }

  void run_receiver() {
    std::vector<Received> batch;
    int failures = 0;
    while (!ending) {
      int error = 0;
      int wait_ms = kSliceMs;
      // What is there is taken in one go, so the consumer is woken once.
      while (batch.size() < UmadPort::kReadMost) {
        batch.emplace_back();
        const Outcome outcome = receive_one(batch.back(), wait_ms, error);
        if (outcome != Outcome::Got) batch.pop_back();
        if (outcome == Outcome::Nothing || outcome == Outcome::Failed) {
          // umad2sim reports a spurious wake-up as EIO; a device that is gone says it every time.
          failures = outcome == Outcome::Failed ? failures + 1 : 0;
          break;
        }
        wait_ms = 0;
      }
      if (failures >= kFailuresMost) {
        const std::lock_guard lock(mutex);
        broken = receive_error(error);
        signal();
        return;
      }
      if (!batch.empty()) {
        hand_over(batch);
      } else {
        batch = {};  // nothing for a while: what a rush needed goes
      }
    }
  }

  void hand_over(std::vector<Received>& batch) {
    const std::lock_guard lock(mutex);
    const bool was_empty = queue.empty();
    const std::size_t most = queue_most;
    if (was_empty && batch.size() <= most) {
      std::swap(queue, batch);
    } else {
      const std::size_t room = most - std::min(queue.size(), most);
      const std::size_t taken = std::min(room, batch.size());
      std::move(batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(taken),
                std::back_inserter(queue));
      dropped += batch.size() - taken;
    }
    batch.clear();
    if (was_empty) signal();
  }

  void signal() {
    arrived.notify_one();
    if (!has_event_loop) return;
    const std::uint64_t one = 1;
    // Fails only when the counter is full, and then the descriptor is readable anyway.
    [[maybe_unused]] const auto written = ::write(event_fd, &one, sizeof one);
  }

  Result<void> receive_queued(std::vector<Received>& out, Duration wait) {
    std::unique_lock lock(mutex);
    if (queue.empty() && !broken && wait > Duration{0})
      arrived.wait_for(lock, wait, [&] { return !queue.empty() || broken; });
    if (queue.empty()) {
      if (broken) return tl::unexpected<Error>(*broken);
      return {};
    }
    if (has_event_loop) {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto got = ::read(event_fd, &count, sizeof count);
    }
    if (out.empty()) {
      std::swap(out, queue);
    } else {
      std::move(queue.begin(), queue.end(), std::back_inserter(out));
      queue.clear();
    }
    return {};
  }

  Result<void> receive_direct(std::vector<Received>& out, Duration wait) {
    int wait_ms = milliseconds(wait);
    int failures = 0;
    for (std::size_t batch = 0; batch < UmadPort::kReadMost;) {
      out.emplace_back();
      int error = 0;
      const Outcome outcome = receive_one(out.back(), wait_ms, error);
      if (outcome != Outcome::Got) out.pop_back();
      if (outcome == Outcome::Nothing) break;
      if (outcome == Outcome::Failed && ++failures >= kFailuresMost)
        return tl::unexpected<Error>(receive_error(error));
      if (outcome == Outcome::Got) {
        wait_ms = 0;
        ++batch;
      }
    }
    return {};
  }

  int register_with_umad(const AgentSpec& spec) const {
    long mask[16 / sizeof(long)] = {};
    constexpr unsigned kBits = 8 * sizeof(long);
    for (const wire::Method method : spec.methods) {
      const unsigned m = static_cast<unsigned>(method) & 0x7F;
      mask[m / kBits] |= static_cast<long>(1UL << (m % kBits));
    }
    // No mask is not the same as an empty one to every library: it says "client only".
    long* wanted = spec.methods.empty() ? nullptr : mask;
    const auto c = static_cast<std::uint8_t>(spec.mgmt_class);
    const std::uint8_t rmpp_version = spec.rmpp == AgentSpec::Rmpp::None ? 0 : 1;
    if (spec.rmpp == AgentSpec::Rmpp::User) {
      umad_reg_attr attr{};
      attr.mgmt_class = c;
      attr.mgmt_class_version = spec.class_version;
      attr.flags = UMAD_USER_RMPP;
      std::memcpy(attr.method_mask, mask, sizeof mask);
      attr.oui = wire::is_vendor_range2(spec.mgmt_class) ? spec.oui.value_or(wire::kOpenIbOui) : 0;
      attr.rmpp_version = rmpp_version;
      std::uint32_t id = 0;
      const int rc = umad_register2(fd, &attr, &id);
      return rc == 0 ? static_cast<int>(id) : -std::abs(rc);
    }
    if (wire::is_vendor_range2(spec.mgmt_class)) {
      const std::uint32_t oui = spec.oui.value_or(wire::kOpenIbOui);
      std::uint8_t bytes[3] = {static_cast<std::uint8_t>(oui >> 16),
                               static_cast<std::uint8_t>(oui >> 8), static_cast<std::uint8_t>(oui)};
      return umad_register_oui(fd, c, rmpp_version, bytes, wanted);
    }
    return umad_register(fd, c, spec.class_version, rmpp_version, wanted);
  }

  void set_receive_threshold(std::uint32_t mads) {
    queue_most = mads;
    // In the vendor's libibumad only.
    using Update = int (*)(int fd, int threshold);
    const auto update =
        reinterpret_cast<Update>(dlsym(RTLD_DEFAULT, "umad_update_threshold"));  // NOLINT
    no_kernel_threshold.clear();
    if (update == nullptr) {
      no_kernel_threshold = "this libibumad has no umad_update_threshold";
      return;
    }
    errno = 0;
    if (const int rc = update(fd, static_cast<int>(mads)); rc != 0)
      no_kernel_threshold =
          fmt::format("umad_update_threshold: {} (is ib_umad loaded with enable_rx_threshold=1?)",
                      std::strerror(errno_of(rc)));
  }

  /// umad2sim crashes on a MAD of a class that this process has not registered, so the usual ones
  /// are, as clients. Only by the first port: a later registration takes a class over.
  void satisfy_ibsim() const {
    static std::atomic<bool> done{false};
    if (done.exchange(true)) return;
    for (const int c : {0x01, 0x81, 0x03, 0x04, 0x21}) {
      const bool version2 = c == 0x03 || c == 0x21;
      umad_register(fd, c, version2 ? 2 : 1, 0, nullptr);
    }
  }
};

UmadPort::UmadPort(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
UmadPort::~UmadPort() = default;

Result<std::unique_ptr<UmadPort>> UmadPort::open(const PortChoice& choice, Receiving receiving) {
  auto chosen = choose(choice);
  if (!chosen) return tl::unexpected<Error>(std::move(chosen.error()));
  auto impl = std::make_unique<Impl>();
  impl->first_facts = std::move(*chosen);
  errno = 0;
  impl->fd = umad_open_port(impl->first_facts.device.c_str(), impl->first_facts.port_num);
  if (impl->fd < 0) {
    const int code = errno_of(impl->fd);
    return fail(ErrorKind::Unavailable,
                fmt::format("opening {} for management: {}{}", impl->name(), std::strerror(code),
                            code == EACCES || code == EPERM
                                ? " (needs root, or the group of /dev/infiniband/umad*)"
                            : code == ENOENT ? " (is the module ib_umad loaded?)"
                                             : ""));
  }
  // umad_size() is right only now: it depends on what the kernel agreed to when the port opened.
  impl->receive_buffer.resize(umad_size() + kBufferStart);
  impl->send_buffer.resize(umad_size() + wire::kMadBytes);
  impl->ibsim = under_ibsim();
  if (impl->ibsim) impl->satisfy_ibsim();
  if (receiving == Receiving::EventLoop)
    receiving = impl->ibsim ? Receiving::Thread : Receiving::Direct;
  impl->receiving = receiving;
  impl->set_receive_threshold(choice.receive_threshold);
  if (receiving == Receiving::Thread) {
    impl->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (impl->event_fd < 0)
      return fail(ErrorKind::Io, fmt::format("eventfd: {}", std::strerror(errno)));
    impl->receiver = std::thread([raw = impl.get()] { raw->run_receiver(); });
  }
  return std::unique_ptr<UmadPort>(new UmadPort(std::move(impl)));
}

Result<PortFacts> UmadPort::facts() {
  umad_port_t port;
  errno = 0;
  if (const int rc =
          umad_get_port(impl_->first_facts.device.c_str(), impl_->first_facts.port_num, &port);
      rc < 0)
    return fail(ErrorKind::Unavailable, fmt::format("reading the state of {}: {}", impl_->name(),
                                                    std::strerror(errno_of(rc))));
  PortFacts facts = facts_of(port, impl_->first_facts.node_guid);
  umad_release_port(&port);
  return facts;
}

Result<AgentId> UmadPort::register_agent(const AgentSpec& spec) {
  errno = 0;
  const int agent = impl_->register_with_umad(spec);
  if (agent >= 0) {
    if (spec.rmpp == AgentSpec::Rmpp::Kernel) impl_->segmented.push_back(agent);
    return agent;
  }
  const int code = errno_of(agent);
  const char* why = "";
  if (code == EPROTONOSUPPORT) {
    why = wire::is_smp(spec.mgmt_class)
              ? " (it has no QP0: a virtual function, or the data half of a multi-plane device, "
                "whose SMPs go by its device smiN)"
              : " (it has no QP1: the SMP half of a multi-plane device)";
  } else if (code == EINVAL && !spec.methods.empty()) {
    why = " (does another program serve it?)";
  }
  return fail(ErrorKind::Unavailable,
              fmt::format("registering for class {} on {}: {}{}", mad::class_name(spec.mgmt_class),
                          impl_->name(), std::strerror(code), why));
}

Result<void> UmadPort::send(AgentId agent, const Packet& packet, Duration reply_within) {
  const std::size_t header = umad_size();
  std::size_t bytes = wire::kMadBytes + packet.more.size();
  // What the kernel takes apart is as long as it is: what is beyond its data would be data, too.
  if (std::ranges::count(impl_->segmented, agent) != 0 && rmpp::is_active(packet.mad) &&
      packet.more.empty())
    bytes = rmpp::header_bytes(packet.mad.mgmt_class()) + rmpp::data_bytes(packet);
  auto& buffer = impl_->send_buffer;
  if (buffer.size() < header + wire::kMadBytes + packet.more.size())
    buffer.resize(header + wire::kMadBytes + packet.more.size());
  std::fill_n(buffer.begin(), header, std::byte{0});
  put_address(*umad_get_mad_addr(buffer.data()), packet.address);
  // With the old ABI the MAD starts where the P_Key index would be; this call knows.
  umad_set_pkey(buffer.data(), packet.address.p_key_index);
  auto* mad = static_cast<std::byte*>(umad_get_mad(buffer.data()));
  std::copy(packet.mad.bytes.begin(), packet.mad.bytes.end(), mad);
  std::copy(packet.more.begin(), packet.more.end(), mad + wire::kMadBytes);
  errno = 0;
  const int rc = umad_send(impl_->fd, agent, buffer.data(), static_cast<int>(bytes),
                           milliseconds(reply_within), 0);
  if (rc >= 0) return {};
  const int code = errno_of(rc);
  const bool gone = code == ENODEV || code == EIO || code == EBADF || code == EPIPE;
  return fail(gone ? ErrorKind::Unavailable : ErrorKind::Io,
              fmt::format("sending {} by {}: {}", describe(packet.address, packet.mad),
                          impl_->name(), std::strerror(code)));
}

Result<void> UmadPort::receive(std::vector<Received>& out, Duration wait) {
  return impl_->receiving == Receiving::Thread ? impl_->receive_queued(out, wait)
                                               : impl_->receive_direct(out, wait);
}

int UmadPort::readable_fd() const {
  if (impl_->receiving == Receiving::Direct) return impl_->ibsim ? -1 : umad_get_fd(impl_->fd);
  const std::lock_guard lock(impl_->mutex);
  if (!std::exchange(impl_->has_event_loop, true) && !impl_->queue.empty()) impl_->signal();
  return impl_->event_fd;
}
std::uint32_t UmadPort::window_max() const {
  // umad2sim holds its only lock while it writes to ibsim's socket, and its reader needs that lock:
  // when the sockets of both directions are full (about 170 MADs each, retries included) the
  // two processes wait for each other for ever.
  constexpr std::uint32_t kIbsimWindow = 64;
  return impl_->ibsim ? kIbsimWindow : 0;
}
std::optional<SaLimits> UmadPort::sa_limits() const {
  SaLimits limits;
  for (const SaLimit& limit : kSaLimits) {
    const auto value = read_number(
        fmt::format(SYS_INFINIBAND "/{}/mad_sa_cc/{}/{}", device(), number(), limit.name));
    if (!value) return std::nullopt;
    limits.*limit.value = std::clamp(*value, limit.min, limit.max);
  }
  return limits;
}
const std::string& UmadPort::device() const { return impl_->first_facts.device; }
std::uint8_t UmadPort::number() const { return impl_->first_facts.port_num; }
void UmadPort::set_receive_threshold(std::uint32_t mads) { impl_->set_receive_threshold(mads); }
const std::string& UmadPort::no_kernel_threshold_because() const {
  return impl_->no_kernel_threshold;
}
std::uint32_t UmadPort::receive_threshold() const { return impl_->queue_most; }
std::uint64_t UmadPort::dropped() const { return impl_->dropped; }
void UmadPort::reset_dropped() { impl_->dropped = 0; }

}  // namespace ib::mad
