// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/reports/reports.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <unordered_map>

#include "libdiag/mad/transactor.h"
#include "sm/sa/reports/audience.h"

namespace sm::sa {
namespace {

using ib::Duration;
using ib::Instant;
using ib::mad::Address;
using ib::mad::Packet;
using ib::wire::Mad;
using ib::wire::Method;

constexpr std::size_t kIssuerGidAt = 64;  // behind the notice (IBA 15.2.5.22)
// Subscriptions that are looked at in one step, some 0.1 ms, so that no request waits longer for a
// notice that thousands might want to hear.
constexpr std::size_t kMatchesAtOnce = 2000;

/// Neighbours in a table of targets: the address as a number.
std::uint64_t target_key(const Address& a) {
  return std::uint64_t{a.lid.value} << 40 | std::uint64_t{a.sl.value} << 32 |
         std::uint64_t{a.path_bits} << 24 | (a.qpn & 0xFFFFFF);
}

bool same_news(const Event& a, const Event& b) {
  return a.notice == b.notice && a.issuer_gid == b.issuer_gid;
}

}  // namespace

Mad report_mad(const Event& event) {
  auto mad =
      ib::wire::make_mad(ib::wire::MgmtClass::SubnAdm, Method::Report, ib::wire::attr::kNotice);
  ib::wire::set_body(mad, event.notice);
  std::transform(event.issuer_gid.bytes.begin(), event.issuer_gid.bytes.end(),
                 mad.data() + kIssuerGidAt, [](std::uint8_t b) { return std::byte{b}; });
  return mad;
}

struct Reports::Impl {
  using News = std::shared_ptr<const Event>;
  struct Subscriber {
    std::optional<ib::mad::Grh> grh;
    std::deque<News> waiting;
    bool busy{false};  // a report is on its way
    unsigned failures{0};
  };
  struct SameAddress {
    static auto key(const Address& a) {
      return std::tuple(a.lid, a.path_bits, a.qpn, a.q_key, a.p_key_index, a.sl);
    }
    bool operator()(const Address& a, const Address& b) const { return key(a) < key(b); }
  };
  using Subscribers = std::map<Address, Subscriber, SameAddress>;

  explicit Impl(const ReportOptions& o) : options(o), transactor(for_transactor(o)) {}

  static ib::mad::TransactorOptions for_transactor(const ReportOptions& o) {
    ib::mad::TransactorOptions t;
    t.window_per_target = 1;
    t.window = t.awaited_most = t.awaited_of_sa = o.on_wire_max;
    t.timeout_start = t.timeout_floor = t.timeout_ceiling = o.timeout;
    t.attempts_min = t.attempts_known = o.attempts;
    return t;
  }

  ReportOptions options;
  ReportCounters counters;
  ib::mad::Transactor transactor;
  std::deque<News> inbox;
  News matching;                               // null: none
  std::optional<store::Subscription> matched;  // the last it was matched with
  Subscribers subscribers;
  std::deque<Address> ready;  // may have something to send
  std::size_t queued{0};
  struct OnWire {
    Address to;
    Instant since;
  };
  std::unordered_map<ib::mad::Cookie, OnWire> on_wire;
  ib::mad::Cookie last_cookie{0};
  std::deque<Address> dead;
  Instant heard_at{0};       // anything at all
  Duration reply_within{0};  // of the report that was sent last

  // ---- matching

  bool has_news() const { return matching != nullptr || !inbox.empty(); }
  /// Goes on behind the subscription it ended with, as these may change between two steps.
  void match(const World& world) {
    const auto& all = world.state.subscriptions.all();
    for (std::size_t left = kMatchesAtOnce; left != 0 && has_news(); --left) {
      if (!matching) {
        matching = std::move(inbox.front());
        inbox.pop_front();
      }
      auto at = matched ? all.upper_bound(*matched) : all.begin();
      for (; at != all.end() && left != 0; ++at, --left) {
        if (is_meant(world, at->inform_info, *matching) && may_hear(world, *at, *matching))
          enqueue(*at, matching);
        matched = *at;
      }
      if (left == 0) return;  // there may be more of them
      matching.reset();
      matched.reset();
    }
  }

  void enqueue(const store::Subscription& subscription, const News& news) {
    Subscriber& s = subscribers[subscription.to];
    s.grh = subscription.to.grh;
    // Several subscriptions of one address; or the same once more before the first was told.
    for (const News& other : s.waiting)
      if (other == news || same_news(*other, *news)) return;
    if (s.waiting.size() >= options.queue_max ||
        (queued >= options.queued_max && !s.waiting.empty())) {
      s.waiting.pop_front();
      --queued;
      ++counters.dropped;
    } else if (queued >= options.queued_max) {
      ++counters.dropped;
      return;
    }
    s.waiting.push_back(news);
    ++queued;
    if (!s.busy && s.waiting.size() == 1) ready.push_back(subscription.to);
  }

  // ---- sending

  void submit(Instant now, const World& world) {
    while (!ready.empty()) {
      const Address to = ready.front();
      ready.pop_front();
      const auto at = subscribers.find(to);
      if (at == subscribers.end() || at->second.busy) continue;
      submit_next(now, world, at);
    }
  }
  void submit_next(Instant now, const World& world, Subscribers::iterator at) {
    Subscriber& s = at->second;
    const auto subscriptions = world.state.subscriptions.at(at->first);
    while (!s.waiting.empty()) {
      const News news = std::move(s.waiting.front());
      s.waiting.pop_front();
      --queued;
      // It may have cancelled while the report waited.
      if (std::none_of(subscriptions.begin(), subscriptions.end(), [&](const auto& wanted) {
            return is_meant(world, wanted.inform_info, *news);
          }))
        continue;
      ib::mad::Request request;
      request.cookie = ++last_cookie;
      request.target_key = target_key(at->first);
      request.address = at->first;
      request.address.grh = s.grh;
      request.mad = report_mad(*news);
      request.resp_time_hint = request.first_wait = options.timeout;
      on_wire.emplace(request.cookie, OnWire{at->first, now});
      transactor.submit(now, std::move(request));
      s.busy = true;
      ++counters.sent;
      return;
    }
    if (subscriptions.empty() || s.failures == 0) subscribers.erase(at);
  }

  void collect() {
    while (auto completion = transactor.next_completion()) {
      const auto known = on_wire.find(completion->cookie);
      const auto at = subscribers.find(known->second.to);
      const bool reached_nobody = heard_at < known->second.since;
      on_wire.erase(known);
      Subscriber& s = at->second;
      s.busy = false;
      if (completion->reply) {
        // Whatever its status says, somebody is there.
        ++counters.answered;
        s.failures = 0;
      } else {
        ++counters.failed;
        if (!reached_nobody && ++s.failures >= options.failures_max) {
          bury(at);
          continue;
        }
      }
      ready.push_back(at->first);
    }
  }
  void bury(Subscribers::iterator at) {
    ++counters.dead;
    counters.dropped += at->second.waiting.size();
    queued -= at->second.waiting.size();
    dead.push_back(at->first);
    subscribers.erase(at);
  }
};

Reports::Reports(const ReportOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Reports::~Reports() = default;
Reports::Reports(Reports&&) noexcept = default;
Reports& Reports::operator=(Reports&&) noexcept = default;

void Reports::notify(const Event& event) {
  auto& i = *impl_;
  ++i.counters.notices;
  if (i.inbox.size() >= i.options.inbox_max) {
    i.inbox.pop_front();
    ++i.counters.notices_dropped;
  }
  i.inbox.push_back(std::make_shared<const Event>(event));
}

bool Reports::on_packet(Instant now, const Packet& packet) {
  const bool ours = impl_->transactor.on_packet(now, packet);
  impl_->collect();
  return ours;
}

void Reports::on_heard(Instant now) { impl_->heard_at = now; }

void Reports::on_sign_of_life(const Address& subscriber) {
  const auto at = impl_->subscribers.find(subscriber);
  if (at != impl_->subscribers.end()) at->second.failures = 0;
}

void Reports::on_time(Instant now) {
  impl_->transactor.on_time(now);
  impl_->collect();
}

void Reports::step(Instant now, const World& world) {
  impl_->match(world);
  impl_->submit(now, world);
}

Instant Reports::next_deadline() const {
  if (impl_->has_news() || !impl_->ready.empty()) return Instant{0};
  return impl_->transactor.next_deadline();
}

std::optional<Packet> Reports::next_send(Instant now) {
  auto order = impl_->transactor.next_send(now);
  if (!order) return std::nullopt;
  impl_->reply_within = order->reply_within;
  return Packet{order->address, order->mad, {}};
}
Duration Reports::reply_within() const { return impl_->reply_within; }

std::optional<Address> Reports::next_dead() {
  if (impl_->dead.empty()) return std::nullopt;
  const Address address = impl_->dead.front();
  impl_->dead.pop_front();
  return address;
}

const ReportCounters& Reports::counters() const { return impl_->counters; }

}  // namespace sm::sa
