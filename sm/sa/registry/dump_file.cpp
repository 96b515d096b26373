// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/dump_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sm/sa/registry/dump_fields.h"

namespace sm::sa {
namespace {

using dump::kGuidNames;
using dump::kGuidsPerBlock;
using ib::Gid;
using ib::Guid;
using store::McGroup;
using store::McMember;
using store::Service;
using store::Subscription;

constexpr std::uint8_t kSelectorExactly = 2;

std::string text(const Gid& gid) {
  return fmt::format("0x{:016x}:0x{:016x}", gid.prefix(), gid.guid().value);
}

void put(std::string& out, const McGroup& g) {
  const auto exactly = [](std::uint8_t value) { return kSelectorExactly << 6 | value; };
  fmt::format_to(std::back_inserter(out),
                 "MC Group 0x{:04x} {}: mgid={} port_gid={} qkey=0x{:08x} mlid=0x{:04x} "
                 "mtu=0x{:02x} tclass=0x{:02x} pkey=0x{:04x} rate=0x{:02x} pkt_life=0x{:02x} "
                 "sl_flow_hop=0x{:08x} scope_state=0x{:02x} proxy_join=0x0\n\n",
                 g.mlid.value, g.well_known ? " (well known)" : "", text(g.mgid), text(Gid{}),
                 g.q_key, g.mlid.value, exactly(g.mtu), g.traffic_class, g.p_key.value,
                 exactly(g.rate), exactly(g.packet_life),
                 std::uint32_t{g.sl.value} << 28 | (g.flow_label & 0xFFFFF) << 8 | g.hop_limit,
                 g.scope << 4 | 1);
}

void put(std::string& out, const McMember& m, std::uint8_t scope) {
  fmt::format_to(std::back_inserter(out),
                 "mcm_port: port_gid={} scope_state=0x{:02x} proxy_join=0x{:x}", text(m.port_gid),
                 scope << 4 | m.join_state, m.proxy_join ? 1 : 0);
  if (m.joined_by.value != 0)
    fmt::format_to(std::back_inserter(out), " joined_by=0x{:016x}", m.joined_by.value);
  out += "\n\n";
}

void put(std::string& out, const Subscription& s) {
  const auto& i = s.inform_info;
  fmt::format_to(
      std::back_inserter(out),
      "InformInfo Record: subscriber_gid={} subscriber_enum=0x0 InformInfo: gid={} "
      "lid_range_begin=0x{:x} lid_range_end=0x{:x} is_generic=0x{:x} subscribe=0x{:x} "
      "trap_type=0x{:x} trap_num=0x{:x} qpn_resp_time_val=0x{:x} node_type=0x{:06x} rep_addr: "
      "lid=0x{:04x} path_bits=0x{:02x} static_rate=0x00 remote_qp=0x{:08x} remote_qkey=0x{:08x} "
      "pkey_ix=0x{:04x} sl=0x{:02x} trusted=0x{:x}",
      text(Gid::from(ib::kDefaultSubnetPrefix, s.subscriber)), text(i.gid), i.lid_range_begin.value,
      i.lid_range_end.value, i.is_generic, i.subscribe, i.type, i.trap_number,
      i.qpn << 8 | i.resp_time_value, i.producer_type, s.to.lid.value, s.to.path_bits, s.to.qpn,
      s.to.q_key, s.to.p_key_index, s.to.sl.value,
      !s.trusted    ? 0
      : s.by_secret ? 2
                    : 1);
  if (const auto& grh = s.to.grh)
    fmt::format_to(std::back_inserter(out),
                   " grh_gid={} grh_gid_index=0x{:02x} grh_hop_limit=0x{:02x} grh_tclass=0x{:02x} "
                   "grh_flow_label=0x{:05x}",
                   text(grh->gid), grh->gid_index, grh->hop_limit, grh->traffic_class,
                   grh->flow_label);
  out += "\n\n";
}

template <class T, std::size_t N>
std::string halves(const std::array<T, N>& values) {
  std::string out = "0x";
  for (std::size_t i = 0; i < N; ++i) {
    if (i == N / 2) out += ":0x";
    fmt::format_to(std::back_inserter(out), "{:0{}x}", values[i], sizeof(T) * 2);
  }
  return out;
}

void put(std::string& out, const Service& s) {
  const auto& r = s.record;
  const std::string_view whole(r.name.data(), r.name.size());
  const auto name = whole.substr(0, whole.find('\0'));
  // The incumbent ends a name at its quote, at the line's end, and after 63 characters.
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '\''; };
  const bool exact = std::all_of(name.begin(), name.end(), is_plain) && name.size() < 64 &&
                     whole.find_first_not_of('\0', name.size()) == std::string_view::npos;
  std::string shown(name);
  std::replace_if(
      shown.begin(), shown.end(), [&](char c) { return !is_plain(c); }, '?');

  const bool for_ever = s.expires == Service::kNeverExpires;
  // There a lease counts from a moment; ours is the end.
  const auto ends = std::clamp<std::int64_t>(s.expires, 0, 0x1FFFFFFFD);
  const std::int64_t lease = std::min<std::uint32_t>(r.lease, 0xFFFFFFFE);
  const auto begins = std::clamp<std::int64_t>(ends - lease, 0, 0xFFFFFFFF);
  fmt::format_to(std::back_inserter(out),
                 "Service Record: id=0x{:016x} gid={} pkey=0x{:x} lease=0x{:x} key={} name='{}' "
                 "data8={} data16={} data32={} data64={} modified_time=0x{:x} lease_period=0x{:x} "
                 "owner=0x{:016x}",
                 r.service_id, text(r.service_gid), r.service_p_key.value, r.lease, halves(r.key),
                 shown, halves(r.data8), halves(r.data16), halves(r.data32), halves(r.data64),
                 for_ever ? 0 : begins, for_ever ? 0xFFFFFFFF : ends - begins, s.owner.value);
  if (!exact) {
    out += " name_hex=0x";
    for (const char c : r.name)
      fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned char>(c));
  }
  out += "\n\n";
}

void put_aliases(std::string& out, const store::Contents& contents) {
  std::map<std::pair<Guid, unsigned>, std::array<Guid, kGuidsPerBlock>> blocks;
  for (const auto& a : contents.aliases)
    blocks[{a.port_guid, a.index / kGuidsPerBlock}][a.index % kGuidsPerBlock] = a.guid;
  for (auto& [key, guids] : blocks) {
    const auto& [port, block] = key;
    if (block == 0) guids[0] = port;  // the hardware's own
    const auto claim =
        std::lower_bound(contents.lids.begin(), contents.lids.end(), port,
                         [](const store::LidClaim& c, Guid guid) { return c.port_guid < guid; });
    const bool has_lid = claim != contents.lids.end() && claim->port_guid == port;
    fmt::format_to(std::back_inserter(out),
                   "GUIDInfo Record: base_guid=0x{:016x} lid=0x{:04x} block_num=0x{:x}", port.value,
                   has_lid ? claim->lid.value : 0, block);
    for (unsigned i = 0; i < kGuidsPerBlock; ++i)
      fmt::format_to(std::back_inserter(out), "{}{:016x}", kGuidNames[i], guids[i].value);
    out += "\n\n";
  }
}

}  // namespace

std::string write_dump(const store::Contents& contents) {
  std::string out = fmt::format("{}, version 1\n\n", kDumpBegins);
  put_aliases(out, contents);
  auto member = contents.members.begin();
  for (const auto& group : contents.groups) {
    put(out, group);
    while (member != contents.members.end() && member->mgid < group.mgid) ++member;
    for (; member != contents.members.end() && member->mgid == group.mgid; ++member)
      put(out, *member, group.scope);
  }
  for (const auto& subscription : contents.subscriptions) put(out, subscription);
  for (const auto& service : contents.services) put(out, service);
  return out;
}

}  // namespace sm::sa
