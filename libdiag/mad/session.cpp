// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/session.h"

#include <algorithm>
#include <utility>

#include "libdiag/mad/describe.h"

namespace ib::mad {
namespace {
constexpr Duration kLongestSleep = std::chrono::seconds(1);
constexpr Duration kLimitsHold = std::chrono::seconds(1);  // before they are read again

TransactorOptions within_limits(const Port& port, TransactorOptions options) {
  if (const std::uint32_t most = port.window_max(); most != 0)
    options.window = std::min(options.window, most);
  return options;
}
}  // namespace

Session::Session(Port& port, const TransactorOptions& options, Clock clock)
    : port_(port), transactor_(within_limits(port, options)), clock_(std::move(clock)) {}

Result<AgentId> Session::agent_for(const wire::Mad& mad) {
  const wire::MgmtClass c = mad.mgmt_class();
  const auto known = agents_.find(static_cast<std::uint8_t>(c));
  if (known != agents_.end()) return known->second;
  AgentSpec spec;
  spec.mgmt_class = c;
  spec.class_version = mad.get<&wire::MadHeader::class_version>();
  if (wire::is_vendor_range2(c)) spec.oui = mad.get<&wire::VendorHeader::oui>();
  if (c == wire::MgmtClass::SubnAdm) spec.rmpp = AgentSpec::Rmpp::Kernel;
  auto agent = port_.register_agent(spec);
  if (agent) agents_.emplace(static_cast<std::uint8_t>(c), *agent);
  return agent;
}

Result<void> Session::send(SendOrder order) {
  const auto agent = agent_for(order.mad);
  if (!agent) return tl::unexpected<Error>(agent.error());
  Packet packet{order.address, order.mad, std::move(order.more)};
  auto sent = port_.send(*agent, packet, order.reply_within);
  if (sent) return {};
  if (sent.error().kind == ErrorKind::Unavailable)
    return tl::unexpected<Error>(std::move(sent.error()));
  if (SaGate::is_for(packet.mad)) gate_.on_answer(packet.mad);
  order.more = std::move(packet.more);
  transactor_.on_send_failed(order, std::move(sent.error()));
  return {};
}

void Session::submit(Request request) {
  const Instant now = clock_();
  if (SaGate::is_for(request.mad)) take_sa_limits(now);
  transactor_.submit(now, std::move(request));
}

/// At the beginning of a burst: the driver's, which may be changed at any time, or the defaults.
void Session::take_sa_limits(Instant now) {
  if (!gate_.is_idle() || (limits_known_ && now - limits_read_ < kLimitsHold)) return;
  limits_known_ = true;
  limits_read_ = now;
  gate_.set_limits(port_.sa_limits().value_or(SaLimits{}));
  transactor_.set_sa_outstanding(gate_.limits().max_outstanding);
}

/// Everything that may be sent now; what is for the SA by the gate.
Result<void> Session::send_all() {
  const auto pass_gate = [&]() -> Result<void> {
    while (auto order = gate_.next_send(clock_())) {
      if (!transactor_.wants(*order)) {
        gate_.on_answer(order->mad);
      } else if (auto sent = send(*std::move(order)); !sent) {
        return sent;
      }
    }
    while (auto order = gate_.next_refused(clock_())) transactor_.on_held_back(*order);
    return {};
  };
  if (auto passed = pass_gate(); !passed) return passed;
  while (auto order = transactor_.next_send(clock_())) {
    if (!SaGate::is_for(order->mad)) {
      if (auto sent = send(*std::move(order)); !sent) return sent;
      continue;
    }
    gate_.submit(clock_(), *std::move(order));
    if (auto passed = pass_gate(); !passed) return passed;
  }
  return {};
}

Result<void> Session::pump(const std::function<bool()>& finished,
                           const std::function<void(Completion)>& deliver) {
  while (true) {
    if (auto sent = send_all(); !sent) return sent;
    bool delivered = false;
    while (auto completion = transactor_.next_completion()) {
      deliver(std::move(*completion));
      delivered = true;
    }
    if (finished()) return {};
    if (delivered) continue;  // they may have brought new requests
    if (transactor_.pending() == 0) return {};

    const Instant deadline = std::min(transactor_.next_deadline(), gate_.next_deadline());
    Instant now = clock_();
    Duration wait = deadline == kNever ? kLongestSleep : deadline - now;
    wait = std::clamp(wait, Duration{0}, kLongestSleep);
    // What has arrived is heard before what is overdue is declared lost.
    do {
      received_.clear();
      if (auto got = port_.receive(received_, wait); !got) return got;
      now = clock_();
      // The transport's own timeouts say nothing new: the Transactor has clocks of its own.
      for (const Received& r : received_) {
        if (r.packet.mad.mgmt_class() == wire::MgmtClass::SubnAdm) gate_.on_answer(r.packet.mad);
        if (!r.timed_out) transactor_.on_packet(now, r.packet);
      }
      wait = Duration{0};
    } while (!received_.empty() && now >= deadline);
    transactor_.on_time(now);
  }
}

Result<void> Session::run(Exchange& exchange) {
  const auto take = [&] {
    for (auto requests = exchange.take_requests(); !requests.empty();
         requests = exchange.take_requests())
      for (Request& request : requests) submit(std::move(request));
  };
  take();
  return pump([&] { return exchange.done(); },
              [&](const Completion& completion) {
                exchange.on_completion(clock_(), completion);
                take();
              });
}

Result<std::vector<Completion>> Session::call_all(std::vector<Request> requests) {
  std::vector<Cookie> cookies;
  cookies.reserve(requests.size());
  std::vector<Completion> completions(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    cookies.push_back(std::exchange(requests[i].cookie, i));
    submit(std::move(requests[i]));
  }
  std::size_t missing = cookies.size();
  auto pumped = pump([&] { return missing == 0; },
                     [&](Completion completion) {
                       const auto i = static_cast<std::size_t>(completion.cookie);
                       completion.cookie = cookies[i];
                       completions[i] = std::move(completion);
                       --missing;
                     });
  if (!pumped) {
    for (std::size_t i = 0; i < cookies.size(); ++i) transactor_.cancel(i);
    return tl::unexpected<Error>(std::move(pumped.error()));
  }
  return completions;
}

Result<Packet> Session::call(Request request) {
  std::vector<Request> one;
  one.push_back(std::move(request));
  auto completions = call_all(std::move(one));
  if (!completions) return tl::unexpected<Error>(std::move(completions.error()));
  return std::move(completions->front().reply);
}

}  // namespace ib::mad
