// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <algorithm>
#include <utility>

#include "libdiag/mad/tap/taps.h"

namespace ib::mad {

FaultPort::FaultPort(Port& behind, const PortFaults& faults, std::uint64_t seed, Clock clock)
    : TapPort(behind), faults_(faults), clock_(std::move(clock)), random_(seed) {}

int FaultPort::copies() {
  std::uniform_real_distribution<> percent(0, 100);
  // Both are drawn for every MAD, so that one fault does not change whom the other meets.
  const bool is_lost = percent(random_) < faults_.loss_percent;
  const bool is_doubled = percent(random_) < faults_.duplicate_percent;
  if (is_lost) {
    ++lost_;
    return 0;
  }
  if (is_doubled) ++duplicated_;
  return is_doubled ? 2 : 1;
}

Result<void> FaultPort::send(AgentId agent, const Packet& packet, Duration reply_within) {
  const Instant when = clock_() + faults_.delay;
  for (int n = copies(); n > 0; --n) {
    if (faults_.delay > Duration{0}) {
      to_send_.emplace(when, Outgoing{agent, packet, reply_within});
    } else if (auto sent = behind_.send(agent, packet, reply_within); !sent && n == 1) {
      return sent;  // a second copy may be refused: its TID is under way
    }
  }
  return {};
}

Instant FaultPort::next_release() const {
  return std::min(to_send_.empty() ? kNever : to_send_.begin()->first,
                  to_deliver_.empty() ? kNever : to_deliver_.begin()->first);
}

Result<void> FaultPort::release(std::vector<Received>& out) {
  const Instant now = clock_();
  while (!to_deliver_.empty() && to_deliver_.begin()->first <= now) {
    out.push_back(std::move(to_deliver_.begin()->second));
    to_deliver_.erase(to_deliver_.begin());
  }
  while (!to_send_.empty() && to_send_.begin()->first <= now) {
    const Outgoing outgoing = std::move(to_send_.begin()->second);
    to_send_.erase(to_send_.begin());
    // Too late to refuse: to the sender it is as good as lost.
    if (!behind_.send(outgoing.agent, outgoing.packet, outgoing.reply_within)) ++lost_;
  }
  return {};
}

Result<void> FaultPort::receive(std::vector<Received>& out, Duration wait) {
  const std::size_t before = out.size();
  const Instant until = clock_() + wait;
  while (true) {
    if (auto released = release(out); !released) return released;
    const Instant now = clock_();
    const bool enough = out.size() > before;
    const Duration left = enough ? Duration{0} : std::min(until, next_release()) - now;
    fresh_.clear();
    if (auto got = behind_.receive(fresh_, std::max(left, Duration{0})); !got) return got;
    const Instant arrived = clock_();
    for (Received& received : fresh_) {
      for (int n = received.timed_out ? 1 : copies(); n > 0; --n) {
        if (faults_.delay > Duration{0}) {
          to_deliver_.emplace(arrived + faults_.delay, received);
        } else {
          out.push_back(received);
        }
      }
    }
    if (enough || out.size() > before || clock_() >= until) return release(out);
  }
}

int FaultPort::readable_fd() const {
  return faults_.delay > Duration{0} ? -1 : behind_.readable_fd();
}

}  // namespace ib::mad
