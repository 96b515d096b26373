// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include "sm/console/texts.h"

namespace sm::console {
namespace {

/// As wide as opensm has it.
std::string_view state_text(ib::wire::SmState state) {
  switch (state) {
    case ib::wire::SmState::Discovering:
      return "Discovering";
    case ib::wire::SmState::Standby:
      return "Standby    ";
    case ib::wire::SmState::NotActive:
      return "Not Active ";
    case ib::wire::SmState::Master:
      return "Master     ";
  }
  return "UNKNOWN    ";
}

std::string head(const View& view) {
  const bool is_routed = view.snapshot && view.snapshot->routing;
  const std::string engine = is_routed ? view.snapshot->routing->engine : std::string();
  return fmt::format(
      "   OpenSM Version       : {}\n"
      "   SM State             : {}\n"
      "   SM Priority          : {}\n"
      "   SA State             : {}\n"
      "   Routing Engine       : {}\n"
      "   Loaded event plugins : <none>\n",
      view.version, state_text(view.sm_status.state), view.sm_status.priority,
      view.snapshot ? "Ready" : "Init", engine.empty() ? "none" : engine);
}

std::string counters_line(const View& view) {
  const auto* manager = view.performance;
  return fmt::format("\n   PerfMgr state/sweep state : {}/{}\n",
                     manager != nullptr && manager->is_enabled() ? "Enabled" : "Disabled",
                     manager != nullptr && manager->sweeping() ? "Active" : "Sleeping");
}

std::string mads_text(const View& view) {
  const auto& mads = view.mads;
  const auto& sweeps = view.sweeps;
  const std::uint64_t unasked = sweeps.traps + sweeps.sm_info_gets + sweeps.sm_info_sets_refused;
  std::string text = fmt::format(
      "\n   MAD stats\n"
      "   ---------\n"
      "   QP0 MADs outstanding           : {}\n"
      "   QP0 MADs outstanding (on wire) : {}\n"
      "   QP0 MADs rcvd                  : {}\n"
      "   QP0 MADs sent                  : {}\n"
      "   QP0 unicasts sent              : {}\n"
      "   QP0 unknown MADs rcvd          : {}\n",
      view.mads_pending, view.mads_outstanding,
      mads.replies + mads.late_replies + mads.strange_replies + unasked + sweeps.dropped,
      mads.sends + unasked, unasked, mads.strange_replies + sweeps.dropped);
  const auto sa = view.sa ? view.sa() : std::nullopt;
  if (!sa) return text + "   SA does not answer\n";
  const std::uint64_t received = sa->requests + sa->replayed + sa->segments_in +
                                 sa->reports_answered + sa->dropped_malformed + sa->dropped_stray;
  const std::uint64_t ignored =
      sa->dropped_not_ready + sa->dropped_sm_key + sa->dropped_unanswerable + sa->under_way;
  const std::uint64_t outstanding =
      sa->reports - std::min(sa->reports, sa->reports_answered + sa->reports_failed);
  return text + fmt::format(
                    "   SA MADs outstanding            : {}\n"
                    "   SA MADs rcvd                   : {}\n"
                    "   SA MADs sent                   : {}\n"
                    "   SA unknown MADs rcvd           : {}\n"
                    "   SA MADs ignored                : {}\n",
                    outstanding, received, sa->answers + sa->segments + sa->reports,
                    sa->dropped_malformed + sa->dropped_stray, ignored);
}

std::string flags_text(const View& view) {
  const bool is_first = !view.snapshot;
  return fmt::format(
      "\n   Subnet flags\n"
      "   ------------\n"
      "   Sweeping enabled               : {:d}\n"
      "   Sweep interval (seconds)       : {}\n"
      "   Ignore existing lfts           : 0\n"
      "   Subnet Init errors             : {:d}\n"
      "   In sweep hop 0                 : 0\n"
      "   First time master sweep        : {:d}\n"
      "   Coming out of standby          : 0\n",
      view.sweeping, std::chrono::duration_cast<std::chrono::seconds>(view.sweep_interval).count(),
      view.snapshot && !view.snapshot->up, is_first);
}

std::string managers_text(const View& view) {
  std::string text = fmt::format(
      "\n   Known SMs\n"
      "   ---------\n"
      "   Port GUID       SM State    Priority\n"
      "   ---------       --------    --------\n"
      "   0x{:x} {} {}        SELF\n",
      view.sm_status.guid.value, state_text(view.sm_status.state), view.sm_status.priority);
  for (const auto& other : view.other_sms)
    text += fmt::format("   0x{:x} {} {}\n", other.guid.value, state_text(other.sm_state),
                        other.priority);
  return text;
}

}  // namespace

Outcome status(const View& view, Words words) {
  const bool loops = !words.empty() && words.front() == "loop";
  if (!words.empty() && !loops) return usage("Invalid status command", "status");
  Outcome outcome{(loops ? "Looping on status command...\n" : "") + head(view) +
                  counters_line(view) + mads_text(view) + flags_text(view) + managers_text(view) +
                  '\n'};
  outcome.loops = loops;
  return outcome;
}

}  // namespace sm::console
