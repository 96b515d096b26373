// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/performance/manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "libdiag/query/pma_client.h"

namespace sm::managers::performance {
namespace {

using ib::Guid;
using ib::Instant;
using ib::fabric::PortRef;
using ib::wire::Method;
using ib::wire::MgmtClass;
namespace attr = ib::wire::attr;

/// Status bits of a MAD: the answer is ClassPortInfo, which says where to ask (IBA 13.4.7).
constexpr std::uint16_t kRedirected = 0x0002;
/// ClassPortInfo:CapabilityMask of class 0x04: PortCounters has PortXmitWait (IBA 16.1.3.1).
constexpr std::uint16_t kHasXmitWait = 1U << 12;
constexpr unsigned kRedirectionsMost = 4;
/// Ports of one sweep that get a line each.
constexpr std::size_t kPortsToldMost = 20;

bool has_wide_data(std::uint16_t capabilities) {
  return (capabilities &
          (ib::query::pma_cap::kExtendedWidth | ib::query::pma_cap::kExtendedWidthNoIetf)) != 0;
}

std::uint64_t errors_in(const CounterValues& values) {
  std::uint64_t sum = 0;
  const auto rows = counter_rows();
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].kind == CounterKind::Error) sum += values[i];
  return sum;
}

}  // namespace

struct PerformanceManager::Target {
  EndPort end;
  ib::mad::Address first;  // before any redirection
  ib::PKey redirect_p_key{};
  struct Port {
    std::uint8_t number{};
    PortRecord* record{};  // null: it was not read yet
  };
  std::vector<Port> ports;  // to be read
  std::size_t next{0};      // of `ports`, in this sweep
  bool asked_info{false};
  std::uint16_t capabilities{0};
  bool has_wide_errors{false};
  unsigned redirections{0};
  Reading reading;  // of the port that is being read
};

PerformanceManager::PerformanceManager(const Options& options) : options_(options) {}
PerformanceManager::~PerformanceManager() = default;

std::vector<ib::mad::AgentSpec> PerformanceManager::agents() const {
  ib::mad::AgentSpec spec;
  spec.mgmt_class = MgmtClass::Perf;
  return {spec};
}

// ---- events

void PerformanceManager::on_subnet_up(Instant now, const SnapshotPtr& subnet) {
  subnet_ = subnet;
  beside_.reset();
  if (next_sweep_ == ib::kNever && !sweeping_) next_sweep_ = now;
}

/// Counters are read as ever: with another master, a port is the same port.
void PerformanceManager::on_watched(Instant now, const SnapshotPtr& subnet,
                                    const std::string& master) {
  const auto before = std::exchange(beside_, {});
  on_subnet_up(now, subnet);
  beside_ = master;
  if (before == beside_) return;
  log(ib::LogLevel::Info, master.empty()
                              ? "counters are read on a subnet without a master"
                              : fmt::format("counters are read beside the master: {}", master));
}

void PerformanceManager::on_time(Instant now) {
  if (enabled_ && now >= next_sweep_) begin(now);
}

Instant PerformanceManager::next_deadline() const {
  return sweeping_ || subnet_ == nullptr || !enabled_ ? ib::kNever : next_sweep_;
}

void PerformanceManager::set_enabled(Instant now, bool enabled) {
  if (enabled && !enabled_ && next_sweep_ != ib::kNever) next_sweep_ = std::max(now, next_sweep_);
  enabled_ = enabled;
}

void PerformanceManager::set_sweep_time(Instant now, ib::Duration sweep_time) {
  options_.sweep_time = sweep_time;
  if (next_sweep_ != ib::kNever) next_sweep_ = std::max(now, sweep_began_ + sweep_time);
}

std::size_t PerformanceManager::forget_gone_nodes() {
  const std::size_t before = records_.size();
  forget_gone();
  return before - records_.size();
}

void PerformanceManager::forget_gone() {
  const std::size_t before = records_.size();
  for (auto at = records_.begin(); at != records_.end();) {
    // A port whose cable is out counts on when it is back.
    if (subnet_ == nullptr || subnet_->fabric().find_node(at->second.node_guid)) {
      ++at;
    } else {
      at->second.give_up(options_.windows, news_);
      at = records_.erase(at);
    }
  }
  if (records_.size() != before)
    for (auto& [guid, target] : targets_) find_ports(*target);
}

std::vector<Redirection> PerformanceManager::redirections() const {
  std::vector<Redirection> all;
  for (const auto& [guid, target] : targets_) {
    const ib::mad::Address &first = target->first, &now = target->end.address;
    if (first.lid == now.lid && first.qpn == now.qpn) continue;
    const auto& node = subnet_->fabric().find_node(target->end.node_guid);
    Redirection& r = all.emplace_back();
    r.node_guid = target->end.node_guid;
    if (node) {
      r.node_name = subnet_->fabric().node(*node).name();
      r.enhanced_port0 = subnet_->fabric().node(*node).enhanced_port0;
    }
    r.port = target->end.port.port;
    r.from = first.lid;
    r.to = now.lid;
    r.qpn = now.qpn;
    r.p_key = target->redirect_p_key;
    r.p_key_index = now.p_key_index;
  }
  return all;
}

void PerformanceManager::forget_redirections(const std::string& node) {
  for (const Redirection& r : redirections()) {
    ib::Guid guid;
    const bool is_meant =
        node.empty() || r.node_name == node || (ib::parse_guid(node, guid) && guid == r.node_guid);
    if (!is_meant) continue;
    for (const auto& [port_guid, target] : targets_) {
      if (target->end.node_guid != r.node_guid || target->end.port.port != r.port) continue;
      target->end.address = target->first;
      target->asked_info = false;
    }
  }
}

void PerformanceManager::sweep_now(Instant now) {
  if (!sweeping_ && subnet_ != nullptr) next_sweep_ = now;
}

void PerformanceManager::clear_totals(Instant now) {
  for (auto& [key, record] : records_) record.forget(now, options_.windows, news_);
}

// ---- a sweep

/// Of the last subnet that was told.
void PerformanceManager::begin(Instant now) {
  sweeping_ = true;
  sweep_began_ = now;
  next_sweep_ = now + options_.sweep_time;
  with_errors_.clear();
  if (swept_ != subnet_) find_targets();
  if (options_.forget_gone_nodes) forget_gone();
  std::size_t ports = 1;
  for (auto& [guid, target] : targets_) {
    ports += target->ports.size();
    target->next = 0;
    target->redirections = 0;
    if (target->end.address.lid != target->first.lid) {
      // An agent elsewhere is looked for at its first place again: it may be back.
      target->end.address = target->first;
      target->asked_info = false;
    }
    if (options_.ask_capabilities && !target->asked_info)
      work_.push_back({target.get(), Step::Info, 0, {}});
    else
      next_port(*target);
  }
  // Those that take longest first.
  std::ranges::stable_sort(work_, std::greater<>{},
                           [](const Asked& asked) { return asked.target->ports.size(); });
  windows_kept_ =
      std::clamp<std::size_t>(options_.windows_most / ports, 2, Options::kWindowsMost) - 1;
  if (work_.empty()) end(now);
}

/// What is known of agents that are there still stays.
void PerformanceManager::find_targets() {
  auto before = std::exchange(targets_, {});
  for (auto& [key, record] : records_) record.active = false;
  const auto& fabric = subnet_->fabric();
  swept_ = subnet_;
  for (EndPort& end : end_ports(*subnet_)) {
    const bool is_switch = end.type == ib::wire::NodeType::Switch;
    if (options_.ignore_cas && !is_switch) continue;
    auto target = std::make_unique<Target>();
    target->first = end.address;
    if (const auto known = before.find(end.port_guid);
        known != before.end() && known->second->end.address.lid == end.address.lid) {
      target->asked_info = known->second->asked_info;
      target->capabilities = known->second->capabilities;
      target->has_wide_errors = known->second->has_wide_errors;
      // One that redirected is asked where it said; the others by the routes of now.
      const ib::mad::Address &asked = known->second->end.address, &first = known->second->first;
      if (asked.lid != first.lid || asked.qpn != first.qpn) end.address = asked;
    }
    const auto& node = fabric.node(end.port.node);
    // What a switch sends and receives itself is counted where it has an enhanced port 0.
    const unsigned first = is_switch ? (node.enhanced_port0 ? 0 : 1) : end.port.port;
    const unsigned last = is_switch ? node.num_ports : end.port.port;
    for (unsigned p = first; p <= last; ++p)
      if (p == 0 || fabric.port(end.port.node, p).peer)
        target->ports.push_back({static_cast<std::uint8_t>(p), nullptr});
    target->end = std::move(end);
    find_ports(*target);
    for (const Target::Port& port : target->ports)
      if (port.record != nullptr) describe(*port.record, *target, port.number);
    targets_[target->end.port_guid] = std::move(target);
  }
}

/// The records of its ports, as far as there are any.
void PerformanceManager::find_ports(Target& target) {
  for (Target::Port& port : target.ports) {
    const auto at = records_.find({target.end.node_guid, port.number});
    port.record = at == records_.end() ? nullptr : &at->second;
  }
}

/// A cable may have been moved, a node have another name.
void PerformanceManager::describe(PortRecord& record, const Target& target,
                                  std::uint8_t port) const {
  const auto& fabric = swept_->fabric();
  const PortRef ref{target.end.port.node, port};
  record.active = true;
  record.node_guid = target.end.node_guid;
  record.port_guid = target.end.port_guid;
  record.port = port;
  record.node_name = fabric.node(ref.node).name();
  record.here = ib::report::port_shape(fabric, ref);
  record.there.reset();
  if (const auto peer = fabric.port(ref).peer) record.there = ib::report::port_shape(fabric, peer);
}

/// Before those that were not begun: of a hundred thousand ports a few hundred are in the caches.
void PerformanceManager::next_port(Target& target) {
  if (target.next >= target.ports.size()) return;
  target.reading = {};
  work_.push_front({&target,
                    target.has_wide_errors ? Step::Wide : Step::Narrow,
                    target.ports[target.next++].number,
                    {}});
}

std::vector<ib::mad::Request> PerformanceManager::take_requests(Instant, std::size_t most) {
  std::vector<ib::mad::Request> requests;
  requests.reserve(std::min(most, work_.size()));
  while (!work_.empty() && requests.size() < most) {
    if (free_.empty()) {
      free_.push_back(asked_.size());
      asked_.emplace_back();
    }
    const std::size_t place = free_.back();
    free_.pop_back();
    asked_[place] = work_.front();
    work_.pop_front();
    requests.push_back(request_of(place, asked_[place]));
  }
  return requests;
}

ib::mad::Request PerformanceManager::request_of(ib::mad::Cookie cookie, const Asked& asked) const {
  const auto make = [&](Method method, std::uint16_t attribute) {
    return gmp_request(cookie, asked.target->end, MgmtClass::Perf, method, attribute);
  };
  if (asked.step == Step::Info) return make(Method::Get, attr::kClassPortInfo);
  auto request = make(asked.step == Step::Clear ? Method::Set : Method::Get,
                      asked.step == Step::Wide ? attr::kPortCountersExtended : attr::kPortCounters);
  // PortSelect lies at the same place in both.
  ib::wire::PortCounters body;
  body.port_select = ib::PortNum{asked.port};
  body.counter_select = static_cast<std::uint16_t>(asked.select.select);
  body.counter_select2 = asked.select.select2;
  ib::wire::set_body(request.mad, body);
  return request;
}

void PerformanceManager::on_completion(Instant now, const ib::mad::Completion& completion) {
  const auto place = static_cast<std::size_t>(completion.cookie);
  if (place >= asked_.size() || asked_[place].target == nullptr) return;
  const Asked asked = std::exchange(asked_[place], {});
  free_.push_back(place);
  if (!completion.reply) {
    skip(*asked.target, completion.reply.error().message);
  } else if (asked.step == Step::Info ||
             (asked.step != Step::Clear && (completion.reply->mad.status() & kRedirected) != 0)) {
    on_info(*asked.target, *completion.reply);
  } else if (asked.step == Step::Clear) {
    on_cleared(now, asked, completion.reply->mad.status());
  } else {
    on_counters(now, asked, *completion.reply);
  }
  if (work_.empty() && under_way() == 0) end(now);
}

/// An answer that is ClassPortInfo, whether asked for or because the agent is elsewhere.
void PerformanceManager::on_info(Target& target, const ib::mad::Packet& answer) {
  const std::uint16_t status = answer.mad.status();
  target.asked_info = true;
  if ((status & ~kRedirected) != 0) {
    // An agent without ClassPortInfo has the counters that every one must have.
    next_port(target);
    return;
  }
  const auto info = ib::wire::body<ib::wire::ClassPortInfo>(answer.mad);
  target.capabilities = info.capability_mask;
  target.has_wide_errors = has_wide_data(info.capability_mask) &&
                           (info.capability_mask2 & ib::query::pma_cap2::kErrorsExtended) != 0;
  const bool elsewhere = info.redirect_lid != ib::kNoLid && info.redirect_qp != 0 &&
                         (info.redirect_lid != target.end.address.lid || info.redirect_qp != 1);
  if (elsewhere && options_.follow_redirections && info.redirect_lid <= ib::kLidUnicastMax) {
    if (++target.redirections > kRedirectionsMost) {
      skip(target, "its agent redirects again and again");
      return;
    }
    ib::mad::Address& address = target.end.address;
    address.lid = info.redirect_lid;
    address.qpn = info.redirect_qp;
    address.q_key = info.redirect_q_key;
    address.sl = info.redirect_sl;
    target.redirect_p_key = info.redirect_p_key;
  } else if ((status & kRedirected) != 0) {
    skip(target,
         "its agent redirects, and that is not followed (perfmgr_redir, or to a GID alone)");
    return;
  }
  // What was asked of the wrong place is asked again.
  if (target.next > 0) --target.next;
  next_port(target);
}

void PerformanceManager::on_cleared(Instant now, const Asked& asked, std::uint16_t status) {
  const auto record = records_.find({asked.target->end.node_guid, asked.port});
  if (status == 0) {
    if (record != records_.end())
      record->second.totals.cleared(now, asked.select.select, asked.select.select2);
  } else if (named_.insert(asked.target->end.port_guid).second) {
    log(ib::LogLevel::Warning,
        fmt::format("{} refuses to clear its counters (status 0x{:04x}): those that are full say "
                    "nothing any more",
                    asked.target->end.name, status));
  }
}

void PerformanceManager::on_counters(Instant now, const Asked& asked,
                                     const ib::mad::Packet& answer) {
  Target& target = *asked.target;
  if (asked.step == Step::Narrow) {
    auto counters = ib::query::read_port_counters(answer, asked.port);
    if (!counters) return skip(target, counters.error().message);
    target.reading.narrow = *counters;
    target.reading.has_xmit_wait = (target.capabilities & kHasXmitWait) != 0;
    if (has_wide_data(target.capabilities)) {
      work_.push_front({&target, Step::Wide, asked.port, {}});
      return;
    }
  } else {
    auto counters = ib::query::read_port_counters_extended(answer, asked.port);
    if (!counters) return skip(target, counters.error().message);
    target.reading.wide = *counters;
    target.reading.has_packet_kinds =
        (target.capabilities & ib::query::pma_cap::kExtendedWidth) != 0;
    if (target.has_wide_errors)
      target.reading.wide_errors = ib::wire::body<ib::wire::PortErrorsExtended>(answer.mad);
  }
  if (!named_.empty()) named_.erase(target.end.port_guid);
  keep(now, target);
  next_port(target);
}

void PerformanceManager::keep(Instant now, Target& target) {
  Target::Port& port = target.ports[target.next - 1];
  const PortKey key{target.end.node_guid, port.number};
  if (port.record == nullptr) {
    port.record = &records_[key];
    describe(*port.record, target, port.number);
  }
  PortRecord& record = *port.record;
  record.active = true;
  record.take(now, target.reading, options_.windows, windows_kept_, news_);
  if (options_.stores) unstored_.push_back(key);
  const auto& more = record.totals.increase();
  const bool waits = options_.log_xmit_wait && [&] {
    const auto rows = counter_rows();
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i].kind == CounterKind::Wait && more[i] > options_.xmit_wait_threshold) return true;
    return false;
  }();
  if (errors_in(more) > 0 || waits) with_errors_.push_back(key);
  if (const auto select = record.totals.nearly_full(); !select.empty())
    work_.push_front({&target, Step::Clear, port.number, select});
}

PerformanceManager::Unstored PerformanceManager::take_unstored(std::size_t most) {
  Unstored unstored;
  unstored.dropped = std::exchange(news_.dropped, {});
  if (sweeping_) return unstored;
  for (; !unstored_.empty() && most > 0; --most) {
    if (const auto at = records_.find(unstored_.back()); at != records_.end())
      std::ranges::move(at->second.to_store(options_.windows),
                        std::back_inserter(unstored.windows));
    unstored_.pop_back();
  }
  return unstored;
}

void PerformanceManager::resume(Instant now, std::span<const StoredWindow> stored) {
  while (!stored.empty()) {
    const PortKey port = stored.front().port;
    const auto is_other = [&](const StoredWindow& window) { return window.port != port; };
    const auto count = std::ranges::find_if(stored, is_other) - stored.begin();
    PortRecord& record = records_[port];
    record.node_guid = port.first;
    record.port = port.second;
    record.active = false;  // until a sweep finds it
    record.node_name = to_string(port.first);
    record.here.node_guid = port.first;
    record.here.port = port.second;
    record.resume(now, stored.first(static_cast<std::size_t>(count)), options_.windows);
    stored = stored.subspan(static_cast<std::size_t>(count));
  }
}

/// Nothing more is asked of it in this sweep. Named once, until it answers again.
void PerformanceManager::skip(Target& target, std::string why) {
  target.next = target.ports.size();
  if (named_.insert(target.end.port_guid).second)
    log(ib::LogLevel::Warning,
        fmt::format("counters of {} cannot be read: {}", target.end.name, why));
}

void PerformanceManager::end(Instant now) {
  sweeping_ = false;
  ++sweeps_;
  if (!options_.stores) news_.dropped.clear();
  if (options_.log_errors) tell_errors();
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(now - sweep_began_);
  log(ib::LogLevel::Verbose,
      fmt::format("counters of {} ports read in {} ms", records_.size(), took.count()));
  if (now >= next_sweep_) {
    log(ib::LogLevel::Warning,
        fmt::format("a sweep of counters takes {} s, longer than the time between two "
                    "(perfmgr_sweep_time_s)",
                    took.count() / 1000));
    next_sweep_ = now + options_.sweep_time;
  }
}

/// The ports that counted most first.
void PerformanceManager::tell_errors() {
  const auto errors = [&](const PortKey& key) {
    return errors_in(records_.at(key).totals.increase());
  };
  std::ranges::stable_sort(with_errors_, std::greater<>{}, errors);
  const auto rows = counter_rows();
  for (std::size_t n = 0; n < std::min(with_errors_.size(), kPortsToldMost); ++n) {
    const PortRecord& record = records_.at(with_errors_[n]);
    std::string counted;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::uint64_t more = record.totals.increase()[i];
      const bool told = rows[i].kind == CounterKind::Error
                            ? more > 0
                            : rows[i].kind == CounterKind::Wait && options_.log_xmit_wait &&
                                  more > options_.xmit_wait_threshold;
      if (told) counted += fmt::format("{}{} +{}", counted.empty() ? "" : ", ", rows[i].name, more);
    }
    log(ib::LogLevel::Warning,
        fmt::format("{}: {} in {} s", record.link(), counted,
                    std::chrono::round<std::chrono::seconds>(record.totals.period()).count()));
  }
  if (with_errors_.size() > kPortsToldMost)
    log(ib::LogLevel::Warning, fmt::format("{} more ports counted errors (ibsm ctl counters list "
                                           "--errors)",
                                           with_errors_.size() - kPortsToldMost));
}

void PerformanceManager::log(ib::LogLevel level, std::string message) {
  log_.push_back({level, "counters", std::move(message)});
}
std::vector<ib::LogEvent> PerformanceManager::take_log() { return std::exchange(log_, {}); }

}  // namespace sm::managers::performance
