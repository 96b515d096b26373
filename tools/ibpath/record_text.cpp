// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibpath/record_text.h"

#include <fmt/format.h>

#include "libdiag/base/text.h"
#include "tools/ibpath/port_info_text.h"

namespace ibpath {
namespace {

using namespace ib::wire;

constexpr std::string_view kHidden = "<not displayed>";

/// Two tabs, the name, dots up to the record's column, the value.
class Rows {
 public:
  Rows(std::string title, std::size_t column) : text_(std::move(title) + "\n"), column_(column) {}

  Rows& line(std::string_view text) {
    text_ += fmt::format("\t\t{}\n", text);
    return *this;
  }
  Rows& row(std::string_view name, std::string_view value) {
    text_ += fmt::format("\t\t{:.<{}}{}\n", name, column_, value);
    return *this;
  }
  Rows& dec(std::string_view name, std::uint64_t v) { return row(name, fmt::format("{}", v)); }
  Rows& hex(std::string_view name, std::uint64_t v) { return row(name, fmt::format("0x{:X}", v)); }
  Rows& low(std::string_view name, std::uint64_t v) { return row(name, fmt::format("0x{:x}", v)); }
  Rows& hex(std::string_view name, std::uint64_t v, int digits) {
    return row(name, fmt::format("0x{:0{}X}", v, digits));
  }
  Rows& word(std::string_view name, std::uint64_t v) {
    return row(name, fmt::format("0x{:016x}", v));
  }
  Rows& gid(std::string_view name, const ib::Gid& v) { return row(name, to_string(v)); }
  Rows& raw(std::string_view text) {
    text_ += text;
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::size_t column_;
};

/// Bytes of the encoded record as one number: how saquery shows fields that share bytes.
template <class T>
std::uint64_t raw_bytes(const T& record, std::size_t byte, std::size_t bytes) {
  std::byte encoded[LayoutOf<T>::kBytes]{};
  encode(record, encoded);
  std::uint64_t v = 0;
  for (std::size_t i = byte; i < byte + bytes; ++i)
    v = v << 8 | std::to_integer<std::uint64_t>(encoded[i]);
  return v;
}

std::string text_of(std::span<const char> characters) {
  return ib::printable({characters.data(), characters.size()});
}

std::string secret(std::uint64_t key, const TextOptions& options) {
  return key == 0 || options.keys ? fmt::format("0x{:016x}", key) : std::string(kHidden);
}

}  // namespace

std::string record_text(const ClassPortInfo& r, const TextOptions&) {
  Rows rows("SA ClassPortInfo:", 25);
  rows.dec("Base version", r.base_version).dec("Class version", r.class_version);
  rows.hex("Capability mask", r.capability_mask, 4);
  rows.hex("Capability mask 2", r.capability_mask2, 8);
  rows.hex("Response time value", r.resp_time_value, 2);
  rows.gid("Redirect GID", r.redirect_gid).hex("Redirect TC/SL/FL", raw_bytes(r, 24, 4), 8);
  rows.dec("Redirect LID", r.redirect_lid.value).hex("Redirect PKey", r.redirect_p_key.value, 4);
  rows.hex("Redirect QP", r.redirect_qp, 8).hex("Redirect QKey", r.redirect_q_key, 8);
  rows.gid("Trap GID", r.trap_gid).hex("Trap TC/SL/FL", raw_bytes(r, 56, 4), 8);
  rows.dec("Trap LID", r.trap_lid.value).hex("Trap PKey", r.trap_p_key.value, 4);
  rows.hex("Trap HL/QP", raw_bytes(r, 64, 4), 8).hex("Trap QKey", r.trap_q_key, 8);
  return rows.take();
}

std::string record_text(const NodeRecord& r, const TextOptions&) {
  const NodeInfo& n = r.node_info;
  Rows rows("NodeRecord dump:", 24);
  rows.dec("lid", r.lid.value).hex("reserved", 0);
  rows.hex("base_version", n.base_version).hex("class_version", n.class_version);
  const auto type = value_name("NodeType", static_cast<std::uint64_t>(n.node_type));
  rows.row("node_type", type.empty() ? "Unknown" : type).dec("num_ports", n.num_ports);
  rows.word("sys_guid", n.system_image_guid.value).word("node_guid", n.node_guid.value);
  rows.word("port_guid", n.port_guid.value).hex("partition_cap", n.partition_cap);
  rows.hex("device_id", n.device_id).hex("revision", n.revision);
  rows.dec("port_num", n.local_port_num.value).hex("vendor_id", n.vendor_id);
  rows.row("NodeDescription", text_of(r.node_description.text));
  return rows.take();
}

std::string record_text(const PortInfoRecord& r, const TextOptions& options) {
  Rows rows("PortInfoRecord dump:\n\tRID", 24);
  rows.dec("EndPortLid", r.end_port_lid.value).dec("PortNum", r.port_num.value);
  rows.low("Options", r.options).raw("\tPortInfo dump:\n");
  rows.raw(port_info_text(r.port_info, "\t\t", options.keys));
  return rows.take();
}

std::string record_text(const SlToVlRecord& r, const TextOptions&) {
  Rows rows("SL2VLTableRecord dump:", 27);
  rows.dec("LID", r.lid.value).dec("InPort", r.input_port.value);
  rows.dec("OutPort", r.output_port.value);
  std::string sls = "SL:", vls = "VL:";
  for (unsigned sl = 0; sl < 16; ++sl) {
    sls += fmt::format("{:2}|", sl);
    vls += fmt::format("{:2}|", r.table.vl[sl]);
  }
  return rows.line(sls).line(vls).take();
}

std::string record_text(const PKeyTableRecord& r, const TextOptions&) {
  Rows rows("PKeyTableRecord dump:", 27);
  rows.dec("LID", r.lid.value).dec("Port", r.port.value).dec("Block", r.block).line("PKey Table:");
  for (std::size_t i = 0; i < r.table.p_keys.size(); i += 8) {
    std::string keys;
    for (std::size_t k = i; k < i + 8; ++k)
      keys += fmt::format("{}0x{:04x}", k == i ? "" : " ", r.table.p_keys[k].value);
    rows.line(keys);
  }
  return rows.raw("\n").take();
}

std::string record_text(const VlArbitrationRecord& r, const TextOptions&) {
  Rows rows("VLArbTableRecord dump:", 27);
  rows.dec("LID", r.lid.value).dec("Port", r.output_port.value).dec("Block", r.block);
  for (std::size_t i = 0; i < r.table.vl.size(); i += 16) {
    std::string vls = "VL    :", weights = "Weight:";
    for (std::size_t k = i; k < i + 16; ++k) {
      vls += fmt::format("{:2}|", r.table.vl[k]);
      weights += fmt::format("{:2}|", r.table.weight[k]);
    }
    rows.line(vls).line(weights);
  }
  return rows.take();
}

std::string record_text(const InformInfoRecord& r, const TextOptions& options) {
  const InformInfo& i = r.inform_info;
  const bool generic = i.is_generic != 0;
  Rows rows("InformInfoRecord dump:", 24);
  rows.line("RID").gid("SubscriberGID", r.subscriber_gid).hex("SubscriberEnum", r.enumeration);
  rows.line("InformInfo dump:").gid("gid", i.gid);
  rows.dec("lid_range_begin", i.lid_range_begin.value).dec("lid_range_end", i.lid_range_end.value);
  rows.hex("is_generic", i.is_generic).hex("subscribe", i.subscribe).hex("trap_type", i.type);
  if (generic) {
    rows.dec("trap_num", i.trap_number);
  } else {
    rows.hex("dev_id", i.trap_number);
  }
  rows.row("qpn", options.keys ? fmt::format("0x{:06X}", i.qpn) : std::string(kHidden));
  rows.hex("resp_time_val", i.resp_time_value);
  rows.hex(generic ? "node_type" : "vendor_id", i.producer_type, 6);
  return rows.take();
}

std::string record_text(const LinkRecord& r, const TextOptions&) {
  Rows rows("LinkRecord dump:", 27);
  rows.dec("FromLID", r.from_lid.value).dec("FromPort", r.from_port.value);
  return rows.dec("ToPort", r.to_port.value).dec("ToLID", r.to_lid.value).take();
}

std::string record_text(const ServiceRecord& r, const TextOptions& options) {
  Rows rows("ServiceRecord dump:", 24);
  rows.word("ServiceID", r.service_id).gid("ServiceGID", r.service_gid);
  rows.hex("ServiceP_Key", r.service_p_key.value).hex("ServiceLease", r.lease);
  std::string key = "0x";
  for (const std::uint8_t byte : r.key) key += fmt::format("{:02x}", byte);
  rows.row("ServiceKey", options.keys ? key : std::string(kHidden));
  rows.row("ServiceName", text_of(r.name));
  const auto numbered = [&](std::string_view name, const auto& values, auto&& put) {
    for (std::size_t i = 0; i < values.size(); ++i)
      put(fmt::format("{}.{}", name, i + 1), std::uint64_t{values[i]});
  };
  const auto hex = [&](const std::string& name, std::uint64_t v) { rows.hex(name, v); };
  numbered("ServiceData8", r.data8, hex);
  numbered("ServiceData16", r.data16, hex);
  numbered("ServiceData32", r.data32, hex);
  numbered("ServiceData64", r.data64,
           [&](const std::string& name, std::uint64_t v) { rows.word(name, v); });
  return rows.take();
}

std::string record_text(const PathRecord& r, const TextOptions&) {
  Rows rows("PathRecord dump:", 24);
  rows.word("service_id", r.service_id).gid("dgid", r.dgid).gid("sgid", r.sgid);
  rows.dec("dlid", r.dlid.value).dec("slid", r.slid.value);
  rows.hex("hop_flow_raw", raw_bytes(r, 44, 4)).hex("tclass", r.traffic_class);
  rows.hex("num_path_revers", raw_bytes(r, 49, 1)).hex("pkey", r.p_key.value);
  rows.hex("qos_class", r.qos_class).hex("sl", r.sl.value);
  rows.hex("mtu", raw_bytes(r, 54, 1)).hex("rate", raw_bytes(r, 55, 1));
  rows.hex("pkt_life", raw_bytes(r, 56, 1)).hex("preference", r.preference);
  return rows.row("resv2", "0x000000000000").take();
}

std::string record_text(const McMemberRecord& r, const TextOptions&) {
  Rows rows("MCMember Record dump:", 24);
  rows.gid("MGID", r.mgid).gid("PortGid", r.port_gid).low("qkey", r.q_key);
  rows.low("mlid", r.mlid.value).low("mtu", raw_bytes(r, 38, 1)).low("TClass", r.traffic_class);
  rows.low("pkey", r.p_key.value).low("rate", raw_bytes(r, 42, 1));
  rows.low("pkt_life", raw_bytes(r, 43, 1)).low("SL", r.sl.value);
  rows.low("FlowLabel", r.flow_label).low("HopLimit", r.hop_limit).low("Scope", r.scope);
  return rows.low("JoinState", r.join_state).low("ProxyJoin", r.proxy_join).take();
}

std::string record_text(const LinearFdtRecord& r, const TextOptions&) {
  Rows rows("LFT Record dump:", 27);
  rows.dec("LID", r.lid.value).dec("Block", r.block).line("LFT:").line("LID\tPort Number");
  for (std::size_t i = 0; i < r.table.port.size(); ++i)
    rows.line(fmt::format("{}\t{}", r.block * r.table.port.size() + i, r.table.port[i]));
  return rows.raw("\n").take();
}

std::string record_text(const MulticastFdtRecord& r, const TextOptions&) {
  Rows rows("MFT Record dump:", 27);
  rows.dec("LID", r.lid.value).dec("Position", r.position).dec("Block", r.block);
  rows.line("MFT:").line("MLID\tPort Mask");
  const std::size_t count = r.table.port_mask.size();
  for (std::size_t i = 0; i < count; ++i)
    rows.line(fmt::format("0x{:04x}\t0x{:04x}", ib::kLidMulticastMin.value + r.block * count + i,
                          r.table.port_mask[i]));
  return rows.raw("\n").take();
}

std::string record_text(const GuidInfoRecord& r, const TextOptions&) {
  Rows rows("GUIDInfo Record dump:", 27);
  rows.dec("LID", r.lid.value).dec("Block", r.block);
  for (std::size_t i = 0; i < r.guid_info.guid.size(); ++i)
    rows.word(fmt::format("GUID {}", i), r.guid_info.guid[i].value);
  return rows.take();
}

std::string record_text(const SwitchInfoRecord& r, const TextOptions& options) {
  const SwitchInfo& s = r.switch_info;
  Rows rows("SwitchInfoRecord dump:", 40);
  rows.line("RID").dec("LID", r.lid.value).line("SwitchInfo dump:");
  rows.hex("LinearFDBCap", s.linear_fdb_cap).hex("RandomFDBCap", s.random_fdb_cap);
  rows.hex("MulticastFDBCap", s.multicast_fdb_cap).hex("LinearFDBTop", s.linear_fdb_top);
  rows.dec("DefaultPort", s.default_port);
  rows.dec("DefaultMulticastPrimaryPort", s.default_multicast_primary_port);
  rows.dec("DefaultMulticastNotPrimaryPort", s.default_multicast_not_primary_port);
  rows.hex("LifeTimeValue/PortStateChange/OpSL2VL", raw_bytes(s, 11, 1));
  rows.hex("LIDsPerPort", s.lids_per_port);
  rows.hex("PartitionEnforcementCap", s.partition_enforcement_cap);
  rows.hex("flags", raw_bytes(s, 16, 1));
  if (options.multicast_fdb_top) rows.hex("MulticastFDBTop", s.multicast_fdb_top);
  return rows.take();
}

std::string record_text(const SmInfoRecord& r, const TextOptions& options) {
  const SmInfo& s = r.sm_info;
  Rows rows("SMInfoRecord dump:", 22);
  rows.line("RID").dec("LID", r.lid.value).line("SMInfo dump:").word("GUID", s.guid.value);
  rows.row("SM_Key", secret(s.sm_key, options)).dec("ActCount", s.act_count);
  rows.dec("Priority", s.priority).dec("SMState", static_cast<std::uint64_t>(s.sm_state));
  return rows.take();
}

std::string record_text(const TraceRecord& r, const TextOptions&) {
  Rows rows("TraceRecord dump:", 24);
  rows.word("GIDPrefix", r.gid_prefix).dec("IDGeneration", r.id_generation);
  const auto type = value_name("NodeType", r.node_type);
  rows.row("NodeType", type.empty() ? "Unknown" : type);
  rows.word("NodeID", r.node_id).word("ChassisID", r.chassis_id);
  rows.word("EntryPortID", r.entry_port_id).word("ExitPortID", r.exit_port_id);
  return rows.dec("EntryPort", r.entry_port.value).dec("ExitPort", r.exit_port.value).take();
}

std::string sm_port_text(const PortInfoRecord& r) {
  Rows rows("PortInfoRecord dump:", 24);
  rows.dec("EndPortLid", r.end_port_lid.value).dec("PortNum", r.port_num.value);
  rows.dec("base_lid", r.port_info.lid.value);
  rows.dec("master_sm_base_lid", r.port_info.master_sm_lid.value);
  return rows.hex("capability_mask", r.port_info.capability_mask).take();
}

std::string group_text(const McMemberRecord& r) {
  Rows rows("MCMemberRecord group dump:", 24);
  rows.gid("MGID", r.mgid).hex("Mlid", r.mlid.value).hex("Mtu", raw_bytes(r, 38, 1));
  rows.hex("pkey", r.p_key.value).hex("Rate", raw_bytes(r, 42, 1));
  return rows.hex("SL", r.sl.value).take();
}

bool is_member_shown(const McMemberRecord& r) { return !r.port_gid.is_zero(); }

std::string member_text(const McMemberRecord& r, const std::string& node) {
  Rows rows("MCMemberRecord member dump:", 24);
  rows.gid("MGID", r.mgid).hex("Mlid", r.mlid.value);
  if (!is_member_shown(r)) {
    for (const auto name : {"PortGid", "ScopeState", "ProxyJoin", "NodeDescription"})
      rows.row(name, kHidden);
    return rows.take();
  }
  rows.gid("PortGid", r.port_gid);
  rows.hex("ScopeState", raw_bytes(r, 48, 1)).hex("ProxyJoin", r.proxy_join);
  return rows.row("NodeDescription", ib::printable(node)).take();
}

std::string member_of_group_text(const McMemberRecord& r, const std::string& node) {
  if (!is_member_shown(r)) return fmt::format("\t\t{:.<24}{}\n", "PortGid", kHidden);
  return fmt::format("\t\t{:.<24}{} ({})\n", "PortGid", to_string(r.port_gid), ib::printable(node));
}

}  // namespace ibpath
