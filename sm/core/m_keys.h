// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// MKeys: which M_Key a port has, as far as is known, so that SMPs carry it (IBA 14.2.4). A port
// with a key takes no Set without it, and with M_KeyProtectBits above 1 answers no Get.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "libdiag/discover/observed.h"
#include "libdiag/mad/request.h"

namespace sm::core {

struct MKeyOptions {
  std::uint64_t key{0};                          // of ports of which nothing is known; 0: none
  std::map<ib::Guid, std::uint64_t> of_ports{};  // by port GUID, as they were last time
};

class MKeys {
 public:
  explicit MKeys(MKeyOptions options) : options_(std::move(options)) {}

  /// The options of a running subnet manager changed.
  void set_key(std::uint64_t key) { options_.key = key; }

  /// Of the port of this GUID; 0: none, or nothing is known.
  std::uint64_t of(ib::Guid port_guid) const;
  /// Of the port that a MAD by this LID or, with a directed route, by this way comes to, by what
  /// was seen last.
  std::uint64_t of_target(const ib::mad::Address& address, const ib::wire::Mad& mad,
                          const ib::discover::Observed& seen) const;
  /// Writes the key into a request that has none.
  void stamp(ib::mad::Request& request, const ib::discover::Observed& seen) const;

  /// The key that was remembered of a port may be an old one: from now on it is asked with the
  /// other of the two, that and the option's. False: there is no other.
  bool try_other(ib::Guid port_guid);
  /// Keys that ports showed. One that hides its key is asked with the other one next time.
  void learn(const ib::discover::Observed& seen);
  /// By port GUID.
  const std::map<ib::Guid, std::uint64_t>& known() const { return options_.of_ports; }
  /// Another one after every change of that.
  std::uint64_t revision() const { return revision_; }

 private:
  MKeyOptions options_;
  std::set<ib::Guid> doubted_;  // asked with the option's key
  std::uint64_t revision_{0};
};

}  // namespace sm::core
