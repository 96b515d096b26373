// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the sanitizers are not to report, since it is not ours.

// NOLINTBEGIN(bugprone-reserved-identifier): the sanitizers' names
#if defined(__SANITIZE_ADDRESS__)
// Graphviz 2.42's pango plugin remembers a font's name that its owner has freed, and compares the
// next one with it. libumad2sim 0.10 has 288 bytes of a MAD it received and copies out the 320 that
// umad_recv asks for.
extern "C" const char* __asan_default_suppressions();
extern "C" const char* __asan_default_suppressions() {
  return "interceptor_via_lib:libgvplugin_pango.so\n"
         "interceptor_via_lib:libumad2sim.so\n";
}
// What Graphviz, the libraries that measure its letters and libibnetdisc keep until the process
// ends.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfontconfig.so\n"
         "leak:libglib-2.0.so\n"
         "leak:libgvc.so\n"
         "leak:libibnetdisc.so\n";
}
// A program says no more than without a sanitizer.
extern "C" const char* __lsan_default_options();
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }
#endif
#if defined(__SANITIZE_THREAD__)
// libumad2sim 0.10 has races between its thread and its callers. Already the report of one would
// never end: it opens the program for its symbols, by the library's open(), which waits for the
// lock that the reporting thread holds.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libumad2sim.so\n"; }
#endif
// NOLINTEND(bugprone-reserved-identifier)
