// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/shared.h"

#include <utility>

namespace sm::sa {
namespace {

/// Lines that nobody fetches do not grow without end.
constexpr std::size_t kLogLinesMax = 1000;

Policy policy_of(const Options& options) {
  Policy policy = options.policy;
  policy.multicast = options.multicast;
  if (options.trust.enhanced) policy.multicast.untrusted_proxies = options.trust.untrusted_proxies;
  return policy;
}

}  // namespace

using ib::mad::Packet;
using ib::wire::SaHeader;

Shared::Shared(const Options& o, const store::Contents& contents)
    : options(o),
      state(contents),
      policy(policy_of(options)),
      world{nullptr,
            state,
            policy,
            options.quotas,
            std::make_shared<const DeviceState>(),
            options.sm_assigned_guid,
            options.trust.sa_key_is_secret || options.trust.sa_key != kKnownSaKey,
            options.router_aliases},
      admission(options.admission) {}

bool Shared::is_trusted(const Packet& request) const {
  return trust_of(request.mad.get<&SaHeader::sm_key>(), options.trust) == Trust::Trusted;
}

Requester Shared::requester_of(const Packet& request) const {
  Requester r;
  r.port = world.paths->find(request.address.lid);
  r.trusted = is_trusted(request);
  return r;
}

ib::Lid Shared::who_of(const Packet& request) const {
  const auto* port = world.paths->find(request.address.lid);
  return port != nullptr ? port->lid : request.address.lid;
}

void Shared::say(ib::LogLevel level, std::string line, std::optional<ib::LogCause> cause) {
  if (log_.size() < kLogLinesMax) log_.push_back({level, "sa", std::move(line), cause});
}

void Shared::complain(const Packet& request, const std::string& why) {
  if (!why.empty()) say(ib::LogLevel::Warning, why, ib::LogCause{"SA request", who_of(request)});
}

std::optional<ib::LogEvent> Shared::next_log() {
  if (log_.empty()) return std::nullopt;
  auto event = std::move(log_.front());
  log_.pop_front();
  return event;
}

}  // namespace sm::sa
