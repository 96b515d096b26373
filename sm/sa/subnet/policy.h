// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What partition, QoS and router files decide about paths and groups, as values. Without such files
// every port is a full member of the default partition, and no request has a level of service.
//
// A path record is decided in this order (doc/sa.md): who may see whom; the level of service by the
// first rule that matches; P_Key; MTU, rate and life as links and level allow, within the request's
// bounds; SL: the request's, the rule's, the router's, the partition's, the default level's, and
// last the routes'.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "libdiag/wire/sa_records.h"
#include "sm/sa/subnet/multicast_options.h"
#include "sm/sa/subnet/paths.h"
#include "sm/sa/subnet/qos.h"

namespace sm::sa {

enum class Membership : std::uint8_t { None, Limited, Full };

struct Partition {
  std::uint16_t base{ib::kDefaultPKey.base()};  // P_Key without the membership bit
  Membership others{Membership::None};          // of ports that are not named
  std::unordered_map<ib::Guid, Membership> members;
  std::optional<ib::Sl> sl;

  Membership of(const EndPort& port) const {
    const auto named = members.find(port.guid);
    return named == members.end() ? others : named->second;
  }
  /// Packets pass between two members of which one at least is full (IBA 10.9.3).
  bool joins(const EndPort& a, const EndPort& b) const;
};

/// Where packets for another subnet leave this one. The first line whose router is there counts.
struct PrefixRoute {
  std::optional<std::uint64_t> prefix;  // none: any
  std::optional<ib::Guid> router;       // none: any router port
};

/// What paths through a router promise beyond this subnet.
struct RouterPaths {
  std::uint32_t flow_label{0};
  std::uint8_t traffic_class{0};
  ib::Sl sl{0};
  std::uint8_t mtu{4};    // 2048
  std::uint8_t rate{16};  // 100 Gb/s
};

struct Policy {
  /// The first that two ports share is theirs.
  std::vector<Partition> partitions{{ib::kDefaultPKey.base(), Membership::Full, {}, std::nullopt}};
  Qos qos;
  std::vector<PrefixRoute> prefix_routes;
  RouterPaths router_paths;
  std::uint8_t rate_code_max{0};  // of paths, for clients that know no higher one; 0: any
  /// Paths from or to a Tavor are faster with packets of 1024 bytes (is_tavor()).
  bool limits_tavor_mtu{false};
  std::uint8_t virtual_hop_limit{2};  // HopLimit of paths from or to virtual ports
  MulticastOptions multicast;
  /// A table of paths that names neither end is refused to the untrusted above this many records.
  std::size_t untrusted_records_max{10'000};

  /// One partition, and everybody a full member.
  bool is_open() const {
    return partitions.size() == 1 && partitions[0].others == Membership::Full &&
           partitions[0].members.empty();
  }
  /// Whether the port's P_Key table has this key, as full or limited member.
  bool holds(const EndPort& port, ib::PKey p_key) const;
  /// Whether two ports share a partition in which one of them at least is a full member: the rule
  /// by which records about a port are shown (IBA 10.9.3).
  bool share(const EndPort& a, const EndPort& b) const;
  /// The partition of `p_key` if packets pass between the two in it.
  const Partition* shared(const EndPort& a, const EndPort& b, ib::PKey p_key) const;
  /// The first partition that the two share, of those that the level of service allows.
  const Partition* first_shared(const EndPort& a, const EndPort& b,
                                const policy::QosGrant* level) const;
};

}  // namespace sm::sa
