// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Consistency: whether a master and its standbys would configure the subnet alike. Each posts its
// fingerprint; a difference is an alarm on both, and with standby_needs_same_config a standby is
// not active as long as there is one. Pure: who asks the board and when is the daemon's affair.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libdiag/base/instant.h"
#include "libdiag/base/log.h"
#include "sm/daemon/fingerprint.h"
#include "sm/store/board.h"

namespace sm::daemon {

class Consistency {
 public:
  static constexpr ib::Duration kEvery = std::chrono::seconds(5);
  /// One that says the same so often has died.
  static constexpr unsigned kStaleAfter = 4;

  struct Difference {
    std::string host;
    std::vector<std::string> names;
    friend bool operator==(const Difference&, const Difference&) = default;
  };

  /// Of one of the others: what differs from now on; nothing does any more.
  struct News {
    std::string who;
    Difference difference;
  };

  explicit Consistency(std::string host) : host_(std::move(host)) {}

  void set_fingerprint(Fingerprint fingerprint) { own_ = std::move(fingerprint); }
  /// To be posted now. `behind`: clients are answered what is not in the store yet.
  std::string posting(ib::wire::SmState state, bool behind = false);
  /// What others have posted.
  std::vector<News> on_postings(ib::wire::SmState state, std::span<const store::Posting> postings);
  /// The board cannot be reached; what was known stays. A line, once.
  std::optional<ib::LogEvent> on_failure(const ib::Error& error);

  /// By who (their port GUIDs); between a master and one that is none.
  const std::map<std::string, Difference>& all() const { return differences_; }
  /// Those that are alive and say that they are master, by who.
  const std::vector<std::string>& other_masters() const { return other_masters_; }
  /// "the subnet manager on HOST is configured otherwise: a, b; ..."; empty: none is.
  std::string trouble() const;
  /// The master that was heard last is configured otherwise. That it is gone since makes nothing
  /// better: nobody takes over unnoticed with another configuration.
  bool differs_from_master() const { return differs_from_master_; }

 private:
  struct Heard {
    std::string text;
    unsigned same{0};   // times in a row
    bool fresh{false};  // it changed since it was seen first
  };

  std::string host_;
  Fingerprint own_;
  std::uint64_t turn_{0};
  std::map<std::string, Heard> heard_;
  std::map<std::string, Difference> differences_;
  bool differs_from_master_{false};
  std::vector<std::string> other_masters_;
  std::string last_failure_;
};

}  // namespace sm::daemon
