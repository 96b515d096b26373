// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Event: a change that an administrator cares about, with a stable name and typed fields. One table
// has them all; the log, JSON lines, the activity report, `ibsm ctl events` and doc/events.md are
// made from it.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libdiag/base/log.h"
#include "libdiag/report/shapes.h"

namespace sm::events {

enum class Kind : std::uint8_t {
  LinkUp,
  LinkDown,
  LinkDegraded,
  LinkAsFastAsItCan,
  PortDisabled,
  PortEnabled,
  NodeJoined,
  NodeLeft,
  NodeRebooted,
  CableMoved,
  CablesSwapped,
  NodeReplaced,
  PartLeft,
  PartJoined,
  NodeRenamed,
  LidAssigned,
  LidChanged,
  LidConflict,
  SmState,
  OtherSmSeen,
  OtherSmGone,
  MemberJoinsGroup,
  GroupChange,
  PartitionMember,
  PartitionMemberGone,
  PartitionNoRoom,
  PartitionCreated,
  PartitionDeleted,
  PortVirtualization,
  VirtualPortState,
  TreeComputed,
  RoutesMade,
  EngineFailed,
  LevelsMerged,
  LevelDropped,
  DeviceRefuses,
  LeftForOneVl,
  RoutesRecomputed,
  RoutesFollowed,
  ConfigurationTaken,
  ConfigurationRefused,
  ErrorsAbove,
  ErrorsBelow,
  CongestionEnded,
  CongestionResumed,
  ConfigurationDiffers,
  ConfigurationAgrees,
  AlarmRaised,
  AlarmCleared,
};

/// Subjects of the activity report, as bits (activity_report_subjects).
namespace subject {
inline constexpr std::uint8_t kMulticast = 1, kPartitions = 2, kVirtualization = 4, kRouting = 8;
inline constexpr std::uint8_t kAll = 0x0F;
}  // namespace subject

struct Row {
  Kind kind;
  std::string_view name;     // "link.down"; never changes
  ib::LogLevel level;        // of its line in the log
  std::string_view text;     // the line; {field} stands for the field's value, {node.guid} and
                             // {node.type} for more of a node than its name, and
                             // {field:0=created,1=deleted} for a word for the value
  std::string_view fields;   // their names in order, with commas
  std::uint8_t activity{0};  // id in the activity report; 0: it is not in there
  std::string_view activity_name{};
  std::uint8_t subjects{0};
  std::string_view meaning;  // for doc/events.md
};
/// In the order of Kind.
std::span<const Row> rows();
const Row& row_of(Kind kind);

/// Nodes and ports have the shape that they have in all documents; nothing: not known.
using Value = std::variant<std::monostate, std::uint64_t, std::int64_t, double, std::string,
                           ib::report::NodeShape, ib::report::PortShape>;
struct Field {
  std::string_view name;
  Value value;
};

struct Event {
  Kind kind{};
  std::vector<Field> fields;  // those of its row, in that order
};

/// An event with the values of the row's fields, in their order.
Event make(Kind kind, std::vector<Value> values);
/// The line of the log.
std::string text_of(const Event& event);
/// "link.down"
std::string_view name_of(const Event& event);

/// An event as it was taken down.
struct Record {
  std::uint64_t number{};  // from 1 on, by one
  std::chrono::system_clock::time_point time;
  Event event;
};
inline constexpr const char* kEventSchema = "ibkit.ibsm-event/2";
/// One line of JSON, without its end:
/// {"schema": kEventSchema, "number": 7, "time": "2026-11-25T22:53:02.123Z", "event": "link.down",
/// "a": {"type": "switch", "node_guid": ..., "name": ..., "port": 9, ...}, ...}
std::string json_of(const Record& record);
/// The line of the activity report: date, id, name, fields.
std::string activity_line(const Record& record);
/// "2026-11-25T22:53:02.123Z"
std::string time_text(std::chrono::system_clock::time_point time);

}  // namespace sm::events
