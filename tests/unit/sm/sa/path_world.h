// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Path requests put to the rules directly, with a policy of the test's own.
#pragma once

#include <gtest/gtest.h>

#include "sm/sa/paths/path_records.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {

using ib::wire::PathRecord;
using ib::wire::Selector;

struct PathWorld {
  explicit PathWorld(Fabric fabric)
      : snapshot(snapshot_of(std::move(fabric))), hosts(hosts_of(snapshot->fabric())) {
    publish();
  }
  explicit PathWorld(std::shared_ptr<Snapshot> s)
      : snapshot(std::move(s)), hosts(hosts_of(snapshot->fabric())) {
    publish();
  }
  void publish() { paths = std::make_shared<const Paths>(snapshot); }

  std::shared_ptr<Snapshot> snapshot;
  std::vector<PortRef> hosts;
  std::shared_ptr<const Paths> paths;
  State state;
  Policy policy;
  bool trusted{false};
  std::size_t requester{0};  // host

  World world() const { return {paths, state, policy}; }
  const EndPort& host(std::size_t i) const {
    return *paths->find(snapshot->fabric().port(hosts[i]).guid);
  }
  Gid gid(std::size_t i) const { return Gid::from(snapshot->subnet_prefix, host(i).guid); }
  PathRecord between(std::size_t from, std::size_t to) const {
    PathRecord r;
    r.sgid = gid(from);
    r.dgid = gid(to);
    r.slid = host(from).lid;
    r.dlid = host(to).lid;
    return r;
  }

  Query query(const PathRecord& wanted, std::uint64_t mask, bool single) const {
    Query q;
    q.attribute = ib::wire::attr::kPathRecord;
    q.mask = mask;
    q.single = single;
    ib::wire::encode(wanted, q.wanted.data());
    q.requester.port = requester < hosts.size() ? &host(requester) : nullptr;
    q.requester.trusted = trusted;
    return q;
  }
  static std::vector<PathRecord> records(RecordSource& source, std::size_t most = SIZE_MAX) {
    std::vector<PathRecord> found;
    std::vector<std::byte> bytes(source.record_bytes());
    while (found.size() < most && source.next(bytes.data()))
      found.push_back(ib::wire::decode<PathRecord>(bytes.data()));
    return found;
  }
  /// All records; a refusal fails the test.
  std::vector<PathRecord> table(const PathRecord& wanted, std::uint64_t mask) const {
    auto opened = open_path_query(world(), query(wanted, mask, false));
    if (const auto* status = std::get_if<std::uint16_t>(&opened)) {
      ADD_FAILURE() << "refused with " << *status;
      return {};
    }
    return records(*std::get<std::unique_ptr<RecordSource>>(opened));
  }
  /// What a Get would be answered with.
  std::optional<PathRecord> get(const PathRecord& wanted, std::uint64_t mask) const {
    auto opened = open_path_query(world(), query(wanted, mask, true));
    if (const auto* status = std::get_if<std::uint16_t>(&opened)) {
      ADD_FAILURE() << "refused with " << *status;
      return std::nullopt;
    }
    const auto found = records(*std::get<std::unique_ptr<RecordSource>>(opened), 1);
    const auto answer = found.empty() ? std::nullopt : std::optional(found[0]);
    const auto first = first_path(wanted, mask);
    EXPECT_TRUE(!first || first == answer);
    return answer;
  }
  /// The short way to it, of a Get that names both ends.
  std::optional<PathRecord> first_path(const PathRecord& wanted, std::uint64_t mask) const {
    std::array<std::byte, ib::wire::record_bytes<PathRecord>()> record;
    const auto q = query(wanted, mask, true);
    if (!write_first_path(world(), q.requester, mask, q.wanted.data(), record.data()))
      return std::nullopt;
    return ib::wire::decode<PathRecord>(record.data());
  }
  /// The status that refuses; 0: records or none, but no refusal.
  std::uint16_t refusal(const PathRecord& wanted, std::uint64_t mask, bool single = true) const {
    const auto opened = open_path_query(world(), query(wanted, mask, single));
    const auto* status = std::get_if<std::uint16_t>(&opened);
    EXPECT_FALSE(status != nullptr && first_path(wanted, mask));
    return status == nullptr ? std::uint16_t{0} : *status;
  }
};

constexpr std::uint64_t kGids = bit(path_bit::kSgid) | bit(path_bit::kDgid);
constexpr std::uint64_t kLids = bit(path_bit::kSlid) | bit(path_bit::kDlid);

}  // namespace sm::sa::test
