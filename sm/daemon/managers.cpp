// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/managers.h"

#include <algorithm>
#include <utility>

#include "libdiag/mad/tap/taps.h"
#include "sm/daemon/counted_windows.h"

namespace sm::daemon {
namespace {

using ib::Instant;

/// Timeouts and attempts are those of SMPs; the window is our own, since `--maxsmps` is about
/// VL15.
ib::mad::TransactorOptions transactor_options(const DaemonOptions& options,
                                              const ib::mad::UmadPort& port) {
  ib::mad::TransactorOptions transactor = options.core.transactor;
  transactor.window = ib::mad::TransactorOptions{}.window;
  if (const std::uint32_t most = port.window_max(); most != 0)
    transactor.window = std::min(transactor.window, most);
  return transactor;
}

/// As many as perfmgr_max_outstanding_queries, one to an agent: the places that the kernel has for
/// answers are of SMPs and of subnet administration.
ib::mad::TransactorOptions reader_options(const DaemonOptions& options,
                                          const ib::mad::UmadPort& port) {
  ib::mad::TransactorOptions transactor = transactor_options(options, port);
  transactor.window = static_cast<std::uint32_t>(
      std::min<std::size_t>(options.performance->outstanding, UINT32_MAX));
  if (const std::uint32_t most = port.window_max(); most != 0)
    transactor.window = std::min(transactor.window, most);
  transactor.awaited_most = 0;
  return transactor;
}

}  // namespace

ib::Result<std::unique_ptr<Managers>> Managers::open(const DaemonOptions& options,
                                                     const ib::mad::PortChoice& choice,
                                                     LogFile& log) {
  if (!options.congestion && !options.performance) return nullptr;
  auto port = ib::mad::UmadPort::open(choice, ib::mad::UmadPort::Receiving::EventLoop);
  if (!port) return tl::unexpected<ib::Error>(std::move(port.error()));
  std::unique_ptr<Managers> made(new Managers(transactor_options(options, **port), log));
  if (options.performance)
    made->readers_ = managers::ClientChannel(reader_options(options, **port));
  made->channel_.port = *std::move(port);
  made->add_managers(options);
  for (const auto* machines : {&made->setters_, &made->readers_})
    for (const ib::mad::AgentSpec& agent : machines->agents())
      if (auto served = made->channel_.serve(agent); !served)
        return tl::unexpected<ib::Error>(std::move(served.error()));
  made->channel_.watch = [&log](char direction, const ib::mad::Packet& packet) {
    if (log.writes_frames())
      for (const std::string& line : ib::mad::trace_lines(direction, packet, true))
        log.write_frame(line);
  };
  return made;
}

void Managers::add_managers(const DaemonOptions& options) {
  if (options.congestion) {
    auto congestion = std::make_unique<managers::CongestionManager>(*options.congestion);
    congestion_ = congestion.get();
    setters_.add(std::move(congestion));
  }
  if (options.performance) {
    auto with_clock = *options.performance;
    with_clock.windows.wall_at_zero =
        std::chrono::system_clock::now().time_since_epoch() - (ib::monotonic_now() - Instant{});
    auto performance = std::make_unique<managers::performance::PerformanceManager>(with_clock);
    performance_ = performance.get();
    readers_.add(std::move(performance));
  }
}

void Managers::set_options(const DaemonOptions& options) {
  if (congestion_ != nullptr && options.congestion) congestion_->set_settings(*options.congestion);
  if (performance_ != nullptr && options.performance)
    performance_->set_error_thresholds(options.performance->windows.thresholds);
}

void Managers::resume(Instant now, const store::Contents& contents) {
  if (performance_ == nullptr || !performance_->options().stores) return;
  const auto& windows = performance_->options().windows;
  performance_->resume(now, stored_windows(contents.counted_windows, windows.wall_at_zero));
}

store::Batch Managers::take_counted() {
  // LIDs wait for what is written at the time, and for no more than that.
  constexpr std::size_t kPortsAtATime = 2048;
  if (performance_ == nullptr || !performance_->options().stores) return {};
  return batch_of(performance_->take_unstored(kPortsAtATime),
                  performance_->options().windows.wall_at_zero);
}

std::vector<managers::performance::ErrorChange> Managers::take_error_changes() {
  if (performance_ == nullptr) return {};
  return performance_->take_error_changes();
}

std::optional<managers::CongestionChange> Managers::take_congestion_change() {
  if (congestion_ == nullptr) return std::nullopt;
  return congestion_->take_change();
}

void Managers::on_subnet_up(Instant now, const SnapshotPtr& subnet) {
  setters_.on_subnet_up(now, subnet);
  readers_.on_subnet_up(now, subnet);
}

void Managers::on_watched(Instant now, const core::Watched& watched) {
  readers_.on_watched(now, watched.subnet, watched.master);
}

ib::Result<void> Managers::listen(Instant now) {
  if (auto got = channel_.receive(); !got) return got;
  for (const auto& r : channel_.arrived) {
    if (r.timed_out) continue;
    const bool for_readers = r.packet.mad.mgmt_class() == ib::wire::MgmtClass::Perf;
    (for_readers ? readers_ : setters_).on_packet(now, r.packet);
  }
  return {};
}

void Managers::speak(Instant now) {
  if (is_master_) speak(now, setters_);
  speak(now, readers_);
}

void Managers::speak(Instant now, managers::ClientChannel& machines) {
  if (machines.next_deadline() <= now) machines.on_time(now);
  while (const auto order = machines.next_send(now))
    if (auto sent = channel_.send({order->address, order->mad, order->more}, order->reply_within);
        !sent)
      machines.on_send_failed(*order, std::move(sent.error()));
  while (const auto event = machines.next_log()) log_.write(*event);
}

Instant Managers::next_deadline() const {
  if (performance_ != nullptr && performance_->has_unstored()) return Instant{};
  const Instant readers = readers_.next_deadline();
  return is_master_ ? std::min(readers, setters_.next_deadline()) : readers;
}

}  // namespace sm::daemon
