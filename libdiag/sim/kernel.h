// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// HostKernel: what ib_mad and user_mad of Linux do for one host port: agents and who gets which
// MAD, transaction identifiers, matching of answers, timeouts and retries, RMPP for agents that
// ask for it, the issm file. A machine: no I/O, no clock. The behaviour is that of Linux
// drivers/infiniband/core/{mad,user_mad,mad_rmpp,smi}.c; numbers in comments are errno values.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "libdiag/base/instant.h"
#include "libdiag/mad/transport.h"
#include "libdiag/sim/model.h"

namespace ib::sim {

/// One open umad file.
using FileId = std::uint32_t;
/// One open, or wanted, issm file.
using IssmId = std::uint32_t;

inline constexpr std::int32_t kAgentsPerFile = 32;
inline constexpr std::uint32_t kMadHeaderBytes = 24, kRmppHeaderBytes = 36;
inline constexpr std::uint32_t kStatusTimedOut = 110;  // ETIMEDOUT, in UserMad::status
inline constexpr std::uint32_t kStatusDropped = 11;  // EAGAIN: the port's queue to the SA was full

/// What an agent asks for when it registers (struct ib_user_mad_reg_req2).
struct Registration {
  std::uint8_t qpn{};
  std::uint8_t mgmt_class{};  // 0: a client of any class that gets answers only
  std::uint8_t class_version{};
  std::uint32_t oui{};
  std::array<std::uint64_t, 2> method_mask{};
  std::uint8_t rmpp_version{};
  bool user_rmpp{false};
};

/// What passes through write() and read() of a umad file. The message is packet.mad and then
/// packet.more, `length` bytes of it.
struct UserMad {
  std::int32_t agent{-1};
  std::uint32_t status{};
  std::uint32_t timeout_ms{};  // 0: no answer is waited for
  std::uint32_t retries{};
  std::uint32_t length{wire::kMadBytes};
  mad::Packet packet;
};

/// The port a kernel drives. ModelAttachment is the usual one; tests have their own.
class Attachment {
 public:
  virtual ~Attachment() = default;
  virtual void transmit(Instant now, bool smi, const mad::Packet& packet) = 0;
  virtual void set_is_sm(Instant now, bool on) = 0;
  virtual std::uint8_t lmc() const = 0;
  virtual std::uint8_t port_num() const = 0;
  virtual bool is_switch() const = 0;
  virtual std::uint32_t receive_queue() const = 0;  // unread MADs of a file, of QP0 and of QP1
  /// Whether ib_umad was loaded with enable_rx_threshold=1.
  virtual bool has_receive_thresholds() const { return true; }
  /// Whether the adapter's driver has MAD congestion control (the vendor's do).
  virtual bool has_sa_congestion() const { return false; }
};

/// Who takes what comes for a file as it comes, which spares it being put aside and fetched again.
class Reader {
 public:
  virtual ~Reader() = default;
  /// A whole MAD for the agent `agent`. False: not now; it waits to be read like any other.
  virtual bool read(std::int32_t agent, const mad::Packet& packet) = 0;
  /// How many MADs it took that the program has not read yet. What is below `enough` may be too
  /// much, which spares a look; 0: exactly.
  virtual std::size_t unread(std::size_t enough) = 0;
};

/// A file's receive queue, as the threshold of the vendor's ib_umad limits it.
struct ReceiveQueue {
  std::uint32_t threshold{};  // MADs that may wait to be read; 0: none was set
  std::size_t unread{};
  std::uint64_t dropped{};  // found as many as that waiting
};

struct KernelCounters {
  std::uint64_t sent{}, received{}, dropped_queue{}, dropped_threshold{}, dropped_no_agent{},
      dropped_no_request{}, unmatched_answered{}, retries{}, timed_out{};
};

class HostKernel {
 public:
  explicit HostKernel(Attachment& port);
  ~HostKernel();
  HostKernel(const HostKernel&) = delete;
  HostKernel& operator=(const HostKernel&) = delete;

  // ---- umad files
  /// `reader`, if there is one, is asked first while nothing waits to be read, and outlives the
  /// file.
  FileId open(Reader* reader = nullptr);
  /// Forgets the file with its agents, outstanding requests and unread MADs.
  void close(FileId file);

  /// The agent's number within the file, or -errno: -12 all agents taken, -22 anything invalid or a
  /// class, version, OUI and method that somebody else has.
  std::int32_t register_agent(FileId file, const Registration& wanted);
  /// 0 or -22.
  int unregister_agent(FileId file, std::int32_t agent);

  /// 0 or -22 (EINVAL). `mad` is moved from only when it was accepted.
  int send(Instant now, FileId file, UserMad& mad);

  /// What arrives while `mads` or more wait to be read is dropped and counted (the vendor's
  /// umad_update_threshold); 0: no threshold. 0, or -95 (EOPNOTSUPP) where the module was
  /// loaded without.
  int set_receive_threshold(FileId file, std::uint32_t mads);
  ReceiveQueue receive_queue(FileId file) const;
  void reset_dropped(FileId file);

  // ---- MAD congestion control of requests to subnet administration, of all files; where the
  // driver has it. What is not sent comes back like what timed out, with ETIMEDOUT after
  // time_sa_mad and with EAGAIN where the queue was full.
  bool has_sa_congestion() const;
  const mad::SaLimits& sa_limits() const;
  void set_sa_limits(const mad::SaLimits& limits);
  std::uint64_t sa_drops() const;
  void reset_sa_drops();

  /// The next MAD to be read, without taking it.
  const UserMad* front(FileId file) const;
  /// Takes it. There must be one.
  UserMad take(FileId file);
  void pop(FileId file);

  // ---- the wire and time
  void on_delivery(Instant now, const Delivery& delivery);
  void advance(Instant now);
  Instant next_event() const;

  // ---- issm: one opener at a time, the others wait in order
  IssmId issm_open(Instant now);
  bool issm_granted(IssmId id) const;
  /// Closing the one that holds IsSM gives it to the next that waits.
  void issm_close(Instant now, IssmId id);
  bool issm_busy() const;

  const KernelCounters& counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A kernel's port in a Model.
class ModelAttachment final : public Attachment {
 public:
  ModelAttachment(Model& model, PortRef port) : model_(model), port_(port) {}
  void transmit(Instant now, bool smi, const mad::Packet& packet) override;
  void set_is_sm(Instant now, bool on) override;
  std::uint8_t lmc() const override;
  std::uint8_t port_num() const override { return port_.port; }
  bool is_switch() const override;
  std::uint32_t receive_queue() const override;
  bool has_receive_thresholds() const override;
  bool has_sa_congestion() const override;

 private:
  Model& model_;
  PortRef port_;
};

}  // namespace ib::sim
