// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/common/connection.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "libdiag/mad/tap/taps.h"
#include "libdiag/mad/umad/umad_port.h"

namespace ib::tools {

struct Connection::Impl {
  std::unique_ptr<mad::UmadPort> umad;
  std::unique_ptr<mad::TracePort> trace;  // -vv
  mad::Port* port{};                      // the foremost of them
  mad::PortFacts facts;
  std::unique_ptr<mad::Session> session;
};

Connection::Connection() : impl_(std::make_unique<Impl>()) {}
Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::open(const cli::CommonOptions& options) {
  return open(options, transactor_options(options));
}

Result<std::unique_ptr<Connection>> Connection::open(const cli::CommonOptions& options,
                                                     const mad::TransactorOptions& transactor) {
  mad::PortChoice choice;
  choice.device = options.device;
  if (options.port != 0) choice.number = static_cast<std::uint8_t>(options.port);
  choice.receive_threshold = options.rx_threshold;
  auto port = mad::UmadPort::open(choice);
  if (!port) return tl::unexpected<Error>(std::move(port.error()));
  auto facts = (*port)->facts();
  if (!facts) return tl::unexpected<Error>(std::move(facts.error()));
  std::unique_ptr<Connection> connection(new Connection);
  Impl& impl = *connection->impl_;
  impl.umad = std::move(*port);
  impl.port = impl.umad.get();
  if (options.verbose > 1) {
    const auto to_stderr = [](const std::string& line) {
      std::fprintf(stderr, "%s\n", line.c_str());
    };
    impl.trace =
        std::make_unique<mad::TracePort>(*impl.umad, to_stderr, monotonic_now, options.verbose > 2);
    impl.port = impl.trace.get();
  }
  impl.facts = std::move(*facts);
  impl.session = std::make_unique<mad::Session>(*impl.port, transactor);
  return connection;
}

mad::Port& Connection::port() { return *impl_->port; }
mad::Session& Connection::session() { return *impl_->session; }
const mad::PortFacts& Connection::facts() const { return impl_->facts; }

mad::TransactorOptions transactor_options(const cli::CommonOptions& options) {
  mad::TransactorOptions result;
  result.window = options.outstanding;
  result.window_per_target = std::min(result.window_per_target, options.outstanding);
  result.timeout_ceiling = std::chrono::milliseconds(options.timeout_ms);
  return result;
}

}  // namespace ib::tools
