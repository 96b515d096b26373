// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/dump_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <compare>
#include <map>
#include <optional>
#include <set>

#include "sm/sa/subscriptions.h"

namespace sm::sa {
namespace {

using ib::Gid;
using ib::Guid;
using ib::Lid;
using store::AliasGuid;
using store::McGroup;
using store::McMember;
using store::Service;
using store::Subscription;

constexpr std::size_t kComplaintsMax = 20;
constexpr unsigned kGuidsPerBlock = 8;
constexpr std::string_view kGuidNames[kGuidsPerBlock] = {" guid0=0x", " guid1=0x", " guid2=0x",
                                                         " guid3=0x", " guid4=0x", " guid5=0x",
                                                         " guid6=0x", " guid7=0x"};
constexpr std::uint8_t kSelectorExactly = 2;
constexpr std::uint8_t kKeepsGroup = 1 | 8;  // full and send-only full members

std::string text(const Gid& gid) {
  return fmt::format("0x{:016x}:0x{:016x}", gid.prefix(), gid.guid().value);
}

// ---- writing

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

// ---- reading

/// The fields of a line, looked up one after the other: text between them is passed over.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}

  /// The number after the next `name`, which ends in "0x". Without it, or with a number of more
  /// than T, the line is bad.
  template <class T>
  T number(std::string_view name) {
    const auto at = rest_.find(name);
    if (at == std::string_view::npos) return bad<T>(name);
    rest_.remove_prefix(at + name.size());
    T value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, 16);
    const auto length = static_cast<std::size_t>(end - rest_.data());
    const bool ended = length == rest_.size() || rest_[length] == ' ' || rest_[length] == ':' ||
                       rest_[length] == '\r' || rest_[length] == '\t';
    if (error != std::errc{} || !ended) return bad<T>(name);
    rest_.remove_prefix(length);
    return value;
  }
  bool has(std::string_view name) const { return rest_.find(name) != std::string_view::npos; }
  Gid gid(std::string_view name) {
    const auto prefix = number<std::uint64_t>(name);
    return Gid::from(prefix, Guid{number<std::uint64_t>(":0x")});
  }
  /// 16 bytes as two halves of 16 digits.
  template <class T, std::size_t N>
  void array(std::string_view name, std::array<T, N>& values) {
    constexpr std::size_t kPerHalf = N / 2;
    for (std::size_t half = 0; half < 2; ++half) {
      const auto v = number<std::uint64_t>(half == 0 ? name : ":0x");
      for (std::size_t i = 0; i < kPerHalf; ++i)
        values[half * kPerHalf + i] = static_cast<T>(v >> (8 * sizeof(T) * (kPerHalf - 1 - i)));
    }
  }
  std::string_view quoted(std::string_view name) {
    const auto at = rest_.find(name);
    if (at == std::string_view::npos) return bad<std::string_view>(name);
    rest_.remove_prefix(at + name.size());
    if (rest_.empty()) return bad<std::string_view>(name);
    const char mark = rest_[0] == '\'' || rest_[0] == '"' ? rest_[0] : ' ';
    if (mark != ' ') rest_.remove_prefix(1);
    const auto value = rest_.substr(0, rest_.find(mark));
    rest_.remove_prefix(std::min(rest_.size(), value.size() + (mark != ' ' ? 1U : 0U)));
    return value;
  }
  /// Pairs of digits.
  template <std::size_t N>
  void hex(std::string_view name, std::array<char, N>& to) {
    const auto at = rest_.find(name);
    if (at == std::string_view::npos || rest_.size() - at - name.size() < 2 * N) {
      bad<int>(name);
      return;
    }
    rest_.remove_prefix(at + name.size());
    for (std::size_t i = 0; i < N; ++i) {
      std::uint8_t value{};
      const char* first = rest_.data() + 2 * i;
      const auto [end, error] = std::from_chars(first, first + 2, value, 16);
      if (error != std::errc{} || end != first + 2) bad<int>(name);
      to[i] = static_cast<char>(value);
    }
    rest_.remove_prefix(2 * N);
  }

  /// The first field that was missing or no number; empty when all were fine.
  std::string_view missing() const { return missing_; }

 private:
  template <class T>
  T bad(std::string_view name) {
    if (missing_.empty()) missing_ = name;
    return {};
  }
  std::string_view rest_;
  std::string_view missing_;
};

class Reader {
 public:
  void line(std::string_view line) {
    ++number_;
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty() || line[0] == '#') return;
    Fields fields(line);
    if (line.starts_with("MC Group")) {
      read_group(fields, line);
    } else if (line.starts_with("mcm_port")) {
      read_member(fields);
    } else {
      in_group_ = false;
      if (line.starts_with("Service Record:")) {
        read_service(fields);
      } else if (line.starts_with("InformInfo Record:")) {
        read_subscription(fields);
      } else if (line.starts_with("GUIDInfo Record:")) {
        read_guids(fields);
      } else {
        complain("neither a group, a member, a service, a subscription nor GUIDs");
      }
    }
  }

  ReadDump result() && {
    // What nobody keeps alive is not made again.
    for (const auto& [mgid, group] : groups_) {
      const auto first = members_.lower_bound({mgid, Gid{}});
      auto last = first;
      bool alive = group.well_known;
      for (; last != members_.end() && last->first.first == mgid; ++last)
        alive = alive || (last->second.join_state & kKeepsGroup) != 0;
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
  void read_member(Fields& f) {
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
  void read_service(Fields& f) {
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
  void read_subscription(Fields& f) {
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
    // The incumbent does not say it: whoever subscribed there to what is for the trusted was one.
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
  void read_guids(Fields& f) {
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

Missing missing_from(const store::Contents& contents, const store::Contents& dump,
                     std::int64_t unix_seconds) {
  Missing missing;
  store::Batch& batch = missing.batch;
  std::map<Gid, Lid> known;
  std::map<Lid, Gid> taken;
  for (const auto& group : contents.groups) {
    known.emplace(group.mgid, group.mlid);
    taken.emplace(group.mlid, group.mgid);
  }
  std::set<std::pair<Gid, Gid>> joined;
  for (const auto& member : contents.members) joined.emplace(member.mgid, member.port_gid);

  auto member = dump.members.begin();
  for (const auto& group : dump.groups) {
    std::vector<McMember> lacking;
    while (member != dump.members.end() && member->mgid < group.mgid) ++member;
    for (; member != dump.members.end() && member->mgid == group.mgid; ++member)
      if (!joined.contains({member->mgid, member->port_gid})) lacking.push_back(*member);
    const auto leave_out = [&](const std::string& but) {
      if (lacking.empty()) return;
      missing.left_out.push_back(fmt::format(
          "group {}: {} to join again: in the dump it has MLID 0x{:04x}, {}", to_string(group.mgid),
          lacking.size() == 1 ? "one member has" : fmt::format("{} members have", lacking.size()),
          group.mlid.value, but));
    };
    if (const auto here = known.find(group.mgid); here != known.end()) {
      if (here->second != group.mlid) {
        leave_out(fmt::format("here 0x{:04x}", here->second.value));
        continue;
      }
    } else if (const auto other = taken.find(group.mlid); other != taken.end()) {
      // Groups of the dump may share an MLID; with others they do not.
      leave_out(fmt::format("which here is that of {}", to_string(other->second)));
      continue;
    } else {
      batch.groups.push_back(group);
    }
    batch.members.insert(batch.members.end(), lacking.begin(), lacking.end());
  }

  const auto lacks = [](const auto& list, const auto& same) {
    return std::none_of(list.begin(), list.end(), same);
  };
  for (const auto& s : dump.services)
    if (s.expires > unix_seconds &&
        lacks(contents.services, [&](const Service& o) { return o.key() == s.key(); }))
      batch.services.push_back(s);
  for (const auto& s : dump.subscriptions)
    if (lacks(contents.subscriptions,
              [&](const Subscription& o) { return std::is_eq(compare_keys(o, s)); }))
      batch.subscriptions.push_back(s);
  // A GUID is one port's only.
  std::set<Guid> borne;
  for (const auto& a : contents.aliases) borne.insert(a.guid);
  for (const auto& a : dump.aliases)
    if (lacks(contents.aliases,
              [&](const AliasGuid& o) {
                return o.port_guid == a.port_guid && o.index == a.index && o.guid.value != 0;
              }) &&
        borne.insert(a.guid).second)
      batch.aliases.push_back(a);
  return missing;
}

}  // namespace sm::sa
