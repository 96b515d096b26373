// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the SMI of a node does with SMPs that go by directed routes (IBA 14.2.2): of a sender, and
// of every node on the way.
#include "libdiag/sim/impl.h"

namespace ib::sim {
namespace {

constexpr std::size_t kPathHopsMax = 63;

// The directed-route header read in place: every hop touches it (IBA 14.2.1.2).
struct Route {
  std::byte* at;
  explicit Route(wire::Mad& mad) : at(mad.bytes.data()) {}
  bool returning() const { return (at[4] & std::byte{0x80}) != std::byte{0}; }
  unsigned pointer() const { return std::to_integer<unsigned>(at[6]); }
  void set_pointer(unsigned v) { at[6] = static_cast<std::byte>(v); }
  unsigned count() const { return std::to_integer<unsigned>(at[7]); }
  Lid dr_slid() const { return Lid{load_be<std::uint16_t>(at + 32)}; }
  Lid dr_dlid() const { return Lid{load_be<std::uint16_t>(at + 34)}; }
  unsigned initial(unsigned hop) const { return std::to_integer<unsigned>(at[128 + (hop & 63)]); }
  unsigned back(unsigned hop) const { return std::to_integer<unsigned>(at[192 + (hop & 63)]); }
  void set_back(unsigned hop, unsigned port) {
    at[192 + (hop & 63)] = static_cast<std::byte>(port);
  }
};

}  // namespace

/// What the SMI of the sender does (IBA 14.2.2.2 for requests, 14.2.2.4 for answers): C14-9 and
/// C14-13 in the words of the initiator.
void Model::Impl::originate_directed(FlightIndex f, PortIndex from) {
  Flight& x = flight(f);
  Route route(x.mad);
  const bool on_switch = nodes_[ports_[from].node].is_switch();
  const unsigned count = route.count(), pointer = route.pointer();
  if (count > kPathHopsMax) return drop(f, counters_.dropped_no_route);
  unsigned out = 0;
  if (!route.returning()) {
    if (route.dr_slid() != kPermissiveLid) return originate_by_lid(f, from);
    if (pointer != 0) return drop(f, counters_.dropped_no_route);
    route.set_pointer(1);
    if (count == 0) {
      if (route.dr_dlid() != kPermissiveLid) {
        x.dlid = route.dr_dlid().value;
        x.slid = ports_[from].info.lid.value;
        return originate_by_lid(f, from);
      }
      x.local = true;
      return schedule(now_.ns, EventKind::Local, f, from);
    }
    out = route.initial(1);
  } else {
    if (route.dr_dlid() != kPermissiveLid) return originate_by_lid(f, from);
    if (pointer != count + 1) return drop(f, counters_.dropped_no_route);
    route.set_pointer(count);
    if (count == 0) {
      if (route.dr_slid() != kPermissiveLid) {
        x.dlid = route.dr_slid().value;
        return originate_by_lid(f, from);
      }
      x.local = true;
      return schedule(now_.ns, EventKind::Local, f, from);
    }
    out = route.back(count);
  }
  x.slid = x.dlid = kPermissiveLid.value;
  const SimNode& node = node_of(from);
  if (out == 0 || out > node.num_ports || (!on_switch && out != ports_[from].number))
    return drop(f, counters_.dropped_no_route);
  leave(f, node.first_port + out);
}

/// SMI of a node that a directed-route SMP has reached, by link or at the end of a LID-routed part
/// (IBA 14.2.2.3, 14.2.2.5). The numbers are those of the compliance statements.
void Model::Impl::receive_directed(FlightIndex f, PortIndex in) {
  Flight& x = flight(f);
  Route route(x.mad);
  const PortIndex end = end_port(in);
  SimNode& node = node_of(in);
  const unsigned count = route.count(), pointer = route.pointer();
  const unsigned here = ports_[in].number;
  if (count > kPathHopsMax || pointer > count + 1) return drop(f, counters_.dropped_no_route);
  unsigned out = 0;
  if (!route.returning()) {
    if (pointer == count + 1) return consume(f, end);  // C14-9:4
    if (pointer == count) {                            // C14-9:3, end of the directed part
      if (count > 0) route.set_back(count, here);
      route.set_pointer(count + 1);
      if (route.dr_dlid() == kPermissiveLid) return consume(f, end);
      if (!node.is_switch()) return drop(f, counters_.dropped_no_route);
      x.dlid = route.dr_dlid().value;
      x.slid = ports_[end].info.lid.value;
      return forward_unicast(f, end);
    }
    if (!node.is_switch()) return drop(f, counters_.dropped_no_route);  // C14-9:2
    if (pointer > 0) route.set_back(pointer, here);
    // With pointer 0 this is where the directed part begins (C14-9:1): a LID brought it here.
    route.set_pointer(pointer + 1);
    out = route.initial(pointer + 1);
  } else {
    if (pointer == 0) return consume(f, end);  // C14-13:4
    if (pointer == 1) {
      route.set_pointer(0);  // C14-13:3
      if (route.dr_slid() == kPermissiveLid) return consume(f, end);
      if (!node.is_switch()) return drop(f, counters_.dropped_no_route);
      x.dlid = route.dr_slid().value;
      x.slid = ports_[end].info.lid.value;
      return forward_unicast(f, end);
    }
    if (!node.is_switch()) return drop(f, counters_.dropped_no_route);
    route.set_pointer(pointer - 1);  // C14-13:1 where a LID brought it here, else C14-13:2
    out = route.back(pointer - 1);
  }
  x.slid = x.dlid = kPermissiveLid.value;
  if (out == 0 || out > node.num_ports) return drop(f, counters_.dropped_no_route);
  leave(f, node.first_port + out);
}

}  // namespace ib::sim
