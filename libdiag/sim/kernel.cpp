// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/sim/kernel.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <unordered_map>
#include <vector>

#include "libdiag/mad/rmpp.h"
#include "libdiag/sim/requests.h"

namespace ib::sim {

struct File;
using ClientId = std::uint32_t;  // the upper half of a request's TID

struct Agent {
  File* file;
  std::int32_t number;  // within the file
  ClientId client;
  Registration spec;
  std::unique_ptr<mad::rmpp::Receiver> receiver;  // where the kernel does RMPP
  std::uint32_t awaited{0};                       // controlled requests that were sent
  std::deque<Requests::Id> backlog;               // and those that were not yet
  bool kernel_rmpp() const { return spec.rmpp_version != 0 && !spec.user_rmpp; }
};

namespace {

namespace rmpp = mad::rmpp;
using wire::MadHeader;
using wire::Method;
using wire::MgmtClass;
using wire::RmppHeader;

constexpr int kEinval = 22, kEnomem = 12, kEopnotsupp = 95;
constexpr std::uint8_t kVersionsMax = 8;        // MAX_MGMT_VERSION
constexpr std::uint8_t kClassesMax = 80;        // MAX_MGMT_CLASS
constexpr std::size_t kOuisPerClass = 8;        // MAX_MGMT_OUI
constexpr std::uint32_t kClientMax = 1U << 24;  // agents count through 24 bits of TID

std::uint8_t raw(MgmtClass c) { return static_cast<std::uint8_t>(c); }

/// ib_response_mad: answers, trap repressions, and the B_Key class's own notion of an answer.
bool is_answer(const wire::Mad& mad) {
  if (wire::is_response(mad.method()) || mad.method() == Method::TrapRepress) return true;
  return mad.mgmt_class() == MgmtClass::BoardMgmt && (mad.attribute_modifier() & 1U) != 0;
}

/// Classes with an RMPP header (ib_is_mad_class_rmpp).
bool has_rmpp(MgmtClass c) { return rmpp::header_bytes(c) != 0; }

constexpr Duration kAckTimeout = std::chrono::seconds(2);  // the kernel's, where none is asked for

rmpp::ReceiverOptions receiver_options() {
  rmpp::ReceiverOptions options;
  options.as_kernel = true;
  return options;
}

/// Where an agent's unsolicited MADs are looked up.
struct Slot {
  std::uint8_t class_version;
  std::uint8_t mgmt_class;
  std::uint32_t oui;  // vendor range 2 only, else 0
  std::uint64_t key() const {
    return std::uint64_t{oui} << 16 | std::uint64_t{class_version} << 8 | mgmt_class;
  }
};
Slot slot_of(const wire::Mad& mad) {
  const auto c = mad.mgmt_class();
  return {mad.get<&MadHeader::class_version>(), raw(c),
          wire::is_vendor_range2(c) ? mad.get<&wire::VendorHeader::oui>() : 0};
}

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

TransactionKey key_of(const wire::Mad& mad) { return {mad.tid().value, raw(mad.mgmt_class())}; }

using RequestId = Requests::Id;
using Request = Requests::Request;

/// MADs to be read, in one piece of memory that is used again and again as it is: a deque would
/// have a block for every one of them.
class Unread {
 public:
  struct Item {
    UserMad mad;
    std::uint8_t qp{};  // 0, 1, or 2: takes no receive slot
  };
  bool empty() const { return first_ == last_; }
  std::size_t size() const { return last_ - first_; }
  Item& front() { return items_[first_]; }
  const Item& front() const { return items_[first_]; }
  /// One to be filled in; all of it but `mad.packet.more` is left from another.
  Item& add() {
    // A program that reads, but never all, must not make it grow for ever.
    if (first_ > kPassedMax) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
      last_ -= std::exchange(first_, 0);
    }
    if (last_ == items_.size()) items_.emplace_back();
    return items_[last_++];
  }
  void pop() {
    front().mad.packet.more = {};
    if (++first_ == last_) first_ = last_ = 0;
  }
  auto begin() const { return items_.begin() + static_cast<std::ptrdiff_t>(first_); }
  auto end() const { return items_.begin() + static_cast<std::ptrdiff_t>(last_); }

 private:
  static constexpr std::size_t kPassedMax = 1024;
  std::vector<Item> items_;
  std::size_t first_{0}, last_{0};
};

}  // namespace

struct File {
  std::array<Agent*, kAgentsPerFile> agents{};  // nullptr: free
  Reader* reader{};
  Unread unread;
  std::array<std::uint32_t, 2> unread_of{};  // how many came by QP0 and by QP1
  std::uint32_t threshold{};                 // 0: none
  std::uint64_t dropped{};                   // above it

  /// How many MADs the program has not read; below `enough` it may be more.
  std::size_t waiting(std::size_t enough) const {
    const std::size_t queued = unread.size();
    if (reader == nullptr || queued >= enough) return queued;
    return queued + reader->unread(enough - queued);
  }
};

struct HostKernel::Impl {
  explicit Impl(Attachment& attachment) : port(attachment) {}

  Attachment& port;
  ClientId next_client{1};
  std::vector<std::unique_ptr<File>> files;  // by FileId, closed ones empty
  std::vector<FileId> files_closed;
  std::unordered_map<ClientId, Agent> clients;
  std::unordered_map<std::uint64_t, std::array<Agent*, 128>> methods;  // by Slot::key
  std::uint64_t last_key{};                      // that was looked for in these
  std::array<Agent*, 128>* last_table{nullptr};  // and what was found
  std::array<Agent*, 64> recent_clients{};       // who got answers, by number
  Requests requests;
  std::vector<Agent*> receiving;  // those with a Receiver
  IssmId next_issm{1};
  std::deque<IssmId> issm;  // the first holds it
  mad::SaCongestion<RequestId> congestion;
  KernelCounters counters;

  // ---- agents ---------------------------------------------------------------------------------

  bool is_valid(const Registration& r) const {
    if (r.qpn > 1 || r.rmpp_version > 1 || r.oui > 0xFFFFFF) return false;
    if (r.mgmt_class == 0) return true;
    const auto c = static_cast<MgmtClass>(r.mgmt_class);
    if (r.class_version >= kVersionsMax) return false;
    if (r.mgmt_class >= kClassesMax && c != MgmtClass::SubnDirected) return false;
    if (wire::is_vendor_range2(c) && r.oui == 0) return false;
    if (r.rmpp_version != 0 && !has_rmpp(c)) return false;
    return wire::is_smp(c) == (r.qpn == 0);
  }

  std::size_t ouis_in_use(const Slot& slot) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        methods, [&](const auto& m) { return (m.first & 0xFFFF) == (slot.key() & 0xFFFF); }));
  }

  File& file_at(FileId id) const {
    assert(id < files.size() && files[id]);
    return *files[id];
  }

  std::int32_t add_agent(File& file, const Registration& r) {
    const auto free = std::ranges::find(file.agents, nullptr);
    if (r.qpn > 1) return -kEinval;
    if (free == file.agents.end()) return -kEnomem;
    if (!is_valid(r)) return -kEinval;

    std::array<Agent*, 128>* table = nullptr;
    const auto wanted = [&](std::size_t m) {
      return (r.method_mask[m / 64] >> (m % 64) & 1U) != 0;
    };
    if (r.mgmt_class != 0) {
      const Slot slot{r.class_version, r.mgmt_class,
                      wire::is_vendor_range2(static_cast<MgmtClass>(r.mgmt_class)) ? r.oui : 0};
      if (const auto found = methods.find(slot.key()); found != methods.end()) {
        table = &found->second;
        for (std::size_t m = 0; m < 128; ++m) {
          if (wanted(m) && (*table)[m] != nullptr) return -kEinval;
        }
      } else {
        if (slot.oui != 0 && ouis_in_use(slot) >= kOuisPerClass) return -kEinval;
        table = &methods[slot.key()];
      }
    }
    const ClientId client = take_client();
    Agent& agent = clients[client];
    agent.file = &file;
    agent.number = static_cast<std::int32_t>(free - file.agents.begin());
    agent.client = client;
    agent.spec = r;
    *free = &agent;
    for (std::size_t m = 0; table != nullptr && m < 128; ++m) {
      if (wanted(m)) (*table)[m] = &agent;
    }
    if (agent.kernel_rmpp()) {
      agent.receiver = std::make_unique<rmpp::Receiver>(receiver_options());
      receiving.push_back(&agent);
    }
    return agent.number;
  }

  ClientId take_client() {
    while (clients.contains(next_client)) next_client = next_client % (kClientMax - 1) + 1;
    const ClientId taken = next_client;
    next_client = next_client % (kClientMax - 1) + 1;
    return taken;
  }

  void remove_agent(Agent& agent) {
    congestion.forget([&](RequestId id) { return requests.at(id).agent == &agent; });
    requests.erase_if([&](const Request& r) {
      if (r.agent != &agent) return false;
      if (r.congested && !r.waits) congestion.finished();
      return true;
    });
    last_table = nullptr;
    recent_clients.fill(nullptr);
    for (auto m = methods.begin(); m != methods.end();) {
      std::ranges::replace(m->second, &agent, nullptr);
      const bool empty =
          std::ranges::all_of(m->second, [](const Agent* a) { return a == nullptr; });
      m = empty ? methods.erase(m) : std::next(m);
    }
    std::erase(receiving, &agent);
    clients.erase(agent.client);
  }

  // ---- sending --------------------------------------------------------------------------------

  /// A directed-route SMP this port could not put on the wire as it stands
  /// (smi_handle_dr_smp_send).
  bool is_sendable_smp(const wire::Mad& mad) const {
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

  /// user_mad refuses a second operation with the identifier of one under way.
  bool is_duplicate(const File& file, const UserMad& mad) const {
    const bool answer = is_answer(mad.packet.mad);
    const auto collides = [&](const Request& other) {
      if (other.agent->file != &file || other.answer != answer) return false;
      return !answer || same_destination(other.mad.packet.address, mad.packet.address);
    };
    return requests.find(key_of(mad.packet.mad), collides) != Requests::kNone;
  }
  static bool same_destination(const mad::Address& a, const mad::Address& b) {
    if (a.grh.has_value() != b.grh.has_value()) return false;
    return a.grh ? a.grh->gid == b.grh->gid : a.lid == b.lid;
  }

  int send(Instant now, const File& file, UserMad& mad) {
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

    const std::uint64_t tid_asked = message.tid().value;
    const bool answer = is_answer(message);
    if (!answer) {
      message.set<&MadHeader::tid>(
          Tid{std::uint64_t{agent.client} << 32 | (tid_asked & 0xFFFFFFFF)});
    }
    const bool user_segments = rmpp_class && !agent.kernel_rmpp() && rmpp::is_active(message);
    const bool bad_route =
        agent.spec.qpn == 0 && message.is_directed() && !is_sendable_smp(message);
    if ((!user_segments && is_duplicate(file, mad)) || bad_route) {
      message.set<&MadHeader::tid>(Tid{tid_asked});
      return -kEinval;
    }

    using Verdict = mad::SaCongestion<RequestId>::Verdict;
    const bool congested = port.has_sa_congestion() && !segmented && mad.timeout_ms != 0 &&
                           !answer && message.mgmt_class() == MgmtClass::SubnAdm;
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
    request.retries_left = mad.retries;
    if (segmented || waits || mad.retries != 0) {
      request.mad = std::move(mad);
    } else {  // nothing but its header comes back
      request.mad.agent = mad.agent;
      request.mad.timeout_ms = mad.timeout_ms;
      request.mad.retries = mad.retries;
      request.mad.packet.address = mad.packet.address;
      std::copy_n(message.bytes.begin(), kMadHeaderBytes, request.mad.packet.mad.bytes.begin());
    }
    if (verdict == Verdict::Wait) congestion.wait(now, id);
    if (verdict == Verdict::Drop) {
      congestion.drop();
      give_back(now, id, kStatusDropped);
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

  static bool is_full(const Agent& agent) {
    const std::uint32_t most = awaited_most(agent.spec);
    return most != 0 && (!agent.backlog.empty() || agent.awaited >= most);
  }

  /// Forgets a request that was sent, and sends who waited for its place.
  void finish(Instant now, RequestId id) {
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

  // ---- MAD congestion control -------------------------------------------------------------------

  void give_up_waiting(Instant now) {
    while (const auto id = congestion.next_expired(now)) give_back(now, *id, kStatusTimedOut);
  }
  void send_waiting(Instant now) {
    while (const auto id = congestion.next_send()) {
      Request& request = requests.at(*id);
      request.waits = false;
      requests.set_deadline(*id, deadline_after(now, request.mad.timeout_ms));
      transmit(now, *request.agent, request.mad.packet);
    }
  }

  // ---- long messages out (mad_rmpp.c) -----------------------------------------------------------

  static std::unique_ptr<rmpp::Sender> make_sender(const UserMad& mad) {
    rmpp::SenderOptions options;
    const auto asked = std::chrono::milliseconds(mad.timeout_ms);
    options.ack_timeout =
        mad.timeout_ms == 0 || asked > kAckTimeout ? kAckTimeout : Duration(asked);
    options.ack_timeout_max = options.ack_timeout;
    options.retries = static_cast<std::uint8_t>(std::min(mad.retries, 255U));
    options.abort_when_given_up = false;
    std::vector<std::byte> message(mad.packet.mad.bytes.begin(), mad.packet.mad.bytes.end());
    message.insert(message.end(), mad.packet.more.begin(), mad.packet.more.end());
    message.resize(mad.length);
    return std::make_unique<rmpp::Sender>(message, options);
  }

  /// Sends what the sender has ready, and sees to its end.
  void pump_sender(Instant now, RequestId id) {
    Request& request = requests.at(id);
    while (auto segment = request.sender->next_send(now)) {
      transmit(now, *request.agent, mad::Packet{request.mad.packet.address, *segment, {}});
    }
    switch (request.sender->state()) {
      case rmpp::Sender::State::Sending:
        requests.set_deadline(id, request.sender->next_deadline());
        return;
      case rmpp::Sender::State::Failed:
        // Only a time-out is told to the user; a message the other side refused is forgotten.
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

  /// An ACK, STOP or ABORT for something we send.
  bool give_to_sender(Instant now, const Agent& agent, const mad::Packet& packet) {
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

  void transmit(Instant now, const Agent& agent, const mad::Packet& packet) {
    ++counters.sent;
    port.transmit(now, agent.spec.qpn == 0, packet);
  }

  /// msecs_to_jiffies: what is negative as an int means for ever.
  static Instant deadline_after(Instant now, std::uint32_t timeout_ms) {
    if (timeout_ms > 0x7FFFFFFF) return kNever;
    return now + std::chrono::milliseconds(timeout_ms);
  }

  void on_time_out(Instant now, RequestId id) {
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

  void report_time_out(Instant now, RequestId id) {
    ++counters.timed_out;
    give_back(now, id, kStatusTimedOut);
  }

  /// What was to be sent comes back, cut to its header.
  void give_back(Instant now, RequestId id, std::uint32_t status) {
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

  // ---- receiving ------------------------------------------------------------------------------

  /// find_mad_agent: answers by the identifier's upper half, everything else by class and method.
  Agent* agent_for(const wire::Mad& mad) {
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

  /// ib_find_send_mad and rcv_has_same_gid. Whom the answer comes from is not looked at.
  RequestId request_for(const Agent& agent, const mad::Packet& packet) const {
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

  /// validate_mad: what is dropped before anybody is looked for.
  static bool is_valid(const wire::Mad& mad, bool smi) {
    const auto c = mad.mgmt_class();
    if (mad.get<&MadHeader::base_version>() != 1 || wire::is_smp(c) != smi) return false;
    // Connection management knows no other method.
    return c != MgmtClass::Comm || mad.method() == Method::Send ||
           mad.attribute_id() == wire::attr::kClassPortInfo;
  }

  void on_delivery(Instant now, const Delivery& delivery) {
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

  void pump_receiver(Instant now, Agent& agent) {
    while (auto control = agent.receiver->next_send()) transmit(now, agent, *control);
    while (auto message = agent.receiver->next_message()) {
      const std::size_t length =
          rmpp::header_bytes(message->mad.mgmt_class()) + rmpp::data_bytes(*message);
      complete(now, agent, std::move(*message), length);
    }
  }

  /// A whole message: an answer ends its request, and whatever it is goes to the agent.
  template <class Packet>
  void complete(Instant now, const Agent& agent, Packet&& packet, std::size_t length) {
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
  void queue(const Agent& agent, Packet&& packet, std::size_t length) {
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

  /// generate_unmatched_resp: a Get or Set nobody is there for is answered, the rest is dropped.
  void answer_unmatched(Instant now, const Delivery& delivery) {
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
};

HostKernel::HostKernel(Attachment& port) : impl_(std::make_unique<Impl>(port)) {}
HostKernel::~HostKernel() = default;

FileId HostKernel::open(Reader* reader) {
  auto& closed = impl_->files_closed;
  auto& files = impl_->files;
  if (closed.empty()) {
    closed.push_back(static_cast<FileId>(files.size()));
    files.emplace_back();
  }
  const FileId id = closed.back();
  closed.pop_back();
  files[id] = std::make_unique<File>();
  files[id]->reader = reader;
  return id;
}

void HostKernel::close(FileId id) {
  const auto file = std::exchange(impl_->files[id], nullptr);
  if (!file) return;
  for (Agent* agent : file->agents) {
    if (agent != nullptr) impl_->remove_agent(*agent);
  }
  impl_->files_closed.push_back(id);
}

std::int32_t HostKernel::register_agent(FileId file, const Registration& wanted) {
  return impl_->add_agent(impl_->file_at(file), wanted);
}

int HostKernel::set_receive_threshold(FileId file, std::uint32_t mads) {
  if (!impl_->port.has_receive_thresholds()) return -kEopnotsupp;
  impl_->file_at(file).threshold = mads;
  return 0;
}
ReceiveQueue HostKernel::receive_queue(FileId id) const {
  const File& file = impl_->file_at(id);
  const std::size_t with_reader = file.reader != nullptr ? file.reader->unread(0) : 0;
  return {file.threshold, file.unread.size() + with_reader, file.dropped};
}
bool HostKernel::has_sa_congestion() const { return impl_->port.has_sa_congestion(); }
const mad::SaLimits& HostKernel::sa_limits() const { return impl_->congestion.limits(); }
void HostKernel::set_sa_limits(const mad::SaLimits& limits) {
  impl_->congestion.set_limits(limits);
}
std::uint64_t HostKernel::sa_drops() const { return impl_->congestion.drops(); }
void HostKernel::reset_sa_drops() { impl_->congestion.reset_drops(); }

void HostKernel::reset_dropped(FileId file) { impl_->file_at(file).dropped = 0; }

int HostKernel::unregister_agent(FileId file, std::int32_t agent) {
  if (agent < 0 || agent >= kAgentsPerFile) return -kEinval;
  Agent*& place = impl_->file_at(file).agents[static_cast<std::size_t>(agent)];
  if (place == nullptr) return -kEinval;
  impl_->remove_agent(*std::exchange(place, nullptr));
  return 0;
}

int HostKernel::send(Instant now, FileId file, UserMad& mad) {
  return impl_->send(now, impl_->file_at(file), mad);
}

const UserMad* HostKernel::front(FileId file) const {
  const Unread& unread = impl_->file_at(file).unread;
  return unread.empty() ? nullptr : &unread.front().mad;
}

UserMad HostKernel::take(FileId file) {
  Unread& unread = impl_->file_at(file).unread;
  assert(!unread.empty());
  UserMad taken = std::move(unread.front().mad);
  pop(file);
  return taken;
}

void HostKernel::pop(FileId file) {
  File& of = impl_->file_at(file);
  assert(!of.unread.empty());
  if (const std::uint8_t qp = of.unread.front().qp; qp < 2) --of.unread_of[qp];
  of.unread.pop();
}

void HostKernel::on_delivery(Instant now, const Delivery& delivery) {
  impl_->on_delivery(now, delivery);
}

void HostKernel::advance(Instant now) {
  Requests& requests = impl_->requests;
  impl_->give_up_waiting(now);
  while (requests.next_deadline() <= now) impl_->on_time_out(now, requests.next_due());
  impl_->send_waiting(now);
  for (Agent* agent : impl_->receiving) {
    if (agent->receiver->next_deadline() > now) continue;
    agent->receiver->on_time(now);
    impl_->pump_receiver(now, *agent);
  }
}

Instant HostKernel::next_event() const {
  Instant next = std::min(impl_->requests.next_deadline(), impl_->congestion.next_deadline());
  for (const Agent* agent : impl_->receiving) {
    next = std::min(next, agent->receiver->next_deadline());
  }
  return next;
}

IssmId HostKernel::issm_open(Instant now) {
  const IssmId id = impl_->next_issm++;
  impl_->issm.push_back(id);
  if (impl_->issm.size() == 1) impl_->port.set_is_sm(now, true);
  return id;
}
bool HostKernel::issm_granted(IssmId id) const {
  return !impl_->issm.empty() && impl_->issm.front() == id;
}
void HostKernel::issm_close(Instant now, IssmId id) {
  const bool held = issm_granted(id);
  std::erase(impl_->issm, id);
  if (!held) return;
  impl_->port.set_is_sm(now, false);
  if (!impl_->issm.empty()) impl_->port.set_is_sm(now, true);
}
bool HostKernel::issm_busy() const { return !impl_->issm.empty(); }

const KernelCounters& HostKernel::counters() const { return impl_->counters; }

void ModelAttachment::transmit(Instant now, bool smi, const mad::Packet& packet) {
  model_.send(now, port_, smi, packet);
}
void ModelAttachment::set_is_sm(Instant now, bool on) { model_.set_is_sm(now, port_, on); }
std::uint8_t ModelAttachment::lmc() const { return model_.port_info(port_).lmc; }
bool ModelAttachment::is_switch() const { return model_.topology().node(port_.node).is_switch(); }
std::uint32_t ModelAttachment::receive_queue() const { return model_.faults().receive_queue; }
bool ModelAttachment::has_receive_thresholds() const { return model_.faults().receive_thresholds; }
bool ModelAttachment::has_sa_congestion() const { return model_.faults().sa_congestion; }

}  // namespace ib::sim
