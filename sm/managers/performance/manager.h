// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The performance manager: reads the counters of all ports, a few at a time, keeps totals that
// outlive the narrow fields of PortCounters, and tells which port counted errors, with both ends of
// its cable.
//
//   Waiting --sweep time--> Reading --all read--> Waiting
//
// A target is an end port: a CA or router port, or port 0 of a switch for all ports of the switch.
// It is asked for ClassPortInfo once, then for the counters of each port with a cable, port by
// port: PortCounters, PortCountersExtended where it has them, the latter alone where errors are in
// there, too. A counter that is nearly full is cleared.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sm/managers/end_ports.h"
#include "sm/managers/manager.h"
#include "sm/managers/performance/port_record.h"

namespace sm::managers::performance {

/// opensm's perfmgr_* keys.
struct Options {
  ib::Duration sweep_time{std::chrono::seconds(180)};
  std::size_t outstanding{500};              // requests under way at most
  bool follow_redirections{true};            // of ClassPortInfo
  bool ignore_cas{false};                    // switches alone
  bool forget_gone_nodes{true};              // totals of nodes that are not there any more go
  bool log_errors{true};                     // a line for each port that counted errors
  bool ask_capabilities{true};               // ClassPortInfo; without it 32-bit counters alone
  bool log_xmit_wait{false};                 // ... for PortXmitWait above the threshold
  std::uint32_t xmit_wait_threshold{65535};  // ticks a sweep
  Windows windows;
  /// Windows of all ports together that are kept, ended ones and those that run; of each port at
  /// least one of both, and no more than kWindowsMost.
  std::size_t windows_most{100'000};
  bool stores{false};  // take_unstored() is asked
  static constexpr std::size_t kWindowsMost = 1'000;
};

/// An agent that said that another one is to be asked instead.
struct Redirection {
  ib::Guid node_guid{};
  std::string node_name;
  bool enhanced_port0{};  // of a switch that has one
  std::uint8_t port{};    // end port: 0 of a switch
  ib::Lid from{}, to{};
  std::uint32_t qpn{};
  ib::PKey p_key{};
  std::uint16_t p_key_index{};
};

class PerformanceManager final : public Manager {
 public:
  explicit PerformanceManager(const Options& options);
  ~PerformanceManager() override;

  std::vector<ib::mad::AgentSpec> agents() const override;
  void on_subnet_up(ib::Instant now, const SnapshotPtr& subnet) override;
  void on_watched(ib::Instant now, const SnapshotPtr& subnet, const std::string& master) override;
  void on_completion(ib::Instant now, const ib::mad::Completion& completion) override;
  void on_time(ib::Instant now) override;
  ib::Instant next_deadline() const override;
  std::vector<ib::mad::Request> take_requests(ib::Instant now, std::size_t most) override;
  std::vector<ib::LogEvent> take_log() override;
  std::size_t requests_most() const override { return options_.outstanding; }
  /// Thresholds that were passed since the last call.
  std::vector<ErrorChange> take_error_changes() { return std::exchange(news_.changes, {}); }
  /// Windows that were read, of at most `most` ports, and those that are not kept any more, since
  /// the last call; of sweeps that have ended.
  struct Unstored {
    std::vector<StoredWindow> windows;
    std::vector<WindowKey> dropped;
    bool empty() const { return windows.empty() && dropped.empty(); }
  };
  Unstored take_unstored(std::size_t most);
  bool has_unstored() const { return !sweeping_ && !unstored_.empty(); }
  /// Goes on where a run before this one ended: windows as stored, by port and then time.
  void resume(ib::Instant now, std::span<const StoredWindow> stored);
  /// A run of `ibsm --once` does not wait for counters.
  bool idle() const override { return true; }

  // ---- for readers of the counters
  const PortRecords& records() const { return records_; }
  /// A sweep now, unless one is under way.
  void sweep_now(ib::Instant now);
  /// All totals begin at 0 again; the devices' counters stay as they are.
  void clear_totals(ib::Instant now);
  unsigned sweeps() const { return sweeps_; }  // that have ended
  bool sweeping() const { return sweeping_; }
  const Options& options() const { return options_; }
  std::size_t under_way() const { return asked_.size() - free_.size(); }

  // ---- for the operator
  bool is_enabled() const { return enabled_; }
  /// Disabled, no sweep begins; one that is under way comes to its end.
  void set_enabled(ib::Instant now, bool enabled);
  /// Counts from the last sweep on.
  void set_sweep_time(ib::Instant now, ib::Duration sweep_time);
  void set_forget_gone_nodes(bool forget) { options_.forget_gone_nodes = forget; }
  void set_error_thresholds(const policy::ErrorThresholds& thresholds) {
    options_.windows.thresholds = thresholds;
  }
  void set_ask_capabilities(bool ask) { options_.ask_capabilities = ask; }
  /// How many ports of nodes that are gone had totals.
  std::size_t forget_gone_nodes();
  std::vector<Redirection> redirections() const;
  /// Of a node by GUID or name, or of all: they are asked at the first place again.
  void forget_redirections(const std::string& node);

 private:
  enum class Step : std::uint8_t { Info, Narrow, Wide, Clear };
  struct Target;
  struct Asked {
    Target* target{};  // one of targets_, which stay as they are during a sweep
    Step step{};
    std::uint8_t port{};
    PortTotals::Select select;
  };

  void begin(ib::Instant now);
  void find_targets();
  void find_ports(Target& target);
  void describe(PortRecord& record, const Target& target, std::uint8_t port) const;
  void end(ib::Instant now);
  void next_port(Target& target);
  void on_info(Target& target, const ib::mad::Packet& answer);
  void on_counters(ib::Instant now, const Asked& asked, const ib::mad::Packet& answer);
  void on_cleared(ib::Instant now, const Asked& asked, std::uint16_t status);
  void keep(ib::Instant now, Target& target);
  void skip(Target& target, std::string why);
  ib::mad::Request request_of(ib::mad::Cookie cookie, const Asked& asked) const;
  void tell_errors();
  void forget_gone();
  void log(ib::LogLevel level, std::string message);

  Options options_;
  SnapshotPtr subnet_;
  SnapshotPtr swept_;                                    // the subnet that targets_ are of
  std::optional<std::string> beside_;                    // the master, where that is another one
  std::map<ib::Guid, std::unique_ptr<Target>> targets_;  // by the GUID of the end port
  PortRecords records_;
  std::deque<Asked> work_;
  std::vector<Asked> asked_;          // by their cookies, free places among them
  std::vector<std::size_t> free_;     // of asked_
  std::vector<PortKey> with_errors_;  // of this sweep
  std::set<ib::Guid> named_;          // targets whose trouble has been told
  RecordNews news_;
  std::vector<PortKey> unstored_;  // ports that were read
  std::size_t windows_kept_{1};    // ended ones of a port
  std::vector<ib::LogEvent> log_;
  bool sweeping_{false}, enabled_{true};
  ib::Instant sweep_began_{}, next_sweep_{ib::kNever};
  unsigned sweeps_{0};
};

}  // namespace sm::managers::performance
