// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any bytes as packets at the whole SA, in virtual time: every parser, every query, RMPP in and
// out, writes and their commits. It stays within its bounds, answers what it let in once, and ends.
#include <algorithm>

#include "libdiag/mad/rmpp.h"
#include "sm/sa/server.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/sm/sa/run_commits.h"
#include "tests/unit/sm/sa/snapshot_of.h"

namespace {

using namespace ib;
using fuzz::require;
using mad::Packet;
using wire::MadHeader;
using wire::Method;
using wire::SaHeader;

/// 4 leaves of 2 hosts.
std::shared_ptr<const sm::Snapshot> small_subnet() {
  fabric::FatTree tree;
  tree.radix = 4;
  tree.hosts_per_leaf = 2;
  tree.leaves = 4;
  tree.spines = 2;
  return sm::sa::test::snapshot_of(*fabric::generate(tree));
}

/// One byte of shape, then what the shape leaves open; the data area is what the input says.
Packet packet_from(fuzz::Input& in) {
  static constexpr Method kMethods[] = {Method::Get,      Method::Set,       Method::GetTable,
                                        Method::GetMulti, Method::Delete,    Method::GetTraceTable,
                                        Method::Report,   Method::ReportResp};
  static constexpr std::uint16_t kAttributes[] = {
      wire::attr::kClassPortInfo,      wire::attr::kNodeRecord,
      wire::attr::kPortInfoRecord,     wire::attr::kSlToVlRecord,
      wire::attr::kSwitchInfoRecord,   wire::attr::kLinearFdtRecord,
      wire::attr::kMulticastFdtRecord, wire::attr::kSmInfoRecord,
      wire::attr::kLinkRecord,         wire::attr::kGuidInfoRecord,
      wire::attr::kServiceRecord,      wire::attr::kPKeyTableRecord,
      wire::attr::kPathRecord,         wire::attr::kVlArbitrationRecord,
      wire::attr::kMcMemberRecord,     wire::attr::kTraceRecord,
      wire::attr::kMultiPathRecord,    wire::attr::kInformInfoRecord,
      wire::attr::kInformInfo,         wire::attr::kNotice};
  const std::uint8_t shape = in.byte(), from = in.byte();
  const auto attribute = (shape & 0x80) != 0
                             ? static_cast<std::uint16_t>(in.byte() << 8 | in.byte())
                             : kAttributes[in.byte() % std::size(kAttributes)];
  Packet packet;
  packet.mad = wire::make_mad(wire::MgmtClass::SubnAdm, kMethods[shape & 7], attribute,
                              (shape & 0x40) != 0 ? in.word() : 0);
  packet.mad.set<&MadHeader::class_version>(static_cast<std::uint8_t>(from == 0xFF ? 1 : 2));
  packet.mad.set<&MadHeader::tid>(Tid{static_cast<std::uint64_t>(in.byte() % 5)});
  packet.address = mad::gsi_address(Lid{static_cast<std::uint16_t>(1 + from % 40)});
  if ((from & 0x40) != 0) {
    packet.address.grh.emplace();
    packet.address.grh->gid = Gid::from(kDefaultSubnetPrefix, Guid{in.byte()});
  }
  std::uint64_t mask = 0;
  for (int bits = in.byte() % 9; bits > 0; --bits) mask |= std::uint64_t{1} << (in.byte() & 63);
  packet.mad.set<&SaHeader::component_mask>(mask);
  packet.mad.set<&SaHeader::sm_key>(static_cast<std::uint64_t>(shape >> 5 & 1));
  if ((shape & 0x10) != 0) {
    wire::RmppHeader h;
    const std::uint8_t flags = in.byte();
    h.version = (flags & 0x80) != 0 ? in.byte() : std::uint8_t{1};
    h.type = (flags & 0x40) != 0 ? in.byte() : static_cast<std::uint8_t>(1 + (flags >> 4 & 3));
    h.active = true;
    h.first = (flags & 2) != 0;
    h.last = (flags & 4) != 0;
    h.status = (flags & 8) != 0 ? in.byte() : std::uint8_t{0};
    h.data1 = (flags & 1) != 0 ? in.word() : in.byte();
    h.data2 = (flags & 1) != 0 ? in.word() : in.byte();
    wire::encode(h, packet.mad.bytes.data());
  }
  if ((shape & 8) != 0) packet.mad.set<&SaHeader::attribute_offset>(in.byte());
  const std::size_t body = std::min<std::size_t>(in.byte(), wire::kSaDataBytes);
  for (std::size_t i = 0; i < body; ++i) packet.mad.data()[i] = std::byte{in.byte()};
  return packet;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto kSubnet = small_subnet();
  fuzz::Input in(data, size);
  const std::uint8_t how = in.byte();
  sm::sa::Options options;
  options.admission.queue_size = 4;
  options.transfers_max = 4;
  options.transfers_per_requester = 2;
  options.replays.reads_bytes_max = options.replays.writes_bytes_max = 4096;
  options.kernel_rmpp = (how & 1) != 0;
  options.trust.enhanced = (how & 2) != 0;
  auto store = sm::store::make_memory_store();
  sm::sa::Server server(options);
  Instant now{1'000'000'000};
  sm::sa::run_commits(server, *store, now);
  server.publish(now, kSubnet);

  std::size_t fed = 0, sent = 0;
  const auto drain = [&] {
    do {
      sm::sa::run_commits(server, *store, now);
    } while (server.work(now));
    // As the daemon's router does; until they are taken, these are a deadline that is due.
    server.take_multicast_changed();
    server.take_aliases_changed();
    (void)server.take_untold_clients();
    while (auto packet = server.next_send(now)) {
      ++sent;
      require(packet->mad.mgmt_class() == wire::MgmtClass::SubnAdm, "answers are of its class");
      require(packet->mad.get<&SaHeader::sm_key>() == 0 || mad::rmpp::is_active(packet->mad),
              "no answer tells the key");
    }
  };
  while (!in.empty() && fed < 200) {
    const std::uint8_t step = in.byte();
    if ((step & 0xF0) == 0xF0) {
      now = now + std::chrono::milliseconds(100 * (step & 0x0F));
      if (server.next_deadline() <= now) server.on_time(now);
    }
    const auto packet = packet_from(in);
    server.on_packet(now, packet);
    ++fed;
    if ((step & 1) == 0) drain();
  }
  drain();
  // A table begins with one segment, and an ACK opens a window of 128 at the most.
  require(sent <= 140 * fed + 16, "no storm");
  for (int i = 0; i < 100'000 && server.next_deadline() != kNever; ++i) {
    now = std::max(now, server.next_deadline());
    server.on_time(now);
    drain();
    if (now.ns > Instant{1'000'000'000}.ns + 600'000'000'000) break;
  }
  const auto& c = server.counters();
  require(c.requests == c.answers + c.replayed + c.under_way + c.dropped_not_ready +
                            c.dropped_sm_key + c.dropped_unanswerable,
          "what was let in was answered once");
  return 0;
}
