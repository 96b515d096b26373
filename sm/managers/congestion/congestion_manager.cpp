// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/congestion/congestion_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "libdiag/wire/gmp_attributes.h"
#include "sm/managers/congestion/plan.h"

namespace sm::managers {
namespace {

namespace attr = ib::wire::attr;
using ib::Duration;
using ib::Instant;
using ib::LogLevel;
using ib::wire::CaCongestionSetting;
using ib::wire::CongestionControlTable;
using ib::wire::CongestionInfo;
using ib::wire::CongestionKeyInfo;
using ib::wire::Method;
using ib::wire::MgmtClass;
using ib::wire::NodeType;
using ib::wire::SwitchCongestionSetting;

constexpr const char* kTopic = "congestion";
/// RespTimeValue is 4.096 us x 2^n; a device that claims hours is not waited for so long.
constexpr Duration kRespTimeUnit = std::chrono::nanoseconds(4096);
constexpr unsigned kRespTimeMost = 20;  // about 4 s
/// A Set of anything but 0 leaves the counter as it is.
constexpr std::uint16_t kViolationsStay = 1;

struct Attribute {
  std::uint16_t id;
  const char* name;
};
constexpr Attribute kClassPortInfo{attr::kClassPortInfo, "ClassPortInfo"},
    kInfo{attr::kCongestionInfo, "CongestionInfo"},
    kKey{attr::kCongestionKeyInfo, "CongestionKeyInfo"},
    kOfSwitch{attr::kSwitchCongestionSetting, "SwitchCongestionSetting"},
    kOfCa{attr::kCaCongestionSetting, "CACongestionSetting"},
    kTable{attr::kCongestionControlTable, "CongestionControlTable"};

constexpr unsigned kGenerationShift = 32;
constexpr ib::mad::Cookie kIndexMask = 0xFFFFFFFF, kGenerationMask = 0xFFFFFF;
ib::mad::Cookie cookie_of(std::uint32_t generation, std::size_t index) {
  return (generation & kGenerationMask) << kGenerationShift | index;
}

bool is_switch(const EndPort& end) { return end.type == NodeType::Switch; }

template <class Step>
Attribute attribute_of(Step step, const EndPort& end) {
  switch (step) {
    case Step::ClassPortInfo:
      return kClassPortInfo;
    case Step::Info:
      return kInfo;
    case Step::Key:
      return kKey;
    case Step::Table:
      return kTable;
    default:
      return is_switch(end) ? kOfSwitch : kOfCa;
  }
}

}  // namespace

CongestionManager::CongestionManager(const policy::CongestionSettings& settings)
    : settings_(settings), errors_(settings.max_errors, settings.error_window) {}

std::vector<ib::mad::AgentSpec> CongestionManager::agents() const {
  ib::mad::AgentSpec spec;
  spec.mgmt_class = MgmtClass::CongestionControl;
  spec.class_version = 2;
  return {spec};
}

std::vector<ib::LogEvent> CongestionManager::take_log() { return std::exchange(log_, {}); }

bool CongestionManager::idle() const { return ended_ || left_ == 0; }

void CongestionManager::set_settings(const policy::CongestionSettings& settings) {
  fresh_ = settings;
  if (std::exchange(ended_, false)) change_ = CongestionChange{};
}

// ---- runs

void CongestionManager::on_subnet_up(Instant now, const SnapshotPtr& subnet) {
  if (ended_) return;
  if (left_ == 0)
    begin(now, subnet);
  else
    next_ = subnet;
}

void CongestionManager::begin(Instant now, SnapshotPtr subnet) {
  if (fresh_) {
    if (settings_.cc_key != fresh_->cc_key) previous_key_ = settings_.cc_key;
    settings_ = *std::exchange(fresh_, std::nullopt);
    errors_ = ErrorWindow(settings_.max_errors, settings_.error_window);
    known_.clear();
  }
  ++generation_;
  subnet_ = std::move(subnet);
  hosts_ = congestion_hosts(settings_, *subnet_);
  blocks_.clear();
  work_.clear();
  refreshing_ = false;
  sets_ = 0;
  std::unordered_map<ib::Guid, Known> before = std::exchange(known_, {});
  for (EndPort& end : end_ports(*subnet_)) {
    if (end.type == NodeType::Router) continue;
    const auto old = before.find(end.port_guid);
    known_[end.port_guid] = old == before.end() ? Known{} : old->second;
    Work work;
    work.end = std::move(end);
    work.key = settings_.cc_key;
    work_.push_back(std::move(work));
  }
  for (std::size_t i = 0; i < work_.size(); ++i)
    start(i, known(work_[i]).asked ? Step::Key : Step::ClassPortInfo);
  if (left_ == 0) finish(now);
}

/// A lease that a violation started is stopped by our next MAD, or the key would be shown.
void CongestionManager::begin_refresh() {
  refreshing_ = true;
  sets_ = 0;
  for (std::size_t i = 0; i < work_.size(); ++i) start(i, Step::Key);
}

void CongestionManager::start(std::size_t index, Step step) {
  Work& work = work_[index];
  work.failed = false;
  if (known(work).skipped) {
    work.failed = true;
    return go_to(work, Step::Done);
  }
  go_to(work, step);
  ++left_;
  ready_.push_back(index);
}

void CongestionManager::finish(Instant now) {
  std::ranges::move(findings_.take(kTopic), std::back_inserter(log_));
  subnet_ = nullptr;  // the next run has one of its own
  if (!refreshing_) {
    std::string said = outcome();
    if (sets_ != 0 || said != last_outcome_)
      log_.push_back({LogLevel::Info, kTopic, fmt::format("{}; {} Sets", said, sets_)});
    last_outcome_ = std::move(said);
  }
  refresh_at_ = settings_.cc_key != 0 && settings_.key_lease != 0
                    ? now + std::max<Duration>(std::chrono::seconds(settings_.key_lease) / 2,
                                               std::chrono::seconds(1))
                    : ib::kNever;
  if (next_) begin(now, std::exchange(next_, nullptr));
}

std::string CongestionManager::outcome() const {
  std::size_t switches = 0, cas = 0, left_out = 0;
  for (const Work& work : work_) ++(work.failed ? left_out : is_switch(work.end) ? switches : cas);
  std::string text =
      fmt::format("congestion control is {} in {} switches and {} ports of channel adapters",
                  settings_.enable ? "on" : "off, as read back,", switches, cas);
  if (left_out != 0) text += fmt::format(", {} are left out", left_out);
  return text;
}

void CongestionManager::on_time(Instant now) {
  if (refresh_at_ > now) return;
  refresh_at_ = ib::kNever;
  if (ended_ || left_ != 0) return;
  begin_refresh();
  if (left_ == 0) finish(now);
}

Instant CongestionManager::next_deadline() const { return ended_ ? ib::kNever : refresh_at_; }

// ---- requests

std::vector<ib::mad::Request> CongestionManager::take_requests(Instant, std::size_t most) {
  std::vector<ib::mad::Request> requests;
  for (; !ready_.empty() && requests.size() < most; ready_.pop_front())
    requests.push_back(request_of(ready_.front()));
  return requests;
}

ib::mad::Request CongestionManager::request_of(std::size_t index) {
  Work& work = work_[index];
  const Known& device = known(work);
  const Method method = work.mode == Mode::Set ? Method::Set : Method::Get;
  ib::mad::Request request =
      gmp_request(cookie_of(generation_, index), work.end, MgmtClass::CongestionControl, method,
                  attribute_of(work.step, work.end).id, work.step == Step::Table ? work.block : 0);
  request.resp_time_hint = device.answers_within;
  request.mad.set<&ib::wire::CongestionHeader::cc_key>(work.key);
  if (work.mode != Mode::Set) return request;
  if (work.step == Step::Key)
    ib::wire::set_body(request.mad, CongestionKeyInfo{settings_.cc_key, settings_.key_protect,
                                                      settings_.key_lease, kViolationsStay});
  else if (work.step == Step::Table)
    ib::wire::set_body(request.mad, blocks_for(device)[work.block]);
  else if (is_switch(work.end))
    ib::wire::set_body(request.mad, wanted_switch(work));
  else
    ib::wire::set_body(request.mad, wanted_of_ca(settings_, hosts_));
  return request;
}

const CongestionManager::Blocks& CongestionManager::blocks_for(const Known& device) {
  Blocks& blocks = blocks_[device.info.control_table_cap];
  if (blocks.empty()) blocks = wanted_table(settings_, hosts_, device.info.control_table_cap);
  return blocks;
}

SwitchCongestionSetting CongestionManager::wanted_switch(const Work& work) {
  return wanted_of_switch(settings_, subnet_->fabric(), work.end.port.node, known(work).info);
}

// ---- answers

void CongestionManager::on_completion(Instant now, const ib::mad::Completion& completion) {
  // One of a run that errors ended comes late.
  if (ended_ || completion.cookie >> kGenerationShift != (generation_ & kGenerationMask)) return;
  const auto index = static_cast<std::size_t>(completion.cookie & kIndexMask);
  Work& work = work_[index];
  if (!completion.reply) {
    on_error(now, work, completion.reply.error());
    if (ended_) return;
  } else if (const std::uint16_t status = completion.reply->mad.status(); status != 0) {
    on_refusal(work, status);
  } else {
    on_answer(work, completion.reply->mad);
  }
  if (work.step != Step::Done) return ready_.push_back(index);
  if (--left_ == 0) finish(now);
}

void CongestionManager::on_answer(Work& work, const ib::wire::Mad& answer) {
  switch (work.step) {
    case Step::ClassPortInfo: {
      const auto info = ib::wire::body<ib::wire::ClassPortInfo>(answer);
      known(work).answers_within = kRespTimeUnit * (std::int64_t{1} << std::min<unsigned>(
                                                        info.resp_time_value, kRespTimeMost));
      return go_to(work, Step::Info);
    }
    case Step::Info:
      return on_info(work, ib::wire::body<CongestionInfo>(answer));
    case Step::Key:
      return on_key(work, ib::wire::body<CongestionKeyInfo>(answer));
    case Step::Setting:
      if (is_switch(work.end))
        return on_setting(
            work, holds(ib::wire::body<SwitchCongestionSetting>(answer), wanted_switch(work)));
      return on_setting(work, holds(ib::wire::body<CaCongestionSetting>(answer),
                                    wanted_of_ca(settings_, hosts_)));
    case Step::Table:
      return on_setting(work, holds(ib::wire::body<CongestionControlTable>(answer),
                                    blocks_for(known(work))[work.block], work.block));
    case Step::Done:
      return;
  }
}

void CongestionManager::on_info(Work& work, const CongestionInfo& info) {
  Known& device = known(work);
  device.info = info;
  device.asked = true;
  if (!is_switch(work.end) && info.control_table_cap == 0) {
    device.skipped = true;
    return give_up(work, LogLevel::Warning, "left out: by its CongestionInfo it holds no table");
  }
  if (!is_switch(work.end) && settings_.enable && !settings_.table_by_hosts &&
      settings_.table.size() > info.control_table_cap * CongestionControlTable::kEntries)
    findings_.add(LogLevel::Warning, "the table is longer than the device can hold, and is cut off",
                  work.end.name);
  go_to(work, Step::Key);
}

void CongestionManager::on_key(Work& work, const CongestionKeyInfo& held) {
  const CongestionKeyInfo wanted{settings_.cc_key, settings_.key_protect, settings_.key_lease,
                                 held.violations};
  if (work.mode == Mode::Set) {
    work.key = settings_.cc_key;
    if (held != wanted)
      findings_.add(LogLevel::Warning, "Set(CongestionKeyInfo) is answered with other values",
                    work.end.name);
    return advance(work);
  }
  if (held.cc_key == 0 && held.protect) {
    // It may be the one that we gave it before SIGHUP.
    if (previous_key_ != 0 && work.key != previous_key_) {
      work.key = previous_key_;
      return;
    }
    work.failed = true;
    if (!std::exchange(known(work).guarded, true))
      findings_.add(LogLevel::Warning,
                    "left out, since a CC_Key that is not ours and is not shown protects it",
                    work.end.name);
    return go_to(work, Step::Done);
  }
  known(work).guarded = false;
  // Who shows its key may be asked by it.
  work.key = held.cc_key;
  if (settings_.cc_key == 0 || held == wanted) return advance(work);
  ++sets_;
  work.mode = Mode::Set;
}

void CongestionManager::on_setting(Work& work, bool holds) {
  const auto bit = static_cast<std::uint8_t>(1U << static_cast<unsigned>(work.step));
  if (holds) {
    if (work.mode == Mode::Set && !settings_.enable)
      work.mode = Mode::Check;
    else
      advance(work);
    return;
  }
  const char* name = attribute_of(work.step, work.end).name;
  Known& device = known(work);
  if (work.mode == Mode::Get && (device.stubborn & bit) == 0) {
    ++sets_;
    work.mode = Mode::Set;
    return;
  }
  work.failed = true;
  if (work.mode == Mode::Set)
    findings_.add(LogLevel::Warning, fmt::format("Set({}) is answered with other values", name),
                  work.end.name);
  else if (work.mode == Mode::Check)
    findings_.add(
        LogLevel::Warning,
        fmt::format("Set({}) was answered as it should be, but a Get shows other values", name),
        work.end.name);
  device.stubborn |= bit;
  advance(work);
}

void CongestionManager::on_refusal(Work& work, std::uint16_t status) {
  // Devices without keys are known; without an agent, too.
  if (work.step == Step::Key && settings_.cc_key == 0) return advance(work);
  known(work).skipped = true;
  if (work.step == Step::ClassPortInfo || work.step == Step::Info)
    return give_up(
        work, LogLevel::Info,
        fmt::format("left out, since there is no congestion control ({}: status 0x{:04x})",
                    attribute_of(work.step, work.end).name, status));
  give_up(work, LogLevel::Warning,
          fmt::format("left out, since {}({}) is refused with status 0x{:04x}",
                      work.mode == Mode::Set ? "Set" : "Get",
                      attribute_of(work.step, work.end).name, status));
}

/// Behind a step whose devices hold what they should, or are not going to.
void CongestionManager::advance(Work& work) {
  switch (work.step) {
    case Step::Key:
      return go_to(work, refreshing_ ? Step::Done : Step::Setting);
    case Step::Setting:
      return go_to(work, is_switch(work.end) ? Step::Done : Step::Table);
    case Step::Table:
      work.mode = Mode::Get;
      if (++work.block == blocks_for(known(work)).size()) work.step = Step::Done;
      return;
    default:
      return;
  }
}

void CongestionManager::go_to(Work& work, Step step) {
  work.step = step;
  work.mode = Mode::Get;
  work.block = 0;
}

void CongestionManager::give_up(Work& work, LogLevel level, std::string what) {
  work.failed = true;
  findings_.add(level, std::move(what), work.end.name);
  go_to(work, Step::Done);
}

void CongestionManager::on_error(Instant now, Work& work, const ib::Error& error) {
  const char* name = attribute_of(work.step, work.end).name;
  if (error.kind == ib::ErrorKind::TimedOut) known(work).skipped = true;
  const std::string what = error.kind == ib::ErrorKind::TimedOut
                               ? fmt::format("left out, since {} is not answered", name)
                               : fmt::format("{} cannot be sent ({})", name, error.message);
  give_up(work, LogLevel::Warning, what);
  if (errors_.add(now)) end(work.end.name);
}

void CongestionManager::end(const std::string& last) {
  std::ranges::move(findings_.take(kTopic), std::back_inserter(log_));
  log_.push_back(
      {LogLevel::Error, kTopic,
       fmt::format("{} errors within {} s, the last at {}: more than max_errors ({}); congestion "
                   "control is left as it is now, the subnet manager goes on without it until "
                   "ibsm is restarted or gets SIGHUP",
                   errors_.count(), settings_.error_window.count(), last, settings_.max_errors)});
  ended_ = true;
  change_ = CongestionChange{true, errors_.count(), settings_.error_window.count(),
                             settings_.max_errors, last};
  ready_.clear();
  subnet_ = next_ = nullptr;
  left_ = 0;
}

}  // namespace sm::managers
