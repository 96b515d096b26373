// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "agent/options.h"

#include <CLI/CLI.hpp>

namespace agent {

std::variant<Options, int> parse_options(int argc, char** argv) {
  Options o;
  CLI::App app{
      "Answer ibtracer (class 0x30) and ibping (class 0x32) on every InfiniBand port of this host.",
      "ibtracerd"};
  app.set_version_flag("--version", std::string("ibtracerd ") + IBKIT_VERSION);
  app.add_option("-C,--device", o.device, "serve this device only")->type_name("DEVICE");
  app.add_option("-P,--port", o.port, "serve this port number only")
      ->check(CLI::Range(0, 254))
      ->type_name("PORT");
  app.add_option("--user", o.user, "user to become once the devices are open")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--host", o.host, "name to answer ping with (default: host name and domain)")
      ->type_name("NAME");
  app.add_option("--source-rate", o.source_rate, "answers a second to one source")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  app.add_option("--total-rate", o.total_rate, "answers a second in all")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  app.footer("exit status: 0 ended by a signal, 2 usage, 4 cannot run");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  return o;
}

}  // namespace agent
