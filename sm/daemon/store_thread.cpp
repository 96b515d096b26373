// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/store_thread.h"

#include <utility>

namespace sm::daemon {

StoreThread::StoreThread(std::unique_ptr<store::Store> store, ib::LogSink say)
    : store_(std::move(store)),
      shared_(dynamic_cast<store::SharedStore*>(store_.get())),
      say_(std::move(say)),
      thread_([this] { run(); }) {}

StoreThread::~StoreThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wanted_.notify_one();
  thread_.join();
}

ib::Result<void> StoreThread::commit(store::Batch batch) {
  std::optional<ib::Result<void>> result;
  std::unique_lock lock(mutex_);
  orders_.push_back({What::Commit, std::nullopt, std::move(batch), &result});
  wanted_.notify_one();
  served_.wait(lock, [&] { return result.has_value(); });
  return *std::move(result);
}

void StoreThread::post(std::uint64_t ticket, store::Batch batch) {
  const std::lock_guard lock(mutex_);
  orders_.push_back({What::Commit, ticket, std::move(batch), nullptr});
  wanted_.notify_one();
}

void StoreThread::post_later(store::Batch batch) {
  constexpr std::size_t kWaitMost = 128;
  const std::lock_guard lock(mutex_);
  if (later_.size() >= kWaitMost) return;
  later_.push_back(std::move(batch));
  wanted_.notify_one();
}

void StoreThread::post_take(std::vector<ib::Guid> ports) {
  const std::lock_guard lock(mutex_);
  orders_.push_back({What::Take, std::nullopt, {}, nullptr, std::move(ports)});
  wanted_.notify_one();
}

void StoreThread::post_look() {
  const std::lock_guard lock(mutex_);
  orders_.push_back({What::Look, std::nullopt, {}, nullptr});
  wanted_.notify_one();
}

void StoreThread::post_apart() {
  const std::lock_guard lock(mutex_);
  orders_.push_back({What::Apart, std::nullopt, {}, nullptr});
  wanted_.notify_one();
}

void StoreThread::post_stand_by() {
  const std::lock_guard lock(mutex_);
  orders_.push_back({What::StandBy, std::nullopt, {}, nullptr});
  wanted_.notify_one();
}

void StoreThread::post_policy(std::vector<store::PolicyCopy> copies) {
  if (shared_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  orders_.push_back({What::Policy, std::nullopt, {}, nullptr, {}, std::move(copies)});
  wanted_.notify_one();
}

std::optional<ib::Result<store::Contents>> StoreThread::next_taken() {
  const std::lock_guard lock(mutex_);
  if (taken_.empty()) {
    // What came since the others were asked is asked for again.
    if (!deposed_ && !lacks_ && !made_up_) taken_wake_.quiet();
    return std::nullopt;
  }
  std::optional<ib::Result<store::Contents>> taken(std::move(taken_.front()));
  taken_.pop_front();
  return taken;
}

bool StoreThread::take_deposed() {
  const std::lock_guard lock(mutex_);
  return std::exchange(deposed_, false);
}

bool StoreThread::take_lacks() {
  const std::lock_guard lock(mutex_);
  return std::exchange(lacks_, false);
}

bool StoreThread::take_made_up() {
  const std::lock_guard lock(mutex_);
  return std::exchange(made_up_, false);
}

bool StoreThread::is_behind() {
  const std::lock_guard lock(mutex_);
  return behind_;
}

std::optional<StoreThread::Done> StoreThread::next_done() {
  const std::lock_guard lock(mutex_);
  if (done_.empty()) {
    done_wake_.quiet();
    return std::nullopt;
  }
  std::optional<Done> done(std::move(done_.front()));
  done_.pop_front();
  return done;
}

bool StoreThread::wait(std::unique_lock<std::mutex>& lock) {
  const auto is_wanted = [this] { return ending_ || !orders_.empty() || !later_.empty(); };
  if (const auto rest = store_->rest()) return wanted_.wait_for(lock, *rest, is_wanted);
  wanted_.wait(lock, is_wanted);
  return true;
}

void StoreThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!wait(lock)) {
      lock.unlock();
      for (const ib::LogEvent& line : store_->on_time()) say_(line);
      const bool is_done = store_->is_whole();
      lock.lock();
      hear();
      if (is_done && std::exchange(take_failed_, false)) {
        made_up_ = true;
        taken_wake_.ring();
      }
      continue;
    }
    if (orders_.empty() && !later_.empty()) {
      store::Batch batch = std::move(later_.front());
      later_.pop_front();
      commit_later(std::move(batch), lock);
      continue;
    }
    if (orders_.empty()) return finish(lock);
    Order order = std::move(orders_.front());
    orders_.pop_front();
    carry_out(std::move(order), lock);
  }
}

void StoreThread::finish(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  while (store_->rest() == ib::Duration{0})
    for (const ib::LogEvent& line : store_->on_time()) say_(line);
  lock.lock();
}

void StoreThread::hear() {
  if (shared_ == nullptr) return;
  const bool is_deposed = shared_->is_deposed();
  if (is_deposed && !was_deposed_) deposed_ = true;
  was_deposed_ = is_deposed;
  behind_ = !shared_->is_whole();
  if (shared_->take_lacks()) lacks_ = true;
  if (deposed_ || lacks_) taken_wake_.ring();
}

/// Told once, until it works again.
void StoreThread::commit_later(store::Batch batch, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const auto result = store_->commit(batch);
  if (!result && !std::exchange(later_failed_, true))
    say_({ib::LogLevel::Warning, "store",
          "what ports counted is not stored: " + result.error().message});
  if (result) later_failed_ = false;
  lock.lock();
  hear();
}

void StoreThread::carry_out(Order order, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  if (order.what == What::StandBy) {
    store_->stand_by();
    lock.lock();
    return hear();
  }
  if (order.what == What::Policy) {
    shared_->set_policy(std::move(order.policy));
    return lock.lock();
  }
  if (order.what == What::Apart) {
    auto kept = shared_ != nullptr ? shared_->go_apart() : store::Contents{};
    lock.lock();
    hear();
    taken_.push_back(std::move(kept));
    return taken_wake_.ring();
  }
  if (order.what == What::Look) {
    auto there = shared_ != nullptr ? shared_->look() : store_->load();
    lock.lock();
    taken_.push_back(std::move(there));
    return taken_wake_.ring();
  }
  if (order.what == What::Take) {
    if (shared_ != nullptr) shared_->set_ports(std::move(order.ports));
    auto taken = store_->take();
    lock.lock();
    hear();
    take_failed_ = !taken;
    taken_.push_back(std::move(taken));
    return taken_wake_.ring();
  }
  auto result = store_->commit(order.batch);
  lock.lock();
  hear();
  if (order.ticket) {
    done_.push_back({*order.ticket, result ? std::string() : std::move(result.error().message)});
    done_wake_.ring();
  } else {
    *order.result = std::move(result);
    served_.notify_all();
  }
}

}  // namespace sm::daemon
