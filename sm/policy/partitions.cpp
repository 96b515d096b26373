// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/partitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "sm/policy/named_nodes.h"

namespace sm::policy {
namespace {

constexpr std::uint16_t kDefaultBase = 0x7FFF, kGeneratedMax = 0x7FFE, kFullBit = 0x8000;
constexpr std::uint8_t kLinkLocal = 2;
/// Q_Key of IPoIB groups, as opensm and the kernel's IPoIB have it.
constexpr std::uint32_t kIpQKey = 0x0B1B;
/// Bytes 2 and 3 of the MGIDs of IPoIB (RFC 4391 4).
constexpr std::uint16_t kIpv4Signature = 0x401B, kIpv6Signature = 0x601B;

std::uint16_t two_bytes(const ib::Gid& gid, std::size_t at) {
  return static_cast<std::uint16_t>(gid.bytes[at] << 8 | gid.bytes[at + 1]);
}
bool is_ip(const ib::Gid& mgid) {
  return two_bytes(mgid, 2) == kIpv4Signature || two_bytes(mgid, 2) == kIpv6Signature;
}
void set_scope(ib::Gid& mgid, std::uint8_t scope) {
  mgid.bytes[1] = static_cast<std::uint8_t>((mgid.bytes[1] & 0xF0) | scope);
}
void set_p_key(ib::Gid& mgid, std::uint16_t p_key) {
  mgid.bytes[4] = static_cast<std::uint8_t>((p_key | kFullBit) >> 8);
  mgid.bytes[5] = static_cast<std::uint8_t>(p_key);
}

/// `flags` where they say something, else what `group` has.
void set_flags(PartitionGroup& group, const GroupFlags& flags) {
  group.rate = flags.rate.value_or(group.rate);
  group.mtu = flags.mtu.value_or(group.mtu);
  group.sl = flags.sl.value_or(group.sl);
  group.q_key = flags.q_key.value_or(group.q_key);
  group.traffic_class = flags.traffic_class.value_or(group.traffic_class);
  group.flow_label = flags.flow_label.value_or(group.flow_label);
}

std::vector<std::uint8_t> scopes_of(const GroupFlags& flags, const GroupFlags& header) {
  if (!flags.scopes.empty()) return flags.scopes;
  if (!header.scopes.empty()) return header.scopes;
  return {kLinkLocal};
}

class Merger {
 public:
  Merger(const PartitionFile& file, const std::string& file_name, GeneratedKeys& keys,
         std::vector<ib::Diagnostic>& diagnostics, const std::set<std::uint16_t>& in_use)
      : file_(file), file_name_(file_name), keys_(keys), diagnostics_(diagnostics) {
    for (const PartitionDefinition& d : file.definitions)
      if (d.p_key) written_[*d.p_key] = true;
    used_ = written_;
    for (const auto& [name, key] : keys) used_[key] = true;
    for (const std::uint16_t key : in_use) used_[key] = true;
    add("Default", kDefaultBase, false);
  }

  Partitions run() {
    for (const PartitionDefinition& d : file_.definitions) {
      Partition* partition = d.p_key ? &by_key(*d.p_key, d) : by_name(d);
      if (partition != nullptr) merge(d, *partition);
    }
    return std::move(out_);
  }

 private:
  void report(ib::Severity severity, ib::TextPlace place, std::string message) {
    diagnostics_.push_back({severity, file_name_, place, std::move(message)});
  }

  Partition& add(const std::string& name, std::uint16_t p_key, bool generated) {
    if (generated) generated_.emplace(name, out_.all.size());
    by_key_.emplace(p_key, out_.all.size());
    return out_.all.emplace_back(Partition{name, p_key, generated, {}, {}, {}});
  }

  Partition& by_key(std::uint16_t p_key, const PartitionDefinition& d) {
    const auto known = by_key_.find(p_key);
    if (known == by_key_.end()) return add(d.name, p_key, false);
    Partition* const at = &out_.all[known->second];
    const bool first_of_default = p_key == kDefaultBase && !default_named_;
    if (p_key == kDefaultBase) default_named_ = true;
    if (first_of_default) {
      if (!d.name.empty()) at->name = d.name;
    } else if (!d.name.empty() && at->name != d.name) {
      report(ib::Severity::Warning, d.place,
             fmt::format("P_Key 0x{:04x} has the name '{}' already; '{}' is merged into it", p_key,
                         at->name, d.name));
    }
    return *at;
  }

  /// Without a key a definition belongs to the partition of its name. nullptr: there is no key
  /// left.
  Partition* by_name(const PartitionDefinition& d) {
    if (const auto known = generated_.find(d.name); known != generated_.end()) {
      Partition* const at = &out_.all[known->second];
      report(ib::Severity::Warning, d.place,
             fmt::format("'{}' was defined before, without a P_Key too; both are one partition; "
                         "write its key ({}=0x{:04x}) to say so",
                         d.name, d.name, at->p_key));
      return at;
    }
    const auto key = generated_key(d.name);
    if (!key) {
      report(ib::Severity::Error, d.place,
             fmt::format("no P_Key is left for '{}': write one that is free", d.name));
      return nullptr;
    }
    report(ib::Severity::Warning, d.place,
           fmt::format("'{}' has no P_Key; 0x{:04x} was generated; write {}=0x{:04x}", d.name, *key,
                       d.name, *key));
    return &add(d.name, *key, true);
  }

  std::optional<std::uint16_t> generated_key(const std::string& name) {
    if (const auto kept = keys_.find(name); kept != keys_.end()) {
      if (!written_[kept->second]) return kept->second;
      // The file gives the key to another partition now; two may not share it.
      keys_.erase(kept);
    }
    const auto free = std::find(used_.begin() + 1, used_.begin() + kGeneratedMax + 1, false);
    if (free == used_.begin() + kGeneratedMax + 1) return std::nullopt;
    *free = true;
    const auto key = static_cast<std::uint16_t>(free - used_.begin());
    keys_.emplace(name, key);
    return key;
  }

  void merge(const PartitionDefinition& d, Partition& partition) {
    if (d.flags.sl) {
      const ib::Sl sl{*d.flags.sl};
      if (partition.sl && *partition.sl != sl)
        report(ib::Severity::Warning, d.place,
               fmt::format("the SL of P_Key 0x{:04x} was {} before and is {} from here on",
                           partition.p_key, partition.sl->value, sl.value));
      partition.sl = sl;
    }
    if (d.ipoib)
      for (const std::uint8_t scope : scopes_of({}, d.flags)) {
        PartitionGroup group;
        group.mgid = broadcast_mgid(partition.p_key, scope);
        group.scope = scope;
        group.q_key = kIpQKey;
        set_flags(group, d.flags);
        add(group, partition, d.place);
      }
    for (const GroupLine& line : d.groups) add_line(line, d, partition);
    for (const Member& m : d.members) partition.members.push_back({m.who, m.membership, d.index0});
    warn_of_demotion(d, partition);
  }

  void add_line(const GroupLine& line, const PartitionDefinition& d, Partition& partition) {
    PartitionGroup group;
    group.mgid = line.mgid;
    if (is_ip(group.mgid)) {
      group.q_key = kIpQKey;
      const std::uint16_t embedded = two_bytes(group.mgid, 4);
      if (embedded != 0 && embedded != (partition.p_key | kFullBit)) {
        report(
            ib::Severity::Error, line.place,
            fmt::format("{} has the P_Key 0x{:04x} in it; of this partition it is 0x{:04x} (or 0, "
                        "which is filled in)",
                        to_string(group.mgid), embedded, partition.p_key | kFullBit));
        return;
      }
      set_p_key(group.mgid, partition.p_key);
      if (!agrees(line, d)) return;
    }
    // Not the traffic class, which belongs to the group that it is said of.
    GroupFlags header = d.flags;
    header.traffic_class.reset();
    set_flags(group, header);
    set_flags(group, line.flags);
    for (const std::uint8_t scope : scopes_of(line.flags, d.flags)) {
      group.scope = scope;
      set_scope(group.mgid, scope);
      add(group, partition, line.place);
    }
  }

  /// IPoIB groups have the rate and MTU of the broadcast group (RFC 4391 4).
  bool agrees(const GroupLine& line, const PartitionDefinition& d) {
    const PartitionGroup defaults;
    const auto contradicts = [](const std::optional<std::uint8_t>& said, std::uint8_t header) {
      return said && *said != header;
    };
    const bool rate = contradicts(line.flags.rate, d.flags.rate.value_or(defaults.rate));
    const bool mtu = contradicts(line.flags.mtu, d.flags.mtu.value_or(defaults.mtu));
    if (!rate && !mtu) return true;
    report(
        ib::Severity::Error, line.place,
        fmt::format("the {} of an IPoIB group is that of the partition's broadcast group; say it "
                    "in the definition's first line",
                    rate ? "rate" : "mtu"));
    return false;
  }

  void add(const PartitionGroup& group, Partition& partition, ib::TextPlace place) {
    const auto at = std::ranges::find(partition.groups, group.mgid, &PartitionGroup::mgid);
    if (at == partition.groups.end()) {
      partition.groups.push_back(group);
    } else if (*at != group) {
      report(ib::Severity::Warning, place,
             fmt::format("group {} was defined before with other values, which hold",
                         to_string(group.mgid)));
    }
  }

  void warn_of_demotion(const PartitionDefinition& d, const Partition& partition) {
    if (partition.p_key != kDefaultBase) return;
    for (const Member& m : d.members)
      if (m.who.kind == Selector::Kind::Self && m.membership == Membership::Limited)
        report(ib::Severity::Warning, m.place,
               "the subnet manager's port stays a full member of the default partition, or subnet "
               "administration could not answer limited members");
  }

  const PartitionFile& file_;
  const std::string& file_name_;
  GeneratedKeys& keys_;
  std::vector<ib::Diagnostic>& diagnostics_;
  std::vector<bool> written_ = std::vector<bool>(kFullBit);  // by P_Key: the file says it
  std::vector<bool> used_;                                   // ... or a name had it
  std::unordered_map<std::uint16_t, std::size_t> by_key_;    // where in out_.all
  std::unordered_map<std::string, std::size_t> generated_;   // of names without a key
  bool default_named_{false};
  Partitions out_;
};

/// What one partition makes of a port, while its member list is gone through.
struct Entry {
  bool limited{false}, full{false}, index0{false};
  bool any() const { return limited || full; }
};

/// Ports by what selectors name, so that a list of 10,000 GUIDs over 10,000 ports is quick.
class PortIndex {
 public:
  explicit PortIndex(std::span<const EndPortFacts> ports) : ports_(ports), nodes_(ports) {
    for (std::size_t i = 0; i < ports.size(); ++i) by_guid_.emplace_back(ports[i].guid, i);
    std::ranges::sort(by_guid_);
  }

  template <class Do>
  void for_each(const Selector& who, const MembershipOptions& options, Do&& run) const {
    using Kind = Selector::Kind;
    const auto all_of = [&](auto&& fits) {
      for (std::size_t i = 0; i < ports_.size(); ++i)
        if (fits(ports_[i])) run(i);
    };
    const auto of_kind = [&](EndPortKind kind) {
      all_of([kind](const EndPortFacts& p) { return p.kind == kind; });
    };
    switch (who.kind) {
      case Kind::Guids:
        for (auto at = std::ranges::lower_bound(by_guid_, std::pair(who.first, std::size_t{0}));
             at != by_guid_.end() && at->first <= who.last; ++at)
          run(at->second);
        return;
      case Kind::Node:
        for (const std::size_t at : nodes_.ports(who.name))
          if (!who.port || ports_[at].port == *who.port) run(at);
        return;
      case Kind::Group:
        return all_of([&](const EndPortFacts& p) {
          return options.in_group && options.in_group(who.name, p);
        });
      case Kind::All:
        return all_of([](const EndPortFacts&) { return true; });
      case Kind::AllCas:
        return of_kind(EndPortKind::Ca);
      case Kind::AllSwitches:
        return of_kind(EndPortKind::Switch);
      case Kind::AllRouters:
        return of_kind(EndPortKind::Router);
      case Kind::AllVirtual:
        return of_kind(EndPortKind::Virtual);
      case Kind::Self:
        return all_of([](const EndPortFacts& p) { return p.is_sm; });
      case Kind::None:
        return;
    }
  }

 private:
  std::span<const EndPortFacts> ports_;
  std::vector<std::pair<ib::Guid, std::size_t>> by_guid_;
  NamedNodes nodes_;
};

void enter(Entry& entry, const PartitionMember& member, bool allow_both) {
  const bool full = member.membership != Membership::Limited;
  const bool both = member.membership == Membership::Both && allow_both;
  entry.full = full;
  entry.limited = !full || both;
  entry.index0 = member.index0;
}

}  // namespace

ib::Gid broadcast_mgid(std::uint16_t p_key, std::uint8_t scope) {
  ib::Gid mgid;
  mgid.bytes = {0xFF, 0x10, kIpv4Signature >> 8, kIpv4Signature & 0xFF};
  std::fill(mgid.bytes.end() - 4, mgid.bytes.end(), std::uint8_t{0xFF});
  set_scope(mgid, scope);
  set_p_key(mgid, p_key);
  return mgid;
}

Partitions open_partitions() {
  Partition everybody{"Default", kDefaultBase, false, {}, {}, {}};
  PartitionGroup group;
  group.mgid = broadcast_mgid(kDefaultBase, kLinkLocal);
  group.q_key = kIpQKey;
  everybody.groups.push_back(group);
  Selector all;
  all.kind = Selector::Kind::All;
  everybody.members.push_back({all, Membership::Full, false});
  return {{std::move(everybody)}};
}

Partitions merge_definitions(const PartitionFile& file, const std::string& file_name,
                             GeneratedKeys& keys, std::vector<ib::Diagnostic>& diagnostics,
                             const std::set<std::uint16_t>& in_use) {
  return Merger(file, file_name, keys, diagnostics, in_use).run();
}

std::vector<std::vector<PortPartition>> port_partitions(const Partitions& partitions,
                                                        std::span<const EndPortFacts> ports,
                                                        const MembershipOptions& options) {
  const PortIndex index(ports);
  std::vector<std::vector<PortPartition>> out(ports.size());
  std::vector<Entry> entries(ports.size());
  std::vector<std::size_t> touched;
  for (const Partition& partition : partitions.all) {
    const bool is_default = partition.p_key == kDefaultBase;
    if (is_default)
      for (std::size_t i = 0; i < ports.size(); ++i) {
        entries[i].limited = true;
        touched.push_back(i);
      }
    for (const PartitionMember& member : partition.members)
      index.for_each(member.who, options, [&](std::size_t i) {
        if (!entries[i].any()) touched.push_back(i);
        enter(entries[i], member, options.allow_both);
      });
    for (const std::size_t i : touched) {
      if (is_default && ports[i].is_sm) {
        entries[i].limited = entries[i].limited && entries[i].full;
        entries[i].full = true;
      }
      const Entry& e = entries[i];
      const auto full = static_cast<std::uint16_t>(partition.p_key | kFullBit);
      if (e.full) out[i].push_back({ib::PKey{full}, e.index0});
      if (e.limited) out[i].push_back({ib::PKey{partition.p_key}, e.index0 && !e.full});
      entries[i] = {};
    }
    touched.clear();
  }
  return out;
}

}  // namespace sm::policy
