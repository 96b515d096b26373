// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// OtherManagers: subnet managers that ports of the subnet speak of (CapabilityMask.IsSM), where
// they are, and what they said of themselves (SMInfo).
#pragma once

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

namespace sm::core {

struct OtherManager {
  ib::wire::SmInfo info;  // as it answered last
  ib::mad::DirectedRoute route;
  ib::Lid lid{};
  std::string name;              // of its port, printable: "host0032 HCA-1" port 1
  bool known{false};             // it answered at least once
  bool answered{false};          // it did so when it was asked last
  bool allowed{true};            // to be a subnet manager here
  bool key_matches{true};        // its SM_Key is ours, or we have none
  bool is_twin{false};           // its port has our GUID
  ib::Guid claims{};             // what it says its port GUID is, where that is another; else zero
  ib::Instant since{0};          // in the state that it is in
  ib::Instant active{0};         // its ActCount was seen to change last
  bool idle_told{false};         // that it has not changed for long
  ib::Instant refused_until{0};  // it would not take over; it is not asked again before
  ib::Instant deaf_until{0};     // likewise, or it did without a word: then it is master
};

class OtherManagers {
 public:
  /// `sm_key` is ours, 0: any goes. `allowed`: port GUIDs; empty: all.
  OtherManagers(std::uint64_t sm_key, std::set<ib::Guid> allowed)
      : sm_key_(sm_key), allowed_(std::move(allowed)) {}

  /// What a sweep found: who speaks of a subnet manager no more is forgotten.
  void on_swept(const ib::discover::Observed& seen);
  /// What is known of ports by now: who speaks of one since the sweep is added.
  void add_seen(const ib::discover::Observed& seen);
  /// The port `asked` answered; what to say of it, if that is news.
  std::optional<ib::LogEvent> on_answer(ib::Instant now, ib::Guid asked,
                                        const ib::wire::SmInfo& info, ib::Guid own);
  /// True once after one answered that was not known, or whose ActCount fell: it started since.
  bool take_started() { return std::exchange(started_, false); }
  /// It did not answer.
  void on_silence(ib::Guid guid);
  /// Its host answered that nobody is there.
  void on_gone(ib::Guid guid);

  OtherManager* find(ib::Guid guid);
  const OtherManager* find(ib::Guid guid) const;
  const std::map<ib::Guid, OtherManager>& all() const { return all_; }  // by port GUID

  /// As those answered who take part in the election of one that is master, or is not.
  std::vector<ib::wire::SmInfo> candidates(ib::Instant now, bool for_master) const;
  /// One of them, for a message.
  std::string describe(ib::Guid guid) const;
  /// As all answered last whom their GUIDs tell apart, without their keys.
  std::vector<ib::wire::SmInfo> known() const;

 private:
  std::uint64_t sm_key_;
  std::set<ib::Guid> allowed_;
  std::map<ib::Guid, OtherManager> all_;
  std::set<ib::Guid> liars_;  // that were told of
  bool started_{false};

  /// What to say of a master whose ActCount does not move (IBA 14.2.5.13: a heartbeat).
  std::optional<ib::LogEvent> idle_master(ib::Instant now, OtherManager& manager) const;
  void take(const ib::discover::Observed& seen, std::map<ib::Guid, OtherManager> before);
  void take_twin(const ib::discover::Observed& seen, std::map<ib::Guid, OtherManager>& before);
};

}  // namespace sm::core
