// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <algorithm>
#include <iterator>

#include "libdiag/sim/kernel_impl.h"

namespace ib::sim {
namespace {

namespace rmpp = mad::rmpp;
using wire::MadHeader;
using wire::Method;
using wire::MgmtClass;

constexpr Duration kAckTimeout = std::chrono::seconds(2);  // the kernel's, where none is asked for

/// Flow control of what is to be answered, since Linux 6.17 (get_sol_fc_max_outstanding,
/// is_solicited_fc_mad): so many unanswered requests has an agent on the wire, by the class it
/// registered for; 0: as many as it likes. The rest waits its turn, and no clock runs meanwhile.
std::uint32_t awaited_most(const Registration& r) {
  constexpr std::uint32_t kReceiveQueue = 512;  // recv_queue_size, a parameter of ib_core
  const auto c = static_cast<MgmtClass>(r.mgmt_class);
  if (r.mgmt_class == 0 || wire::is_smp(c) || c == MgmtClass::Comm) return kReceiveQueue / 4;
  return c == MgmtClass::SubnAdm ? kReceiveQueue / 32 : 0;
}
bool is_controlled(const Agent& agent, const UserMad& mad) {
  if (mad.timeout_ms == 0) return false;
  const auto c = mad.packet.mad.mgmt_class();
  if (agent.spec.rmpp_version != 0 && rmpp::is_active(mad.packet.mad)) return false;
  return wire::is_smp(c) || c == MgmtClass::SubnAdm || c == MgmtClass::Comm;
}

}  // namespace

// ---- sending

bool HostKernel::Impl::is_sendable_smp(const wire::Mad& mad) const {
  const auto count = mad.get<&wire::SmpHeader::hop_count>();
  const auto pointer = mad.get<&wire::SmpHeader::hop_pointer>();
  const bool returning = mad.get<&wire::SmpHeader::direction>();
  // What begins with a part by LID is not on its directed route yet (handle_outgoing_dr_smp).
  const Lid lid_part =
      returning ? mad.get<&wire::SmpHeader::dr_dlid>() : mad.get<&wire::SmpHeader::dr_slid>();
  if (lid_part != kPermissiveLid) return true;
  if (count >= 64) return false;
  if (!returning) {
    if (count > 0 && pointer == 0) {
      return port.is_switch() || mad.get<&wire::SmpHeader::initial_path>()[1] == port.port_num();
    }
    if (pointer == count) {
      return port.is_switch() || mad.get<&wire::SmpHeader::dr_dlid>() == kPermissiveLid;
    }
    return pointer == count + 1 || (pointer < count && port.is_switch());
  }
  if (count > 0 && pointer == count + 1) {
    return port.is_switch() || mad.get<&wire::SmpHeader::return_path>()[count] == port.port_num();
  }
  // A CA ends a route only where it also ends for the subnet manager.
  if (pointer == 1)
    return port.is_switch() || mad.get<&wire::SmpHeader::dr_slid>() == kPermissiveLid;
  if (pointer == 0) return true;
  return port.is_switch() && pointer <= count;
}

bool HostKernel::Impl::is_duplicate(const File& file, const UserMad& mad) const {
  const bool answer = is_answer(mad.packet.mad);
  const auto collides = [&](const Request& other) {
    if (other.agent->file != &file || other.answer != answer) return false;
    return !answer || same_destination(other.mad.packet.address, mad.packet.address);
  };
  return requests.find(key_of(mad.packet.mad), collides) != Requests::kNone;
}

bool HostKernel::Impl::same_destination(const mad::Address& a, const mad::Address& b) {
  if (a.grh.has_value() != b.grh.has_value()) return false;
  return a.grh ? a.grh->gid == b.grh->gid : a.lid == b.lid;
}

int HostKernel::Impl::send(Instant now, const File& file, UserMad& mad) {
  if (mad.agent < 0 || mad.agent >= kAgentsPerFile || mad.length < kRmppHeaderBytes)
    return -kEinval;
  Agent* const user = file.agents[static_cast<std::size_t>(mad.agent)];
  if (user == nullptr) return -kEinval;
  Agent& agent = *user;
  wire::Mad& message = mad.packet.mad;
  const bool rmpp_class = has_rmpp(message.mgmt_class());
  // Of the user's RMPP header only the ACTIVE flag counts: the kernel makes its own
  // (ib_create_send_mad).
  const bool segmented = rmpp_class && agent.kernel_rmpp() && rmpp::is_active(message);
  if (!segmented && mad.length > wire::kMadBytes) return -kEinval;
  if (!rmpp_class && agent.spec.rmpp_version != 0) return -kEinval;

  const Tid tid_asked = message.tid();
  const bool answer = is_answer(message);
  if (!answer)
    message.set<&MadHeader::tid>(
        Tid{std::uint64_t{agent.client} << 32 | (tid_asked.value & 0xFFFFFFFF)});
  const bool user_segments = rmpp_class && !agent.kernel_rmpp() && rmpp::is_active(message);
  const bool bad_route = agent.spec.qpn == 0 && message.is_directed() && !is_sendable_smp(message);
  if ((!user_segments && is_duplicate(file, mad)) || bad_route) {
    message.set<&MadHeader::tid>(tid_asked);
    return -kEinval;
  }

  using Verdict = mad::SaCongestion<RequestId>::Verdict;
  const bool congested = port.has_sa_congestion() && !segmented && mad.timeout_ms != 0 && !answer &&
                         message.mgmt_class() == MgmtClass::SubnAdm;
  const Verdict verdict = congested ? congestion.judge() : Verdict::Send;
  const bool controlled = !congested && is_controlled(agent, mad);
  const bool waits = verdict != Verdict::Send || (controlled && is_full(agent));
  if (!segmented && !waits) transmit(now, agent, mad.packet);
  if (!segmented && mad.timeout_ms == 0) return 0;

  const RequestId id = requests.add(key_of(message));
  Request& request = requests.at(id);
  request.agent = &agent;
  request.answer = answer;
  request.controlled = controlled;
  request.waits = waits;
  request.congested = congested;
  keep(request, mad, segmented || waits || mad.retries != 0);
  if (verdict == Verdict::Wait) congestion.wait(now, id);
  if (verdict == Verdict::Drop) {
    congestion.drop();
    return_to_client(now, id, kStatusDropped);
  }
  if (waits) {
    if (controlled) agent.backlog.push_back(id);
    return 0;
  }
  if (congested) congestion.sent();
  if (controlled) ++agent.awaited;
  if (segmented) {
    request.sender = make_sender(request.mad);
    pump_sender(now, id);
  } else {
    requests.set_deadline(id, deadline_after(now, request.mad.timeout_ms));
  }
  return 0;
}

void HostKernel::Impl::keep(Request& request, UserMad& mad, bool all) {
  request.retries_left = mad.retries;
  if (all) {
    request.mad = std::move(mad);
    return;
  }
  request.mad.agent = mad.agent;
  request.mad.timeout_ms = mad.timeout_ms;
  request.mad.retries = mad.retries;
  request.mad.packet.address = mad.packet.address;
  std::copy_n(mad.packet.mad.bytes.begin(), kMadHeaderBytes, request.mad.packet.mad.bytes.begin());
}

bool HostKernel::Impl::is_full(const Agent& agent) {
  const std::uint32_t most = awaited_most(agent.spec);
  return most != 0 && (!agent.backlog.empty() || agent.awaited >= most);
}

void HostKernel::Impl::finish(Instant now, RequestId id) {
  Request& done = requests.at(id);
  Agent& agent = *done.agent;
  const bool controlled = done.controlled;
  const bool congested = done.congested && !done.waits;
  requests.erase(id);
  if (congested) {
    congestion.finished();
    send_waiting(now);
  }
  if (!controlled) return;
  --agent.awaited;
  if (agent.backlog.empty() || agent.awaited >= awaited_most(agent.spec)) return;
  const RequestId next = agent.backlog.front();
  agent.backlog.pop_front();
  Request& request = requests.at(next);
  request.waits = false;
  ++agent.awaited;
  requests.set_deadline(next, deadline_after(now, request.mad.timeout_ms));
  transmit(now, agent, request.mad.packet);
}

// ---- MAD congestion control

void HostKernel::Impl::give_up_waiting(Instant now) {
  while (const auto id = congestion.next_expired(now)) return_to_client(now, *id, kStatusTimedOut);
}

void HostKernel::Impl::send_waiting(Instant now) {
  while (const auto id = congestion.next_send()) {
    Request& request = requests.at(*id);
    request.waits = false;
    requests.set_deadline(*id, deadline_after(now, request.mad.timeout_ms));
    transmit(now, *request.agent, request.mad.packet);
  }
}

// ---- long messages out (mad_rmpp.c)

std::unique_ptr<rmpp::Sender> HostKernel::Impl::make_sender(const UserMad& mad) {
  rmpp::SenderOptions options;
  const auto asked = std::chrono::milliseconds(mad.timeout_ms);
  options.ack_timeout = mad.timeout_ms == 0 || asked > kAckTimeout ? kAckTimeout : Duration(asked);
  options.ack_timeout_max = options.ack_timeout;
  options.retries = static_cast<std::uint8_t>(std::min(mad.retries, 255U));
  options.abort_when_given_up = false;
  std::vector<std::byte> message(mad.packet.mad.bytes.begin(), mad.packet.mad.bytes.end());
  message.insert(message.end(), mad.packet.more.begin(), mad.packet.more.end());
  message.resize(mad.length);
  return std::make_unique<rmpp::Sender>(message, options);
}

void HostKernel::Impl::pump_sender(Instant now, RequestId id) {
  Request& request = requests.at(id);
  while (auto segment = request.sender->next_send(now)) {
    transmit(now, *request.agent, mad::Packet{request.mad.packet.address, *segment, {}});
  }
  switch (request.sender->state()) {
    case rmpp::Sender::State::Sending:
      requests.set_deadline(id, request.sender->next_deadline());
      return;
    case rmpp::Sender::State::Failed:
      // Only a timeout is told to the user; a message the other side refused is forgotten.
      if (request.sender->failure() == rmpp::status::kTooManyRetries) {
        report_time_out(now, id);
      } else {
        requests.erase(id);
      }
      return;
    case rmpp::Sender::State::Done:
      if (request.mad.timeout_ms == 0) {
        requests.erase(id);
      } else {  // now the answer is waited for
        request.sender.reset();
        request.retries_left = 0;
        requests.set_deadline(id, deadline_after(now, request.mad.timeout_ms));
      }
  }
}

bool HostKernel::Impl::give_to_sender(Instant now, const Agent& agent, const mad::Packet& packet) {
  const auto is_meant = [&](const Request& request) {
    return request.agent == &agent && request.sender && request.sender->owns(packet.mad) &&
           same_destination(request.mad.packet.address, packet.address);
  };
  const RequestId id = requests.find(key_of(packet.mad), is_meant);
  if (id == Requests::kNone) return false;
  requests.at(id).sender->on_mad(now, packet.mad);
  pump_sender(now, id);
  return true;
}

void HostKernel::Impl::transmit(Instant now, const Agent& agent, const mad::Packet& packet) {
  ++counters.sent;
  port.transmit(now, agent.spec.qpn == 0, packet);
}

Instant HostKernel::Impl::deadline_after(Instant now, std::uint32_t timeout_ms) {
  if (timeout_ms > 0x7FFFFFFF) return kNever;
  return now + std::chrono::milliseconds(timeout_ms);
}

void HostKernel::Impl::on_time_out(Instant now, RequestId id) {
  Request& request = requests.at(id);
  if (request.sender) {
    request.sender->on_time(now);
    pump_sender(now, id);
    return;
  }
  if (request.retries_left > 0) {
    --request.retries_left;
    ++counters.retries;
    requests.set_deadline(id, deadline_after(now, request.mad.timeout_ms));
    transmit(now, *request.agent, request.mad.packet);
    return;
  }
  report_time_out(now, id);
}

void HostKernel::Impl::report_time_out(Instant now, RequestId id) {
  ++counters.timed_out;
  return_to_client(now, id, kStatusTimedOut);
}

void HostKernel::Impl::return_to_client(Instant now, RequestId id, std::uint32_t status) {
  Request& request = requests.at(id);
  Unread::Item& back = request.agent->file->unread.add();
  back.qp = 2;
  back.mad = request.mad;
  back.mad.status = status;
  back.mad.length = kMadHeaderBytes;
  auto& bytes = back.mad.packet.mad.bytes;
  std::fill(bytes.begin() + kMadHeaderBytes, bytes.end(), std::byte{0});
  back.mad.packet.more = {};
  finish(now, id);
}

}  // namespace ib::sim
