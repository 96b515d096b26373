// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What makes counters grow as time passes: flows, which follow the programmed tables and share
// links as a fluid (fluid.h), and error counters that somebody lets grow. Private to libdiag/sim.
#pragma once

#include <map>
#include <vector>

#include "libdiag/sim/fluid.h"
#include "libdiag/sim/impl.h"

namespace ib::sim {

class Traffic {
 public:
  explicit Traffic(Model::Impl& model) : model_(model) {}

  /// Flows begin; their ids, in the order of `specs`.
  std::vector<std::uint32_t> add(const std::vector<FlowSpec>& specs);
  /// False: there is no flow with this id.
  bool remove(std::uint32_t id);
  void remove_all();
  /// As they are by what is programmed now.
  const std::vector<FlowState>& flows();

  /// The counter grows by so much a second from now on; 0: no longer.
  void grow(PortIndex port, std::uint32_t Counters::*counter, double per_second);

  /// Tables, links or keys change: flows go by them a little later, so that what is programmed in
  /// one go is looked at once.
  void note_change();
  /// Flows go by what is programmed now.
  void follow();
  /// Counters of a node's ports are as of now.
  void count_node(NodeIndex node);

 private:
  /// A quantity that grows and is counted in whole units.
  struct Meter {
    double per_second{}, owed{};
    std::uint64_t take(double seconds);
  };
  /// What one port sends of one SL on one VL.
  struct Stream {
    SlVl sl_vl;
    Meter packets, words;
  };
  struct Sender {
    std::vector<Stream> streams;
    double bytes_per_second{};
    Meter wait;
    std::array<Meter, 15> wait_of_vl;
    std::array<Meter, 16> wait_of_sl;  // for the rate limit
    std::int64_t counted{};
  };
  struct Growing {
    std::uint32_t Counters::*counter;
    Meter meter;
    std::int64_t counted{};
  };
  struct Way;
  struct Fluid;

  Way trace(const FlowSpec& spec) const;
  void count_port(PortIndex port);
  void count_all();
  /// Traces a flow; `fluid` has it if it arrives.
  void add_to(Fluid& fluid, std::size_t index);
  void note_rates(const Fluid& fluid, const FluidRates& rates);
  void note_waits(const Fluid& fluid, const FluidRates& rates);
  void limit_at_sender(FluidFlow& flow, const FlowSpec& spec, double link) const;
  std::uint32_t marks_from(const SimPort& port) const;

  Model::Impl& model_;
  std::vector<FlowState> flows_;
  std::uint32_t last_id_{};
  bool change_pending_{};
  std::map<PortIndex, Sender> senders_;
  std::map<PortIndex, std::vector<Growing>> growing_;
};

}  // namespace ib::sim
