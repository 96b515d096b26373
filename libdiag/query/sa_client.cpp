// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/query/sa_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/mad/rmpp.h"

namespace ib::query {
namespace {

// An SA may be busy with a sweep; asking again sooner only adds to its work.
constexpr Duration kAnswerTime = std::chrono::milliseconds(250);
// A table takes its time to arrive, and is counted as answered only when it is whole.
constexpr Duration kTableTime = std::chrono::seconds(2);

std::string_view attribute_name(std::uint16_t attribute) {
  switch (attribute) {
    case wire::attr::kClassPortInfo:
      return "ClassPortInfo";
    case wire::attr::kNodeRecord:
      return "NodeRecord";
    case wire::attr::kPortInfoRecord:
      return "PortInfoRecord";
    case wire::attr::kPathRecord:
      return "PathRecord";
    case wire::attr::kMcMemberRecord:
      return "MCMemberRecord";
    default:
      return "attribute";
  }
}

std::string_view method_name(wire::Method answer) {
  switch (answer) {
    case wire::Method::GetTableResp:
      return "GetTable";
    case wire::Method::DeleteResp:
      return "Delete";
    default:
      return "Get or Set";
  }
}

std::string what(const mad::Packet& answer) {
  return fmt::format("SA {}({})", method_name(answer.mad.method()),
                     attribute_name(answer.mad.attribute_id()));
}

}  // namespace

Result<SaAddress> sa_address(const mad::PortFacts& facts, std::uint64_t sm_key) {
  if (!facts.sm_lid.is_unicast())
    return fail(ErrorKind::Unavailable,
                fmt::format("{} port {} knows no subnet manager: is one running?", facts.device,
                            facts.port_num));
  return SaAddress{facts.sm_lid, facts.sm_sl, sm_key};
}

std::string sa_status_text(std::uint16_t status) {
  switch (status) {
    case wire::status::kOk:
      return "ok";
    case wire::status::kBusy:
      return "busy";
    case wire::status::kRedirect:
      return "redirection required";
    case wire::status::kBadVersion:
      return "class version not supported";
    case wire::status::kBadMethod:
      return "method not supported";
    case wire::status::kBadAttribute:
      return "method and attribute not supported";
    case wire::status::kBadValue:
      return "invalid field";
    case wire::status::kSaNoResources:
      return "no resources";
    case wire::status::kSaReqInvalid:
      return "request invalid";
    case wire::status::kSaNoRecords:
      return "no records";
    case wire::status::kSaTooManyRecords:
      return "too many records";
    case wire::status::kSaInvalidGid:
      return "invalid GID";
    case wire::status::kSaInsufficientComponents:
      return "insufficient components";
    case wire::status::kSaReqDenied:
      return "request denied";
    default:
      return "unknown status";
  }
}

mad::Request sa_request(mad::Cookie cookie, const SaAddress& sa, wire::Method method,
                        std::uint16_t attribute, std::uint64_t component_mask,
                        std::uint32_t modifier) {
  mad::Request request;
  request.cookie = cookie;
  request.target_key = 0x5341ULL << 48 | sa.lid.value;  // apart from the SMA of the same node
  request.address = mad::gsi_address(sa.lid, sa.sl);
  request.mad = wire::make_mad(wire::MgmtClass::SubnAdm, method, attribute, modifier);
  request.mad.set<&wire::SaHeader::sm_key>(sa.sm_key);
  request.mad.set<&wire::SaHeader::component_mask>(component_mask);
  request.resp_time_hint = method == wire::Method::GetTable ? kTableTime : kAnswerTime;
  return request;
}

Error unanswered(Error error, const SaAddress& sa) {
  if (error.kind == ErrorKind::TimedOut)
    error.message +=
        fmt::format("; the port has LID {} for its subnet manager: does none run there any more?",
                    sa.lid.value);
  return error;
}

Result<void> check_sa_answer(const mad::Packet& answer) {
  const auto status = answer.mad.status();
  if (status == wire::status::kOk) return {};
  return tl::unexpected(
      Error{ErrorKind::Refused,
            fmt::format("{}: status 0x{:04x} ({})", what(answer), status, sa_status_text(status)),
            status});
}

Result<TableShape> table_shape(const mad::Packet& answer, std::size_t record_bytes) {
  TableShape shape;
  shape.stride = std::size_t{answer.mad.get<&wire::SaHeader::attribute_offset>()} * 8;
  if (shape.stride == 0) return shape;  // an empty table
  if (shape.stride < record_bytes)
    return fail(ErrorKind::Malformed, fmt::format("{}: records of {} bytes, expected {} at least",
                                                  what(answer), shape.stride, record_bytes));
  const auto bytes = mad::rmpp::data_bytes(answer);
  shape.count = bytes / shape.stride;
  // The padding behind the last record may be left off.
  if (bytes % shape.stride >= record_bytes) ++shape.count;
  return shape;
}

void copy_data(const mad::Packet& answer, std::size_t at, std::byte* to, std::size_t bytes) {
  std::fill_n(to, bytes, std::byte{0});
  const std::size_t in_first =
      at < wire::kSaDataBytes ? std::min(bytes, wire::kSaDataBytes - at) : 0;
  std::copy_n(answer.mad.data() + (in_first != 0 ? at : 0), in_first, to);
  if (in_first == bytes) return;
  const std::size_t from = at + in_first - wire::kSaDataBytes;
  if (from >= answer.more.size()) return;
  const std::size_t rest = std::min(bytes - in_first, answer.more.size() - from);
  std::copy_n(answer.more.begin() + static_cast<std::ptrdiff_t>(from), rest, to + in_first);
}

}  // namespace ib::query
