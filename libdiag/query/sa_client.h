// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SA client: queries of subnet administration and multicast membership, as request builders and
// answer readers for machines, and as blocking calls on a Session for tools. Tables come
// reassembled by the kernel's RMPP.
#pragma once

#include <string>
#include <vector>

#include "libdiag/mad/session.h"
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

/// Component-mask bits of the queries that tools make (IBA 15.2.5).
namespace component {
inline constexpr std::uint64_t kNodeLid = 1U << 0, kNodeGuid = 1U << 7, kNodePortGuid = 1U << 8,
                               kNodeDescription = 1U << 14;
inline constexpr std::uint64_t kPortInfoLid = 1U << 0, kPortInfoPort = 1U << 1;
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

/// Of a query that timed out: what that says of the subnet manager.
Error unanswered(Error error, const SaAddress& sa);

/// A Refused error when the answer carries a status: what was asked, and what came back.
Result<void> check_sa_answer(const mad::Packet& answer);

/// Records of a table, each `kBytes` at least: their number and place by AttributeOffset, whatever
/// the SA adds behind each. Malformed when the answer cannot be a table of such records.
struct TableShape {
  std::size_t count{};
  std::size_t stride{};
};
Result<TableShape> table_shape(const mad::Packet& answer, std::size_t record_bytes);
/// Copies `bytes` at `at` of the data area, which may run over into the reassembled rest.
void copy_data(const mad::Packet& answer, std::size_t at, std::byte* to, std::size_t bytes);

/// Every record of a table answer.
template <class Record>
Result<std::vector<Record>> read_table(const mad::Packet& answer) {
  constexpr std::size_t kBytes = wire::LayoutOf<Record>::kBytes;
  if (auto ok = check_sa_answer(answer); !ok) return tl::unexpected(ok.error());
  const auto shape = table_shape(answer, kBytes);
  if (!shape) return tl::unexpected(shape.error());
  std::vector<Record> records;
  records.reserve(shape->count);
  std::byte one[kBytes];
  for (std::size_t i = 0; i < shape->count; ++i) {
    copy_data(answer, i * shape->stride, one, kBytes);
    records.push_back(wire::decode<Record>(one));
  }
  return records;
}

/// Blocking calls.
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
    auto answer = session_.call(sa_request(0, sa_, wire::Method::GetTable, wanted, mask, modifier));
    if (!answer) return tl::unexpected(unanswered(std::move(answer.error()), sa_));
    return read_table<Record>(*answer);
  }
  Result<wire::ClassPortInfo> class_port_info() { return get(wire::ClassPortInfo{}, 0); }

  /// Set and Delete of MCMemberRecord.
  Result<wire::McMemberRecord> join(const wire::McMemberRecord& wanted, std::uint64_t mask) {
    return one<wire::McMemberRecord>(wire::Method::Set, wanted, mask);
  }
  Result<wire::McMemberRecord> leave(const wire::McMemberRecord& wanted, std::uint64_t mask) {
    return one<wire::McMemberRecord>(wire::Method::Delete, wanted, mask);
  }

 private:
  template <class Record>
  Result<Record> one(wire::Method method, const Record& wanted, std::uint64_t mask) {
    auto answer = session_.call(sa_request(0, sa_, method, wanted, mask));
    if (!answer) return tl::unexpected(unanswered(std::move(answer.error()), sa_));
    if (auto ok = check_sa_answer(*answer); !ok) return tl::unexpected(ok.error());
    return wire::body<Record>(answer->mad);
  }

  mad::Session& session_;
  SaAddress sa_;
};

}  // namespace ib::query
