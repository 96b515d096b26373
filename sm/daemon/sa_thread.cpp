// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/sa_thread.h"

#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <utility>

#include "libdiag/mad/rmpp.h"
#include "sm/sa/intake/turn.h"

namespace sm::daemon {
namespace {

using ib::Duration;
using ib::Instant;
using ib::wire::MgmtClass;

/// So many packets before its turn the server is told of one.
constexpr std::size_t kExpected = 8;
constexpr Duration kCountersEvery = std::chrono::minutes(10);
/// While requests come in, and until what they have left behind is gone.
constexpr Duration kTidyEvery = std::chrono::seconds(5);
/// A turn takes some milliseconds.
constexpr std::chrono::seconds kAnswerWithin{1};
/// Before the threads that compute routes, which else keep a processor for milliseconds each.
constexpr int kNice = -10;

}  // namespace

SaThread::SaThread(std::unique_ptr<sa::Server> server, Channel channel, StoreThread& store,
                   LogFile& log, SaDump dump, Told told)
    : server_(std::move(server)),
      channel_(std::move(channel)),
      store_(store),
      log_(log),
      dump_(std::move(dump)),
      told_(std::move(told)),
      counters_at_(ib::monotonic_now() + kCountersEvery),
      thread_([this] { run(); }) {}

SaThread::~SaThread() {
  ending_ = true;
  mail_wake_.ring();
  thread_.join();
  tell_counters(counters_at_);
  if (const auto failure = dump_.finish(*server_))
    log_.write({ib::LogLevel::Error, "store", *failure});
}

void SaThread::publish(SnapshotPtr snapshot, bool registers) {
  published_.push_back(snapshot);
  post([this, registers, snapshot = std::move(snapshot)](Instant now, sa::Server& server) mutable {
    server.publish(now, std::move(snapshot), registers);
    const std::lock_guard lock(mutex_);
    news_.ring();
  });
}

bool SaThread::release_snapshots() {
  return std::erase_if(published_, [](const auto& old) { return old.use_count() == 1; }) != 0;
}

void SaThread::post(Mail mail) {
  const std::lock_guard lock(mutex_);
  mail_.push_back(std::move(mail));
  mail_wake_.ring();
}

std::optional<SaState> SaThread::change(const SaChange& change) {
  // Who waits no longer may be gone when it is done.
  const auto done = std::make_shared<std::promise<SaState>>();
  auto state = done->get_future();
  post([this, change, done](Instant, sa::Server&) { done->set_value(carry_out(change)); });
  if (state.wait_for(kAnswerWithin) != std::future_status::ready) return std::nullopt;
  return state.get();
}

SaState SaThread::carry_out(const SaChange& change) {
  if (change.limits) server_->set_limits(*change.limits);
  if (change.rx_threshold) channel_.port->set_receive_threshold(*change.rx_threshold);
  if (change.reset_counters) {
    server_->reset_counters();
    channel_.port->reset_dropped();
  }
  return {server_->limits(), channel_.port->receive_threshold(), server_->counters(),
          channel_.port->dropped()};
}

std::optional<std::vector<plan::MlidGroup>> SaThread::take_groups() {
  const std::lock_guard lock(mutex_);
  news_.quiet();
  return std::exchange(groups_, std::nullopt);
}

std::optional<SaThread::AliasNews> SaThread::take_aliases() {
  const std::lock_guard lock(mutex_);
  return std::exchange(aliases_, std::nullopt);
}

std::vector<ib::Guid> SaThread::take_untold_clients() {
  const std::lock_guard lock(mutex_);
  return std::exchange(untold_, {});
}

plan::PortAliases SaThread::aliases_of(const sa::Server& server) {
  plan::PortAliases aliases;
  for (const auto& [place, guid] : server.aliases()) aliases[place.first][place.second] = guid;
  return aliases;
}

std::optional<std::string> SaThread::broken() {
  const std::lock_guard lock(mutex_);
  return broken_;
}

std::vector<plan::MlidGroup> SaThread::groups_of(const sa::Server& server) {
  std::vector<plan::MlidGroup> groups;
  for (auto& g : server.multicast())
    groups.push_back({g.mlid, std::move(g.receivers), std::move(g.senders), g.sls});
  return groups;
}

void SaThread::run() {
  // Of a thread, on Linux (nice(2)). Who may not do that has his answers a little later.
  setpriority(PRIO_PROCESS, 0, kNice);
  while (!ending_) {
    if (!listen()) return;
    const Instant now = ib::monotonic_now();
    if (server_->next_deadline() <= now) server_->on_time(now);
    // What waits for the transaction that has just ended does not wait for requests as well.
    commit();
    work(now);
    const bool all_sent = speak(now);
    if (counters_at_ <= now) tell_counters(now);
    if (tidy_at_ <= now) tidy(now);
    log_.on_time(now);
    if (const auto event = dump_.look(now, *server_)) log_.write(*event);
    // end() may have rung before listen() made the bell quiet.
    if (all_sent && !server_->has_work() && !ending_) wait();
  }
}

bool SaThread::listen() {
  std::size_t read = 0;
  do {
    if (!take_in(ib::monotonic_now())) return false;
    read += channel_.arrived.size();
  } while (channel_.arrived.size() >= ib::mad::UmadPort::kReadMost && read < sa::turn::kRead);
  return true;
}

bool SaThread::take_in(Instant now) {
  // First what clients sent, then what the subnet manager said: who has read there that the subnet
  // is up, and asks, is answered by the tables of then.
  if (auto got = channel_.receive(); !got) {
    const std::lock_guard lock(mutex_);
    broken_ = std::move(got.error().message);
    news_.ring();
    return false;
  }
  std::vector<Mail> mail;
  {
    const std::lock_guard lock(mutex_);
    mail_wake_.quiet();
    mail.swap(mail_);
  }
  for (const Mail& m : mail) m(now, *server_);
  while (const auto done = store_.next_done()) {
    if (!done->failure.empty() && !server_->hands_over())
      log_.write({ib::LogLevel::Error, "store",
                  done->failure + "; what clients asked for is refused",
                  ib::LogCause{"failure of the store"}});
    server_->on_commit_done(now, done->ticket, done->failure.empty());
  }
  const auto& arrived = channel_.arrived;
  if (!arrived.empty() && tidy_at_ == ib::kNever) tidy_at_ = now + kTidyEvery;
  for (std::size_t i = 0; i < arrived.size(); ++i) {
    if (i + kExpected < arrived.size()) server_->expect(arrived[i + kExpected].packet);
    const auto& [agent, timed_out, packet] = arrived[i];
    if (!timed_out && packet.mad.mgmt_class() == MgmtClass::SubnAdm)
      server_->on_packet(now, packet);
  }
  return true;
}

void SaThread::work(Instant now) {
  for (std::size_t i = 1; i <= sa::turn::kServed && server_->work(now); ++i)
    if (i % sa::turn::kServedAtOnce == 0 && ib::monotonic_now() - now >= sa::turn::kServedFor)
      return;
}

void SaThread::commit() {
  while (auto commit = server_->next_commit()) {
    told_(commit->batch);
    store_.post(commit->ticket, std::move(commit->batch));
  }
}

bool SaThread::speak(Instant now) {
  commit();
  if (server_->take_multicast_changed()) {
    auto groups = groups_of(*server_);
    const std::lock_guard lock(mutex_);
    groups_ = std::move(groups);
    news_.ring();
  }
  if (server_->take_aliases_changed()) {
    AliasNews news{aliases_of(*server_), server_->aliases_revision()};
    const std::lock_guard lock(mutex_);
    aliases_ = std::move(news);
    news_.ring();
  }
  if (const auto untold = server_->take_untold_clients(); !untold.empty()) {
    const std::lock_guard lock(mutex_);
    untold_.insert(untold_.end(), untold.begin(), untold.end());
    news_.ring();
  }
  while (auto event = server_->next_log()) log_.write(*event);
  for (std::size_t segments = 0; segments < sa::turn::kSegments;) {
    const auto* packet = server_->next_send(now);
    if (packet == nullptr) return true;
    if (ib::mad::rmpp::is_active(packet->mad)) ++segments;
    if (auto sent = channel_.send(*packet, server_->reply_within()); !sent)
      log_.write({ib::LogLevel::Warning, "sa", std::move(sent.error().message),
                  ib::LogCause{"answer that cannot be sent", packet->address.lid}});
  }
  return false;
}

void SaThread::tidy(Instant now) {
  const auto done = server_->tidy(now);
  tidy_at_ = done.is_done ? ib::kNever : now + kTidyEvery;
  // Why: doc/ibsm.md, Memory.
  if (done.is_worth_a_trim) malloc_trim(0);
}

void SaThread::tell_counters(Instant now) {
  counters_at_ = now + kCountersEvery;
  std::string text = sa::describe(server_->counters());
  if (const auto dropped = channel_.port->dropped(); dropped != 0)
    text += fmt::format(" dropped_at_port={}", dropped);
  if (text.empty() || text == counters_told_) return;
  log_.write({ib::LogLevel::Info, "sa", text});
  counters_told_ = std::move(text);
}

void SaThread::wait() {
  const Instant deadline = std::min({server_->next_deadline(), counters_at_, tidy_at_,
                                     dump_.next_deadline(*server_), log_.next_deadline()});
  // Upwards, so that a part of a millisecond is not spent turning round.
  const auto left = (deadline - ib::monotonic_now()).count();
  const int ms =
      static_cast<int>(std::clamp<std::int64_t>((left + 999'999) / 1'000'000, 0, 60'000));
  pollfd fds[] = {{channel_.port->readable_fd(), POLLIN, 0},
                  {mail_wake_.fd(), POLLIN, 0},
                  {store_.readable_fd(), POLLIN, 0}};
  if (poll(fds, 3, ms) >= 0 || errno == EINTR) return;
  const std::lock_guard lock(mutex_);
  broken_ = fmt::format("poll: {}", std::strerror(errno));
  news_.ring();
  ending_ = true;
}

}  // namespace sm::daemon
