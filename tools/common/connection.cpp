// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/common/connection.h"

#include <algorithm>
#include <chrono>

#include "libdiag/mad/umad/umad_port.h"

namespace ib::tools {

struct Connection::Impl {
  std::unique_ptr<mad::UmadPort> port;
  mad::PortFacts facts;
  std::unique_ptr<mad::Session> session;
};

Connection::Connection() : impl_(std::make_unique<Impl>()) {}
Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::open(const CommonOptions& options) {
  mad::PortChoice choice;
  choice.device = options.device;
  if (options.port != 0) choice.number = static_cast<std::uint8_t>(options.port);
  auto port = mad::UmadPort::open(choice);
  if (!port) return tl::unexpected<Error>(std::move(port.error()));
  auto facts = (*port)->facts();
  if (!facts) return tl::unexpected<Error>(std::move(facts.error()));
  std::unique_ptr<Connection> connection(new Connection);
  connection->impl_->port = std::move(*port);
  connection->impl_->facts = std::move(*facts);
  connection->impl_->session =
      std::make_unique<mad::Session>(*connection->impl_->port, transactor_options(options));
  return connection;
}

mad::Port& Connection::port() { return *impl_->port; }
mad::Session& Connection::session() { return *impl_->session; }
const mad::PortFacts& Connection::facts() const { return impl_->facts; }

mad::TransactorOptions transactor_options(const CommonOptions& options) {
  mad::TransactorOptions result;
  result.window = options.outstanding;
  result.window_per_target = std::min(result.window_per_target, options.outstanding);
  result.timeout_ceiling = std::chrono::milliseconds(options.timeout_ms);
  return result;
}

}  // namespace ib::tools
