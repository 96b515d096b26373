// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SaThread: subnet administration on a thread of its own, with its own umad port, so that no sweep
// and no routing computation is ever in the way of an answer. It shares nothing with the subnet
// manager: snapshots come in by mail, immutable; memberships and alias GUIDs go
// out as values.
//
//   subnet manager --publish(), post()--> SaThread --take_groups()--> subnet manager
//                                            |  ^
//                                      post  v  | done
//                                          StoreThread
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sm/daemon/channel.h"
#include "sm/daemon/log_file.h"
#include "sm/daemon/sa_dump.h"
#include "sm/daemon/sa_verbs.h"
#include "sm/daemon/store_thread.h"
#include "sm/daemon/wake.h"
#include "sm/plan/plan.h"
#include "sm/sa/server.h"

namespace sm::daemon {

class SaThread {
 public:
  /// Begins to serve; what `server` knows already the subnet manager has been told.
  /// `told`: each change of what it keeps, from its thread.
  using Told = std::function<void(const store::Batch&)>;
  SaThread(std::unique_ptr<sa::Server> server, Channel channel, StoreThread& store, LogFile& log,
           SaDump dump, Told told);
  ~SaThread();
  SaThread(const SaThread&) = delete;
  SaThread& operator=(const SaThread&) = delete;

  void publish(SnapshotPtr snapshot, bool registers = true);
  /// Takes those apart that nobody has any more: a large subnet is many pieces, and they are not to
  /// come between two answers. False: there are none.
  bool release_snapshots();
  /// Anything else that the subnet manager has to tell, in order.
  using Mail = std::function<void(ib::Instant, sa::Server&)>;
  void post(Mail mail);

  /// Changes what is asked for, and gives how it is then. Waits until the thread comes round, which
  /// takes milliseconds; nothing: it did not in a second.
  std::optional<SaState> change(const SaChange& change);

  /// Readable when there is something to take.
  int readable_fd() const { return news_.fd(); }
  /// Memberships as they are now, once after each change.
  std::optional<std::vector<plan::MlidGroup>> take_groups();
  /// Alias GUIDs, likewise.
  struct AliasNews {
    plan::PortAliases aliases;
    std::uint64_t revision{};
  };
  std::optional<AliasNews> take_aliases();
  /// Port GUIDs, each time once: whose clients are to be asked to register again.
  std::vector<ib::Guid> take_untold_clients();
  /// Why it serves no more.
  std::optional<std::string> broken();

  static std::vector<plan::MlidGroup> groups_of(const sa::Server& server);
  static plan::PortAliases aliases_of(const sa::Server& server);

 private:
  void run();
  /// Reads what has arrived; false: it cannot any more.
  bool listen();
  bool take_in(ib::Instant now);
  void commit();
  void work(ib::Instant now);
  /// False: there is more to be sent.
  bool speak(ib::Instant now);
  void tidy(ib::Instant now);
  void tell_counters(ib::Instant now);
  SaState carry_out(const SaChange& change);
  void wait();

  std::unique_ptr<sa::Server> server_;
  Channel channel_;
  StoreThread& store_;
  LogFile& log_;
  SaDump dump_;
  const Told told_;
  ib::Instant counters_at_;
  std::string counters_told_;
  ib::Instant tidy_at_{ib::kNever};

  std::mutex mutex_;
  std::vector<Mail> mail_;
  std::optional<std::vector<plan::MlidGroup>> groups_;
  std::optional<AliasNews> aliases_;
  std::vector<ib::Guid> untold_;
  std::optional<std::string> broken_;
  std::atomic<bool> ending_{false};
  Wake mail_wake_, news_;
  std::vector<SnapshotPtr> published_;  // the caller's, see release_snapshots()
  std::thread thread_;                  // last: it uses the others
};

}  // namespace sm::daemon
