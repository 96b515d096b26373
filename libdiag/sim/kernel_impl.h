// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// HostKernel's inside: files, agents and what is under way. kernel_agents.cpp registers,
// kernel_sending.cpp sends, kernel_receiving.cpp hands on what arrives; kernel.cpp is the outside.
// Private to libdiag/sim.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libdiag/mad/rmpp.h"
#include "libdiag/sim/kernel.h"
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

inline constexpr int kEinval = 22, kEnomem = 12, kEopnotsupp = 95;

inline std::uint8_t raw(wire::MgmtClass c) { return static_cast<std::uint8_t>(c); }

/// ib_response_mad: answers, trap repressions, and the B_Key class's own notion of an answer.
inline bool is_answer(const wire::Mad& mad) {
  if (wire::is_response(mad.method()) || mad.method() == wire::Method::TrapRepress) return true;
  return mad.mgmt_class() == wire::MgmtClass::BoardMgmt && (mad.attribute_modifier() & 1U) != 0;
}

/// Classes with an RMPP header (ib_is_mad_class_rmpp).
inline bool has_rmpp(wire::MgmtClass c) { return mad::rmpp::header_bytes(c) != 0; }

/// Where an agent's unsolicited MADs are looked up.
struct Slot {
  std::uint8_t class_version;
  std::uint8_t mgmt_class;
  std::uint32_t oui;  // vendor range 2 only, else 0
  std::uint64_t key() const {
    return std::uint64_t{oui} << 16 | std::uint64_t{class_version} << 8 | mgmt_class;
  }
};
inline Slot slot_of(const wire::Mad& mad) {
  const auto c = mad.mgmt_class();
  return {mad.get<&wire::MadHeader::class_version>(), raw(c),
          wire::is_vendor_range2(c) ? mad.get<&wire::VendorHeader::oui>() : 0};
}

inline TransactionKey key_of(const wire::Mad& mad) {
  return {mad.tid().value, raw(mad.mgmt_class())};
}

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

  // ---- agents
  bool is_valid(const Registration& r) const;
  std::size_t ouis_in_use(const Slot& slot) const;
  File& file_at(FileId id) const;
  std::int32_t add_agent(File& file, const Registration& r);
  ClientId take_client();
  void remove_agent(Agent& agent);

  // ---- sending
  /// A directed-route SMP this port could not put on the wire as it stands
  /// (smi_handle_dr_smp_send).
  bool is_sendable_smp(const wire::Mad& mad) const;
  /// user_mad refuses a second operation with the identifier of one under way.
  bool is_duplicate(const File& file, const UserMad& mad) const;
  static bool same_destination(const mad::Address& a, const mad::Address& b);
  int send(Instant now, const File& file, UserMad& mad);
  static bool is_full(const Agent& agent);
  /// What may have to be sent again, or nothing but the header, which comes back.
  static void keep(Request& request, UserMad& mad, bool all);
  /// Forgets a request that was sent, and sends who waited for its place.
  void finish(Instant now, RequestId id);

  // ---- MAD congestion control
  void give_up_waiting(Instant now);
  void send_waiting(Instant now);

  // ---- long messages out (mad_rmpp.c)
  static std::unique_ptr<mad::rmpp::Sender> make_sender(const UserMad& mad);
  /// Sends what the sender has ready, and sees to its end.
  void pump_sender(Instant now, RequestId id);
  /// An ACK, STOP or ABORT for something we send.
  bool give_to_sender(Instant now, const Agent& agent, const mad::Packet& packet);
  void transmit(Instant now, const Agent& agent, const mad::Packet& packet);
  /// msecs_to_jiffies: what is negative as an int means for ever.
  static Instant deadline_after(Instant now, std::uint32_t timeout_ms);
  void on_time_out(Instant now, RequestId id);
  void report_time_out(Instant now, RequestId id);
  /// What was to be sent comes back, cut to its header.
  void return_to_client(Instant now, RequestId id, std::uint32_t status);

  // ---- receiving
  /// find_mad_agent: answers by the identifier's upper half, everything else by class and method.
  Agent* agent_for(const wire::Mad& mad);
  /// ib_find_send_mad and rcv_has_same_gid. Whom the answer comes from is not looked at.
  RequestId request_for(const Agent& agent, const mad::Packet& packet) const;
  /// validate_mad: what is dropped before anybody is looked for.
  static bool is_valid(const wire::Mad& mad, bool smi);
  void on_delivery(Instant now, const Delivery& delivery);
  void pump_receiver(Instant now, Agent& agent);
  /// A whole message: an answer ends its request, and whatever it is goes to the agent.
  template <class Packet>
  void complete(Instant now, const Agent& agent, Packet&& packet, std::size_t length);
  template <class Packet>
  void queue(const Agent& agent, Packet&& packet, std::size_t length);
  /// generate_unmatched_resp: a Get or Set nobody is there for is answered, the rest is dropped.
  void answer_unmatched(Instant now, const Delivery& delivery);
};

}  // namespace ib::sim
