// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A host's kernel behind a port whose wire is a list, and the clients and MADs of its tests.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "libdiag/sim/kernel.h"

namespace ib::sim {

/// A port whose wire is a list.
class Wire final : public Attachment {
 public:
  struct Sent {
    bool smi;
    mad::Packet packet;
  };
  void transmit(Instant, bool smi, const mad::Packet& packet) override {
    sent.push_back({smi, packet});
  }
  void set_is_sm(Instant, bool on) override { is_sm = on; }
  std::uint8_t lmc() const override { return lmc_value; }
  std::uint8_t port_num() const override { return 1; }
  bool is_switch() const override { return false; }
  std::uint32_t receive_queue() const override { return slots; }
  bool has_receive_thresholds() const override { return thresholds; }
  bool has_sa_congestion() const override { return sa_congestion; }

  std::vector<Sent> sent;
  bool is_sm{false};
  std::uint8_t lmc_value{0};
  std::uint32_t slots{512};
  bool thresholds{true};
  bool sa_congestion{false};
};

inline Registration client_of(wire::MgmtClass c, std::uint8_t version = 1) {
  Registration r;
  r.mgmt_class = static_cast<std::uint8_t>(c);
  r.class_version = version;
  r.qpn = wire::is_smp(c) ? 0 : 1;
  if (wire::is_vendor_range2(c)) r.oui = wire::kOpenIbOui;
  return r;
}
inline Registration server_of(wire::MgmtClass c, std::initializer_list<wire::Method> methods,
                              std::uint8_t version = 1) {
  Registration r = client_of(c, version);
  for (const wire::Method m : methods) {
    const auto bit = static_cast<unsigned>(m);
    r.method_mask[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  return r;
}

inline UserMad message(std::int32_t agent, wire::Mad mad, std::uint32_t tid,
                       std::uint32_t timeout_ms = 0, std::uint32_t retries = 0) {
  UserMad m;
  m.agent = agent;
  m.timeout_ms = timeout_ms;
  m.retries = retries;
  mad.set<&wire::MadHeader::tid>(Tid{tid});
  m.packet.mad = mad;
  m.packet.address = wire::is_smp(mad.mgmt_class()) ? mad::smi_address() : mad::gsi_address(Lid{7});
  return m;
}
inline wire::Mad perf_get() {
  return wire::make_mad(wire::MgmtClass::Perf, wire::Method::Get, wire::attr::kPortCounters);
}

inline Delivery arrival(const mad::Packet& packet, bool smi = false) {
  Delivery d;
  d.smi = smi;
  d.packet = packet;
  return d;
}
/// What the other side answers to `request`.
inline mad::Packet answer_to(const mad::Packet& request) {
  mad::Packet p = request;
  const auto method = static_cast<unsigned>(wire::Method::GetResp);
  p.mad.set<&wire::MadHeader::method>(static_cast<wire::Method>(method));
  return p;
}

class Kernel : public testing::Test {
 protected:
  Instant at(int ms) const { return Instant{} + std::chrono::milliseconds(ms); }
  /// Everything unread of a file.
  std::vector<UserMad> read(FileId from) {
    std::vector<UserMad> all;
    while (kernel.front(from) != nullptr) all.push_back(kernel.take(from));
    return all;
  }
  int send(FileId to, UserMad m, int ms = 0) { return kernel.send(at(ms), to, m); }

  Wire port;
  HostKernel kernel{port};
  FileId file = kernel.open();
};

}  // namespace ib::sim
