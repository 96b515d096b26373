// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/reads.h"

#include <algorithm>
#include <array>
#include <utility>

#include "libdiag/mad/rmpp.h"
#include "libdiag/wire/gmp_attributes.h"
#include "sm/sa/intake/answers.h"
#include "sm/sa/intake/read_refusals.h"
#include "sm/sa/paths/path_records.h"
#include "sm/sa/queries.h"

namespace sm::sa {
namespace {

using ib::Instant;
using ib::mad::Packet;
using ib::wire::MadHeader;
using ib::wire::Method;
using ib::wire::SaHeader;
namespace attr = ib::wire::attr;
namespace rmpp = ib::mad::rmpp;
namespace status = ib::wire::status;

// Tables up to this size are built whole, so that their length is announced and the snapshot let
// go. With a window of segments it is less than the 64 KB that any table may hold.
constexpr std::size_t kBuiltWholeMax = std::size_t{200} * 120;
/// Room for some records, as a Get needs, is kept from one search to the next.
constexpr std::size_t kFoundKept = 1024;
constexpr std::uint8_t kNoResponseTime = 0x1F;

}  // namespace

bool Reads::may_begin(ib::Lid who, const Packet& request) const {
  const auto& options = shared_.options;
  if (request.mad.method() == Method::Get)
    return searches_.size() < options.transfers_max &&
           searches_.size_of(who) < options.transfers_per_requester;
  return transfers_.places() + searches_.size() < options.transfers_max &&
         transfers_.places_of(who) + searches_.size_of(who) < options.transfers_per_requester;
}

void Reads::begin(const Packet& request) {
  const auto method = request.mad.method();
  const bool may_wait = method == Method::Get || method == Method::GetTable;
  if (may_wait && shared_.world.device_state->tables_to_come && TablesWait::concerns(request) &&
      tables_wait_.add(shared_.now, shared_.who_of(request), request))
    return;
  answer(request);
}

bool Reads::answer_waiting() {
  const auto request = tables_wait_.next();
  if (request) answer(*request);
  return request.has_value();
}

void Reads::answer(const Packet& request) {
  if (request.mad.method() == Method::Get) return answer_get(request);
  begin_table(request);
}

Query Reads::query_of(const Packet& request) const {
  Query q;
  q.method = request.mad.method();
  q.attribute = q.method == Method::GetTraceTable ? attr::kTraceRecord : request.mad.attribute_id();
  q.modifier = request.mad.attribute_modifier();
  q.mask = request.mad.get<&SaHeader::component_mask>();
  std::copy_n(request.mad.data(), q.wanted.size(), q.wanted.begin());
  q.more = request.more;
  q.bytes = rmpp::data_bytes(request);
  q.single = request.mad.method() == Method::Get;
  q.requester = shared_.requester_of(request);
  return q;
}

void Reads::refuse(const Packet& request, const Query& query, std::uint16_t mad_status) {
  shared_.complain(request, why_not_read(shared_.world, query, request.address.lid, mad_status));
  replies_.refuse(request, mad_status);
}

// ---- single records

void Reads::answer_get(const Packet& request) {
  if (request.mad.attribute_id() == attr::kPathRecord) {
    std::array<std::byte, ib::wire::record_bytes<ib::wire::PathRecord>()> path;
    const auto mask = request.mad.get<&SaHeader::component_mask>();
    const auto* asked = request.mad.bytes.data() + ib::wire::kSaDataOffset;
    if (write_first_path(shared_.world, shared_.requester_of(request), mask, asked, path.data()))
      return replies_.send_record(request, path);
  }
  const auto query = query_of(request);
  auto opened = open_query(shared_.world, query);
  if (const auto* refusal = std::get_if<std::uint16_t>(&opened))
    return refuse(request, query, *refusal);
  // Of the paths there are, any one will do; of everything else exactly one must be meant.
  const std::size_t wanted = query.attribute == attr::kPathRecord ? 1 : 2;
  auto source = std::get<std::unique_ptr<RecordSource>>(std::move(opened));
  const auto bytes = wanted * source->record_bytes();
  begin_search(request, std::move(source), bytes);
}

void Reads::finish_get(const Packet& request, const Searches::Search& search) {
  if (search.found.empty())
    return replies_.refuse(
        request, search.source->gave_up() ? status::kSaNoResources : status::kSaNoRecords);
  if (search.found.size() > search.source->record_bytes())
    return replies_.refuse(request, status::kSaTooManyRecords);
  replies_.send_record(request, search.found);
}

// ---- searches

/// Most end with their first step.
void Reads::begin_search(const Packet& request, std::unique_ptr<RecordSource> source,
                         std::size_t bytes_max) {
  Searches::Search search;
  search.source = std::move(source);
  search.bytes_max = bytes_max;
  search.found = std::exchange(found_room_, {});
  search.found.clear();
  if (!shared_.options.kernel_rmpp) search.found.reserve(bytes_max + search.source->record_bytes());
  if (continue_search(search, kCandidatesPerStep)) {
    finish(request, search);
    if (search.found.capacity() <= kFoundKept) found_room_ = std::move(search.found);
    return;
  }
  search.request = request;
  search.who = shared_.who_of(request);
  searches_.begin(std::move(search));
}

void Reads::finish(const Packet& request, Searches::Search& search) {
  if (request.mad.method() == Method::Get) return finish_get(request, search);
  send_table(request, search);
}

void Reads::continue_one_search() {
  for_transfers_ = transfers_.is_short() && (searches_.empty() || !for_transfers_);
  if (for_transfers_) {
    transfers_.step();
  } else if (auto done = searches_.step()) {
    finish(done->request, *done);
    shared_.admission.resume();
  }
}

// ---- tables

void Reads::begin_table(const Packet& request) {
  const auto query = query_of(request);
  auto opened = open_query(shared_.world, query);
  if (const auto* refusal = std::get_if<std::uint16_t>(&opened))
    return refuse(request, query, *refusal);
  const auto& options = shared_.options;
  begin_search(request, std::get<std::unique_ptr<RecordSource>>(std::move(opened)),
               options.kernel_rmpp ? options.kernel_table_bytes_max : kBuiltWholeMax);
}

/// Its first records are found, or all of them.
void Reads::send_table(const Packet& request, Searches::Search& search) {
  auto& source = search.source;
  auto& ready = search.found;
  if (source->gave_up()) return replies_.refuse(request, status::kSaNoResources);
  auto answer = answer_to(request, *response_to(request.mad.method()), status::kOk);
  answer.mad.set<&MadHeader::attribute_id>(answered_attribute(request));
  std::fill_n(answer.mad.data(), ib::wire::kSaDataBytes, std::byte{0});
  if (!ready.empty())
    answer.mad.set<&SaHeader::attribute_offset>(
        static_cast<std::uint16_t>(source->record_bytes() / 8));
  shared_.counters.records += ready.size() / source->record_bytes();
  answer.mad.set<&ib::wire::RmppHeader::response_time>(kNoResponseTime);
  if (shared_.options.kernel_rmpp) return send_whole(request, std::move(answer), search);

  replies_.leave_to_transfer(request);
  transfers_.begin(shared_.who_of(request), fingerprint_of(request), answer, std::move(ready),
                   search.at_end ? nullptr : std::move(source));
}

/// The transport cuts the message into segments; it holds it whole, so there is a limit.
void Reads::send_whole(const Packet& request, Packet answer, const Searches::Search& search) {
  if (!search.at_end) return replies_.refuse(request, status::kSaNoResources);
  const auto& ready = search.found;
  const auto head = std::min<std::size_t>(ready.size(), ib::wire::kSaDataBytes);
  std::copy_n(ready.begin(), head, answer.mad.data());
  answer.more.assign(ready.begin() + static_cast<std::ptrdiff_t>(head), ready.end());
  ib::wire::RmppHeader header;
  header.version = 1;
  header.type = static_cast<std::uint8_t>(rmpp::Type::Data);
  header.active = header.first = header.last = true;
  header.data1 = 1;
  header.data2 = rmpp::first_payload_length(ib::wire::MgmtClass::SubnAdm, ready.size());
  ib::wire::encode(header, answer.mad.bytes.data());
  replies_.send(request, std::move(answer));
}

bool Reads::is_under_way(const Packet& request) {
  const auto before = transfers_.size();
  if (transfers_.has(request)) return true;
  if (transfers_.size() < before) shared_.admission.resume();
  return false;
}

bool Reads::on_control(Instant now, const Packet& packet) {
  const auto before = transfers_.size();
  if (!transfers_.on_mad(now, packet)) return false;
  if (transfers_.size() < before) shared_.admission.resume();
  return true;
}

std::optional<Packet> Reads::next_segment(Instant now) {
  const auto before = transfers_.size();
  auto segment = transfers_.next_send(now);
  if (transfers_.size() < before) shared_.admission.resume();
  return segment;
}

void Reads::on_time(Instant now) {
  const auto before = transfers_.size();
  transfers_.on_time(now);
  if (transfers_.size() < before) shared_.admission.resume();
  tables_wait_.on_time(now);
}

Instant Reads::next_deadline() const {
  return std::min(transfers_.next_deadline(), tables_wait_.next_deadline());
}

}  // namespace sm::sa
