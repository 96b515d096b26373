// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// RMPP (IBA 13.6): messages longer than one MAD. Two machines without I/O and clock: a Sender for
// one message, a Receiver for all messages that come to one agent. Used where the kernel's RMPP is
// not: in ibsm's SA, which streams tables in bounded memory, and in ibfabric, which plays the
// kernel's part.
//
//   MAD 24 | RMPP 12 | class header (SA 20, vendor 4) | data (SA 200, vendor 216)
//
// The class header is repeated in each segment and counted by PayloadLength; a message as users
// see it is the headers once and then all data.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "libdiag/base/instant.h"
#include "libdiag/mad/round_trip.h"
#include "libdiag/mad/transport.h"
#include "libdiag/wire/mad.h"

namespace ib::mad::rmpp {

enum class Type : std::uint8_t { None = 0, Data = 1, Ack = 2, Stop = 3, Abort = 4 };

/// RMPPStatus (IBA 13.6.2.1, table 123). 118-127 belong to ABORT, 1 to STOP.
namespace status {
inline constexpr std::uint8_t kNormal = 0, kResourcesExhausted = 1, kTotalTimeTooLong = 118,
                              kBadPayloadLength = 119, kBadSegment = 120, kBadType = 121,
                              kWindowTooSmall = 122, kSegmentTooBig = 123, kIllegalStatus = 124,
                              kBadVersion = 125, kTooManyRetries = 126, kUnspecified = 127;
}

inline constexpr std::size_t kHeaderBytes = 36;                     // MAD and RMPP headers
inline constexpr std::size_t kPayloadBytes = wire::kMadBytes - 36;  // class header and data: 220

/// Bytes before the data of a class that may carry RMPP; 0 for a class that may not.
constexpr std::size_t header_bytes(wire::MgmtClass c) {
  const auto n = static_cast<unsigned>(c);
  if (c == wire::MgmtClass::SubnAdm) return wire::kSaDataOffset;
  if (wire::is_vendor_range2(c)) return wire::kVendorDataOffset;
  if (n == 0x06 || n == 0x10 || n == 0x12) return 64;  // device management and administration, BIS
  return 0;
}

/// The MAD belongs to an RMPP exchange: its class may, and the ACTIVE flag is set.
bool is_active(const wire::Mad& mad);

/// PayloadLength of the first segment of a message of `data` bytes: what all segments carry, class
/// headers included, less the padding of the last.
std::uint32_t first_payload_length(wire::MgmtClass c, std::size_t data);

/// Bytes of data in a message as the kernel or a Receiver delivers it. The length of a message of
/// one segment stands in its RMPP header.
std::size_t data_bytes(const Packet& message);

// ---- sending

struct SenderOptions {
  /// How long an ACK may take, doubled at each repetition up to the maximum. The kernel waits 2 s.
  Duration ack_timeout{std::chrono::seconds(2)};
  Duration ack_timeout_max{std::chrono::seconds(2)};
  /// Where it is said, the round trips that ACKs show bring the wait down to this at the least.
  std::optional<Duration> ack_timeout_min;
  std::uint8_t retries{3};  // retries without progress before the message is given up,
  Duration patience{0};     // and this time without it at the least
  /// Segments in flight at most. Not to be less than what receivers grant (the kernel 64): one
  /// acknowledges when its window is used up, so a sender that stops earlier waits for a timeout.
  std::uint32_t window{128};
  bool response_follows{false};  // two-sided transfer (IBA 13.6.6.3): turn round after the last ACK
  bool abort_when_given_up{true};  // tell the receiver (the kernel does not)
};

/// Sends one message. Holds at most a window of segments, so a table of any size streams through.
class Sender {
 public:
  /// Writes the next bytes of data and returns how many; 0 at the end.
  using Fill = std::function<std::size_t(std::span<std::byte>)>;
  enum class State { Sending, Done, Failed };

  /// `head` is the first segment's headers up to header_bytes(); its class must be one that carries
  /// RMPP. `data` is the length where it is known beforehand (announced in the first segment).
  Sender(const wire::Mad& head, Fill fill, std::optional<std::size_t> data = std::nullopt,
         const SenderOptions& options = {});
  /// A message in one buffer: headers once, then data. Shorter than its headers: sent as headers.
  Sender(std::span<const std::byte> message, const SenderOptions& options = {});

  /// An ACK, STOP or ABORT for this message (the caller has compared the address).
  bool owns(const wire::Mad& mad) const;
  void on_mad(Instant now, const wire::Mad& mad);
  void on_time(Instant now);
  Instant next_deadline() const { return deadline_; }

  /// What to send now; nothing when the window is full. Also to be drained after Done and Failed:
  /// an ABORT may be waiting.
  std::optional<wire::Mad> next_send(Instant now);

  State state() const { return state_; }
  std::uint8_t failure() const { return failure_; }  // RMPPStatus; kTooManyRetries after timeouts
  std::uint32_t segments_sent() const { return sends_; }
  std::uint32_t retries() const { return retries_; }  // retries so far
  /// What the last ACK showed, if it told how long one takes; once.
  std::optional<Duration> take_sample() { return std::exchange(sample_, std::nullopt); }

 private:
  struct Segment {
    std::array<std::byte, kPayloadBytes> data;
    std::size_t bytes{0};
  };

  void read(Segment& segment);
  void pull();
  wire::Mad segment_mad(std::uint32_t number) const;
  void on_ack(Instant now, const wire::Mad& mad, const wire::RmppHeader& ack);
  void fail(std::uint8_t why);
  void refuse(const wire::Mad& mad, std::uint8_t why);
  void turn_round(const wire::Mad& mad);
  void measure(Instant now, std::uint32_t acknowledged);
  void arm(Instant now);

  SenderOptions options_;
  wire::Mad head_;
  std::size_t header_bytes_{0};
  std::size_t segment_bytes_{0};
  Fill fill_;
  std::optional<std::size_t> data_;
  Segment ahead_;                       // read but not yet known to be followed by another
  std::deque<Segment> unacknowledged_;  // segments last_ack_ + 1 ...
  std::optional<std::uint32_t> count_;  // segments in all, once the end was seen
  std::uint32_t last_ack_{0};
  std::uint32_t window_last_{1};  // the receiver's NewWindowLast
  std::uint32_t sent_{0};         // last segment sent, falls back to last_ack_ on a timeout
  std::uint32_t highest_sent_{0};
  std::uint32_t sends_{0};
  std::uint32_t retries_{0};
  std::uint32_t attempts_{0};  // retries since the last progress
  RoundTrip round_trip_;
  std::optional<Duration> sample_;
  Instant last_sent_{0};      // when the highest segment was, for the first time
  Instant progress_{kNever};  // the last one, or the first sending
  State state_{State::Sending};
  std::uint8_t failure_{0};
  Instant deadline_{kNever};
  std::deque<wire::Mad> control_;
};

// ---- receiving

struct ReceiverOptions {
  std::uint32_t window{64};  // segments granted ahead: an eighth of a QP's 512 receive slots
  Duration message_timeout{std::chrono::seconds(40)};  // from first segment to last
  Duration linger{std::chrono::seconds(10)};  // a complete message answers repeated segments
  std::size_t messages_max{256};              // incomplete messages at once
  std::size_t messages_per_source{16};        // a LID, whatever its QPs, or who it belongs to
  std::size_t lingering_max{1024};
  std::size_t message_bytes_max{64U << 20};
  std::size_t bytes_max{128U << 20};  // of all incomplete messages
  /// As the kernel's receiver: PayloadLengths are taken as they come, and a segment that was
  /// received but not yet acknowledged is dropped without a word. Otherwise a wrong length aborts,
  /// and every repeated segment is answered with an ACK of what has arrived.
  bool as_kernel{false};
};

struct ReceiverCounters {
  std::uint64_t segments{}, repeated{}, out_of_window{}, orphans{}, aborts_sent{}, stops_sent{},
      messages{}, expired{}, ended_by_sender{};
};

/// Reassembles the messages of one agent. Never allocates by an announced length.
class Receiver {
 public:
  explicit Receiver(const ReceiverOptions& options = {}) : options_(options) {}

  /// A MAD of type DATA, or a STOP or ABORT by the sender of data. False: it concerns none of the
  /// messages here (an ACK, say) and may belong to a Sender.
  bool on_mad(Instant now, const Address& source, const wire::Mad& mad) {
    return on_mad(now, source, source.lid, mad);
  }
  /// The same, counted as one of `who`: of a port by its first LID, say.
  bool on_mad(Instant now, const Address& source, Lid who, const wire::Mad& mad);
  void on_time(Instant now);
  Instant next_deadline() const;

  /// ACKs, STOPs and ABORTs, addressed to the source.
  std::optional<Packet> next_send();
  /// A complete message: mad is the first segment, more the data of the others.
  std::optional<Packet> next_message();

  std::size_t incomplete() const { return incomplete_; }
  std::size_t bytes() const { return bytes_; }
  const ReceiverCounters& counters() const { return counters_; }

 private:
  struct Key {
    Lid lid;
    std::uint32_t qpn;
    Tid tid;
    std::uint8_t mgmt_class, class_version, method;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Message {
    Address source;
    Lid who;
    wire::Mad first;
    std::vector<std::byte> more;
    std::map<std::uint32_t, std::vector<std::byte>> early;  // beyond a gap
    std::uint32_t in_order{0};                              // segments received without a gap
    std::uint32_t last_ack{0};
    std::uint32_t window_last{1};
    std::optional<std::uint32_t> last_segment;
    std::size_t last_bytes{0};  // data in the last segment
    bool complete{false};
    Instant deadline{kNever};
  };

  void on_data(Instant now, const Key& key, const Address& source, Lid who, const wire::Mad& mad,
               const wire::RmppHeader& header);
  bool start(Instant now, const Key& key, const Address& source, Lid who, const wire::Mad& mad);
  std::optional<std::size_t> data_in(const wire::Mad& mad, const wire::RmppHeader& header) const;
  void store(Message& message, const wire::Mad& mad, std::uint32_t segment, std::size_t bytes);
  void finish(Instant now, const Key& key, Message& message, const wire::Mad& mad);
  void acknowledge(Message& message, const wire::Mad& mad);
  void answer(const Address& to, const wire::Mad& mad, Type type, std::uint8_t why);
  void drop(const Key& key);
  std::size_t held(const Message& message) const;

  ReceiverOptions options_;
  std::map<Key, Message> messages_;
  std::set<std::pair<Instant, Key>> deadlines_;
  std::map<Lid, std::size_t> incomplete_of_;
  std::size_t incomplete_{0};
  std::size_t bytes_{0};
  std::deque<Packet> sends_;
  std::deque<Packet> done_;
  ReceiverCounters counters_;
};

}  // namespace ib::mad::rmpp
