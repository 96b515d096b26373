// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Speaks to whatever serves libibumad: prints the local port, asks NodeInfo of the local node and
// of its neighbour, then of the neighbour COUNT times with as many under way as allowed. For the
// interop tests, which run it on ibsim and on ibfabric.
//
//   umad_probe direct|thread COUNT [WINDOW]
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "libdiag/cli/exit_status.h"
#include "libdiag/mad/session.h"
#include "libdiag/mad/umad/umad_port.h"

namespace {

using namespace ib;
using namespace ib::mad;

int give_up(const Error& error) {
  fmt::print(stderr, "{}\n", error.message);
  return cli::status_of(error);
}

/// COUNT requests, never more than a window's worth of them submitted.
class Flood : public Exchange {
 public:
  explicit Flood(std::uint64_t count) : left_(count) {}
  std::vector<Request> take_requests() override {
    std::vector<Request> requests;
    for (; left_ > 0 && under_way_ < 512; --left_, ++under_way_)
      // Sixty-four keys, so the window of one target is not the limit.
      requests.push_back(smp_request(left_, left_ % 64, DirectedRoute{{1}}, wire::Method::Get,
                                     wire::attr::kNodeInfo, 0));
    return requests;
  }
  void on_completion(Instant, const Completion& completion) override {
    --under_way_;
    ++(completion.reply ? answered : unanswered);
  }
  bool done() const override { return left_ == 0 && under_way_ == 0; }
  std::uint64_t answered{0}, unanswered{0};

 private:
  std::uint64_t left_, under_way_{0};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto receiving = std::string_view(argv[1]) == "thread" ? UmadPort::Receiving::Thread
                                                               : UmadPort::Receiving::Direct;
  auto port = UmadPort::open({}, receiving);
  if (!port) return give_up(port.error());
  const auto facts = (*port)->facts();
  if (!facts) return give_up(facts.error());
  fmt::print("port {} {} guid {} state {}\n", facts->device, facts->port_num,
             to_string(facts->port_guid), static_cast<int>(facts->state));

  TransactorOptions options;
  if (argc > 3) options.window = static_cast<std::uint32_t>(std::atoi(argv[3]));
  Session session(**port, options);
  for (const DirectedRoute& route : {DirectedRoute{}, DirectedRoute{{1}}}) {
    auto reply =
        session.call(smp_request(0, 1, route, wire::Method::Get, wire::attr::kNodeInfo, 0));
    if (!reply) return give_up(reply.error());
    const auto info = wire::body<wire::NodeInfo>(reply->mad);
    fmt::print("node {} guid {} type {} ports {}\n", to_string(route), to_string(info.node_guid),
               static_cast<int>(info.node_type), info.num_ports);
  }

  Flood flood(static_cast<std::uint64_t>(std::atoll(argv[2])));
  const Instant start = monotonic_now();
  if (auto ran = session.run(flood); !ran) return give_up(ran.error());
  const double seconds = std::chrono::duration<double>(monotonic_now() - start).count();
  const auto& c = session.transactor().counters();
  fmt::print("answered {} unanswered {}\n", flood.answered, flood.unanswered);
  fmt::print(stderr, "{:.0f} a second, {} retries, {} spurious, window {}\n",
             static_cast<double>(flood.answered) / seconds, c.retries, c.spurious_retries,
             session.transactor().window());
  return flood.unanswered == 0 ? 0 : 1;
}
