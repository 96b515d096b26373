// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/table_upkeep.h"

#include <fmt/format.h>

#include "libdiag/base/text.h"

namespace sm::core {
namespace {

constexpr ib::Duration kNewsEvery = std::chrono::seconds(1);

}  // namespace

std::vector<ib::mad::Cookie> TableUpkeep::on_sweep_begun() {
  due_ = ib::kNever;
  if (!reader_) return {};
  std::vector<ib::mad::Cookie> left(reader_->in_flight().begin(), reader_->in_flight().end());
  end_reading();
  return left;
}

void TableUpkeep::on_found(const ib::discover::Observed& found, bool forget_all) {
  if (forget_all) {
    known_.clear();
    read_once_ = false;
  }
  known_.forget_lost(found);
}

void TableUpkeep::on_sweep_done(ib::Instant now) {
  if (after_) due_ = now + *after_;
}

void TableUpkeep::begin(ib::Instant now, SnapshotPtr snapshot, const std::vector<bool>& managed,
                        bool compare) {
  due_ = ib::kNever;
  news_at_ = now + kNewsEvery;
  TableReaderOptions options;
  options.cookie_base = owner_;
  options.compare = compare;
  snapshot_ = std::move(snapshot);
  reader_ = std::make_unique<TableReader>(snapshot_, managed, known_, options);
  if (!reader_->note().empty()) logs_.push_back({ib::LogLevel::Info, "tables", reader_->note()});
}

std::vector<ib::mad::Request> TableUpkeep::take_requests() {
  return reader_ ? reader_->take_requests() : std::vector<ib::mad::Request>{};
}

void TableUpkeep::on_completion(ib::Instant now, const ib::mad::Completion& completion) {
  if (reader_) reader_->on_completion(now, completion);
}

bool TableUpkeep::has_news(ib::Instant now) {
  if (!reader_) return false;
  if (!reader_->done()) {
    if (now < news_at_) return false;
    news_at_ = now + kNewsEvery;
  } else {
    read_once_ = true;
    end_reading();
  }
  return true;
}

/// What was read stays.
void TableUpkeep::end_reading() {
  nodes_read_ += reader_->nodes_read();
  if (reader_->nodes_read() > 0)
    logs_.push_back(
        {ib::LogLevel::Verbose, "tables", fmt::format("read of {} nodes", reader_->nodes_read())});
  tell_rewritten();
  reader_.reset();
  snapshot_.reset();
}

void TableUpkeep::tell_rewritten() {
  const auto& all = reader_->rewritten();
  if (all.empty()) return;
  rewritten_ = true;
  const auto& [kind, n, slot] = all.front();
  const auto& node = snapshot_->fabric().node(n);
  const std::string more =
      all.size() > 1 ? fmt::format(" (and {} other blocks)", all.size() - 1) : std::string{};
  logs_.push_back(
      {ib::LogLevel::Warning, "tables",
       fmt::format("{} of {} \"{}\" port {} is not what was written to it{}: it is written again; "
                   "look for another program that sends Sets on this fabric",
                   kind->name, to_string(node.guid), ib::printable(node.name()), slot.port, more)});
}

std::shared_ptr<const device::Inventory> TableUpkeep::tables() {
  if (!tables_ || published_ != known_.revision()) tables_ = known_.publish();
  published_ = known_.revision();
  return tables_;
}

std::optional<ib::LogEvent> TableUpkeep::next_log() {
  if (logs_.empty()) return std::nullopt;
  auto event = std::move(logs_.front());
  logs_.pop_front();
  return event;
}

}  // namespace sm::core
