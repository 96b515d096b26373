// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/store_thread.h"

#include <utility>

namespace sm::daemon {

StoreThread::StoreThread(std::unique_ptr<store::Store> store)
    : store_(std::move(store)), thread_([this] { run(); }) {}

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
  orders_.push_back({std::nullopt, std::move(batch), &result});
  wanted_.notify_one();
  served_.wait(lock, [&] { return result.has_value(); });
  return *std::move(result);
}

void StoreThread::post(std::uint64_t ticket, store::Batch batch) {
  const std::lock_guard lock(mutex_);
  orders_.push_back({ticket, std::move(batch), nullptr});
  wanted_.notify_one();
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

void StoreThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [this] { return ending_ || !orders_.empty(); });
    if (orders_.empty()) return;
    Order order = std::move(orders_.front());
    orders_.pop_front();
    lock.unlock();
    auto result = store_->commit(order.batch);
    lock.lock();
    if (order.ticket) {
      done_.push_back({*order.ticket, result ? std::string() : std::move(result.error().message)});
      done_wake_.ring();
    } else {
      *order.result = std::move(result);
      served_.notify_all();
    }
  }
}

}  // namespace sm::daemon
