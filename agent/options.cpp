// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "agent/options.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "libdiag/base/output.h"
#include "libdiag/base/text.h"

namespace agent {
namespace {

/// CLI::Range takes "nan" for a number in any range.
std::function<std::string(const std::string&)> number_from(double min, double max) {
  return [min, max](const std::string& text) { return ib::range_complaint(text, min, max); };
}

}  // namespace

std::variant<Options, int> parse_options(int argc, char** argv) {
  Options o;
  CLI::App app{
      "Answer ibtracer (class 0x30) and ibping (class 0x32) on every InfiniBand port of this host.",
      "ibtracerd"};
  app.set_version_flag("--version", std::string("ibtracerd ") + IBKIT_VERSION);
  app.add_option("-C,--device", o.device, "serve this device only")->type_name("DEVICE");
  app.add_option("-P,--port", o.port, "serve this port number only")
      ->check(number_from(0, 254))
      ->type_name("PORT");
  app.add_option("--user", o.user, "user to become once the devices are open")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--host", o.host, "name to answer ping with (default: host name and domain)")
      ->type_name("NAME");
  app.add_option("--source-rate", o.source_rate, "answers a second to one source")
      ->check(number_from(1, 1e6))
      ->capture_default_str();
  app.add_option("--total-rate", o.total_rate, "answers a second in all")
      ->check(number_from(1, 1e6))
      ->capture_default_str();
  app.footer("exit status: 0 ended by a signal, 2 usage, 4 cannot run");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {
      app.exit(e);  // prints
      const auto whole = ib::finish_output();
      if (whole) return 0;
      std::fprintf(stderr, "ibtracerd: %s\n", whole.error().message.c_str());
      return 4;
    }
    std::fprintf(stderr, "ibtracerd: %s\nTry 'ibtracerd --help'.\n", e.what());
    return 2;
  }
  return o;
}

}  // namespace agent
