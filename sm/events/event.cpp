// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/events/event.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "libdiag/base/invariant.h"
#include "libdiag/base/text.h"

namespace sm::events {
namespace {

using ib::LogLevel;

constexpr Row kRows[] = {
    {Kind::LinkUp,
     "link.up",
     LogLevel::Info,
     "link up: {a} - {b}, {width} {speed}",
     "a,b,width,speed",
     0,
     {},
     0,
     "a cable joins two ports that both answer"},
    {Kind::LinkDown,
     "link.down",
     LogLevel::Warning,
     "link down: {a} - {b}",
     "a,b",
     0,
     {},
     0,
     "a cable is out, or the link over it went down"},
    {Kind::LinkDegraded,
     "link.degraded",
     LogLevel::Warning,
     "link below what both ends can do: {a} - {b}, {width} {speed}",
     "a,b,width,speed",
     0,
     {},
     0,
     "a link came up narrower or slower than both its ends support"},
    {Kind::LinkAsFastAsItCan,
     "link.full-speed",
     LogLevel::Info,
     "link as fast as both ends can do again: {a} - {b}, {width} {speed}",
     "a,b,width,speed",
     0,
     {},
     0,
     "a link that was degraded is not any more"},
    {Kind::PortDisabled,
     "port.disabled",
     LogLevel::Warning,
     "disabled: {port}",
     "port",
     0,
     {},
     0,
     "the link of a port is disabled (PortPhysicalState), by babbling_port_policy or by an "
     "administrator"},
    {Kind::PortEnabled,
     "port.enabled",
     LogLevel::Info,
     "enabled: {port}",
     "port",
     0,
     {},
     0,
     "a port that was disabled is not any more"},
    {Kind::NodeJoined,
     "node.joined",
     LogLevel::Info,
     "joined: {node} {node.guid} ({node.type})",
     "node",
     0,
     {},
     0,
     "a host, switch or router came to the subnet"},
    {Kind::NodeLeft,
     "node.left",
     LogLevel::Warning,
     "left: {node} {node.guid} ({node.type})",
     "node",
     0,
     {},
     0,
     "a host, switch or router is not there any more"},
    {Kind::NodeRebooted,
     "node.rebooted",
     LogLevel::Warning,
     "rebooted: {node} {node.guid} ({node.type})",
     "node",
     0,
     {},
     0,
     "a node that is in its place has lost its LIDs, as one does that starts; its links, which "
     "went "
     "down and came up with it, are not told"},
    {Kind::CableMoved,
     "cable.moved",
     LogLevel::Info,
     "cable moved: {port} from {before} to {now}",
     "port,before,now",
     0,
     {},
     0,
     "a port is cabled to another one than at the sweep before"},
    {Kind::CablesSwapped,
     "cables.swapped",
     LogLevel::Warning,
     "cables swapped: {a} and {b}, which were at {before_a} and {before_b}",
     "a,b,before_a,before_b",
     0,
     {},
     0,
     "two ports are cabled each to the port that the other one was cabled to"},
    {Kind::NodeReplaced,
     "node.replaced",
     LogLevel::Info,
     "replaced: {before} {before.guid} by {now} {now.guid}, at {place}",
     "before,now,place",
     0,
     {},
     0,
     "a node that is not there any more has another one in its place: most cables of that led to "
     "it"},
    {Kind::PartLeft,
     "part.left",
     LogLevel::Warning,
     "a part of the subnet is not reached any more: switches {switches}, others {others}, behind "
     "{place}",
     "switches,others,place",
     0,
     {},
     0,
     "nodes that hang together, a switch among them, left at once; place: a port that led there"},
    {Kind::PartJoined,
     "part.joined",
     LogLevel::Info,
     "a part joined the subnet: switches {switches}, others {others}, behind {place}",
     "switches,others,place",
     0,
     {},
     0,
     "nodes that hang together, a switch among them, came at once; place: a port that leads there"},
    {Kind::NodeRenamed,
     "node.renamed",
     LogLevel::Info,
     "renamed: {guid} from {before} to {now}",
     "guid,before,now",
     0,
     {},
     0,
     "a node has another NodeDescription"},
    {Kind::LidAssigned,
     "lid.assigned",
     LogLevel::Verbose,
     "LID assigned: {port} has {lid}",
     "port,lid",
     0,
     {},
     0,
     "a port has a LID that had none at the sweep before, or was not there; of the first sweep "
     "after a start none is told"},
    {Kind::LidChanged,
     "lid.changed",
     LogLevel::Warning,
     "LID changed: {port} from {before} to {now}",
     "port,before,now",
     0,
     {},
     0,
     "a port that is in use has another LID than before"},
    {Kind::LidConflict,
     "lid.conflict",
     LogLevel::Warning,
     "LID conflict: {port} and {other} hold LID {lid}, and {port} keeps it",
     "lid,port,other",
     0,
     {},
     0,
     "two ports came with the same LID; the other one gets another"},
    {Kind::SmState,
     "sm.state",
     LogLevel::Info,
     "this subnet manager is {state}: {why}",
     "state,why",
     0,
     {},
     0,
     "this subnet manager became master, standby, discovering or not active"},
    {Kind::OtherSmSeen,
     "sm.seen",
     LogLevel::Info,
     "another subnet manager: {guid}, priority {priority}, {state}",
     "guid,priority,state",
     0,
     {},
     0,
     "a subnet manager answered that did not before, or in another state"},
    {Kind::OtherSmGone,
     "sm.gone",
     LogLevel::Info,
     "a subnet manager is gone: {guid}",
     "guid",
     0,
     {},
     0,
     "a subnet manager that answered does not any more"},
    {Kind::MemberJoinsGroup, "multicast.member", LogLevel::Verbose,
     "multicast member {join_state:1=joins,-1=leaves}: {port_guid}, MGID {mgid} ({mlid})",
     "mlid,mgid,port_guid,join_state", 1, "mcm_member", subject::kMulticast,
     "a port joined (1) or left (-1) a multicast group"},
    {Kind::GroupChange, "multicast.group", LogLevel::Verbose,
     "multicast group {change:0=created,1=deleted}: MGID {mgid} ({mlid})", "mlid,mgid,change", 2,
     "mcg_change", subject::kMulticast, "a multicast group was created (0) or deleted (1)"},
    {Kind::PartitionMember, "partition.member", LogLevel::Verbose,
     "partition member: {port_guid} has P_Key {p_key} (block {block_index}, index {p_key_index})",
     "port_guid,p_key,block_index,p_key_index", 3, "prtn_guid_add", subject::kPartitions,
     "a port has a P_Key that it had not"},
    {Kind::PartitionMemberGone,
     "partition.member-removed",
     LogLevel::Verbose,
     "partition member removed: {port_guid} has P_Key {p_key} no more",
     "port_guid,p_key",
     0,
     {},
     0,
     "a port that is there has a P_Key no more"},
    {Kind::PartitionNoRoom,
     "partition.does-not-fit",
     LogLevel::Warning,
     "P_Keys that do not fit: {port}, whose table holds {room}: {p_keys}",
     "port,room,p_keys",
     0,
     {},
     0,
     "a port is a member of more partitions than its P_KeyTable holds; once, until the keys "
     "left out are others"},
    {Kind::PartitionCreated, "partition.created", LogLevel::Info,
     "partition created: {p_key} {name}", "p_key,name", 4, "prtn_create", subject::kPartitions,
     "a partition is defined that was not"},
    {Kind::PartitionDeleted, "partition.deleted", LogLevel::Info,
     "partition deleted: {p_key} ({reason})", "p_key,reason", 5, "prtn_delete",
     subject::kPartitions, "a partition is no longer defined: 0 it was removed, 2 ibsm ends"},
    {Kind::PortVirtualization, "virtual.port", LogLevel::Verbose,
     "virtualization of {port_guid}: virtual ports up to index {top_index}", "port_guid,top_index",
     6, "port_virt_discover", subject::kVirtualization,
     "a port with virtualization enabled was found, or has another highest index of its virtual "
     "ports"},
    {Kind::VirtualPortState, "virtual.state", LogLevel::Verbose,
     "virtual port {virtual_port_guid} (index {index}) of {port_guid}: "
     "{state:1=Down,2=Initialize,3=Armed,4=Active}",
     "port_guid,virtual_port_guid,index,virtual_node_guid,state", 7, "vport_state_change",
     subject::kVirtualization,
     "a virtual port came up (4), went down (1), or waits (2): it has no GUID, another one has it, "
     "or it requires a LID"},
    {Kind::TreeComputed, "multicast.tree", LogLevel::Verbose, "multicast tree: {mlid}", "mlid", 8,
     "mcg_tree_calc", subject::kMulticast | subject::kRouting,
     "the tree of a multicast group was computed, and is not what it was"},
    {Kind::RoutesMade, "routes.made", LogLevel::Info,
     "routes of {engine}: {entries} entries in {switches} switches changed; most loaded link "
     "{load_after}, before {load_before}",
     "engine,entries,switches,load_before,load_after", 9, "routing_succeed", subject::kRouting,
     "routes were made that passed verification. Loads are CA-to-CA routes over the most loaded "
     "link (0: not known). A start that changes no entry tells none; one that changes some and "
     "has no memory of routes, as with a new state directory, counts them all"},
    {Kind::EngineFailed, "routes.failed", LogLevel::Warning, "routes of {engine} cannot be used",
     "engine", 10, "routing_failed", subject::kRouting,
     "an engine does not fit the fabric, or its routes did not pass verification"},
    {Kind::LevelsMerged,
     "qos.levels-merged",
     LogLevel::Warning,
     "qos: {what}",
     "what",
     0,
     {},
     0,
     "levels of service have the same VLs, since there are too few for all"},
    {Kind::LevelDropped,
     "qos.level-dropped",
     LogLevel::Verbose,
     "{rule}: SL {sl} is dropped at {where}",
     "rule,sl,where",
     0,
     {},
     0,
     "a rule of the QoS policy, or a partition, gives an SL that the mapping, or a host that keeps "
     "another one, drops: requests for its paths get no record"},
    {Kind::DeviceRefuses,
     "device.refuses",
     LogLevel::Verbose,
     "{node} ({node.guid}) does not take its {table}",
     "node,table",
     0,
     {},
     0,
     "a device refuses a table, or to tell its keys, or says that it took it and keeps another "
     "one; `PortInfo`: a port keeps the LID of another subnet manager; once, until it takes it"},
    {Kind::LeftForOneVl,
     "routes.left-for-one-vl",
     LogLevel::Error,
     "{what}",
     "what",
     0,
     {},
     0,
     "routes on several VLs are left, since switches keep an SLtoVLMappingTable with which they "
     "may "
     "deadlock"},
    {Kind::RoutesRecomputed, "routes.recomputed", LogLevel::Verbose,
     "the previous routes are not followed any more: all routes are recomputed", "", 11,
     "ucast_cache_invalidated", subject::kRouting,
     "all routes were computed, where there were some before"},
    {Kind::RoutesFollowed, "routes.followed", LogLevel::Verbose,
     "routes follow the change: what still fits has stayed", "", 12, "ucast_cache_routing_done",
     subject::kRouting, "only the routes that a change made wrong were computed"},
    {Kind::ConfigurationTaken,
     "configuration.taken",
     LogLevel::Info,
     "the configuration was read again",
     "",
     0,
     {},
     0,
     "a SIGHUP took new options and files"},
    {Kind::ConfigurationRefused,
     "configuration.refused",
     LogLevel::Error,
     "the configuration is refused: {why}",
     "why",
     0,
     {},
     0,
     "a SIGHUP found a mistake, and what was in force stays; or a start did, and goes by last good "
     "copies"},
    {Kind::ErrorsAbove,
     "port.errors",
     LogLevel::Warning,
     "errors above the threshold: {a} - {b}, {counter} +{count} in {seconds} s ({category}; "
     "threshold {threshold})",
     "a,b,counter,category,count,seconds,threshold",
     0,
     {},
     0,
     "a port (a) counted more errors in a window than perfmgr_error_thresholds has; once, until it "
     "is below it"},
    {Kind::ErrorsBelow,
     "port.errors-cleared",
     LogLevel::Info,
     "errors below the threshold again: {a} - {b}, {counter} +{count} in {seconds} s ({category}; "
     "threshold {threshold})",
     "a,b,counter,category,count,seconds,threshold",
     0,
     {},
     0,
     "a whole window had no more errors than that; or the counters were cleared, or the port is "
     "gone, with a count of 0"},
    {Kind::CongestionEnded,
     "congestion.ended",
     LogLevel::Warning,
     "congestion control ended: {errors} errors within {seconds} s, more than {threshold}; the "
     "last "
     "at {last}",
     "errors,seconds,threshold,last",
     0,
     {},
     0,
     "the congestion control manager met more errors than max_errors within error_window; devices "
     "keep what they hold"},
    {Kind::CongestionResumed,
     "congestion.resumed",
     LogLevel::Info,
     "congestion control goes on",
     "",
     0,
     {},
     0,
     "a SIGHUP started the congestion control manager again after it had ended"},
    {Kind::ConfigurationDiffers,
     "configuration.differs",
     LogLevel::Error,
     "the subnet manager on {host} ({guid}) is configured otherwise than this one: {names}; "
     "whichever takes over from the other changes the subnet",
     "guid,host,names",
     0,
     {},
     0,
     "options or policy files of a master and of a standby are not the same"},
    {Kind::ConfigurationAgrees,
     "configuration.agrees",
     LogLevel::Warning,
     "the subnet manager on {host} ({guid}) is configured as this one again, or is not there any "
     "more",
     "guid,host",
     0,
     {},
     0,
     "a difference of configurations ended"},
    {Kind::AlarmRaised,
     "alarm.raised",
     LogLevel::Verbose,
     "alarm: {what}",
     "what",
     0,
     {},
     0,
     "the plan has something that an operator should mend; the log has it as a warning at each "
     "sweep"},
    {Kind::AlarmCleared,
     "alarm.cleared",
     LogLevel::Info,
     "alarm cleared: {what}",
     "what",
     0,
     {},
     0,
     "an alarm that was raised does not stand any more, or has other words"},
};

std::string text_of(const ib::report::NodeShape& node, std::string_view part) {
  using ib::wire::NodeType;
  if (part == "guid") return to_string(node.guid);
  if (part != "type") return ib::printable(node.name);
  return node.type == NodeType::Switch ? "switch" : node.type == NodeType::Router ? "router" : "CA";
}

/// `part`: of a node, "guid" or "type"; empty: what it is called.
std::string text_of(const Value& value, std::string_view part = {}) {
  return std::visit(
      [&](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return "";
        else if constexpr (std::is_same_v<T, std::string>)
          return ib::printable(v);
        else if constexpr (std::is_same_v<T, ib::report::NodeShape>)
          return text_of(v, part);
        else if constexpr (std::is_same_v<T, ib::report::PortShape>)
          return port_text(v);
        else
          return fmt::format("{}", v);
      },
      value);
}

nlohmann::ordered_json json_of(const Value& value) {
  return std::visit(
      [](const auto& v) -> nlohmann::ordered_json {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, std::string>) {
          return ib::printable(v);
        } else if constexpr (std::is_same_v<T, ib::report::NodeShape> ||
                             std::is_same_v<T, ib::report::PortShape>) {
          ib::report::JsonWriter json;
          json.begin_object();
          if constexpr (std::is_same_v<T, ib::report::NodeShape>)
            write_node(json, v);
          else
            write_port(json, v);
          json.end_object();
          return nlohmann::ordered_json::parse(json.take());
        } else {
          return v;
        }
      },
      value);
}

/// Of "0=created,1=deleted" the word for a value; the value itself where there is none.
std::string word_for(std::string value, std::string_view words) {
  for (const std::string_view pair : ib::split(words, ','))
    if (const auto equals = pair.find('=');
        equals != std::string_view::npos && pair.substr(0, equals) == value)
      return std::string(pair.substr(equals + 1));
  return value;
}

}  // namespace

std::span<const Row> rows() { return kRows; }
const Row& row_of(Kind kind) { return kRows[static_cast<std::size_t>(kind)]; }

Event make(Kind kind, std::vector<Value> values) {
  Event event{kind, {}};
  std::string_view names = row_of(kind).fields;
  for (Value& value : values) {
    ib::invariant(!names.empty(), "an event has more values than its row has fields");
    const auto comma = std::min(names.find(','), names.size());
    event.fields.push_back({names.substr(0, comma), std::move(value)});
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  ib::invariant(names.empty(), "an event has fewer values than its row has fields");
  return event;
}

std::string_view name_of(const Event& event) { return row_of(event.kind).name; }

std::string text_of(const Event& event) {
  std::string out;
  for (std::string_view rest = row_of(event.kind).text; !rest.empty();) {
    const auto open = std::min(rest.find('{'), rest.size());
    out += rest.substr(0, open);
    rest.remove_prefix(open);
    if (rest.empty()) break;
    const auto close = rest.find('}');
    const std::string_view place = rest.substr(1, close - 1);
    const auto colon = std::min(place.find(':'), place.size());
    const std::string_view name = place.substr(0, colon);
    const auto dot = std::min(name.find('.'), name.size());
    const auto field = std::ranges::find(event.fields, name.substr(0, dot), &Field::name);
    if (field != event.fields.end())
      out += word_for(text_of(field->value, name.substr(std::min(dot + 1, name.size()))),
                      place.substr(std::min(colon + 1, place.size())));
    rest.remove_prefix(close + 1);
  }
  return out;
}

std::string time_text(std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::time_point_cast<std::chrono::milliseconds>(time);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(ms);
  const std::time_t whole = std::chrono::system_clock::to_time_t(seconds);
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  char date[32];
  const auto length = std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03d}Z", std::string_view(date, length), (ms - seconds).count());
}

std::string json_of(const Record& record) {
  nlohmann::ordered_json json;
  json["schema"] = kEventSchema;
  json["number"] = record.number;
  json["time"] = time_text(record.time);
  json["event"] = name_of(record.event);
  for (const Field& field : record.event.fields)
    json[std::string(field.name)] = json_of(field.value);
  return json.dump();
}

std::string activity_line(const Record& record) {
  const Row& row = row_of(record.event.kind);
  std::string line =
      fmt::format("{} {} {}", time_text(record.time), row.activity, row.activity_name);
  for (const Field& field : record.event.fields)
    line += fmt::format(" {}={}", field.name, text_of(field.value));
  return line;
}

}  // namespace sm::events
