// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// UmadPort: mad::Port over libibumad: a real HCA through the kernel, ibfabric's and ibsim's
// simulated ones through their preloaded libraries. Thin: it decides nothing about retries, windows
// or answers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/mad/transport.h"

namespace ib::mad {

/// MADs that may wait to be read, unless told otherwise, and the range.
inline constexpr std::uint32_t kReceiveThreshold = 8192, kReceiveThresholdMin = 64,
                               kReceiveThresholdMax = 1U << 20;

/// Which port of this host. Nothing named: libibumad's default, as the stock programs take it. Of
/// several that fit: the first ACTIVE one, else the first that is not DOWN, else the first.
struct PortChoice {
  std::string device;                  // "mlx5_0"
  std::optional<std::uint8_t> number;  // of `device`, or of any
  std::optional<Guid> port_guid;
  /// MADs that may wait to be read; more are dropped (UmadPort::set_receive_threshold).
  std::uint32_t receive_threshold{kReceiveThreshold};
};

/// Every InfiniBand port of this host; Ethernet ports of such adapters are not among them. None is
/// not an error.
Result<std::vector<PortFacts>> list_umad_ports();

class UmadPort final : public Port {
 public:
  enum class Receiving {
    /// receive() reads the device itself: cheapest for a program that does nothing but wait for
    /// answers. readable_fd() is the device's, -1 under ibsim, whose descriptors are not real.
    Direct,
    /// A thread of its own reads the device, so the kernel's queue never fills while the program
    /// computes, and readable_fd() fits into any event loop under ibsim too.
    Thread,
    /// For a program with an event loop that comes round within milliseconds: Direct, but Thread
    /// under ibsim.
    EventLoop,
  };

  /// MADs that one receive() reads from the device at most.
  static constexpr std::size_t kReadMost = 256;

  static Result<std::unique_ptr<UmadPort>> open(const PortChoice& choice = {},
                                                Receiving receiving = Receiving::Direct);
  ~UmadPort() override;
  UmadPort(const UmadPort&) = delete;
  UmadPort& operator=(const UmadPort&) = delete;

  Result<PortFacts> facts() override;
  Result<AgentId> register_agent(const AgentSpec& spec) override;
  Result<void> send(AgentId agent, const Packet& packet, Duration reply_within) override;
  Result<void> receive(std::vector<Received>& out, Duration wait) override;
  int readable_fd() const override;
  std::uint32_t window_max() const override;
  /// Read from the files of /sys/class/infiniband/DEVICE/mad_sa_cc/PORT.
  std::optional<SaLimits> sa_limits() const override;

  const std::string& device() const;
  std::uint8_t number() const;

  /// How many received MADs may wait to be read; more are dropped: by the kernel, where the library
  /// has umad_update_threshold and the kernel's ib_umad was loaded with enable_rx_threshold=1, and
  /// in any case in the receiver thread's queue. open() does it.
  void set_receive_threshold(std::uint32_t mads);
  std::uint32_t receive_threshold() const;
  /// Why the kernel does not drop above the threshold; empty: it does.
  const std::string& no_kernel_threshold_because() const;

  /// MADs that were shorter than a MAD header, or found the receive queue full; dropped.
  std::uint64_t dropped() const;
  void reset_dropped();

 private:
  struct Impl;
  explicit UmadPort(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// While it lives the port carries CapabilityMask.IsSM. One holder at a time. Under ibsim it must
/// be taken after all agents are registered.
class IsSmFlag {
 public:
  static Result<IsSmFlag> take(const std::string& device, std::uint8_t number);
  IsSmFlag(IsSmFlag&& other) noexcept;
  IsSmFlag& operator=(IsSmFlag&& other) noexcept;
  ~IsSmFlag();

 private:
  explicit IsSmFlag(int fd) : fd_(fd) {}
  int fd_{-1};
};

}  // namespace ib::mad
