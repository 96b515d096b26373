// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/wire/smp_attributes.h"
#include "tests/sim/system/mutant.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

using Fate = Overseer::Fate;
using ib::wire::Method;
using sm::core::Outgoing;
namespace attr = ib::wire::attr;

bool is_set_of(const Outgoing& out, std::uint16_t attribute) {
  return out.packet.mad.method() == Method::Set && out.packet.mad.attribute_id() == attribute;
}

/// Of all Sets of `attribute` one in `every` is what `spoil` makes of it, and the subnet manager
/// is told that its own was done.
template <class Body>
class SpoiledSets : public Mutant {
 public:
  SpoiledSets(std::uint16_t attribute, unsigned every) : attribute_(attribute), every_(every) {}
  Fate on_send(System& system, Seat& seat, const Outgoing& out) override {
    if (!is_set_of(out, attribute_)) return Fate::Done;
    auto body = ib::wire::body<Body>(out.packet.mad);
    if (!spoil(system, seat, out, body) || ++seen_ % every_ != 0) return Fate::Done;
    ib::mad::Packet spoiled = out.packet;
    ib::wire::set_body(spoiled.mad, body);
    system.send_from(seat.at, true, spoiled);
    return Fate::Answered;
  }

 private:
  /// False: there is nothing to be spoilt.
  virtual bool spoil(System&, Seat&, const Outgoing&, Body& body) = 0;

  std::uint16_t attribute_;
  unsigned every_, seen_{0};
};

/// One in `every` Sets of an attribute is never sent, and taken for done.
template <std::uint16_t attribute, unsigned every>
class LostSet final : public Mutant {
  Fate on_send(System&, Seat&, const Outgoing& out) override {
    return is_set_of(out, attribute) && ++seen_ % every == 0 ? Fate::Answered : Fate::Done;
  }
  unsigned seen_{0};
};

/// One Set in 40, since a port that is set once more gets its own LID again.
class LidTwice final : public SpoiledSets<ib::wire::PortInfo> {
 public:
  LidTwice() : SpoiledSets(attr::kPortInfo, 40) {}

 private:
  bool spoil(System&, Seat&, const Outgoing& out, ib::wire::PortInfo& info) override {
    // A host's; its LMC is 0, or the device would refuse it.
    if (out.packet.mad.attribute_modifier() == 0 || !info.lid.is_unicast() || info.lmc != 0)
      return false;
    const ib::Lid last = std::exchange(last_, info.lid);
    if (!last.is_unicast() || last == info.lid) return false;
    info.lid = last;
    return true;
  }
  ib::Lid last_{};
};

class LoopingEntry final : public SpoiledSets<ib::wire::LinearForwardingTable> {
 public:
  LoopingEntry() : SpoiledSets(attr::kLinearForwarding, 2) {}

 private:
  bool spoil(System& system, Seat& seat, const Outgoing& out,
             ib::wire::LinearForwardingTable& table) override {
    const auto& fabric = system.model().topology();
    const NodeIndex here = system.target_of(seat, out);
    if (here == ib::fabric::kNoNode) return false;
    for (std::size_t i = 0; i < table.port.size(); ++i) {
      if (table.port[i] == 255 || table.port[i] == 0) continue;
      const ib::Lid lid{
          static_cast<std::uint16_t>(std::size_t{out.packet.mad.attribute_modifier()} * 64 + i)};
      for (unsigned p = 1; p <= fabric.node(here).num_ports; ++p) {
        // To a switch that already sends here.
        const PortRef peer = fabric.port(here, p).peer;
        if (!peer || system.model().lft(peer.node, lid) != peer.port) continue;
        table.port[i] = static_cast<std::uint8_t>(p);
        return true;
      }
    }
    return false;
  }
};

class ForgottenBranch final : public SpoiledSets<ib::wire::MulticastForwardingTable> {
 public:
  ForgottenBranch() : SpoiledSets(attr::kMulticastForwarding, 3) {}

 private:
  bool spoil(System&, Seat&, const Outgoing&, ib::wire::MulticastForwardingTable& table) override {
    for (std::uint16_t& mask : table.port_mask) {
      if (mask == 0) continue;
      mask = static_cast<std::uint16_t>(mask & (mask - 1));
      return true;
    }
    return false;
  }
};

class LeftInArmed final : public Mutant {
  Fate on_send(System&, Seat&, const Outgoing& out) override {
    if (!is_set_of(out, attr::kPortInfo)) return Fate::Done;
    const auto state = ib::wire::body<ib::wire::PortInfo>(out.packet.mad).port_state;
    return state == ib::wire::PortState::Active && ++seen_ % 5 == 0 ? Fate::Answered : Fate::Done;
  }
  unsigned seen_{0};
};

class WidenedPKey final : public Mutant {
  Fate on_send(System& system, Seat& seat, const Outgoing& out) override {
    if (!is_set_of(out, attr::kPKeyTable)) return Fate::Done;
    auto table = ib::wire::body<ib::wire::PKeyTable>(out.packet.mad);
    for (ib::PKey& key : table.p_keys) {
      if (key.value == 0 || (key.value & 0x8000) != 0) continue;
      key.value = static_cast<std::uint16_t>(key.value | 0x8000);
      ib::mad::Packet widened = out.packet;
      ib::wire::set_body(widened.mad, table);
      system.send_from(seat.at, true, widened);
      break;
    }
    return Fate::Done;
  }
};

class UpTooEarly final : public Mutant {
  void on_report(System&, Seat&, sm::core::Report& report) override {
    report.missing = report.unmanaged = report.silent = report.held_down = report.changed = 0;
  }
};

class LostService final : public Mutant {
  void on_commit(System&, Seat&, sm::store::Batch& batch) override { batch.services.clear(); }
};

class LeftMemberStays final : public Mutant {
  void on_commit(System&, Seat&, sm::store::Batch& batch) override {
    std::erase_if(batch.members, [](const auto& member) { return member.join_state == 0; });
  }
};

class TwoMasters final : public Mutant {
  void prepare(System& system) override {
    for (const auto& seat : system.seats()) seat->options.mastership.ignore_others = true;
  }
};

class NeverQuiet final : public Mutant {
  Fate on_send(System& system, Seat& seat, const Outgoing& out) override {
    // What is known is written again, now and then.
    if (is_set_of(out, attr::kLinearForwarding)) last_ = out.packet;
    if (last_ && out.packet.mad.attribute_id() == attr::kSwitchInfo && ++seen_ % 40 == 0)
      system.send_from(seat.at, true, *last_);
    return Fate::Done;
  }
  std::optional<ib::mad::Packet> last_;
  unsigned seen_{0};
};

class WrongPath final : public Mutant {
  bool on_sa_packet(System&, Seat&, ib::mad::Packet& packet) override {
    if (packet.mad.attribute_id() != attr::kPathRecord || packet.mad.status() != 0) return true;
    auto path = ib::wire::body<ib::wire::PathRecord>(packet.mad);
    path.dlid = path.slid;
    ib::wire::set_body(packet.mad, path);
    return true;
  }
};

class LostAnswer final : public Mutant {
  bool on_sa_packet(System&, Seat&, ib::mad::Packet&) override { return ++seen_ % 3 != 0; }
  unsigned seen_{0};
};

template <class M>
std::unique_ptr<Mutant> make() {
  return std::make_unique<M>();
}

constexpr MutantRow kMutants[] = {
    {"a Set of a forwarding table is lost and not repeated", "I1",
     make<LostSet<attr::kLinearForwarding, 2>>},
    {"a Set of a mapping of SLs is lost and not repeated", "I2", make<LostSet<attr::kSlToVl, 1>>},
    {"an entry sends packets back", "I3", make<LoopingEntry>},
    {"a LID is given twice", "I4", make<LidTwice>},
    {"a port is left in ARMED", "I6", make<LeftInArmed>},
    {"a branch of a tree is forgotten", "I7", make<ForgottenBranch>},
    {"a service that was acknowledged is not stored", "I8", make<LostService>},
    {"a member who left is not taken from the store", "I8", make<LeftMemberStays>},
    {"a P_Key is widened for a moment", "I9", make<WidenedPKey>},
    {"two are master", "I10", make<TwoMasters>},
    {"SUBNET UP is said too early", "I11", make<UpTooEarly>},
    {"a path leads elsewhere", "I14", make<WrongPath>},
    {"an answer is lost", "I14", make<LostAnswer>},
    {"tables are written again for nothing", "I18", make<NeverQuiet>},
};

}  // namespace

std::span<const MutantRow> mutants() { return kMutants; }

}  // namespace soak
