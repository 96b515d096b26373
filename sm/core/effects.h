// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Effects: what a step of the subnet manager wants done; and the one pump that has it done, for the
// daemon, for simulations and for benchmarks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/base/log.h"
#include "libdiag/base/result.h"
#include "libdiag/mad/transport.h"
#include "libdiag/wire/smp_attributes.h"
#include "sm/core/mastership.h"
#include "sm/core/plan_job.h"
#include "sm/core/report.h"
#include "sm/device/device_state.h"
#include "sm/device/snapshot.h"
#include "sm/store/kinship.h"
#include "sm/store/store.h"

namespace sm::core {

/// A packet for QP0. Requests carry how long an answer may take, answers 0.
struct Outgoing {
  ib::mad::Packet packet;
  ib::Duration reply_within{0};
};

/// A notice that arrived as a trap, for those who subscribed to such. Nobody has looked whether it
/// is true.
struct ReceivedNotice {
  ib::wire::Notice notice;
  ib::Lid from{};
};

/// What a sweep found of the subnet of another master, or of one without a master: for who only
/// reads.
struct Watched {
  SnapshotPtr subnet;  // without routes; never null
  std::string master;  // for a message; empty: none answered
};

/// What is stored, where others write it as well.
enum class Recall : std::uint8_t {
  Read,  // the master before goes on to write it
  Take,  // from here on this one alone writes it
};

/// The fields stand in the order in which they are to be carried out.
struct Effects {
  /// What is stored is another fabric's: nothing is planned, and nothing written.
  std::optional<store::Kinship> foreign_store;
  /// Durable before anything below is seen outside: no device holds a LID that a restart would not
  /// know.
  std::vector<store::Batch> commit;
  /// Published before anything is sent: whom a packet makes ACTIVE finds that its queries are
  /// answered. First what devices hold, then the snapshot that it goes with. Null: as it was.
  DeviceStatePtr device_state;
  SnapshotPtr snapshot;
  /// Before the first snapshot: for answers until it is there, and for nobody else, since its
  /// routes are not those of the plan.
  SnapshotPtr stopgap;
  /// Clients may register by it: what is stored is ours to write.
  bool stopgap_registers{true};
  /// Ports that packets below ask to register again, as another subnet manager may have answered
  /// them: what they registered before is in doubt from now on.
  std::vector<ib::Guid> doubted;
  /// Such ports that another one may have subscribed for, since it had their LID: of these
  /// nothing else is in doubt.
  std::vector<ib::Guid> subscriptions_doubted;
  /// Of such ports, those that took the request.
  std::vector<ib::Guid> asked_again;
  std::vector<ib::LogEvent> log;
  std::vector<ReceivedNotice> notices;
  std::vector<Outgoing> send;
  /// SmStatus::answers came to its end: what was published is withdrawn.
  bool relieved{false};
  /// Where it is another state of the election than before. Who is not master, or not yet, answers
  /// for no subnet: what was published is withdrawn, unless SmStatus::answers.
  std::optional<SmStatus> sm_status;
  /// What is stored is to be asked for, since another one may have written it; it goes to
  /// on_recalled().
  std::optional<Recall> recall;
  std::optional<Watched> watched;
  /// To be made on any thread; at most one at a time. Its result goes to on_planned().
  std::optional<PlanJob> plan;
  /// Last, since the program may end with one.
  std::vector<Report> reports;

  bool empty() const;
};

class SubnetManager;

/// Who carries effects out.
class Carrier {
 public:
  Carrier() = default;
  virtual ~Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  virtual void refuse_store(const store::Kinship& kin) { (void)kin; }
  virtual void commit(store::Batch batch) = 0;
  virtual void publish(const DeviceStatePtr& device_state) { (void)device_state; }
  virtual void publish(const SnapshotPtr& snapshot) { (void)snapshot; }
  virtual void publish_stopgap(const SnapshotPtr& snapshot, bool registers) {
    (void)snapshot, (void)registers;
  }
  virtual void doubt_clients(const std::vector<ib::Guid>& ports) { (void)ports; }
  virtual void doubt_subscriptions(const std::vector<ib::Guid>& ports) { (void)ports; }
  virtual void on_asked_again(const std::vector<ib::Guid>& ports) { (void)ports; }
  virtual void log(const ib::LogEvent& event) { (void)event; }
  virtual void on_relieved() {}
  virtual void on_sm_status(const SmStatus& status) { (void)status; }
  virtual void watch(const Watched& watched) { (void)watched; }
  virtual void on_notice(const ReceivedNotice& notice) { (void)notice; }
  virtual ib::Result<void> send(const Outgoing& outgoing) = 0;
  /// A host that has nothing to wait for calls on_recalled() at once.
  virtual void recall(Recall how) { (void)how; }
  /// The result, or nothing where it comes later.
  virtual std::optional<PlanResult> plan(PlanJob job) { return std::move(job).run(); }
  virtual void report(Report report) = 0;
};

/// All that `manager` wants done now, and what follows from it at once, until a step leaves
/// nothing.
void carry_out(SubnetManager& manager, ib::Instant now, Carrier& carrier);

}  // namespace sm::core
