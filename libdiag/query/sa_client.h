// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SA client: every record of subnet administration, as request builders and answer readers for
// machines, and as blocking calls on a Session for tools. Records are known by their layouts: as
// values, or as bytes of a StructureInfo. Tables come reassembled by the kernel's RMPP, and a
// MultiPathRecord that needs more than one MAD leaves by it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "libdiag/mad/session.h"
#include "libdiag/wire/component_mask.h"
#include "libdiag/wire/gmp_attributes.h"
#include "libdiag/wire/sa_records.h"

namespace ib::query {

/// Where the SA is, and the key its queries carry (0: untrusted).
struct SaAddress {
  Lid lid{};
  Sl sl{};
  std::uint64_t sm_key{0};
};
/// From the local port; Unavailable when the port knows no subnet manager.
Result<SaAddress> sa_address(const mad::PortFacts& facts, std::uint64_t sm_key = 0);

/// Attribute id of a record type.
template <class Record>
inline constexpr std::uint16_t kSaAttribute = 0;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::ClassPortInfo> = wire::attr::kClassPortInfo;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::NodeRecord> = wire::attr::kNodeRecord;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::PortInfoRecord> = wire::attr::kPortInfoRecord;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::PathRecord> = wire::attr::kPathRecord;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::McMemberRecord> = wire::attr::kMcMemberRecord;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::SlToVlRecord> = wire::attr::kSlToVlRecord;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::SwitchInfoRecord> = wire::attr::kSwitchInfoRecord;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::LinearFdtRecord> = wire::attr::kLinearFdtRecord;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::MulticastFdtRecord> =
    wire::attr::kMulticastFdtRecord;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::SmInfoRecord> = wire::attr::kSmInfoRecord;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::VlArbitrationRecord> =
    wire::attr::kVlArbitrationRecord;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::PKeyTableRecord> = wire::attr::kPKeyTableRecord;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::InformInfo> = wire::attr::kInformInfo;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::InformInfoRecord> = wire::attr::kInformInfoRecord;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::LinkRecord> = wire::attr::kLinkRecord;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::ServiceRecord> = wire::attr::kServiceRecord;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::GuidInfoRecord> = wire::attr::kGuidInfoRecord;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::MultiPathRecord> = wire::attr::kMultiPathRecord;
template <>
inline constexpr std::uint16_t kSaAttribute<wire::TraceRecord> = wire::attr::kTraceRecord;

/// Component-mask bits of the queries that tools make (IBA 15.2.5).
namespace component {
inline constexpr std::uint64_t kNodeLid = 1U << 0, kNodeGuid = 1U << 7, kNodePortGuid = 1U << 8,
                               kNodeDescription = 1U << 14;
inline constexpr std::uint64_t kPortInfoLid = 1U << 0, kPortInfoPort = 1U << 1;
inline constexpr std::uint64_t kLftLid = 1U << 0, kLftBlock = 1U << 1;
inline constexpr std::uint64_t kLinkFromLid = 1U << 0, kLinkFromPort = 1U << 1;
inline constexpr std::uint64_t kPathDgid = 1U << 2, kPathSgid = 1U << 3, kPathDlid = 1U << 4,
                               kPathSlid = 1U << 5, kPathReversible = 1U << 11,
                               kPathNumbPath = 1U << 12, kPathPKey = 1U << 13, kPathSl = 1U << 15;
inline constexpr std::uint64_t kMcMgid = 1U << 0, kMcPortGid = 1U << 1, kMcMlid = 1U << 3,
                               kMcJoinState = 1U << 16;
}  // namespace component

/// What an SA status means, in a few words ("no records").
std::string sa_status_text(std::uint16_t status);

/// A request for subnet administration, its data area still empty.
mad::Request sa_request(mad::Cookie cookie, const SaAddress& sa, wire::Method method,
                        std::uint16_t attribute, std::uint64_t component_mask,
                        std::uint32_t modifier = 0);
template <class Record>
mad::Request sa_request(mad::Cookie cookie, const SaAddress& sa, wire::Method method,
                        const Record& record, std::uint64_t component_mask,
                        std::uint32_t modifier = 0) {
  auto request = sa_request(cookie, sa, method, kSaAttribute<Record>, component_mask, modifier);
  wire::set_body(request.mad, record);
  return request;
}

/// GetTraceTable: the nodes on the way of a path. The request's data is a PathRecord with its
/// component mask; the answer is a table of TraceRecords.
mad::Request trace_request(mad::Cookie cookie, const SaAddress& sa, const wire::PathRecord& path,
                           std::uint64_t component_mask);

/// Whether an error of SaClient::trace() says that this SA has no TraceRecords: it refuses the
/// method or the attribute, or is silent to them only.
bool has_no_trace_records(const Error& error);

/// GetMulti: paths between any of `sources` and any of `destinations`, each 1 to 255 GIDs, which
/// follow the record. The counts and their component bits are filled in.
mad::Request multi_path_request(mad::Cookie cookie, const SaAddress& sa,
                                wire::MultiPathRecord record, std::uint64_t component_mask,
                                std::span<const Gid> sources, std::span<const Gid> destinations);

/// Of a query that timed out: what that says of the subnet manager.
Error unanswered(Error error, const SaAddress& sa);

/// An SA that is BUSY has not looked at the request: it is asked again, after a rest that doubles.
struct BusyRests {
  Duration first{std::chrono::milliseconds(20)};
  Duration longest{std::chrono::seconds(1)};
  unsigned most{10};  // rests, about five seconds; then BUSY is the answer

  Duration rest(unsigned so_far) const;
};
bool is_busy(const mad::Packet& answer);
/// Does nothing for so long. What arrives meanwhile has no asker any more.
Result<void> take_rest(mad::Session& session, Duration rest);

/// A Refused error when the answer carries a status: what was asked, and what came back. A GetResp
/// answers a Get unless `asked` is Set.
Result<void> check_sa_answer(const mad::Packet& answer, wire::Method asked = wire::Method::Get);

/// Records of a table, each `kBytes` at least: their number and place by AttributeOffset, whatever
/// the SA adds behind each. Malformed when the answer cannot be a table of such records, or is the
/// first MAD of one that was cut.
struct TableShape {
  std::size_t count{};
  std::size_t stride{};
};
Result<TableShape> table_shape(const mad::Packet& answer, std::size_t record_bytes);
/// Copies `bytes` at `at` of the data area, which may run over into the reassembled rest.
void copy_data(const mad::Packet& answer, std::size_t at, std::byte* to, std::size_t bytes);

/// The records of a table answer as bytes of their layout, one behind the other.
struct SaRecords {
  std::size_t record_bytes{1};
  std::vector<std::byte> bytes;

  std::size_t size() const { return bytes.size() / record_bytes; }
  std::span<const std::byte> operator[](std::size_t i) const {
    return std::span(bytes).subspan(i * record_bytes, record_bytes);
  }
};
Result<SaRecords> read_records(const mad::Packet& answer, std::size_t record_bytes);

/// Every record of a table answer.
template <class Record>
Result<std::vector<Record>> read_table(const mad::Packet& answer) {
  const auto raw = read_records(answer, wire::LayoutOf<Record>::kBytes);
  if (!raw) return tl::unexpected(raw.error());
  std::vector<Record> records;
  records.reserve(raw->size());
  for (std::size_t i = 0; i < raw->size(); ++i)
    records.push_back(wire::decode<Record>((*raw)[i].data()));
  return records;
}

/// Blocking calls; a busy SA is asked again.
class SaClient {
 public:
  SaClient(mad::Session& session, const SaAddress& sa) : session_(session), sa_(sa) {}

  const SaAddress& address() const { return sa_; }

  template <class Record>
  Result<Record> get(const Record& wanted, std::uint64_t mask) {
    return one<Record>(wire::Method::Get, wanted, mask);
  }
  template <class Record>
  Result<std::vector<Record>> get_table(const Record& wanted, std::uint64_t mask,
                                        std::uint32_t modifier = 0) {
    return table<Record>(sa_request(0, sa_, wire::Method::GetTable, wanted, mask, modifier));
  }
  template <class Record>
  Result<Record> set(const Record& wanted, std::uint64_t mask) {
    return one<Record>(wire::Method::Set, wanted, mask);
  }
  template <class Record>
  Result<Record> remove(const Record& wanted, std::uint64_t mask) {
    return one<Record>(wire::Method::Delete, wanted, mask);
  }
  Result<wire::ClassPortInfo> class_port_info() { return get(wire::ClassPortInfo{}, 0); }

  /// A table of any record, known by its attribute and layout only: `wanted` and the answer are
  /// bytes.
  Result<SaRecords> get_records(std::uint16_t attribute, std::span<const std::byte> wanted,
                                std::uint64_t mask, std::uint32_t modifier = 0);
  /// The error is Unavailable where the SA answers nothing to this and answers other queries.
  Result<std::vector<wire::TraceRecord>> trace(const wire::PathRecord& path, std::uint64_t mask);
  Result<std::vector<wire::PathRecord>> multi_path(const wire::MultiPathRecord& record,
                                                   std::uint64_t mask, std::span<const Gid> sources,
                                                   std::span<const Gid> destinations) {
    return table<wire::PathRecord>(multi_path_request(0, sa_, record, mask, sources, destinations));
  }

  /// Set and Delete of MCMemberRecord.
  Result<wire::McMemberRecord> join(const wire::McMemberRecord& wanted, std::uint64_t mask) {
    return set(wanted, mask);
  }
  Result<wire::McMemberRecord> leave(const wire::McMemberRecord& wanted, std::uint64_t mask) {
    return remove(wanted, mask);
  }

 private:
  Result<mad::Packet> ask(const mad::Request& request);
  /// The same; an error says what silence means.
  Result<mad::Packet> call(const mad::Request& request);
  template <class Record>
  Result<std::vector<Record>> table(const mad::Request& request) {
    const auto answer = call(request);
    if (!answer) return tl::unexpected(answer.error());
    return read_table<Record>(*answer);
  }
  template <class Record>
  Result<Record> one(wire::Method method, const Record& wanted, std::uint64_t mask) {
    const auto answer = call(sa_request(0, sa_, method, wanted, mask));
    if (!answer) return tl::unexpected(answer.error());
    if (auto ok = check_sa_answer(*answer, method); !ok) return tl::unexpected(ok.error());
    return wire::body<Record>(answer->mad);
  }

  mad::Session& session_;
  SaAddress sa_;
};

}  // namespace ib::query
