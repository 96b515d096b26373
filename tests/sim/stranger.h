// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A host of the fabric that sends what it likes: Sets that are not its to send, forged traps, data
// under a wrong P_Key. Nothing that comes back is looked at.
#pragma once

#include "tests/sim/sm_on_model.h"

namespace sm::test {

class Stranger {
 public:
  Stranger(SmOnModel& run, ib::fabric::PortRef at) : run_(run), at_(at) {}

  /// The last host of the fabric, far from the subnet manager.
  static ib::fabric::PortRef last_host(const ib::fabric::Fabric& f) {
    ib::fabric::PortRef last;
    for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (f.node(n).type == ib::wire::NodeType::ChannelAdapter && f.port(n, 1).peer) last = {n, 1};
    return last;
  }

  ib::fabric::PortRef at() const { return at_; }
  ib::Lid lid() const { return run_.model().port_info(at_).lid; }

  /// `to`: a LID, or a directed route.
  template <class To, class Body>
  void set(const To& to, std::uint16_t attribute, std::uint32_t modifier, const Body& body) {
    auto request = ib::mad::smp_request(0, 0, to, ib::wire::Method::Set, attribute, modifier);
    ib::wire::set_body(request.mad, body);
    send(request.address, request.mad);
  }

  /// A trap to the subnet manager that says it is from `issuer`.
  void trap(ib::wire::Notice notice) {
    auto mad = ib::wire::make_mad(ib::wire::MgmtClass::SubnLid, ib::wire::Method::Trap,
                                  ib::wire::attr::kNotice);
    ib::wire::set_body(mad, notice);
    send(ib::mad::smi_address(run_.model().port_info(run_.at()).lid), mad);
  }

  void send(const ib::mad::Address& address, ib::wire::Mad mad) {
    mad.set<&ib::wire::MadHeader::tid>(ib::Tid{++tid_});
    run_.model().send(run_.now(), at_, true, {address, mad, {}});
  }
  /// A GMP to the subnet manager's QP1.
  void send_gmp(std::uint16_t p_key_index) {
    ib::mad::Address address = ib::mad::gsi_address(run_.model().port_info(run_.at()).lid);
    address.p_key_index = p_key_index;
    auto mad = ib::wire::make_mad(ib::wire::MgmtClass::SubnAdm, ib::wire::Method::Get,
                                  ib::wire::attr::kClassPortInfo);
    mad.set<&ib::wire::MadHeader::tid>(ib::Tid{++tid_});
    run_.model().send(run_.now(), at_, false, {address, mad, {}});
  }

 private:
  SmOnModel& run_;
  ib::fabric::PortRef at_;
  std::uint64_t tid_{0x5000};
};

}  // namespace sm::test
