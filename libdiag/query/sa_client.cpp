// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/query/sa_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "libdiag/mad/rmpp.h"
#include "libdiag/wire/registry.h"

namespace ib::query {
namespace {

// An SA may be busy with a sweep; asking again sooner only adds to its work.
constexpr Duration kAnswerTime = std::chrono::milliseconds(250);
// A table takes its time to arrive, and is counted as answered only when it is whole.
constexpr Duration kTableTime = std::chrono::seconds(2);

// Under ibsim the last 32 bytes of a MAD are lost.
constexpr std::size_t kCarriedByIbsim = 224 - wire::kSaDataOffset;

/// The request that `answer` answers; Get and Set share theirs, so that `asked` tells.
std::string_view request_name(const mad::Packet& answer, wire::Method asked) {
  switch (answer.mad.method()) {
    case wire::Method::GetTableResp:
      return answer.mad.attribute_id() == wire::attr::kTraceRecord ? "GetTraceTable" : "GetTable";
    case wire::Method::GetMultiResp:
      return "GetMulti";
    case wire::Method::DeleteResp:
      return "Delete";
    default:
      return asked == wire::Method::Set ? "Set" : "Get";
  }
}

std::string what(const mad::Packet& answer, wire::Method asked = wire::Method::Get) {
  const auto id = answer.mad.attribute_id();
  const auto name = wire::attribute_name(wire::MgmtClass::SubnAdm, id);
  return fmt::format("SA {}({})", request_name(answer, asked),
                     name.empty() ? fmt::format("attribute 0x{:04x}", id) : std::string(name));
}

/// What to do about a refusal, where the status and the attribute tell; empty where they do not.
std::string_view advice(const mad::Packet& answer) {
  const auto id = answer.mad.attribute_id();
  const auto method = answer.mad.method();
  const bool is_read = method != wire::Method::DeleteResp && method != wire::Method::ReportResp;
  switch (answer.mad.status()) {
    case wire::status::kSaReqInvalid:
      if (id == wire::attr::kPKeyTableRecord) return "; P_Key tables are shown for the SA key only";
      if (id == wire::attr::kPathRecord || id == wire::attr::kTraceRecord)
        return "; a value that no path can have, or a GID and a LID of different ports";
      return "";
    case wire::status::kSaReqDenied:
      if (id == wire::attr::kServiceRecord || id == wire::attr::kGuidInfoRecord)
        return "; it is another port's, or is asked for without the SA key";
      return is_read ? "; the SA wants its key for this" : "; it is another port's";
    case wire::status::kSaInvalidGid:
      return "; a GID is not of this subnet, or no router is known to lead to its own";
    case wire::status::kSaInsufficientComponents:
      return "; the request is to name more";
    default:
      return "";
  }
}

/// Tables that have one record at most: a query that names all of the record's key.
constexpr struct {
  std::uint16_t attribute;
  std::uint64_t key;
} kSingle[] = {
    {wire::attr::kNodeRecord, component::kNodeLid},
    {wire::attr::kPortInfoRecord, component::kPortInfoLid | component::kPortInfoPort},
    {wire::attr::kLinkRecord, component::kLinkFromLid | component::kLinkFromPort},
    {wire::attr::kLinearFdtRecord, component::kLftLid | component::kLftBlock},
};
bool is_of_one_record(std::uint16_t attribute, std::uint64_t component_mask) {
  return std::any_of(std::begin(kSingle), std::end(kSingle), [&](const auto& single) {
    return single.attribute == attribute && (component_mask & single.key) == single.key;
  });
}

/// Whether nothing took this message apart, nor put it together: ibsim knows no RMPP and carries
/// the first MAD of whatever it is given, under the header that the SA left for the kernel to fill
/// in. No segment on a wire has the number 0, and none is longer than a MAD.
bool is_first_mad_alone(const mad::Packet& answer) {
  if (!answer.more.empty() || !mad::rmpp::is_active(answer.mad)) return false;
  const auto header = wire::decode<wire::RmppHeader>(answer.mad.bytes.data());
  return header.data1 == 0 || header.data2 > mad::rmpp::kPayloadBytes;
}

/// Of such a table. opensm's header says nothing of its length: that it is whole shows by zeros
/// behind the last record, since no record begins with as many.
Result<TableShape> shape_of_first_mad(const mad::Packet& answer, std::size_t stride) {
  const auto header = wire::decode<wire::RmppHeader>(answer.mad.bytes.data());
  TableShape shape{0, stride};
  for (std::size_t at = 0; at < kCarriedByIbsim; at += stride) {
    const std::size_t end = std::min(at + stride, kCarriedByIbsim);
    const bool is_empty = std::all_of(answer.mad.data() + at, answer.mad.data() + end,
                                      [](std::byte b) { return b == std::byte{0}; });
    if (is_empty && header.data2 <= mad::rmpp::kPayloadBytes) return shape;
    if (end == at + stride) ++shape.count;
  }
  return fail(ErrorKind::Malformed,
              fmt::format("{}: the answer is cut: one MAD of it came, with {} whole record{}; this "
                          "port carries no table of several MADs (ibsim's do not)",
                          what(answer), shape.count, shape.count == 1 ? "" : "s"));
}

/// Apart from the SMA of the same node.
std::uint64_t target_key_of(const SaAddress& sa) { return 0x5341ULL << 48 | sa.lid.value; }

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
    case wire::status::kBusy | wire::status::kRedirect:
      // ibsm's refusal of all paths of a large subnet (doc/sa.md).
      return "a table too large without the SA key; name an end of the paths";
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
  request.target_key = target_key_of(sa);
  request.address = mad::gsi_address(sa.lid, sa.sl);
  request.mad = wire::make_mad(wire::MgmtClass::SubnAdm, method, attribute, modifier);
  request.mad.set<&wire::SaHeader::sm_key>(sa.sm_key);
  request.mad.set<&wire::SaHeader::component_mask>(component_mask);
  const bool table = method == wire::Method::GetTable || method == wire::Method::GetTraceTable ||
                     method == wire::Method::GetMulti;
  request.resp_time_hint = table ? kTableTime : kAnswerTime;
  // One record, or the paths between two ports: a handful.
  if (method == wire::Method::Get || is_of_one_record(attribute, component_mask))
    request.first_wait = kAnswerTime;
  constexpr auto kSources = component::kPathSgid | component::kPathSlid;
  constexpr auto kDestinations = component::kPathDgid | component::kPathDlid;
  if (attribute == wire::attr::kPathRecord && (component_mask & kSources) != 0 &&
      (component_mask & kDestinations) != 0)
    request.first_wait = kAnswerTime;
  return request;
}

mad::Request trace_request(mad::Cookie cookie, const SaAddress& sa, const wire::PathRecord& path,
                           std::uint64_t component_mask) {
  auto request =
      sa_request(cookie, sa, wire::Method::GetTraceTable, wire::attr::kTraceRecord, component_mask);
  wire::set_body(request.mad, path);
  // The nodes on one way: a handful. And an SA that does not know the method may say nothing at
  // all.
  request.resp_time_hint = request.first_wait = kAnswerTime;
  return request;
}

mad::Request multi_path_request(mad::Cookie cookie, const SaAddress& sa,
                                wire::MultiPathRecord record, std::uint64_t component_mask,
                                std::span<const Gid> sources, std::span<const Gid> destinations) {
  record.sgid_count = static_cast<std::uint8_t>(sources.size());
  record.dgid_count = static_cast<std::uint8_t>(destinations.size());
  component_mask |= wire::component<&wire::MultiPathRecord::sgid_count>() |
                    wire::component<&wire::MultiPathRecord::dgid_count>();
  auto request =
      sa_request(cookie, sa, wire::Method::GetMulti, wire::attr::kMultiPathRecord, component_mask);
  constexpr std::size_t kRecord = wire::LayoutOf<wire::MultiPathRecord>::kBytes;
  constexpr std::size_t kGid = sizeof(Gid::bytes);
  std::vector<std::byte> data(kRecord + kGid * (sources.size() + destinations.size()));
  wire::encode(record, data.data());
  std::size_t at = kRecord;
  for (const auto gids : {sources, destinations}) {
    for (const Gid& gid : gids) {
      std::memcpy(data.data() + at, gid.bytes.data(), kGid);
      at += kGid;
    }
  }
  const std::size_t first = std::min(data.size(), wire::kSaDataBytes);
  std::copy_n(data.begin(), first, request.mad.data());
  request.more.assign(data.begin() + static_cast<std::ptrdiff_t>(first), data.end());
  // The kernel takes the message apart when it is marked as RMPP data.
  wire::RmppHeader rmpp;
  rmpp.version = 1;
  rmpp.type = static_cast<std::uint8_t>(mad::rmpp::Type::Data);
  rmpp.active = true;
  wire::encode(rmpp, request.mad.bytes.data());
  return request;
}

Error unanswered(Error error, const SaAddress& sa) {
  if (error.kind == ErrorKind::TimedOut)
    error.message +=
        fmt::format("; the port has LID {} for its subnet manager: does none run there any more{}?",
                    sa.lid.value, sa.sm_key != 0 ? ", or has it another SA key" : "");
  return error;
}

Duration BusyRests::rest(unsigned so_far) const {
  Duration rest = first;
  for (unsigned i = 0; i < so_far && rest < longest; ++i) rest *= 2;
  return std::min(rest, longest);
}

bool is_busy(const mad::Packet& answer) { return answer.mad.status() == wire::status::kBusy; }

Result<void> take_rest(mad::Session& session, Duration rest) {
  std::vector<mad::Received> nobodys;
  return session.port().receive(nobodys, rest);
}

Result<void> check_sa_answer(const mad::Packet& answer, wire::Method asked) {
  const auto status = answer.mad.status();
  if (status == wire::status::kOk) return {};
  return tl::unexpected(Error{ErrorKind::Refused,
                              fmt::format("{}: status 0x{:04x} ({}{})", what(answer, asked), status,
                                          sa_status_text(status), advice(answer)),
                              status});
}

bool has_no_trace_records(const Error& error) {
  return error.kind == ErrorKind::Unavailable || error.mad_status == wire::status::kBadMethod ||
         error.mad_status == wire::status::kBadAttribute;
}

Result<TableShape> table_shape(const mad::Packet& answer, std::size_t record_bytes) {
  TableShape shape;
  shape.stride = std::size_t{answer.mad.get<&wire::SaHeader::attribute_offset>()} * 8;
  if (shape.stride == 0) return shape;  // an empty table
  if (shape.stride < record_bytes)
    return fail(ErrorKind::Malformed, fmt::format("{}: records of {} bytes, expected {} at least",
                                                  what(answer), shape.stride, record_bytes));
  if (is_first_mad_alone(answer)) return shape_of_first_mad(answer, shape.stride);
  const auto bytes = mad::rmpp::data_bytes(answer);
  shape.count = bytes / shape.stride;
  // The padding behind the last record may be left off.
  if (bytes % shape.stride >= record_bytes) ++shape.count;
  return shape;
}

Result<SaRecords> read_records(const mad::Packet& answer, std::size_t record_bytes) {
  if (auto ok = check_sa_answer(answer); !ok) return tl::unexpected(ok.error());
  const auto shape = table_shape(answer, record_bytes);
  if (!shape) return tl::unexpected(shape.error());
  SaRecords records;
  records.record_bytes = record_bytes;
  records.bytes.resize(shape->count * record_bytes);
  for (std::size_t i = 0; i < shape->count; ++i)
    copy_data(answer, i * shape->stride, records.bytes.data() + i * record_bytes, record_bytes);
  return records;
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

namespace {

/// One request, for as long as the local port names this SA for its own: while it is silent another
/// subnet manager may have become master.
class Question : public mad::Exchange {
 public:
  Question(mad::Request request, mad::Port& port, Lid sm_lid)
      : port_(port), sm_lid_(sm_lid), request_(std::move(request)) {}

  std::vector<mad::Request> take_requests() override {
    std::vector<mad::Request> requests;
    if (request_) requests.push_back(*std::exchange(request_, std::nullopt));
    return requests;
  }
  void on_completion(Instant, const mad::Completion& completion) override {
    answer_ = completion.reply;
  }
  /// The Session asks after each wait; the first time nobody has been silent yet.
  bool done() const override {
    if (answer_ || ++looks_ == 1) return answer_.has_value();
    const auto facts = port_.facts();
    if (facts && facts->sm_lid.is_unicast() && facts->sm_lid != sm_lid_) moved_ = *facts;
    return moved_.has_value();
  }
  std::optional<Result<mad::Packet>>& answer() { return answer_; }
  const std::optional<mad::PortFacts>& moved() const { return moved_; }

 private:
  mad::Port& port_;
  Lid sm_lid_;
  std::optional<mad::Request> request_;
  std::optional<Result<mad::Packet>> answer_;
  mutable unsigned looks_{0};
  mutable std::optional<mad::PortFacts> moved_;
};

constexpr unsigned kMovesMost = 8;  // of the SA, while one request waits

}  // namespace

Result<mad::Packet> SaClient::ask(const mad::Request& asked) {
  const BusyRests rests;
  mad::Request request = asked;
  for (unsigned rested = 0, moves = 0;;) {
    Question question(request, session_.port(), sa_.lid);
    if (auto ran = session_.run(question); !ran) {
      session_.transactor().cancel(request.cookie);
      return tl::unexpected(ran.error());
    }
    if (!question.answer() && question.moved()) {
      session_.transactor().cancel(request.cookie);
      if (++moves > kMovesMost)
        return fail(ErrorKind::TimedOut, "the subnet manager moves from port to port");
      sa_.lid = question.moved()->sm_lid;
      sa_.sl = question.moved()->sm_sl;
      request.address = mad::gsi_address(sa_.lid, sa_.sl);
      request.target_key = target_key_of(sa_);
      continue;
    }
    auto answer = question.answer() ? *std::move(question.answer())
                                    : Result<mad::Packet>(fail(ErrorKind::TimedOut, "no answer"));
    if (!answer || !is_busy(*answer) || rested == rests.most) return answer;
    if (auto ok = take_rest(session_, rests.rest(rested++)); !ok) return tl::unexpected(ok.error());
  }
}

Result<mad::Packet> SaClient::call(const mad::Request& request) {
  auto answer = ask(request);
  if (!answer) return tl::unexpected(unanswered(std::move(answer.error()), sa_));
  return answer;
}

Result<std::vector<wire::TraceRecord>> SaClient::trace(const wire::PathRecord& path,
                                                       std::uint64_t mask) {
  const auto answer = ask(trace_request(0, sa_, path, mask));
  if (answer) return read_table<wire::TraceRecord>(*answer);
  Error error = answer.error();
  if (error.kind != ErrorKind::TimedOut || !class_port_info())
    return tl::unexpected(unanswered(std::move(error), sa_));
  error.kind = ErrorKind::Unavailable;
  error.message +=
      "; it answers other queries: an SA without TraceRecords, such as opensm's, says nothing to "
      "this one. ibtracer --sa asks it for other records instead, and ibroutes path the switches";
  return tl::unexpected(std::move(error));
}

Result<SaRecords> SaClient::get_records(std::uint16_t attribute, std::span<const std::byte> wanted,
                                        std::uint64_t mask, std::uint32_t modifier) {
  auto request = sa_request(0, sa_, wire::Method::GetTable, attribute, mask, modifier);
  std::copy_n(wanted.begin(), std::min(wanted.size(), wire::kSaDataBytes), request.mad.data());
  const auto answer = call(request);
  if (!answer) return tl::unexpected(answer.error());
  return read_records(*answer, wanted.size());
}

}  // namespace ib::query
