// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What ibtracer prints: text for people, one JSON document for scripts (doc/formats.md,
// "ibtracer").
#pragma once

#include <string>

#include "tools/ibtracer/trace.h"

namespace ibtracer {

inline constexpr const char* kSchema = "ibkit.ibtracer/2";

/// The word for what an agent said: "answered", "no agent (0x000C)", "agent timeout", ...
std::string_view agent_word(AgentWord word);
/// VERIFIED, PARTLY VERIFIED, MISMATCH or BROKEN.
std::string_view verdict_word(Verdict verdict);
int exit_status(Verdict verdict);

/// Lines of every trace; the last begins with VERIFIED, PARTLY VERIFIED, MISMATCH or BROKEN.
/// Without `verbose` a trace that is whole is that line alone; a broken or contradicted one shows
/// its hops always.
std::string text_report(const TraceReport& report, bool verbose);

/// One JSON document, newline at the end. `lid` is the target.
std::string json_report(const TraceReport& report, ib::Lid lid);

/// 0 verified, 1 mismatch or broken, 3 some hop has no proof.
int exit_status(const TraceReport& report);

}  // namespace ibtracer
