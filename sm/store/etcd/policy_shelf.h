// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The copies of policy files in etcd (policy_copy.h, layout.h): PolicyShelf reads one, as anybody
// may; PolicyWriter has those written that are in force here, as only the one does whose the store
// is. It takes small steps, so that what clients register comes between them. A text becomes
// visible with the head that counts its parts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sm/store/etcd/client.h"
#include "sm/store/etcd/layout.h"
#include "sm/store/policy_copy.h"

namespace sm::store::etcd {

class PolicyShelf final : public PolicyCopies {
 public:
  PolicyShelf(std::string prefix, std::string fabric, std::unique_ptr<Cluster> cluster)
      : prefix_(std::move(prefix)), fabric_(std::move(fabric)), cluster_(std::move(cluster)) {}

  /// TimedOut: etcd cannot be reached. Unavailable: of a newer release, of another fabric, or too
  /// long to be kept. Malformed: damaged.
  ib::Result<std::optional<PolicyCopy>> read(const std::string& name) override;
  std::string place(const std::string& name) const override;

 private:
  ib::Result<std::optional<PolicyCopy>> read_once(const std::string& name);
  ib::Result<std::string> text_of(const std::string& name, const PolicyHead& head,
                                  std::int64_t revision);

  std::string prefix_, fabric_;
  std::unique_ptr<Cluster> cluster_;
};

class PolicyWriter {
 public:
  /// A longer text is not kept; what it replaces is not, either.
  static constexpr std::size_t kTextMost = 8U << 20;
  static constexpr std::size_t kPartMost = 256U << 10;  // etcd takes requests of 1.5 MB

  /// `cluster` outlives it.
  PolicyWriter(std::string prefix, std::string fabric, Cluster& cluster)
      : prefix_(std::move(prefix)), fabric_(std::move(fabric)), cluster_(cluster) {}

  /// These are in force from now on. Those of other names stay as they are.
  void set(std::vector<PolicyCopy> copies);
  /// What is in etcd is not known any more: somebody else may have written, or removed it.
  void doubt();
  bool is_done() const { return at_ == wanted_.size(); }
  /// The next step: one transaction, which holds only while the store's epoch is `epoch`.
  /// Unavailable: it is another one. TimedOut: it is not known whether it was done; the same is
  /// done once more. Refused: etcd says no.
  ib::Result<void> step(const std::string& epoch);
  /// What there is to say of those that are not kept; each once.
  std::vector<std::string> take_refusals() { return std::exchange(refusals_, {}); }

 private:
  ib::Result<void> look(const std::string& epoch);
  ib::Result<void> write_part(const std::string& epoch);
  ib::Result<void> finish(const std::string& epoch);
  ib::Result<void> ask(Txn txn, const std::string& epoch);
  PolicyHead head_of(const PolicyCopy& copy);
  void next();

  std::string prefix_, fabric_;
  Cluster& cluster_;
  std::vector<PolicyCopy> wanted_;
  std::size_t at_{0};               // in wanted_: all before are there
  std::optional<PolicyHead> head_;  // of the one that is being written
  std::string head_before_;         // that it replaces; empty: there is none
  std::uint32_t parts_done_{0};
  std::set<std::string> unsure_;      // names of which a head may arrive that nobody answered for
  std::uint64_t generation_most_{0};  // that was ever begun here
  std::vector<std::string> refusals_;
};

}  // namespace sm::store::etcd
