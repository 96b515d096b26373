// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/etcd/policy_shelf.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/base/fnv.h"

namespace sm::store::etcd {
namespace {

/// What was replaced meanwhile may be compacted already.
constexpr int kAttempts = 5;
constexpr std::int64_t kPartsPage = 8;

std::uint64_t sum_of(std::string_view text) {
  ib::Fnv1a sum;
  for (const char c : text) sum.add(static_cast<std::uint8_t>(c));
  return sum.value();
}

std::string value_of(const std::vector<std::vector<KeyValue>>& reads, std::size_t i) {
  return i < reads.size() && !reads[i].empty() ? reads[i].front().value : std::string();
}

/// Whether `there` is the copy that `wanted` would be.
bool is_same(PolicyHead there, const PolicyHead& wanted) {
  there.generation = wanted.generation;
  return there == wanted;
}

}  // namespace

ib::Result<std::optional<PolicyCopy>> PolicyShelf::read(const std::string& name) {
  auto copy = read_once(name);
  for (int i = 1; i < kAttempts && !copy && copy.error().kind == ib::ErrorKind::Refused; ++i)
    copy = read_once(name);
  if (!copy)
    return ib::fail(copy.error().kind, fmt::format("the copy in {} cannot be used: {}", place(name),
                                                   copy.error().message));
  return copy;
}

std::string PolicyShelf::place(const std::string& name) const {
  return "etcd, " + policy_key(prefix_, name);
}

ib::Result<std::optional<PolicyCopy>> PolicyShelf::read_once(const std::string& name) {
  Txn txn;
  txn.reads = {{policy_key(prefix_, name), {}}};
  const auto answer = cluster_->ask(txn);
  if (!answer) return tl::unexpected<ib::Error>(answer.error());
  const std::string there = value_of(answer->reads, 0);
  if (there.empty()) return std::nullopt;
  auto head = read_policy_head(there);
  if (!head) return tl::unexpected<ib::Error>(std::move(head.error()));
  if (head->fabric != fabric_)
    return ib::fail(ib::ErrorKind::Unavailable,
                    fmt::format("it is that of another fabric, {}", head->fabric));
  auto text = text_of(name, *head, answer->revision);
  if (!text) return tl::unexpected<ib::Error>(std::move(text.error()));
  return PolicyCopy{name, head->host, head->directory, head->path, *std::move(text)};
}

ib::Result<std::string> PolicyShelf::text_of(const std::string& name, const PolicyHead& head,
                                             std::int64_t revision) {
  if (head.parts == 0 && head.bytes != 0)
    return ib::fail(ib::ErrorKind::Unavailable,
                    fmt::format("that of {}, {}, has {} bytes, which is too long for it", head.host,
                                head.path, head.bytes));
  std::string text;
  if (head.parts != 0) {
    // Behind them may be some of an attempt that was given up.
    const auto parts =
        read_all(*cluster_, KeyRange::under(policy_folder(prefix_, name, head.generation)),
                 revision, kPartsPage);
    if (!parts) return tl::unexpected<ib::Error>(parts.error());
    for (std::uint32_t i = 0; i < head.parts && i < parts->size(); ++i) text += (*parts)[i].value;
  }
  if (text.size() != head.bytes || sum_of(text) != head.sum)
    return ib::fail(ib::ErrorKind::Malformed, "it does not fit its sum");
  return text;
}

void PolicyWriter::set(std::vector<PolicyCopy> copies) {
  if (copies == wanted_) return;
  wanted_ = std::move(copies);
  doubt();
}

void PolicyWriter::doubt() {
  at_ = 0;
  head_.reset();
}

void PolicyWriter::next() {
  ++at_;
  head_.reset();
}

PolicyHead PolicyWriter::head_of(const PolicyCopy& copy) {
  PolicyHead head;
  head.fabric = fabric_;
  head.bytes = copy.text.size();
  head.sum = sum_of(copy.text);
  head.host = copy.host;
  head.directory = copy.directory;
  head.path = copy.path;
  if (copy.text.size() <= kTextMost)
    head.parts = static_cast<std::uint32_t>((copy.text.size() + kPartMost - 1) / kPartMost);
  return head;
}

ib::Result<void> PolicyWriter::step(const std::string& epoch) {
  if (is_done()) return {};
  if (!head_) return look(epoch);
  return parts_done_ < head_->parts ? write_part(epoch) : finish(epoch);
}

ib::Result<void> PolicyWriter::ask(Txn txn, const std::string& epoch) {
  txn.conditions.push_back({epoch_key(prefix_), epoch});
  txn.otherwise = {{epoch_key(prefix_), {}}};
  const auto answer = cluster_.ask(txn);
  if (!answer) return tl::unexpected<ib::Error>(answer.error());
  if (answer->succeeded) return {};
  if (value_of(answer->reads, 0) != epoch)
    return ib::fail(ib::ErrorKind::Unavailable, "another subnet manager has taken the store");
  head_.reset();  // a write that was given up has arrived after all: it is looked at again
  return {};
}

ib::Result<void> PolicyWriter::look(const std::string& epoch) {
  const PolicyCopy& copy = wanted_[at_];
  Txn txn;
  txn.reads = {{policy_key(prefix_, copy.name), {}}, {epoch_key(prefix_), {}}};
  const auto answer = cluster_.ask(txn);
  if (!answer) return tl::unexpected<ib::Error>(answer.error());
  if (value_of(answer->reads, 1) != epoch)
    return ib::fail(ib::ErrorKind::Unavailable, "another subnet manager has taken the store");
  PolicyHead wanted = head_of(copy);
  head_before_ = value_of(answer->reads, 0);
  if (!head_before_.empty()) {
    const auto there = read_policy_head(head_before_);
    if (there && is_same(*there, wanted) && !unsure_.contains(copy.name))
      return next(), ib::Result<void>{};
    if (there) generation_most_ = std::max(generation_most_, there->generation);
  }
  wanted.generation = ++generation_most_;
  if (wanted.parts == 0 && wanted.bytes != 0)
    refusals_.push_back(
        fmt::format("{} has {} bytes, and a copy of {} at most is stored for other subnet "
                    "managers: with a mistake in their own file they do not start",
                    copy.path, wanted.bytes, kTextMost));
  head_ = std::move(wanted);
  parts_done_ = 0;
  return {};
}

ib::Result<void> PolicyWriter::write_part(const std::string& epoch) {
  const PolicyCopy& copy = wanted_[at_];
  Txn txn;
  txn.puts = {{policy_part_key(prefix_, copy.name, head_->generation, parts_done_),
               copy.text.substr(parts_done_ * kPartMost, kPartMost)}};
  auto done = ask(std::move(txn), epoch);
  if (done) ++parts_done_;
  return done;
}

/// Now it counts, and the one before goes.
ib::Result<void> PolicyWriter::finish(const std::string& epoch) {
  const std::string& name = wanted_[at_].name;
  const std::string folder = policy_folder(prefix_, name);
  Txn txn;
  txn.conditions = {{policy_key(prefix_, name),
                     head_before_.empty() ? std::nullopt : std::optional(head_before_)}};
  txn.puts = {{policy_key(prefix_, name), etcd::text_of(*head_)}};
  txn.removes = {{folder, policy_folder(prefix_, name, head_->generation)},
                 {KeyRange::under(policy_folder(prefix_, name, head_->generation)).end,
                  KeyRange::under(folder).end}};
  unsure_.insert(name);
  auto done = ask(std::move(txn), epoch);
  if (!done || !head_) return done;
  unsure_.erase(name);
  next();
  return done;
}

}  // namespace sm::store::etcd
