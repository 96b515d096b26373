// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// CongestionManager: programs congestion control into switches and channel adapters, class 0x21.
// After each full sweep it reads what every end port can and what it holds, and sets what differs.
//
//   of an end port:  ClassPortInfo - CongestionInfo - CongestionKeyInfo - setting - table - done
//                    (the first two once; a table has channel adapters only)
//   of each setting: Get - it is as wanted, or Set - the answer says so - next
//                    and where everything is turned off: - Get, once more
//
// Who is silent, refuses or lies is named once and left alone until it leaves the subnet. Too many
// errors end it: the subnet manager goes on.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sm/managers/congestion/change.h"
#include "sm/managers/congestion/error_window.h"
#include "sm/managers/congestion/findings.h"
#include "sm/managers/end_ports.h"
#include "sm/managers/manager.h"
#include "sm/policy/congestion_settings.h"

namespace sm::managers {

class CongestionManager final : public Manager {
 public:
  explicit CongestionManager(const policy::CongestionSettings& settings);

  std::vector<ib::mad::AgentSpec> agents() const override;
  void on_subnet_up(ib::Instant now, const SnapshotPtr& subnet) override;
  void on_completion(ib::Instant now, const ib::mad::Completion& completion) override;
  void on_time(ib::Instant now) override;
  ib::Instant next_deadline() const override;
  std::vector<ib::mad::Request> take_requests(ib::Instant now, std::size_t most) override;
  std::vector<ib::LogEvent> take_log() override;
  std::size_t requests_most() const override { return settings_.requests_most; }
  bool idle() const override;

  /// Other settings, from the next sweep on. It starts over, even where errors had ended it.
  void set_settings(const policy::CongestionSettings& settings);

  /// It met too many errors and does nothing any more.
  bool has_ended() const { return ended_; }
  /// That it ended, or goes on after that, since the last call.
  std::optional<CongestionChange> take_change() { return std::exchange(change_, std::nullopt); }

 private:
  enum class Step : std::uint8_t { ClassPortInfo, Info, Key, Setting, Table, Done };
  enum class Mode : std::uint8_t { Get, Set, Check };

  /// One end port in a run.
  struct Work {
    EndPort end;
    Step step{Step::ClassPortInfo};
    Mode mode{Mode::Get};
    std::uint8_t block{0};
    std::uint64_t key{0};  // of its MADs
    bool failed{false};
  };
  /// What is known of an end port as long as it is in the subnet.
  struct Known {
    ib::wire::CongestionInfo info;
    ib::Duration answers_within{0};
    bool asked{false};         // `info` stands
    bool skipped{false};       // silent, or without an agent
    bool guarded{false};       // by somebody else's key, and that was said
    std::uint8_t stubborn{0};  // steps whose Sets it answers with something else
  };
  using Blocks = std::vector<ib::wire::CongestionControlTable>;

  void begin(ib::Instant now, SnapshotPtr subnet);
  void begin_refresh();
  void start(std::size_t index, Step step);
  void finish(ib::Instant now);
  std::string outcome() const;

  ib::mad::Request request_of(std::size_t index);
  const Blocks& blocks_for(const Known& known);
  ib::wire::SwitchCongestionSetting wanted_switch(const Work& work);

  /// What the answer makes of it; the next request, or that it is done.
  void on_answer(Work& work, const ib::wire::Mad& answer);
  void on_info(Work& work, const ib::wire::CongestionInfo& info);
  void on_key(Work& work, const ib::wire::CongestionKeyInfo& held);
  void on_setting(Work& work, bool holds);
  void on_refusal(Work& work, std::uint16_t status);
  void advance(Work& work);
  void go_to(Work& work, Step step);
  void give_up(Work& work, ib::LogLevel level, std::string what);
  void on_error(ib::Instant now, Work& work, const ib::Error& error);
  void end(const std::string& last);

  Known& known(const Work& work) { return known_[work.end.port_guid]; }

  policy::CongestionSettings settings_;
  std::optional<policy::CongestionSettings> fresh_;  // for the next run
  std::uint64_t previous_key_{0};
  ErrorWindow errors_;
  std::unordered_map<ib::Guid, Known> known_;  // by port GUID

  // The run that is under way, or was the last.
  std::uint32_t generation_{0};  // 24 bits; in the cookies of its requests
  SnapshotPtr subnet_;
  std::uint32_t hosts_{0};
  std::vector<Work> work_;
  std::deque<std::size_t> ready_;  // have a request to be sent
  std::size_t left_{0};            // end ports that are not done
  std::size_t sets_{0};
  bool refreshing_{false};                 // keys alone
  std::map<std::uint8_t, Blocks> blocks_;  // by capability

  SnapshotPtr next_;  // the newest, where a run was under way when it came
  ib::Instant refresh_at_{ib::kNever};
  std::string last_outcome_;
  Findings findings_;
  std::vector<ib::LogEvent> log_;
  bool ended_{false};
  std::optional<CongestionChange> change_;
};

}  // namespace sm::managers
