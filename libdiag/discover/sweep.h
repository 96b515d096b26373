// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Sweep: finds everything that can be reached from the local port by directed-route SMPs, with as
// many requests in flight as the Transactor lets through. A machine: no I/O, no clock. It only
// reads, unless it is told to clear what switches say changed. It trusts no answer: every field is
// checked before anything is built on it.
//
// Asked of each node: NodeInfo, NodeDescription; of a switch SwitchInfo, PortInfo of port 0 and
// then of every port; of a CA or router PortInfo of each port it is reached by. A switch port whose
// physical link is up is probed (NodeInfo through it) unless the node was reached by that cable.
// Every cable between switches is thus seen from both its ends, which is what tells one switch from
// another that has the same GUID.
//
// Where most of a fabric is known a partial sweep asks around the places that changed, and follows
// what it finds there. What it finds is what a whole sweep would have found, as far as devices tell
// that they changed; where the part does not add up it says so, and the whole is to be swept.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "libdiag/discover/observed.h"
#include "libdiag/fabric/names.h"
#include "libdiag/mad/session.h"

namespace ib::discover {

/// What is swept of a fabric that is known: the local port, and what is around some places.
struct PartialSweep {
  struct Place {
    Guid node;
    /// Of a switch: its ports are read even where SwitchInfo says that none changed.
    bool read_ports{true};
    friend bool operator==(const Place&, const Place&) = default;
  };
  /// What a sweep found, and Sets changed since.
  std::shared_ptr<const Observed> known;
  /// Of `known`, as that sweep told them; none of a duplicate GUID or of a cable that moved.
  std::vector<Trouble> troubles;
  std::vector<Place> places;
  /// Whether a cable of this switch may have moved without its port leaving ACTIVE, as far as
  /// `known` tells: then all its neighbours are asked who they are. Empty: none.
  std::function<bool(Guid)> is_unsure;
  /// Whether this CA or router may have been rebooted since its port was read, with the switch's
  /// end of the link ACTIVE all the same: where it is asked who it is, its port is read. Empty:
  /// none.
  std::function<bool(Guid)> may_have_rebooted;
};

struct SweepOptions {
  /// Key for requests to the port of this GUID, of a switch its port 0 (0: not known yet); empty:
  /// no key.
  std::function<std::uint64_t(Guid)> m_key;
  /// The port of this GUID does not answer: whether `m_key` has another key for it from now on,
  /// with which it is asked once more. Empty: never.
  std::function<bool(Guid)> other_m_key;
  bool fdr10{true};         // ask Mellanox devices that may run FDR10 whether they do
  unsigned hops_max{63};    // how far to go; 63 is the longest directed route
  bool descriptions{true};  // ask for NodeDescription
  std::shared_ptr<const fabric::NodeNames> names;  // what people call nodes; nullptr: no map
  /// Whether to clear PortStateChange of the switch of this GUID where it is set, before its ports
  /// are read, so that no change is lost between the two. For the master of the switch only: it is
  /// a Set, and another master would not learn of the change any more. Where it fails, SwitchInfo
  /// of the switch still has it set. Empty: of none.
  std::function<bool(Guid)> clears_changes_of;
  /// Whether a CA or router is known to have stood elsewhere than at this port of the node `at`. It
  /// is looked at last, so that who has its GUID and is where it was is found first; empty:
  /// nobody.
  std::function<bool(Guid node, Guid at, std::uint8_t port)> stood_elsewhere;
  /// Whether this port of the node `at` is not to be used: nobody is looked for behind it. Empty:
  /// none.
  std::function<bool(Guid at, std::uint8_t port)> is_held;
  std::optional<PartialSweep> partial;  // else the whole is swept
  mad::Cookie cookie_base{0};           // added to every cookie; the low 48 bits are the sweep's
};

/// Check of one answer; empty: plausible, else the field and why ("NumPorts is 0").
std::string implausible(const wire::NodeInfo& info);
std::string implausible(const wire::SwitchInfo& info, const wire::NodeInfo& node);
std::string implausible(const wire::PortInfo& info, const wire::NodeInfo& node, std::uint8_t port);

class Sweep : public mad::Exchange {
 public:
  explicit Sweep(SweepOptions options = {});
  ~Sweep() override;

  std::vector<mad::Request> take_requests() override;
  void on_completion(Instant now, const mad::Completion& completion) override;
  bool done() const override;

  /// Of a partial sweep that is done: why the whole is to be swept, and what was found is of no
  /// use; empty: the part adds up.
  const std::string& why_whole() const;
  /// Of a partial sweep that is done and adds up: the nodes that were asked again.
  const std::vector<Guid>& asked_anew() const;

  /// What was found; complete when done().
  const Observed& observed() const;
  Observed take_observed();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ib::discover
