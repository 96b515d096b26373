// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "sm/sa/registry/dump_fields.h"
#include "sm/sa/registry/dump_file.h"
#include "sm/sa/registry/multicast.h"
#include "sm/sa/registry/subscriptions.h"

namespace sm::sa {
namespace {

using dump::Fields;
using dump::kGuidNames;
using dump::kGuidsPerBlock;
using ib::Gid;
using ib::Guid;
using ib::Lid;
using store::AliasGuid;
using store::McGroup;
using store::McMember;
using store::Service;
using store::Subscription;

constexpr std::size_t kComplaintsMax = 20;

class Reader {
 public:
  void line(std::string_view line) {
    ++number_;
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty() || line[0] == '#') return;
    struct Kind {
      std::string_view begins;
      void (Reader::*read)(Fields& fields, std::string_view line);
      bool is_of_group;  // members come behind their group
    };
    static constexpr Kind kKinds[] = {{"MC Group", &Reader::read_group, true},
                                      {"mcm_port", &Reader::read_member, true},
                                      {"Service Record:", &Reader::read_service, false},
                                      {"InformInfo Record:", &Reader::read_subscription, false},
                                      {"GUIDInfo Record:", &Reader::read_guids, false}};
    const auto* kind =
        std::ranges::find_if(kKinds, [&](const Kind& k) { return line.starts_with(k.begins); });
    const bool is_known = kind != std::end(kKinds);
    if (!is_known || !kind->is_of_group) in_group_ = false;
    if (!is_known)
      return complain("neither a group, a member, a service, a subscription nor GUIDs");
    Fields fields(line);
    (this->*kind->read)(fields, line);
  }

  ReadDump result() && {
    // What nobody keeps alive is not made again.
    for (const auto& [mgid, group] : groups_) {
      const auto first = members_.lower_bound({mgid, Gid{}});
      auto last = first;
      bool alive = group.well_known;
      for (; last != members_.end() && last->first.first == mgid; ++last)
        alive = alive || join_state::keeps_group(last->second.join_state);
      if (!alive) continue;
      read_.contents.groups.push_back(group);
      for (auto at = first; at != last; ++at) read_.contents.members.push_back(at->second);
    }
    store::Batch rest;
    rest.services = std::move(services_);
    rest.subscriptions = std::move(subscriptions_);
    rest.aliases = std::move(aliases_);
    store::apply(rest, read_.contents);
    return std::move(read_);
  }

 private:
  void complain(const std::string& what) {
    ++read_.passed_over;
    if (read_.complaints.size() < kComplaintsMax)
      read_.complaints.push_back(fmt::format("line {}: {}", number_, what));
  }
  /// Whether every field was there.
  bool is_whole(const Fields& fields) {
    if (fields.missing().empty()) return true;
    complain(fmt::format("no number after \"{}\"", fields.missing()));
    return false;
  }

  void read_group(Fields& f, std::string_view line) {
    in_group_ = false;
    McGroup g;
    g.mlid = Lid{f.number<std::uint16_t>(" 0x")};
    g.mgid = f.gid(" mgid=0x");
    (void)f.gid(" port_gid=0x");
    g.q_key = f.number<std::uint32_t>(" qkey=0x");
    (void)f.number<std::uint16_t>(" mlid=0x");
    g.mtu = f.number<std::uint8_t>(" mtu=0x") & 0x3F;
    g.traffic_class = f.number<std::uint8_t>(" tclass=0x");
    g.p_key = ib::PKey{f.number<std::uint16_t>(" pkey=0x")};
    g.rate = f.number<std::uint8_t>(" rate=0x") & 0x3F;
    g.packet_life = f.number<std::uint8_t>(" pkt_life=0x") & 0x3F;
    const auto sl_flow_hop = f.number<std::uint32_t>(" sl_flow_hop=0x");
    g.sl = ib::Sl{static_cast<std::uint8_t>(sl_flow_hop >> 28)};
    g.flow_label = sl_flow_hop >> 8 & 0xFFFFF;
    g.hop_limit = static_cast<std::uint8_t>(sl_flow_hop);
    g.scope = f.number<std::uint8_t>(" scope_state=0x") >> 4;
    if (!is_whole(f)) return;
    if (!g.mlid.is_multicast() || !g.mgid.is_multicast())
      return complain("no multicast LID or GID");
    g.well_known = line.substr(0, line.find(':')).find("(well known)") != std::string_view::npos;
    in_group_ = true;
    group_ = g.mgid;
    groups_[g.mgid] = g;
  }
  void read_member(Fields& f, std::string_view) {
    McMember m;
    m.port_gid = f.gid(" port_gid=0x");
    m.join_state = f.number<std::uint8_t>(" scope_state=0x") & 0x0F;
    m.proxy_join = (f.number<std::uint8_t>(" proxy_join=0x") & 0x81) != 0;
    if (m.proxy_join && f.has(" joined_by=0x"))
      m.joined_by = Guid{f.number<std::uint64_t>(" joined_by=0x")};
    if (!is_whole(f)) return;
    if (!in_group_) return complain("a member without a group before it");
    m.mgid = group_;
    if (m.join_state != 0) members_[{m.mgid, m.port_gid}] = m;
  }
  void read_service(Fields& f, std::string_view) {
    Service s;
    auto& r = s.record;
    r.service_id = f.number<std::uint64_t>(" id=0x");
    r.service_gid = f.gid(" gid=0x");
    r.service_p_key = ib::PKey{f.number<std::uint16_t>(" pkey=0x")};
    r.lease = f.number<std::uint32_t>(" lease=0x");
    f.array(" key=0x", r.key);
    const auto name = f.quoted(" name=");
    std::copy_n(name.begin(), std::min(name.size(), r.name.size()), r.name.begin());
    f.array(" data8=0x", r.data8);
    f.array(" data16=0x", r.data16);
    f.array(" data32=0x", r.data32);
    f.array(" data64=0x", r.data64);
    const auto modified = f.number<std::uint32_t>(" modified_time=0x");
    const auto period = f.number<std::uint32_t>(" lease_period=0x");
    if (period != 0xFFFFFFFF) s.expires = std::int64_t{modified} + period;
    s.owner =
        f.has(" owner=0x") ? Guid{f.number<std::uint64_t>(" owner=0x")} : r.service_gid.guid();
    if (f.has(" name_hex=0x")) f.hex(" name_hex=0x", r.name);
    if (is_whole(f)) services_.push_back(s);
  }
  void read_subscription(Fields& f, std::string_view) {
    Subscription s;
    auto& i = s.inform_info;
    s.subscriber = f.gid(" subscriber_gid=0x").guid();
    i.gid = f.gid(" gid=0x");
    i.lid_range_begin = Lid{f.number<std::uint16_t>(" lid_range_begin=0x")};
    i.lid_range_end = Lid{f.number<std::uint16_t>(" lid_range_end=0x")};
    i.is_generic = f.number<std::uint8_t>(" is_generic=0x");
    i.subscribe = f.number<std::uint8_t>(" subscribe=0x");
    i.type = f.number<std::uint16_t>(" trap_type=0x");
    i.trap_number = f.number<std::uint16_t>(" trap_num=0x");
    const auto qpn = f.number<std::uint32_t>(" qpn_resp_time_val=0x");
    i.qpn = qpn >> 8;
    i.resp_time_value = qpn & 0x1F;
    i.producer_type = f.number<std::uint32_t>(" node_type=0x") & 0xFFFFFF;
    s.to.lid = Lid{f.number<std::uint16_t>(" rep_addr: lid=0x")};
    s.to.path_bits = f.number<std::uint8_t>(" path_bits=0x");
    s.to.qpn = f.number<std::uint32_t>(" remote_qp=0x") & 0xFFFFFF;
    s.to.q_key = f.number<std::uint32_t>(" remote_qkey=0x");
    s.to.p_key_index = f.number<std::uint16_t>(" pkey_ix=0x");
    s.to.sl = ib::Sl{static_cast<std::uint8_t>(f.number<std::uint8_t>(" sl=0x") & 0x0F)};
    // opensm does not say it: a client that subscribed to what only trusted ones may get was
    // trusted.
    s.trusted = f.has(" trusted=0x") ? f.number<std::uint8_t>(" trusted=0x") != 0
                                     : i.is_generic == 1 && is_security_trap(i.trap_number);
    s.by_secret = f.has(" trusted=0x2");
    if (f.has(" grh_gid=0x")) {
      ib::mad::Grh grh;
      grh.gid = f.gid(" grh_gid=0x");
      grh.gid_index = f.number<std::uint8_t>(" grh_gid_index=0x");
      grh.hop_limit = f.number<std::uint8_t>(" grh_hop_limit=0x");
      grh.traffic_class = f.number<std::uint8_t>(" grh_tclass=0x");
      grh.flow_label = f.number<std::uint32_t>(" grh_flow_label=0x") & 0xFFFFF;
      s.to.grh = grh;
    }
    if (!is_whole(f)) return;
    if (!s.to.lid.is_unicast()) return complain("reports to no unicast LID");
    subscriptions_.push_back(s);
  }
  void read_guids(Fields& f, std::string_view) {
    const Guid port{f.number<std::uint64_t>(" base_guid=0x")};
    (void)f.number<std::uint16_t>(" lid=0x");
    const auto block = f.number<std::uint8_t>(" block_num=0x");
    std::array<Guid, kGuidsPerBlock> guids;
    for (unsigned i = 0; i < kGuidsPerBlock; ++i)
      guids[i] = Guid{f.number<std::uint64_t>(kGuidNames[i])};
    if (!is_whole(f)) return;
    for (unsigned i = 0; i < kGuidsPerBlock; ++i) {
      const auto index = static_cast<std::uint16_t>(block * kGuidsPerBlock + i);
      if (index != 0 && guids[i].value != 0) aliases_.push_back({port, index, guids[i]});
    }
  }

  ReadDump read_;
  std::size_t number_{0};
  bool in_group_{false};
  Gid group_;
  std::map<Gid, McGroup> groups_;
  std::map<std::pair<Gid, Gid>, McMember> members_;
  std::vector<Service> services_;
  std::vector<Subscription> subscriptions_;
  std::vector<AliasGuid> aliases_;
};

}  // namespace

ReadDump read_dump(std::string_view text) {
  Reader reader;
  while (!text.empty()) {
    const auto end = text.find('\n');
    reader.line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return std::move(reader).result();
}

bool is_dump(std::string_view text) {
  const ReadDump read = read_dump(text);
  return read.contents != store::Contents{} ||
         (text.starts_with(kDumpBegins) && read.passed_over == 0);
}

}  // namespace sm::sa
