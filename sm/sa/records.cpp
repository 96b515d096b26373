// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/records.h"

#include <algorithm>
#include <cstring>

#include "libdiag/wire/component_mask.h"
#include "sm/sa/path_records.h"

namespace sm::sa {
namespace {

using ib::Gid;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::McMemberRecord;
using ib::wire::NodeRecord;
using ib::wire::PortInfoRecord;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

template <class Record>
void put(const Record& value, std::byte* to, std::size_t bytes) {
  std::fill_n(to, bytes, std::byte{0});
  ib::wire::encode(value, to);
}

/// One record an end port: a CA's or router's port, a switch as its port 0.
class NodeSource final : public RecordSource {
 public:
  NodeSource(std::shared_ptr<const Paths> paths, const Query& query)
      : RecordSource(ib::wire::LayoutOf<NodeRecord>::kBytes),
        paths_(std::move(paths)),
        query_(query),
        wanted_(ib::wire::decode<NodeRecord>(query.wanted.data())) {}

  bool next(std::byte* record) override {
    while (at_ < paths_->end_ports().size()) {
      const EndPort& port = paths_->end_ports()[at_++];
      const auto made = make(port);
      if (!is_meant(port, made)) continue;
      put(made, record, record_bytes());
      return true;
    }
    return false;
  }

 private:
  static constexpr unsigned kLidBit = 0, kDescriptionBit = 14;

  bool is_meant(const EndPort& port, const NodeRecord& made) const {
    if (has_bit(query_.mask, kLidBit) && !port.owns(wanted_.lid)) return false;
    // A description ends at its first NUL; what clients leave behind that is not compared.
    const auto& text = made.node_description.text;
    if (has_bit(query_.mask, kDescriptionBit) &&
        std::strncmp(text.data(), wanted_.node_description.text.data(), text.size()) != 0)
      return false;
    return ib::wire::matches(made, wanted_, query_.mask & ~(bit(kLidBit) | bit(kDescriptionBit)));
  }
  NodeRecord make(const EndPort& port) const {
    const auto& observed = *paths_->snapshot().observed;
    const auto& node = observed.fabric.node(port.port.node);
    NodeRecord r;
    r.lid = port.lid;
    r.node_info = observed.nodes[port.port.node].info;
    r.node_info.port_guid = port.guid;
    r.node_info.local_port_num = ib::PortNum{port.port.port};
    auto& text = r.node_description.text;
    std::copy_n(node.description.begin(), std::min(text.size(), node.description.size()),
                text.begin());
    return r;
  }

  std::shared_ptr<const Paths> paths_;
  Query query_;
  NodeRecord wanted_;
  std::size_t at_{0};
};

/// One record a port, a switch's external ports under the switch's LID.
class PortInfoSource final : public RecordSource {
 public:
  PortInfoSource(std::shared_ptr<const Paths> paths, const Query& query)
      : RecordSource(ib::wire::LayoutOf<PortInfoRecord>::kBytes),
        paths_(std::move(paths)),
        query_(query),
        wanted_(ib::wire::decode<PortInfoRecord>(query.wanted.data())),
        rest_(query.mask & ~(bit(kLidBit) | bit(kBaseLidBit) | bit(kOptionsBit))) {
    // AttributeModifier bit 31: the capability masks name bits that must be set (IBA 15.2.5.3).
    by_bits_ = (query.modifier & 0x80000000U) != 0;
    if (by_bits_) rest_ &= ~(bit(kCapMaskBit) | bit(kCapMask2Bit));
  }

  bool next(std::byte* record) override {
    while (const EndPort* owner = step()) {
      const auto* info = paths_->snapshot().observed->port_info(at_);
      if (info == nullptr || !is_owner_meant(*owner)) continue;
      const auto made = make(*owner, *info);
      if (!has_capabilities(made.port_info)) continue;
      if (!ib::wire::matches(made, wanted_, rest_)) continue;
      put(made, record, record_bytes());
      return true;
    }
    return false;
  }

 private:
  static constexpr unsigned kLidBit = 0, kOptionsBit = 2, kBaseLidBit = 5, kCapMaskBit = 7,
                            kCapMask2Bit = 53;
  static constexpr std::uint8_t kOptionExtendedSpeeds = 0x80;
  static constexpr std::uint8_t kQdr = 4;

  /// Moves to the next port; its owner, or nullptr at the end.
  const EndPort* step() {
    const auto& ports = paths_->end_ports();
    if (at_) {
      const auto& node = paths_->snapshot().fabric().node(at_.node);
      if (node.is_switch() && at_.port < node.num_ports) {
        ++at_.port;
        return &ports[owner_];
      }
      ++owner_;
    }
    if (owner_ >= ports.size()) return nullptr;
    at_ = ports[owner_].port;
    return &ports[owner_];
  }
  bool is_owner_meant(const EndPort& owner) const {
    if (has_bit(query_.mask, kLidBit) && !owner.owns(wanted_.end_port_lid)) return false;
    // BaseLID is the end port's; external ports of a switch show none.
    return !has_bit(query_.mask, kBaseLidBit) ||
           wanted_.port_info.lid == paths_->snapshot().observed->port_info(at_)->lid;
  }
  bool has_capabilities(const ib::wire::PortInfo& info) const {
    if (!by_bits_) return true;
    const auto lacks = [](auto has, auto want) { return (has & want) != want; };
    const auto& want = wanted_.port_info;
    return !(has_bit(query_.mask, kCapMaskBit) &&
             lacks(info.capability_mask, want.capability_mask)) &&
           !(has_bit(query_.mask, kCapMask2Bit) &&
             lacks(info.capability_mask2, want.capability_mask2));
  }
  PortInfoRecord make(const EndPort& owner, const ib::wire::PortInfo& info) const {
    PortInfoRecord r;
    r.end_port_lid = owner.lid;
    r.port_num = ib::PortNum{at_.port};
    r.options = has_bit(query_.mask, kOptionsBit) ? wanted_.options : std::uint8_t{0};
    r.port_info = info;
    // Neither shown nor compared unless trusted: a masked compare would be an oracle.
    if (!query_.requester.trusted) r.port_info.m_key = 0;
    // A client that does not know extended speeds sees a fast link as QDR, not as no link.
    if ((r.options & kOptionExtendedSpeeds) == 0 && info.link_speed_ext_active != 0) {
      r.port_info.link_speed_active |= kQdr;
      r.port_info.link_speed_enabled |= kQdr;
      r.port_info.link_speed_supported |= kQdr;
    }
    return r;
  }

  std::shared_ptr<const Paths> paths_;
  Query query_;
  PortInfoRecord wanted_;
  std::uint64_t rest_;
  bool by_bits_{false};
  std::size_t owner_{0};
  PortRef at_;
};

/// One record a group; to a trusted client, or where a port is named, one a member. The groups are
/// copied when the query begins: they may change while the table is under way.
class McMemberSource final : public RecordSource {
 public:
  McMemberSource(const Paths& paths, const Multicast& multicast, const Query& query)
      : RecordSource(ib::wire::LayoutOf<McMemberRecord>::kBytes) {
    auto wanted = ib::wire::decode<McMemberRecord>(query.wanted.data());
    if (wanted.port_gid.prefix() == ib::kDefaultSubnetPrefix)
      wanted.port_gid = Gid::from(paths.snapshot().subnet_prefix, wanted.port_gid.guid());
    for (const auto& group : multicast.contents().groups) {
      if (!is_group_meant(group, wanted, query.mask)) continue;
      const bool by_member = query.requester.trusted || has_bit(query.mask, mc_bit::kPortGid);
      const auto members = multicast.members(group.mgid);
      if (!by_member) {
        add(to_record(group), wanted, query.mask);
        continue;
      }
      for (const auto& member : members) {
        auto record = to_record(group);
        if (query.requester.trusted) {
          record.port_gid = member.port_gid;
          record.join_state = member.join_state;
          record.proxy_join = member.proxy_join;
        }
        if (has_bit(query.mask, mc_bit::kPortGid) && member.port_gid != wanted.port_gid) continue;
        add(record, wanted, query.mask);
      }
    }
  }

  bool next(std::byte* record) override {
    if (at_ == records_.size()) return false;
    put(records_[at_++], record, record_bytes());
    return true;
  }

 private:
  static bool is_group_meant(const store::McGroup& group, const McMemberRecord& wanted,
                             std::uint64_t mask) {
    const auto differs = [&](unsigned n, bool same) { return has_bit(mask, n) && !same; };
    return !differs(mc_bit::kMgid, group.mgid == wanted.mgid) &&
           !differs(mc_bit::kMlid, group.mlid == wanted.mlid) &&
           !differs(mc_bit::kScope, group.scope == wanted.scope) &&
           parameters_agree(group, wanted, mask) && is_value_meant(group, wanted, mask) &&
           selectors_agree(group, wanted, mask);
  }
  /// A value without its selector is compared as it stands.
  static bool is_value_meant(const store::McGroup& group, const McMemberRecord& wanted,
                             std::uint64_t mask) {
    const auto differs = [&](unsigned selector, unsigned value, bool same) {
      return has_bit(mask, value) && !has_bit(mask, selector) && !same;
    };
    return !differs(mc_bit::kMtuSelector, mc_bit::kMtu, group.mtu == wanted.mtu) &&
           !differs(mc_bit::kRateSelector, mc_bit::kRate, group.rate == wanted.rate) &&
           !differs(mc_bit::kLifeSelector, mc_bit::kLife, group.packet_life == wanted.packet_life);
  }
  void add(const McMemberRecord& record, const McMemberRecord& wanted, std::uint64_t mask) {
    if (has_bit(mask, mc_bit::kJoinState) && record.join_state != wanted.join_state) return;
    if (has_bit(mask, mc_bit::kProxyJoin) && record.proxy_join != wanted.proxy_join) return;
    records_.push_back(record);
  }

  std::vector<McMemberRecord> records_;
  std::size_t at_{0};
};

}  // namespace

bool is_known_record(std::uint16_t attribute) {
  return attribute == attr::kNodeRecord || attribute == attr::kPortInfoRecord ||
         attribute == attr::kPathRecord || attribute == attr::kMcMemberRecord;
}

Opened open_query(const World& world, const Query& query) {
  switch (query.attribute) {
    case attr::kNodeRecord:
      return std::make_unique<NodeSource>(world.paths, query);
    case attr::kPortInfoRecord:
      return std::make_unique<PortInfoSource>(world.paths, query);
    case attr::kPathRecord:
      return open_path_query(world, query);
    case attr::kMcMemberRecord: {
      const auto wanted = ib::wire::decode<McMemberRecord>(query.wanted.data());
      if (!valid_selectors(wanted, query.mask)) return status::kSaReqInvalid;
      return std::make_unique<McMemberSource>(*world.paths, world.state.multicast, query);
    }
    default:
      return status::kBadAttribute;
  }
}

}  // namespace sm::sa
