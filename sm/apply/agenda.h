// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What each node needs next in the present phase. Sends nothing. Inside sm/apply only.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sm/apply/job.h"

namespace sm::apply {

inline constexpr std::uint8_t kStepTables = 1;  // of Phase::Settle: LFT blocks

class Agenda {
 public:
  explicit Agenda(Job& job);

  /// The node begins the present phase, at this step of it.
  void begin_step(ib::fabric::NodeIndex n, std::uint8_t step);
  /// nullopt: it needs nothing more in this phase; or, with `wait`, nothing until it has answered
  /// what is under way.
  std::optional<Work> next(ib::fabric::NodeIndex n, bool& wait);

 private:
  /// How far a node is in the present phase.
  struct Cursor {
    enum class Look { Nothing, Switch, Ports };  // Ports: and the switch
    std::uint8_t step{0};
    Look look{Look::Nothing};
    std::uint32_t at{0};
    std::vector<Ask> vls;  // tables of SL2VL and VL arbitration that are left to be read, or set
    std::span<const plan::WantedBlock> blocks;
    std::uint32_t blocks_at{0};
    bool blocks_sent{false};  // Sets of some are under way
  };

  std::optional<Work> next_switch(ib::fabric::NodeIndex n);
  std::optional<Work> next_check(ib::fabric::NodeIndex n);
  std::optional<Work> next_look(ib::fabric::NodeIndex n);
  std::optional<Work> next_block(ib::fabric::NodeIndex n, Kind kind, decltype(must_read) must);
  template <class Must>
  std::optional<Work> next_mft(ib::fabric::NodeIndex n, Kind kind, Must must);
  std::optional<Work> next_read(ib::fabric::NodeIndex n);
  std::optional<Work> next_vl_read(ib::fabric::NodeIndex n, std::uint8_t step);
  std::optional<Work> next_vl_set(ib::fabric::NodeIndex n, bool& wait);
  PortSet widened(ib::fabric::NodeIndex n) const;
  static void begin_vls(Cursor& c, std::vector<Ask> asks);
  static std::optional<Work> next_vl(Cursor& c, Kind kind);
  std::optional<Ask> probe_for(ib::fabric::NodeIndex n) const;
  bool port_needs_set(ib::fabric::PortRef p) const;
  std::optional<Work> next_told(ib::fabric::NodeIndex n);
  std::optional<Work> next_speeds(ib::fabric::NodeIndex n);
  std::optional<Work> next_settle_new(ib::fabric::NodeIndex n, bool& wait);
  std::optional<Work> next_settle(ib::fabric::NodeIndex n, bool& wait);
  /// Whether this port is to go up from `from` in this phase.
  bool goes_up(ib::fabric::PortRef p, ib::wire::PortState from) const;
  std::optional<Work> next_armed(ib::fabric::NodeIndex n, bool& wait);
  std::optional<Work> next_state(ib::fabric::NodeIndex n, ib::wire::PortState from);

  Job& job_;
  std::vector<Cursor> cursors_;
};

}  // namespace sm::apply
