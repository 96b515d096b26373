// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/intake/write_queue.h"

#include <algorithm>

namespace sm::sa {

using ib::Instant;
using ib::mad::Packet;

void WriteQueue::add(Instant now, ib::Lid who, Packet request) {
  add_entry(now, who.value, Entry(std::move(request)));
}
void WriteQueue::add(Instant now, Own own) { add_entry(now, kOwn, Entry(std::move(own))); }

void WriteQueue::add_entry(Instant now, Who who, Entry entry) {
  now_ = now;
  if (waiting_++ == 0) ready_at_ = std::max(now, company_until_);
  auto& queue = queues_[who];
  if (queue.empty()) turns_.push_back(who);
  queue.push_back(std::move(entry));
}

bool WriteQueue::has_room(ib::Lid who) const {
  const auto queue = queues_.find(who.value);
  return queue == queues_.end() || queue->second.size() < options_.of_one_max;
}

/// Precondition: something waits.
WriteQueue::Entry WriteQueue::take_next() {
  const Who who = turns_.front();
  turns_.pop_front();
  const auto queue = queues_.find(who);
  Entry entry = std::move(queue->second.front());
  queue->second.pop_front();
  if (queue->second.empty()) {
    queues_.erase(queue);
  } else {
    turns_.push_back(who);
  }
  --waiting_;
  return entry;
}

Instant WriteQueue::next_deadline() const { return waiting_ == 0 || out_ ? ib::kNever : ready_at_; }

std::optional<store::Batch> WriteQueue::next_batch(const World& world, State& state,
                                                   const Judge& judge) {
  if (out_ || waiting_ == 0 || ready_at_ > now_) return std::nullopt;
  BatchKeys batch_keys;
  const auto is_full = [this] { return judged_.size() >= options_.batch_max; };
  for (std::size_t round = 0; round < options_.of_one_max && !turns_.empty() && !is_full(); ++round)
    for (std::size_t left = turns_.size(); left != 0 && !is_full(); --left)
      judge_one(world, state, judge, batch_keys);
  company_until_ = judged_.size() > 1 ? now_ + options_.share : Instant{};
  // What did not fit any more has waited long enough.
  ready_at_ = now_;
  if (undo_.empty()) {
    release();
    return std::nullopt;
  }
  out_ = true;
  return batch_keys.as_in(state);
}

void WriteQueue::judge_one(const World& world, State& state, const Judge& judge,
                           BatchKeys& batch_keys) {
  Finished done{take_next(), Refusal{}};
  if (const auto* request = std::get_if<Packet>(&done.what)) {
    done.outcome = judge(world, *request);
  } else {
    done.outcome = std::get<Own>(done.what).change(world);
  }
  if (auto* change = std::get_if<Change>(&done.outcome); change && !change->batch.empty()) {
    BatchKeys ones;
    ones.add(change->batch);
    undo_.push_back(ones.as_in(state));
    state.apply(change->batch);
    batch_keys.add(change->batch);
    change->batch = {};
  }
  judged_.push_back(std::move(done));
}

void WriteQueue::on_done(State& state, bool durable) {
  if (!out_) return;
  out_ = false;
  if (!durable) {
    // What was refused may have been so because of what is taken back.
    for (auto at = undo_.rbegin(); at != undo_.rend(); ++at) state.apply(*at);
    for (auto& done : judged_) done.outcome = Refusal{ib::wire::status::kSaNoResources, {}};
  }
  release();
}

void WriteQueue::release() {
  undo_.clear();
  std::move(judged_.begin(), judged_.end(), std::back_inserter(finished_));
  judged_.clear();
}

std::optional<WriteQueue::Finished> WriteQueue::next_finished() {
  if (finished_.empty()) return std::nullopt;
  auto done = std::move(finished_.front());
  finished_.pop_front();
  return done;
}

}  // namespace sm::sa
