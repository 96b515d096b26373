// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <algorithm>

#include "libdiag/sim/kernel_impl.h"

namespace ib::sim {
namespace {

namespace rmpp = mad::rmpp;
using wire::MadHeader;
using wire::Method;
using wire::MgmtClass;

}  // namespace

Agent* HostKernel::Impl::agent_for(const wire::Mad& mad) {
  if (is_answer(mad)) {
    const auto id = static_cast<ClientId>(mad.tid().value >> 32);
    Agent*& recent = recent_clients[id % recent_clients.size()];
    if (recent != nullptr && recent->client == id) return recent;
    const auto client = clients.find(id);
    if (client == clients.end()) return nullptr;
    recent = &client->second;
    return recent;
  }
  // Requests of one kind come in a row.
  const auto key = slot_of(mad).key();
  if (last_table == nullptr || last_key != key) {
    const auto table = methods.find(key);
    if (table == methods.end()) return nullptr;
    last_key = key;
    last_table = &table->second;
  }
  return (*last_table)[static_cast<std::size_t>(mad.method()) & 0x7F];
}

RequestId HostKernel::Impl::request_for(const Agent& agent, const mad::Packet& packet) const {
  const bool answer = is_answer(packet.mad);
  const auto is_meant = [&](const Request& request) {
    if (request.agent != &agent || request.waits) return false;
    if (packet.mad.is_directed()) return true;
    if (request.answer == answer) return false;
    const mad::Address& sent = request.mad.packet.address;
    if (sent.grh.has_value() != packet.address.grh.has_value()) return false;
    if (!answer) return same_destination(sent, packet.address);
    const unsigned differ = sent.path_bits ^ packet.address.path_bits;
    return sent.grh || differ == 0 || (differ & ((1U << port.lmc()) - 1)) == 0;
  };
  return requests.find(key_of(packet.mad), is_meant);
}

bool HostKernel::Impl::is_valid(const wire::Mad& mad, bool smi) {
  const auto c = mad.mgmt_class();
  if (mad.get<&MadHeader::base_version>() != 1 || wire::is_smp(c) != smi) return false;
  // Connection management knows no other method.
  return c != MgmtClass::Comm || mad.method() == Method::Send ||
         mad.attribute_id() == wire::attr::kClassPortInfo;
}

void HostKernel::Impl::on_delivery(Instant now, const Delivery& delivery) {
  ++counters.received;
  const wire::Mad& mad = delivery.packet.mad;
  if (!is_valid(mad, delivery.smi)) {
    ++counters.dropped_no_agent;
    return;
  }
  Agent* const agent = agent_for(mad);
  if (agent == nullptr) return answer_unmatched(now, delivery);
  if (agent->receiver && rmpp::is_active(mad)) {
    if (give_to_sender(now, *agent, delivery.packet)) return;
    agent->receiver->on_mad(now, delivery.packet.address, mad);
    pump_receiver(now, *agent);
    return;
  }
  complete(now, *agent, delivery.packet, wire::kMadBytes);
}

void HostKernel::Impl::pump_receiver(Instant now, Agent& agent) {
  while (auto control = agent.receiver->next_send()) transmit(now, agent, *control);
  while (auto message = agent.receiver->next_message()) {
    const std::size_t length =
        rmpp::header_bytes(message->mad.mgmt_class()) + rmpp::data_bytes(*message);
    complete(now, agent, std::move(*message), length);
  }
}

template <class Packet>
void HostKernel::Impl::complete(Instant now, const Agent& agent, Packet&& packet,
                                std::size_t length) {
  const wire::Mad& mad = packet.mad;
  if (is_answer(mad)) {
    if (const auto id = request_for(agent, packet); id != Requests::kNone) {
      finish(now, id);
    } else if (!(has_rmpp(mad.mgmt_class()) && !agent.kernel_rmpp() && rmpp::is_active(mad))) {
      // Segments after the first match nothing; only an agent that does RMPP itself gets them.
      ++counters.dropped_no_request;
      return;
    }
  }
  queue(agent, std::forward<Packet>(packet), length);
}

template <class Packet>
void HostKernel::Impl::queue(const Agent& agent, Packet&& packet, std::size_t length) {
  const std::uint8_t qp = agent.spec.qpn;
  File& file = *agent.file;
  // What one program leaves unread keeps nothing from others (queue_packet).
  if (file.unread_of[qp] >= port.receive_queue()) {
    ++counters.dropped_queue;
    return;
  }
  if (file.threshold != 0 && file.waiting(file.threshold) >= file.threshold) {
    ++counters.dropped_threshold;
    ++file.dropped;
    return;
  }
  if (file.reader != nullptr && file.unread.empty() && length == wire::kMadBytes &&
      file.reader->read(agent.number, packet))
    return;
  ++file.unread_of[qp];
  Unread::Item& item = file.unread.add();
  item.qp = qp;
  item.mad.agent = agent.number;
  item.mad.status = item.mad.timeout_ms = item.mad.retries = 0;
  item.mad.length = static_cast<std::uint32_t>(length);
  item.mad.packet = std::forward<Packet>(packet);
}

void HostKernel::Impl::answer_unmatched(Instant now, const Delivery& delivery) {
  const Method method = delivery.packet.mad.method();
  if (method != Method::Get && method != Method::Set) {
    ++counters.dropped_no_agent;
    return;
  }
  ++counters.unmatched_answered;
  mad::Packet reply = delivery.packet;
  reply.more.clear();
  reply.mad.set<&MadHeader::method>(Method::GetResp);
  const auto direction = reply.mad.is_directed() ? 0x8000 : 0;
  reply.mad.set<&MadHeader::status>(
      static_cast<std::uint16_t>(wire::status::kBadAttribute | direction));
  reply.address.q_key = delivery.smi ? 0 : wire::kQp1QKey;
  ++counters.sent;
  port.transmit(now, delivery.smi, reply);
}

}  // namespace ib::sim
