// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "agent/service.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace agent {

using ib::mad::AgentSpec;

ib::Result<void> register_classes(ib::mad::Port& port) {
  for (const auto mgmt_class :
       {ib::wire::MgmtClass::VendorIbtracer, ib::wire::MgmtClass::VendorPing}) {
    AgentSpec spec;
    spec.mgmt_class = mgmt_class;
    spec.oui = ib::wire::kOpenIbOui;
    spec.methods = {ib::wire::Method::Get};
    if (const auto agent = port.register_agent(spec); !agent) return tl::unexpected(agent.error());
  }
  return {};
}

namespace {

ib::Result<void> serve_port(ServedPort& served, Responder& responder,
                            std::vector<ib::mad::Received>& arrived, ib::Duration wait) {
  arrived.clear();
  if (auto got = served.port->receive(arrived, wait); !got) return got;
  const ib::Instant now = ib::monotonic_now();
  for (const auto& received : arrived) {
    if (received.timed_out) continue;
    const auto reply = responder.answer(now, served.ingress, received.packet);
    if (!reply) continue;
    // A failed answer is the asker's loss: it retries. The port itself is judged by receive().
    (void)served.port->send(received.agent, *reply, ib::Duration{0});
  }
  return {};
}

}  // namespace

ib::Result<void> serve(std::vector<ServedPort>& ports, Responder& responder, int stop_fd) {
  std::vector<pollfd> fds;
  fds.push_back({stop_fd, POLLIN, 0});
  bool all_pollable = true;
  for (const auto& served : ports) {
    const int fd = served.port->readable_fd();
    if (fd >= 0) fds.push_back({fd, POLLIN, 0});
    all_pollable = all_pollable && fd >= 0;
  }
  // Where a port has no descriptor to wait on (ibsim), its receive() does the waiting, in turns.
  const ib::Duration turn = all_pollable ? ib::Duration{0} : std::chrono::milliseconds(20);
  std::vector<ib::mad::Received> arrived;
  for (;;) {
    if (::poll(fds.data(), fds.size(), all_pollable ? -1 : 0) < 0 && errno != EINTR)
      return ib::fail(ib::ErrorKind::Io, std::string("wait for MADs: ") + std::strerror(errno));
    if (fds[0].revents != 0) return {};
    for (auto& served : ports) {
      if (auto done = serve_port(served, responder, arrived, turn); !done) {
        done.error().message = "receive on " + served.name + ": " + done.error().message;
        return done;
      }
    }
  }
}

}  // namespace agent
