// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibtracerd: opens every port, gives up root, answers.
#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "agent/options.h"
#include "agent/privileges.h"
#include "agent/service.h"
#include "libdiag/base/output.h"
#include "libdiag/cli/exit_status.h"
#include "libdiag/cli/service_manager.h"
#include "libdiag/mad/umad/umad_port.h"

namespace {

int complain(const ib::Error& error) { return ib::cli::complain("ibtracerd", error); }

/// "host.domain", as stock `ibping -S` answers.
std::string host_and_domain() {
  char host[128] = {};
  char domain[128] = {};
  if (::gethostname(host, sizeof host - 1) != 0) return "unknown";
  if (::getdomainname(domain, sizeof domain - 1) != 0) domain[0] = '\0';
  const std::string name = domain;
  return name.empty() || name == "(none)" ? std::string(host) : std::string(host) + "." + name;
}

ib::Result<agent::ServedPort> open_port(const agent::Options& options,
                                        const ib::mad::PortFacts& facts) {
  ib::mad::PortChoice choice;
  choice.device = facts.device;
  choice.number = facts.port_num;
  choice.receive_threshold = options.rx_threshold;
  auto port = ib::mad::UmadPort::open(choice, ib::mad::UmadPort::Receiving::Thread);
  if (!port) return tl::unexpected(port.error());
  if (auto registered = agent::register_classes(**port); !registered)
    return tl::unexpected(registered.error());
  agent::ServedPort one;
  one.port = std::move(*port);
  // A CA's umad device belongs to one port; a switch's, port 0, does not say where a MAD came in.
  one.ingress = {facts.port_num, facts.port_num != 0, facts.node_guid, facts.port_guid};
  one.name = fmt::format("{}/{}", facts.device, facts.port_num);
  return one;
}

/// A port that cannot be served (the SMP half of a multi-plane device has no QP1; another program
/// has a class) keeps none of the others from it.
ib::Result<std::vector<agent::ServedPort>> open_ports(const agent::Options& options,
                                                      const std::vector<ib::mad::PortFacts>& all) {
  std::vector<agent::ServedPort> served;
  std::vector<ib::Error> left_out;
  for (const ib::mad::PortFacts& facts : all) {
    if (!options.device.empty() && facts.device != options.device) continue;
    if (options.port != 0 && facts.port_num != options.port) continue;
    if (auto one = open_port(options, facts)) {
      served.push_back(std::move(*one));
    } else {
      left_out.push_back(std::move(one.error()));
    }
  }
  if (!served.empty()) {
    for (const ib::Error& error : left_out)
      fmt::print(stderr, "ibtracerd: a port is left out: {}\n", error.message);
    return served;
  }
  if (!left_out.empty()) return tl::unexpected(std::move(left_out.front()));
  // Opening what was asked for finds the words for why there is nothing.
  ib::mad::PortChoice choice;
  choice.device = options.device;
  if (options.port != 0) choice.number = static_cast<std::uint8_t>(options.port);
  auto port = ib::mad::UmadPort::open(choice);
  if (!port) return tl::unexpected(port.error());
  return ib::fail(ib::ErrorKind::Unavailable, "no such InfiniBand port");
}

/// SIGTERM and SIGINT as a descriptor; blocked before any thread starts, so that all inherit it.
int stop_descriptor() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  return ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace

int main(int argc, char** argv) {
  ib::hold_standard_files();
  const auto parsed = agent::parse_options(argc, argv);
  if (const int* status = std::get_if<int>(&parsed)) return *status;
  const auto& options = std::get<agent::Options>(parsed);

  // While signals still end the process: under ibsim without a server this waits for ever.
  const auto all = ib::mad::list_umad_ports();
  if (!all) return complain(all.error());
  const int stop_fd = stop_descriptor();
  if (stop_fd < 0) {
    std::perror("ibtracerd: signalfd");
    return ib::cli::kExitCannotRun;
  }
  auto ports = open_ports(options, *all);
  if (!ports) return complain(ports.error());
  if (const auto dropped = agent::drop_privileges(options.user); !dropped)
    return complain(dropped.error());

  agent::ResponderOptions responder_options;
  responder_options.host = options.host.empty() ? host_and_domain() : options.host;
  responder_options.source_rate = options.source_rate;
  responder_options.total_rate = options.total_rate;
  agent::Responder responder(responder_options);
  std::vector<agent::Ingress> served_ports;
  for (const agent::ServedPort& one : *ports) served_ports.push_back(one.ingress);
  responder.set_ports(std::move(served_ports));

  fmt::print("ibtracerd: ready ports={}\n", ports->size());
  std::fflush(stdout);
  ib::cli::tell_service_manager("READY=1");

  const auto served = agent::serve(*ports, responder, stop_fd);
  const auto& c = responder.counters();
  fmt::print("ibtracerd: done answered={} mismatches={} limited={} ignored={} refused={}\n",
             c.answered, c.mismatches, c.limited, c.ignored, c.refused);
  if (!served) return complain(served.error());
  return 0;
}
