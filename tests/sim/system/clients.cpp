// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/sim/system/clients.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/query/sa_client.h"
#include "sm/sa/registry/multicast.h"

namespace soak {

using namespace std::chrono_literals;
using ib::Duration;
using ib::Gid;
using ib::Instant;
using ib::fabric::PortRef;
using ib::wire::Method;
namespace attr = ib::wire::attr;

namespace {

constexpr std::uint8_t kMtu2048 = 4;
constexpr std::uint16_t kInvalidRequest = 0x0200, kNoRecords = 0x0300;
constexpr Duration kReplyWithin = 2s, kFirstPause = 250ms, kMostPause = 4s;

ib::mad::AgentSpec client_spec() {
  ib::mad::AgentSpec spec;
  spec.mgmt_class = ib::wire::MgmtClass::SubnAdm;
  spec.class_version = 2;
  spec.methods = {Method::Report};
  return spec;
}

Gid gid_of(const ib::sim::Model& model, PortRef at) {
  return Gid::from(ib::kDefaultSubnetPrefix, model.topology().port(at).guid);
}

template <class Record>
ib::mad::Packet request(ib::Lid sa, Method method, std::uint16_t attribute, const Record& record,
                        std::uint64_t mask) {
  ib::mad::Packet packet;
  packet.address = ib::mad::gsi_address(sa);
  packet.mad = ib::wire::make_mad(ib::wire::MgmtClass::SubnAdm, method, attribute);
  packet.mad.set<&ib::wire::SaHeader::component_mask>(mask);
  ib::wire::set_body(packet.mad, record);
  return packet;
}

ib::mad::Packet membership(ib::Lid sa, const Gid& port, const Wish& wish) {
  using namespace sm::sa::mc_bit;
  const auto bit = [](unsigned n) { return std::uint64_t{1} << n; };
  ib::wire::McMemberRecord r;
  r.mgid = Clients::group(wish.number);
  r.port_gid = port;
  r.join_state = sm::sa::join_state::kFull;
  r.q_key = 0x0b1b;
  r.p_key = ib::kDefaultPKey;
  r.mtu_selector = ib::wire::Selector::Exactly;
  r.mtu = kMtu2048;
  const std::uint64_t mask = bit(kMgid) | bit(kPortGid) | bit(kJoinState);
  if (!wish.wanted) return request(sa, Method::Delete, attr::kMcMemberRecord, r, mask);
  // The group of all is there; of others the first to come says what they are.
  const std::uint64_t makes = wish.number == 0
                                  ? 0
                                  : bit(kQKey) | bit(kTClass) | bit(kPKey) | bit(kSl) |
                                        bit(kFlowLabel) | bit(kMtuSelector) | bit(kMtu);
  return request(sa, Method::Set, attr::kMcMemberRecord, r, mask | makes);
}

ib::mad::Packet registration(ib::Lid sa, const Gid& port, const Wish& wish) {
  ib::wire::ServiceRecord r;
  r.service_id = Clients::service(wish.number);
  r.service_gid = port;
  r.service_p_key = ib::kDefaultPKey;
  r.lease = 0xFFFFFFFF;
  if (wish.wanted) return request(sa, Method::Set, attr::kServiceRecord, r, 0xF);
  return request(sa, Method::Delete, attr::kServiceRecord, r, 0x7);
}

ib::mad::Packet notices(ib::Lid sa, const Wish& wish) {
  ib::wire::InformInfo info;
  info.lid_range_begin = ib::Lid{0xFFFF};
  info.is_generic = 1;
  info.subscribe = wish.wanted ? 1 : 0;
  info.type = 0xFFFF;
  info.trap_number = Clients::notice(wish.number);
  info.producer_type = 0xFFFFFF;
  if (!wish.wanted) info.qpn = 1;
  return request(sa, Method::Set, attr::kInformInfo, info, 0);
}

ib::mad::Packet answer_to_report(const ib::mad::Packet& report) {
  ib::mad::Packet answer = report;
  answer.mad.set<&ib::wire::MadHeader::method>(Method::ReportResp);
  return answer;
}

}  // namespace

std::string_view name_of(Wanted what) {
  constexpr std::string_view kNames[] = {"membership", "service", "subscription"};
  return kNames[static_cast<std::size_t>(what)];
}

Gid Clients::group(unsigned number) {
  Gid mgid;
  mgid.bytes = {0xFF, 0x12, 0x40, 0x1b, 0xFF, 0xFF};
  if (number == 0) {
    std::fill(mgid.bytes.begin() + 12, mgid.bytes.end(), std::uint8_t{0xFF});
  } else {
    mgid.bytes[15] = static_cast<std::uint8_t>(number);
  }
  return mgid;
}

std::uint16_t Clients::notice(unsigned number) {
  return static_cast<std::uint16_t>(ib::wire::trap::kGidInService + number % 4);
}

Clients::Clients(ib::sim::World& world, const std::vector<PortRef>& hosts) : world_(world) {
  for (const PortRef at : hosts) {
    Client& client = clients_.emplace_back();
    client.at = at;
    client.port = world.open(at);
    client.agent = client.port->register_agent(client_spec()).value();
  }
  world.add(*this);
}

Clients::~Clients() { world_.remove(*this); }

void Clients::want(std::size_t number, Wanted what, unsigned of, bool wanted) {
  Client& client = clients_[number];
  const auto same = std::ranges::find_if(
      client.wishes, [&](const Wish& w) { return w.what == what && w.number == of; });
  if (same == client.wishes.end()) {
    if (!wanted) return;
    Wish& wish = client.wishes.emplace_back();
    wish.what = what;
    wish.number = of;
  } else if (same->wanted != wanted) {
    same->wanted = wanted;
    same->granted = false;
    // What is under way is waited for: the two could overtake each other.
    if (same->tid == 0) same->ask_at = world_.now();
  }
  look_for_deadline();
}

void Clients::ask_path(std::size_t number, PortRef to) {
  PathQuestion& question = clients_[number].path.emplace();
  question.to = to;
  if (may_ask(clients_[number])) ask(clients_[number], question);
}

void Clients::on_port_set(PortRef at, const ib::wire::PortInfo& set) {
  if (!set.client_reregister && set.port_state != ib::wire::PortState::Active) return;
  for (Client& client : clients_) {
    if (client.at != at) continue;
    for (Wish& wish : client.wishes) {
      if (!wish.wanted) continue;
      wish.granted = false;
      wish.again = wish.tid != 0;
      // The answer to the Set leaves first.
      wish.ask_at = world_.now() + 1ms;
      wish.pause = Duration{0};
    }
  }
  look_for_deadline();
}

bool Clients::is_content(const Client& client) const {
  const auto info = world_.model().port_info(client.at);
  if (info.port_state != ib::wire::PortState::Active) return true;
  return std::ranges::all_of(client.wishes, &Wish::granted);
}

std::string Clients::what_is_missing(const Client& client) {
  for (const Wish& wish : client.wishes)
    if (!wish.granted)
      return fmt::format("{}{} {}, status 0x{:04x}", wish.wanted ? "" : "rid of ",
                         name_of(wish.what), wish.number, wish.refused);
  return "";
}

bool Clients::may_ask(const Client& client) const {
  const auto info = world_.model().port_info(client.at);
  return info.port_state == ib::wire::PortState::Active && info.master_sm_lid.is_unicast();
}

void Clients::send(Client& client, ib::mad::Packet packet, std::uint64_t tid) {
  packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{tid});
  (void)client.port->send(client.agent, packet, kReplyWithin);
}

void Clients::ask(Instant now, Client& client, Wish& wish) {
  wish.pause = std::min(std::max(wish.pause * 2, kFirstPause), kMostPause);
  wish.ask_at = now + wish.pause;
  if (!may_ask(client)) return;
  const ib::Lid sa = world_.model().port_info(client.at).master_sm_lid;
  const Gid gid = gid_of(world_.model(), client.at);
  // Its lowest bit says what was asked for.
  wish.tid = (++tid_ << 1) | (wish.wanted ? 1 : 0);
  wish.ask_at = ib::kNever;
  switch (wish.what) {
    case Wanted::Membership:
      return send(client, membership(sa, gid, wish), wish.tid);
    case Wanted::Service:
      return send(client, registration(sa, gid, wish), wish.tid);
    case Wanted::Notices:
      return send(client, notices(sa, wish), wish.tid);
  }
}

void Clients::ask(Client& client, PathQuestion& question) {
  using namespace ib::query::component;
  ib::wire::PathRecord wanted;
  wanted.sgid = gid_of(world_.model(), client.at);
  wanted.dgid = gid_of(world_.model(), question.to);
  wanted.numb_path = 1;
  wanted.reversible = true;
  question.tid = ++tid_ << 1;
  send(client,
       request(world_.model().port_info(client.at).master_sm_lid, Method::Get, attr::kPathRecord,
               wanted, kPathSgid | kPathDgid | kPathReversible | kPathNumbPath),
       question.tid);
}

void Clients::take(Instant now, Client& client, const ib::mad::Received& received) {
  const auto& mad = received.packet.mad;
  if (!received.timed_out && mad.method() == Method::Report) {
    ++client.reports;
    (void)client.port->send(received.agent, answer_to_report(received.packet), Duration{0});
    return;
  }
  const std::uint64_t tid = mad.tid().value & 0xFFFFFFFF;
  if (client.path && client.path->tid == tid) {
    client.path->answered = !received.timed_out;
    if (received.timed_out) return;
    ++client.path->answers;
    client.path->status = mad.status();
    client.path->answer = ib::wire::body<ib::wire::PathRecord>(mad);
    return;
  }
  const auto wish = std::ranges::find(client.wishes, tid, &Wish::tid);
  if (wish == client.wishes.end()) return;
  wish->tid = 0;
  if (std::exchange(wish->again, false) || ((tid & 1) != 0) != wish->wanted) {
    wish->ask_at = now;
    return;
  }
  wish->refused = received.timed_out ? 0 : mad.status();
  // What is taken back twice is not there the second time.
  const bool is_gone = !wish->wanted && !received.timed_out &&
                       (mad.status() == kInvalidRequest || mad.status() == kNoRecords);
  if ((!received.timed_out && mad.status() == 0) || is_gone) {
    wish->granted = true;
    wish->pause = Duration{0};
  } else {
    wish->ask_at = now + std::max(wish->pause, kFirstPause);
  }
}

void Clients::step(Instant now) {
  std::vector<ib::mad::Received> arrived;
  bool any = false;
  for (Client& client : clients_) {
    if (!client.port->readable()) continue;
    arrived.clear();
    (void)client.port->receive(arrived, Duration{0});
    for (const auto& r : arrived) take(now, client, r);
    any = true;
  }
  if (!any && due_ > now) return;
  for (Client& client : clients_)
    for (Wish& wish : client.wishes)
      if (!wish.granted && wish.tid == 0 && wish.ask_at <= now) ask(now, client, wish);
  look_for_deadline();
}

void Clients::look_for_deadline() {
  due_ = ib::kNever;
  for (const Client& client : clients_)
    for (const Wish& wish : client.wishes)
      if (!wish.granted && wish.tid == 0) due_ = std::min(due_, wish.ask_at);
}

Instant Clients::next_deadline() const { return due_; }

}  // namespace soak
