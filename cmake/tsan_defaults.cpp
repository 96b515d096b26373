// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What ThreadSanitizer is not to report: Debian's oneTBB is built without it, so the order that its
// scheduler keeps between a task and what came before is invisible, and every task looks like a
// race.

extern "C" const char* __tsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libtbb.so\n"
         "race:tbb::detail\n";
}
