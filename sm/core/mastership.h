// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Mastership: which state of the election this subnet manager is in, and why. A machine: it asks
// the others that sweeps find, polls the master while it stands by, hands over and takes over,
// answers SMInfo. What a state allows is the table of election.h; what is to be done with the
// subnet it says by its orders.
//
//   sweep --on_swept()--> the others are asked --is_decided()--> conclude(): manage, or leave it
//
// One that says that it hands over is believed no further than to a sweep: the others are asked
// again before anything is set.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libdiag/base/instant.h"
#include "libdiag/base/log.h"
#include "libdiag/discover/observed.h"
#include "libdiag/mad/request.h"
#include "sm/core/election.h"
#include "sm/core/other_managers.h"
#include "sm/core/refusals.h"

namespace sm::core {

struct MastershipOptions {
  ib::Guid port_guid{};                         // ours; zero: the first sweep tells
  std::uint8_t priority{0};                     // 0 to 15
  std::optional<std::uint8_t> master_priority;  // while it is master, where that is more
  std::uint64_t sm_key{1};                      // 0: any key of others will do
  bool ignore_others{false};                    // manages the subnet even if another one does
  bool start_inactive{false};
  std::set<ib::Guid> allowed;                  // port GUIDs of subnet managers; empty: all
  ib::Duration poll{std::chrono::seconds(1)};  // between polls of the master
  std::uint32_t unanswered_most{3};            // polls; with one more the master is gone
};

/// What there is to say of a state.
struct SmStatus {
  ib::wire::SmState state{ib::wire::SmState::Discovering};
  ib::Instant since{0};
  std::string why;          // it came to this state
  ib::Guid guid{};          // ours; zero: not known yet
  std::uint8_t priority{};  // as it is shown
  /// It has handed over, and answers clients until the next master acknowledges that it does.
  bool answers{false};
};

class Mastership {
 public:
  /// Cookies are `owner` and something in the low 40 bits.
  Mastership(MastershipOptions options, ib::mad::Cookie owner);

  void start(ib::Instant now);

  // ---- what it is
  ib::wire::SmState state() const { return status_.state; }
  bool is_master() const { return state() == ib::wire::SmState::Master; }
  /// Full sweeps are made: to manage the subnet, or to find the master.
  bool sweeps() const;
  const SmStatus& status() const { return status_; }
  const OtherManagers& others() const { return others_; }
  /// "SUBNET STANDBY master=GUID lid=N priority=P": the result of who is not master, for scripts.
  std::string headline() const;
  /// As SMInfo shows it; without the key.
  ib::wire::SmInfo own_info() const;

  // ---- what happens
  /// A sweep found this: the others are asked.
  void on_swept(ib::Instant now, const ib::discover::Observed& found);
  /// Everybody who is waited for has answered, or will not.
  bool is_decided() const { return waited_.empty(); }
  /// After a sweep, once it is decided. True: the subnet is to be configured by it; false: it is to
  /// be left alone.
  bool conclude(ib::Instant now);
  /// While it discovered the others somebody asked what it is who is none of those that `found`
  /// has: one that began after its port was read, and may be master by now.
  bool was_asked_by_stranger(const ib::discover::Observed& found) const;
  /// True once after it became master where others may have been: what devices hold is not known.
  bool take_taken_over() { return std::exchange(taken_over_, false); }
  /// Those that are known by now are asked again, without a sweep.
  void ask_again(const ib::discover::Observed& seen);
  /// A port with this LID says that something about it changed.
  void on_change_at(ib::Lid lid, const ib::discover::Observed& seen);
  /// Our port was told that the subnet manager is at `who`: another one was master, while this one
  /// slept or beside it.
  void on_other_master(const std::string& who);
  /// Nothing was done for so long, as when the process is stopped or its host sleeps.
  void on_slept(ib::Duration how_long);
  /// A request for SMInfo arrived. The answer; none: it comes later.
  std::optional<ib::mad::Packet> answer(ib::Instant now, const ib::mad::Packet& request,
                                        const ib::discover::Observed& seen);
  void on_completion(ib::Instant now, const ib::mad::Completion& completion);
  ib::Instant due() const;
  void on_time(ib::Instant now);
  /// As it is judged by from now on; 0 to 15.
  void set_priority(std::uint8_t priority);
  /// Clients are answered from here on: who handed over to this one need not do so any more.
  void acknowledge();
  /// Who handed over to this one, and was not told that yet.
  const std::optional<ib::Guid>& predecessor() const { return predecessor_; }
  /// A standby that is not fit to take over is NOTACTIVE until it is. `why` says what is the
  /// matter.
  void set_fit(ib::Instant now, bool fit, const std::string& why);
  /// SMPs sent so far, for ActCount.
  void set_sends(std::uint64_t sends) { sends_ = sends; }

  // ---- what is to be done; each once
  enum class Order {
    Sweep,      // a full sweep, as soon as may be
    Decide,     // likewise, and nothing more is set before: another one is master, or was
    StandDown,  // somebody else is master: nothing is set any more, nothing is known any more
  };
  std::optional<Order> next_order();
  std::vector<ib::mad::Request> take_requests() { return std::exchange(requests_, {}); }
  std::vector<ib::mad::Cookie> take_cancelled() { return std::exchange(cancelled_, {}); }
  std::vector<ib::mad::Packet> take_packets() { return std::exchange(packets_, {}); }
  std::optional<ib::LogEvent> next_log();
  /// True once after each change of state.
  bool take_news() { return std::exchange(news_, false); }
  /// True once when SmStatus::answers has come to its end.
  bool take_relieved() { return std::exchange(relieved_, false); }
  /// True once after another one is known to have started.
  bool take_started() { return others_.take_started(); }
  /// True once after others came, went or changed.
  bool take_others_changed() { return std::exchange(others_changed_, false); }
  /// Control packets that were refused.
  std::uint64_t refused() const { return refused_; }

 private:
  enum class Kind { Question, Poll, Handover, Acknowledge, OwnPort, Proof, Stranger, Sender };
  /// Whose port is at the end of a way, as the device there says.
  struct Proof {
    ib::mad::DirectedRoute way;
    ib::Guid guid{};  // zero: it is being asked
    ib::Instant until{0};
  };
  struct Asked {
    Kind kind;
    ib::Guid whom{};
    std::optional<ib::mad::Packet> request{};  // Proof: what waits for it
    ib::Instant until{ib::kNever};             // longer nobody waits for the answer
  };
  using Event = election::Event;

  election::Rank rank() const;
  ib::mad::Cookie expect(Asked asked);
  ib::mad::Cookie ask(Kind kind, ib::Guid whom);
  void wait_no_longer(ib::mad::Cookie cookie, ib::Instant until);
  void give_up_late(ib::Instant now);
  void ask_all();
  ib::mad::Cookie set(Kind kind, ib::Guid whom, Event control);
  void drop_questions();
  /// The transition of `event`, with all that follows; false: there is none in this state.
  bool take(ib::Instant now, Event event, ib::Guid who, std::string why);
  void go(ib::Instant now, ib::wire::SmState to, std::string why);
  void follow(ib::Instant now, ib::Guid whom);
  void stop_following();
  void relieve();
  void poll(ib::Instant now);
  void miss(ib::Instant now);
  void doubt_master(ib::Instant now);
  void on_poll_answer(ib::Instant now, ib::Guid whom, const ib::mad::Completion& completion);
  void on_handover_answer(ib::Instant now, ib::Guid whom, const ib::mad::Completion& completion);
  void on_own_port(const ib::mad::Completion& completion);
  void ask_back(Asked asked, const ib::mad::Packet& request, std::uint16_t attribute);
  void look_for_stranger(ib::Instant now, const ib::mad::Packet& request,
                         const ib::discover::Observed& seen);
  void on_stranger(ib::Instant now, const ib::mad::Completion& completion);
  bool waits_for_sender(ib::Instant now, const ib::mad::Packet& request,
                        const ib::discover::Observed& seen);
  void on_sender(const ib::mad::Completion& completion);
  void on_proof(const ib::mad::Packet& request, const ib::mad::Completion& completion);
  void take_answer(ib::Instant now, ib::Guid whom, const ib::mad::Completion& completion);
  void on_light_answer(ib::Instant now);
  void ask_for_handover(ib::Instant now);
  std::string why_refused(Event control, const ib::wire::SmInfo& sender,
                          const ib::mad::Packet& request, const ib::discover::Observed& seen) const;
  bool may_order(Event control, ib::Guid sender, const ib::discover::Observed& seen) const;
  bool is_repeated_handover(ib::Instant now, Event control, ib::Guid sender);
  void take_late_handover(ib::Instant now);
  bool grant(ib::Instant now, const ib::mad::Packet& request, const ib::discover::Observed& seen);
  bool needs_proof(const ib::mad::Packet& request) const;
  ib::wire::SmInfo shown_info(bool with_key) const;
  void log(ib::LogLevel level, std::string message);

  MastershipOptions options_;
  ib::mad::Cookie owner_;
  SmStatus status_;
  OtherManagers others_;
  bool at_switch_{false};
  std::uint64_t sends_{0}, answers_{0};  // SMPs sent; requests for SMInfo that came
  bool taken_over_{false};
  bool was_standby_{false};          // since it was master last
  std::optional<ib::Guid> unfit_{};  // it is NOTACTIVE for that; whom it stood by

  std::uint32_t last_cookie_{0};
  std::map<ib::mad::Cookie, Asked> asked_;
  std::set<ib::mad::Cookie> waited_;  // the sweep's questions that it waits for
  std::set<ib::Guid> deaf_;           // who did not answer when it was waited for

  // Who is polled: the master, or one that is to hand over to us.
  std::optional<ib::Guid> followed_;
  bool path_wanted_{false};  // to it: a sweep is to find it
  ib::mad::Cookie poll_cookie_{0};
  ib::Instant poll_at_{ib::kNever};
  std::uint32_t misses_{0};
  std::uint64_t polls_{0};
  ib::Instant wait_until_{ib::kNever};   // for a handover to us
  ib::Instant trap_at_{0};               // the next time that one is asked for it
  std::optional<ib::Guid> successor_;    // HANDOVER was sent to it
  std::optional<ib::Guid> predecessor_;  // it handed over to us, and waits for ACKNOWLEDGE
  std::optional<ib::Guid> heir_;         // we handed over to it, and wait for ACKNOWLEDGE
  ib::Instant heir_until_{ib::kNever};
  ib::Instant ask_back_at_{0};               // not before, who asks and is not known
  std::vector<ib::mad::Packet> asked_by_{};  // who asked what it is, while it discovers
  Proof sender_;                             // of the last HANDOVER that came from elsewhere

  std::vector<ib::mad::Request> requests_;
  std::vector<ib::mad::Cookie> cancelled_;
  std::vector<ib::mad::Packet> packets_;
  std::deque<Order> orders_;
  std::deque<ib::LogEvent> logs_;
  bool news_{false}, others_changed_{false}, relieved_{false};
  std::uint64_t refused_{0};
  Refusals refusals_;
  std::map<ib::Guid, ib::Instant> handovers_;  // by sender, zero: not known; when one was granted
  /// One that came soon after another one of its sender, and calls for a sweep later; of whom.
  ib::Instant handover_at_{ib::kNever};
  ib::Guid handover_by_{};
  std::uint32_t trap_tid_{0};
};

}  // namespace sm::core
