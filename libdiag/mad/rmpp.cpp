// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/rmpp.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace ib::mad::rmpp {
namespace {

constexpr std::uint8_t kVersion = 1;

wire::RmppHeader rmpp_of(const wire::Mad& mad) {
  return wire::decode<wire::RmppHeader>(mad.bytes.data());
}

/// The method of what goes back to the sender of `method`. A Set is answered by GetResp, and 0x82
/// is no method at all.
wire::Method turned_round(wire::Method method) {
  if (method == wire::Method::Set) return wire::Method::GetResp;
  return static_cast<wire::Method>(static_cast<unsigned>(method) ^ 0x80U);
}

/// The headers of `mad` turned round for a control MAD: an ACK to a GetTableResp has the method
/// GetTable. Class header kept, data zero, as the kernel does.
wire::Mad control_mad(const wire::Mad& mad, Type type, std::uint8_t why, std::uint32_t data1,
                      std::uint32_t data2) {
  wire::Mad out;
  const std::size_t keep = std::max(header_bytes(mad.mgmt_class()), kHeaderBytes);
  std::memcpy(out.bytes.data(), mad.bytes.data(), keep);
  out.set<&wire::MadHeader::method>(turned_round(mad.method()));
  wire::RmppHeader header = rmpp_of(mad);
  header.version = kVersion;
  header.type = static_cast<std::uint8_t>(type);
  header.active = true;
  header.first = header.last = false;
  header.status = why;
  header.data1 = data1;
  header.data2 = data2;
  wire::encode(header, out.bytes.data());
  return out;
}

bool is_abort_status(std::uint8_t s) {
  return s >= status::kTotalTimeTooLong && s <= status::kUnspecified;
}

}  // namespace

bool is_active(const wire::Mad& mad) {
  return header_bytes(mad.mgmt_class()) != 0 && mad.get<&wire::RmppHeader::active>();
}

std::uint32_t first_payload_length(wire::MgmtClass c, std::size_t data) {
  const std::size_t header = header_bytes(c);
  const std::size_t room = wire::kMadBytes - header;
  const std::size_t segments = std::max<std::size_t>(1, (data + room - 1) / room);
  return static_cast<std::uint32_t>(segments * (header - kHeaderBytes) + data);
}

std::size_t data_bytes(const Packet& message) {
  const wire::MgmtClass c = message.mad.mgmt_class();
  const std::size_t header = header_bytes(c) != 0 ? header_bytes(c) : wire::data_offset_of(c);
  const std::size_t room = wire::kMadBytes - header;
  if (!message.more.empty() || !is_active(message.mad)) return room + message.more.size();
  const std::size_t length = rmpp_of(message.mad).data2;
  const std::size_t overhead = header - kHeaderBytes;
  return length < overhead || length > kPayloadBytes ? room : length - overhead;
}

// ---- Sender

Sender::Sender(const wire::Mad& head, Fill fill, std::optional<std::size_t> data,
               const SenderOptions& options)
    : options_(options),
      header_bytes_(header_bytes(head.mgmt_class())),
      segment_bytes_(wire::kMadBytes - header_bytes_),
      fill_(std::move(fill)),
      data_(data) {
  assert(header_bytes_ != 0);
  std::memcpy(head_.bytes.data(), head.bytes.data(), header_bytes_);
  if (options_.window == 0) options_.window = 1;
  read(ahead_);
}

namespace {

wire::Mad head_of(std::span<const std::byte> message) {
  wire::Mad head;
  std::memcpy(head.bytes.data(), message.data(), std::min(message.size(), wire::kMadBytes));
  return head;
}

std::span<const std::byte> data_of(std::span<const std::byte> message) {
  return message.subspan(std::min(header_bytes(head_of(message).mgmt_class()), message.size()));
}

Sender::Fill fill_from(std::span<const std::byte> bytes) {
  return [data = std::vector<std::byte>(bytes.begin(), bytes.end()),
          at = std::size_t{0}](std::span<std::byte> out) mutable {
    const std::size_t n = std::min(out.size(), data.size() - at);
    if (n != 0) std::memcpy(out.data(), data.data() + at, n);
    at += n;
    return n;
  };
}

}  // namespace

Sender::Sender(std::span<const std::byte> message, const SenderOptions& options)
    : Sender(head_of(message), fill_from(data_of(message)), data_of(message).size(), options) {}

void Sender::read(Segment& segment) {
  segment.bytes = 0;
  while (segment.bytes < segment_bytes_) {
    const std::span<std::byte> room(segment.data.data() + segment.bytes,
                                    segment_bytes_ - segment.bytes);
    const std::size_t n = fill_(room);
    if (n == 0) break;
    segment.bytes += std::min(n, room.size());
  }
}

/// Moves the segment read ahead into the window and reads one more, so that the last segment is
/// known as the last when it is sent.
void Sender::pull() {
  unacknowledged_.push_back(ahead_);
  const bool full = ahead_.bytes == segment_bytes_;
  if (full) read(ahead_);
  if (!full || ahead_.bytes == 0)
    count_ = last_ack_ + static_cast<std::uint32_t>(unacknowledged_.size());
}

bool Sender::owns(const wire::Mad& mad) const {
  return is_active(mad) && rmpp_of(mad).type != static_cast<std::uint8_t>(Type::Data) &&
         mad.mgmt_class() == head_.mgmt_class() && mad.tid() == head_.tid() &&
         mad.method() == turned_round(head_.method());
}

std::optional<wire::Mad> Sender::next_send(Instant now) {
  if (!control_.empty()) {
    const wire::Mad mad = control_.front();
    control_.pop_front();
    return mad;
  }
  if (state_ != State::Sending) return std::nullopt;
  const std::uint32_t granted = std::min(window_last_ - last_ack_, options_.window);
  if (sent_ - last_ack_ >= granted || (count_ && sent_ >= *count_)) return std::nullopt;
  const std::uint32_t number = ++sent_;
  if (number > last_ack_ + unacknowledged_.size()) pull();
  if (number > highest_sent_) {
    highest_sent_ = number;
    last_sent_ = now;
  }
  if (progress_ == kNever) progress_ = now;
  ++sends_;
  arm(now);
  return segment_mad(number);
}

wire::Mad Sender::segment_mad(std::uint32_t number) const {
  const Segment& segment = unacknowledged_[number - last_ack_ - 1];
  wire::Mad mad = head_;
  wire::RmppHeader header = rmpp_of(head_);
  header.version = kVersion;
  header.type = static_cast<std::uint8_t>(Type::Data);
  header.status = status::kNormal;
  header.active = true;
  header.first = number == 1;
  header.last = count_ && number == *count_;
  header.data1 = number;
  header.data2 = 0;
  if (header.first && data_) header.data2 = first_payload_length(head_.mgmt_class(), *data_);
  if (header.last)
    header.data2 = static_cast<std::uint32_t>(header_bytes_ - kHeaderBytes + segment.bytes);
  wire::encode(header, mad.bytes.data());
  if (segment.bytes != 0)
    std::memcpy(mad.bytes.data() + header_bytes_, segment.data.data(), segment.bytes);
  return mad;
}

void Sender::arm(Instant now) {
  Duration first = options_.ack_timeout;
  if (options_.ack_timeout_min && round_trip_.measured())
    first = std::clamp(round_trip_.timeout(), *options_.ack_timeout_min, options_.ack_timeout_max);
  Duration wait = first;
  for (unsigned i = 0; i < attempts_ && wait < options_.ack_timeout_max; ++i) wait *= 2;
  deadline_ = now + std::max(first, std::min(wait, options_.ack_timeout_max));
}

/// An ACK of all that was sent, once, says how long one takes (RFC 6298). After a repetition it may
/// be that of either, and one of less waits for a gap to be filled.
void Sender::measure(Instant now, std::uint32_t acknowledged) {
  if (attempts_ != 0 || acknowledged != highest_sent_) return;
  sample_ = now - last_sent_;
  round_trip_.add(*sample_);
}

void Sender::on_mad(Instant now, const wire::Mad& mad) {
  const wire::RmppHeader header = rmpp_of(mad);
  if (state_ == State::Done && options_.response_follows &&
      header.type == static_cast<std::uint8_t>(Type::Ack))
    return turn_round(mad);  // our turn-round ACK was lost
  if (state_ != State::Sending) return;
  if (header.version != kVersion) return refuse(mad, status::kBadVersion);
  switch (static_cast<Type>(header.type)) {
    case Type::Ack:
      return on_ack(now, mad, header);
    case Type::Stop:
      if (header.status != status::kResourcesExhausted) return refuse(mad, status::kIllegalStatus);
      return fail(header.status);
    case Type::Abort:
      return fail(is_abort_status(header.status) ? header.status : status::kIllegalStatus);
    default:
      return refuse(mad, status::kBadType);
  }
}

void Sender::on_ack(Instant now, const wire::Mad& mad, const wire::RmppHeader& ack) {
  const std::uint32_t segment = ack.data1, window_last = ack.data2;
  if (ack.status != status::kNormal) return refuse(mad, status::kIllegalStatus);
  if (window_last < segment) return refuse(mad, status::kWindowTooSmall);
  if (segment > highest_sent_) return refuse(mad, status::kSegmentTooBig);
  if (segment < last_ack_ || window_last < window_last_) return;  // overtaken by a later ACK
  window_last_ = window_last;
  if (segment > last_ack_) {
    unacknowledged_.erase(
        unacknowledged_.begin(),
        unacknowledged_.begin() + static_cast<std::ptrdiff_t>(segment - last_ack_));
    last_ack_ = segment;
    sent_ = std::max(sent_, segment);
    measure(now, segment);
    attempts_ = 0;
    progress_ = now;
    arm(now);
  }
  if (count_ && last_ack_ == *count_) {
    state_ = State::Done;
    deadline_ = kNever;
    if (options_.response_follows) turn_round(mad);
  }
}

/// IBA 13.6.6.3: ACK of segment 0 with a window of 1 tells the other side to send its response.
void Sender::turn_round(const wire::Mad& mad) {
  control_.push_back(control_mad(mad, Type::Ack, status::kNormal, 0, 1));
}

void Sender::on_time(Instant now) {
  if (state_ != State::Sending || now < deadline_) return;
  if (attempts_ >= options_.retries && now - progress_ >= options_.patience) {
    if (options_.abort_when_given_up) {
      wire::Mad abort = control_mad(head_, Type::Abort, status::kTooManyRetries, 0, 0);
      abort.set<&wire::MadHeader::method>(head_.method());
      control_.push_back(abort);
    }
    return fail(status::kTooManyRetries);
  }
  ++attempts_;
  ++retries_;
  sent_ = last_ack_;
  arm(now);
}

void Sender::fail(std::uint8_t why) {
  state_ = State::Failed;
  failure_ = why;
  deadline_ = kNever;
  unacknowledged_.clear();
}

void Sender::refuse(const wire::Mad& mad, std::uint8_t why) {
  control_.push_back(control_mad(mad, Type::Abort, why, 0, 0));
  fail(why);
}

// ---- Receiver

bool Receiver::on_mad(Instant now, const Address& source, Lid who, const wire::Mad& mad) {
  if (!is_active(mad)) return false;
  const wire::RmppHeader header = rmpp_of(mad);
  const Key key{source.lid,
                source.qpn,
                mad.tid(),
                static_cast<std::uint8_t>(mad.mgmt_class()),
                mad.get<&wire::MadHeader::class_version>(),
                static_cast<std::uint8_t>(mad.method())};
  const auto type = static_cast<Type>(header.type);
  if (type == Type::Ack) return false;
  if (type == Type::Stop || type == Type::Abort) {
    const auto found = messages_.find(key);
    if (found == messages_.end() || found->second.complete) return false;
    ++counters_.ended_by_sender;
    drop(key);
    return true;
  }
  std::uint8_t why = status::kNormal;
  if (header.version != kVersion) {
    why = status::kBadVersion;
  } else if (type != Type::Data) {
    why = status::kBadType;
  } else if (header.status != status::kNormal) {
    why = status::kIllegalStatus;
  } else if (header.data1 == 0 || (header.data1 == 1) != header.first) {
    why = status::kBadSegment;
  }
  if (why != status::kNormal) {
    answer(source, mad, Type::Abort, why);
    const auto found = messages_.find(key);
    if (found != messages_.end() && !found->second.complete) drop(key);
    return true;
  }
  ++counters_.segments;
  on_data(now, key, source, who, mad, header);
  return true;
}

void Receiver::on_data(Instant now, const Key& key, const Address& source, Lid who,
                       const wire::Mad& mad, const wire::RmppHeader& header) {
  const std::uint32_t segment = header.data1;
  auto found = messages_.find(key);
  if (found != messages_.end() && segment == 1 && !options_.as_kernel &&
      mad != found->second.first) {
    // Another message by the same TID. After the first one it has its turn; amid the first one
    // neither can be told from the other.
    const bool amid = !found->second.complete;
    drop(key);
    if (amid) return answer(source, mad, Type::Abort, status::kBadSegment);
    found = messages_.end();
  }
  if (found == messages_.end()) {
    if (segment != 1) {
      ++counters_.orphans;  // its first segment was lost, or the message was dropped
      return;
    }
    if (!start(now, key, source, who, mad)) return;
    found = messages_.find(key);
  }
  Message& message = found->second;
  if (segment > message.window_last) {
    ++counters_.out_of_window;
    return;
  }
  if (message.complete || segment <= message.last_ack) {
    ++counters_.repeated;
    acknowledge(message, mad);  // ours was lost
    return;
  }
  if (segment <= message.in_order || message.early.count(segment) != 0) {
    ++counters_.repeated;
    if (!options_.as_kernel) acknowledge(message, mad);
    return;
  }
  const auto bytes = data_in(mad, header);
  const bool beyond_last = message.last_segment && segment > *message.last_segment;
  const bool last_too_early =
      header.last && (segment < message.in_order ||
                      (!message.early.empty() && message.early.rbegin()->first > segment));
  if (!bytes || beyond_last || last_too_early) {
    answer(source, mad, Type::Abort, bytes ? status::kBadSegment : status::kBadPayloadLength);
    return drop(key);
  }
  const std::size_t more = segment == 1 ? 0 : *bytes;
  if (held(message) + more > options_.message_bytes_max || bytes_ + more > options_.bytes_max) {
    answer(source, mad, Type::Stop, status::kResourcesExhausted);
    return drop(key);
  }
  if (header.last) {
    message.last_segment = segment;
    message.last_bytes = *bytes;
  }
  store(message, mad, segment, *bytes);
  if (message.last_segment && message.in_order == *message.last_segment)
    return finish(now, key, message, mad);
  if (message.in_order == message.window_last) {
    message.window_last += options_.window;
    acknowledge(message, mad);
  }
}

bool Receiver::start(Instant now, const Key& key, const Address& source, Lid who,
                     const wire::Mad& mad) {
  std::size_t& of_source = incomplete_of_[who];
  // One segment is whole at once: it takes nobody's place, and others' cannot keep it out.
  const bool whole = rmpp_of(mad).last;
  if (!whole &&
      (incomplete_ >= options_.messages_max || of_source >= options_.messages_per_source ||
       bytes_ + wire::kMadBytes > options_.bytes_max)) {
    if (of_source == 0) incomplete_of_.erase(who);
    answer(source, mad, Type::Stop, status::kResourcesExhausted);
    return false;
  }
  ++of_source;
  ++incomplete_;
  Message& message = messages_[key];
  message.source = source;
  message.who = who;
  message.first = mad;
  message.deadline = now + options_.message_timeout;
  deadlines_.insert({message.deadline, key});
  bytes_ += held(message);
  return true;
}

/// Data bytes of a segment; nullopt when its PayloadLength cannot be.
std::optional<std::size_t> Receiver::data_in(const wire::Mad& mad,
                                             const wire::RmppHeader& header) const {
  const std::size_t header_size = header_bytes(mad.mgmt_class());
  const std::size_t room = wire::kMadBytes - header_size;
  if (!header.last) return room;
  const std::size_t overhead = header_size - kHeaderBytes;
  if (header.data2 >= overhead && header.data2 <= kPayloadBytes) return header.data2 - overhead;
  // The kernel reads a length beyond the segment as "full"; so do we where we play the kernel.
  if (!options_.as_kernel) return std::nullopt;
  return header.data2 > kPayloadBytes ? room : 0;
}

void Receiver::store(Message& message, const wire::Mad& mad, std::uint32_t segment,
                     std::size_t bytes) {
  const std::byte* data = mad.bytes.data() + header_bytes(mad.mgmt_class());
  if (segment != 1) bytes_ += bytes;
  if (segment != message.in_order + 1) {
    message.early.emplace(segment, std::vector<std::byte>(data, data + bytes));
    return;
  }
  if (segment != 1) message.more.insert(message.more.end(), data, data + bytes);
  ++message.in_order;
  for (auto next = message.early.begin();
       next != message.early.end() && next->first == message.in_order + 1;
       next = message.early.erase(next)) {
    message.more.insert(message.more.end(), next->second.begin(), next->second.end());
    ++message.in_order;
  }
}

void Receiver::finish(Instant now, const Key& key, Message& message, const wire::Mad& mad) {
  const std::uint32_t announced = rmpp_of(message.first).data2;
  const std::size_t header_size = header_bytes(mad.mgmt_class());
  const std::size_t room = wire::kMadBytes - header_size;
  const std::size_t data = message.in_order == 1 ? message.last_bytes : room + message.more.size();
  if (!options_.as_kernel && announced != 0 &&
      announced != first_payload_length(mad.mgmt_class(), data)) {
    answer(message.source, mad, Type::Abort, status::kBadPayloadLength);
    return drop(key);
  }
  acknowledge(message, mad);
  ++counters_.messages;
  bytes_ -= held(message);
  --incomplete_;
  if (--incomplete_of_[message.who] == 0) incomplete_of_.erase(message.who);
  done_.push_back(Packet{message.source, message.first, std::move(message.more)});
  message.more.clear();
  message.complete = true;
  deadlines_.erase({message.deadline, key});
  message.deadline = now + options_.linger;
  deadlines_.insert({message.deadline, key});
  if (messages_.size() - incomplete_ <= options_.lingering_max) return;
  // Complete messages have one linger time, so the first one by deadline is the oldest.
  for (const auto& [deadline, other] : deadlines_) {
    if (!messages_.at(other).complete) continue;
    const Key oldest = other;
    return drop(oldest);
  }
}

void Receiver::acknowledge(Message& message, const wire::Mad& mad) {
  message.last_ack = message.in_order;
  sends_.push_back(Packet{message.source,
                          control_mad(mad, Type::Ack, status::kNormal, message.in_order,
                                      std::max(message.window_last, message.in_order)),
                          {}});
}

void Receiver::answer(const Address& to, const wire::Mad& mad, Type type, std::uint8_t why) {
  ++(type == Type::Stop ? counters_.stops_sent : counters_.aborts_sent);
  sends_.push_back(Packet{to, control_mad(mad, type, why, 0, 0), {}});
}

void Receiver::drop(const Key& key) {
  const auto found = messages_.find(key);
  const Message& message = found->second;
  deadlines_.erase({message.deadline, key});
  if (!message.complete) {
    bytes_ -= held(message);
    --incomplete_;
    if (--incomplete_of_[message.who] == 0) incomplete_of_.erase(message.who);
  }
  messages_.erase(found);
}

std::size_t Receiver::held(const Message& message) const {
  std::size_t n = wire::kMadBytes + message.more.size();
  for (const auto& [segment, data] : message.early) n += data.size();
  return n;
}

void Receiver::on_time(Instant now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const Key key = deadlines_.begin()->second;
    const Message& message = messages_.at(key);
    if (!message.complete) {
      ++counters_.expired;
      answer(message.source, message.first, Type::Abort, status::kTotalTimeTooLong);
    }
    drop(key);
  }
}

Instant Receiver::next_deadline() const {
  return deadlines_.empty() ? kNever : deadlines_.begin()->first;
}

std::optional<Packet> Receiver::next_send() {
  if (sends_.empty()) return std::nullopt;
  Packet packet = std::move(sends_.front());
  sends_.pop_front();
  return packet;
}

std::optional<Packet> Receiver::next_message() {
  if (done_.empty()) return std::nullopt;
  Packet packet = std::move(done_.front());
  done_.pop_front();
  return packet;
}

}  // namespace ib::mad::rmpp
