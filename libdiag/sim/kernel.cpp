// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/sim/kernel.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "libdiag/sim/kernel_impl.h"

namespace ib::sim {

HostKernel::HostKernel(Attachment& port) : impl_(std::make_unique<Impl>(port)) {}
HostKernel::~HostKernel() = default;

FileId HostKernel::open(Reader* reader) {
  auto& closed = impl_->files_closed;
  auto& files = impl_->files;
  if (closed.empty()) {
    closed.push_back(static_cast<FileId>(files.size()));
    files.emplace_back();
  }
  const FileId id = closed.back();
  closed.pop_back();
  files[id] = std::make_unique<File>();
  files[id]->reader = reader;
  return id;
}

void HostKernel::close(FileId id) {
  const auto file = std::exchange(impl_->files[id], nullptr);
  if (!file) return;
  for (Agent* agent : file->agents) {
    if (agent != nullptr) impl_->remove_agent(*agent);
  }
  impl_->files_closed.push_back(id);
}

std::int32_t HostKernel::register_agent(FileId file, const Registration& wanted) {
  return impl_->add_agent(impl_->file_at(file), wanted);
}

int HostKernel::set_receive_threshold(FileId file, std::uint32_t mads) {
  if (!impl_->port.has_receive_thresholds()) return -kEopnotsupp;
  impl_->file_at(file).threshold = mads;
  return 0;
}
ReceiveQueue HostKernel::receive_queue(FileId id) const {
  const File& file = impl_->file_at(id);
  const std::size_t with_reader = file.reader != nullptr ? file.reader->unread(0) : 0;
  return {file.threshold, file.unread.size() + with_reader, file.dropped};
}
bool HostKernel::has_sa_congestion() const { return impl_->port.has_sa_congestion(); }
const mad::SaLimits& HostKernel::sa_limits() const { return impl_->congestion.limits(); }
void HostKernel::set_sa_limits(const mad::SaLimits& limits) {
  impl_->congestion.set_limits(limits);
}
std::uint64_t HostKernel::sa_drops() const { return impl_->congestion.drops(); }
void HostKernel::reset_sa_drops() { impl_->congestion.reset_drops(); }

void HostKernel::reset_dropped(FileId file) { impl_->file_at(file).dropped = 0; }

int HostKernel::unregister_agent(FileId file, std::int32_t agent) {
  if (agent < 0 || agent >= kAgentsPerFile) return -kEinval;
  Agent*& place = impl_->file_at(file).agents[static_cast<std::size_t>(agent)];
  if (place == nullptr) return -kEinval;
  impl_->remove_agent(*std::exchange(place, nullptr));
  return 0;
}

int HostKernel::send(Instant now, FileId file, UserMad& mad) {
  return impl_->send(now, impl_->file_at(file), mad);
}

const UserMad* HostKernel::front(FileId file) const {
  const Unread& unread = impl_->file_at(file).unread;
  return unread.empty() ? nullptr : &unread.front().mad;
}

UserMad HostKernel::take(FileId file) {
  Unread& unread = impl_->file_at(file).unread;
  assert(!unread.empty());
  UserMad taken = std::move(unread.front().mad);
  pop(file);
  return taken;
}

void HostKernel::pop(FileId file) {
  File& of = impl_->file_at(file);
  assert(!of.unread.empty());
  if (const std::uint8_t qp = of.unread.front().qp; qp < 2) --of.unread_of[qp];
  of.unread.pop();
}

void HostKernel::on_delivery(Instant now, const Delivery& delivery) {
  impl_->on_delivery(now, delivery);
}

void HostKernel::advance(Instant now) {
  Requests& requests = impl_->requests;
  impl_->give_up_waiting(now);
  while (requests.next_deadline() <= now) impl_->on_time_out(now, requests.next_due());
  impl_->send_waiting(now);
  for (Agent* agent : impl_->receiving) {
    if (agent->receiver->next_deadline() > now) continue;
    agent->receiver->on_time(now);
    impl_->pump_receiver(now, *agent);
  }
}

Instant HostKernel::next_event() const {
  Instant next = std::min(impl_->requests.next_deadline(), impl_->congestion.next_deadline());
  for (const Agent* agent : impl_->receiving) {
    next = std::min(next, agent->receiver->next_deadline());
  }
  return next;
}

IssmId HostKernel::issm_open(Instant now) {
  const IssmId id = impl_->next_issm++;
  impl_->issm.push_back(id);
  if (impl_->issm.size() == 1) impl_->port.set_is_sm(now, true);
  return id;
}
bool HostKernel::issm_granted(IssmId id) const {
  return !impl_->issm.empty() && impl_->issm.front() == id;
}
void HostKernel::issm_close(Instant now, IssmId id) {
  const bool held = issm_granted(id);
  std::erase(impl_->issm, id);
  if (!held) return;
  impl_->port.set_is_sm(now, false);
  if (!impl_->issm.empty()) impl_->port.set_is_sm(now, true);
}
bool HostKernel::issm_busy() const { return !impl_->issm.empty(); }

const KernelCounters& HostKernel::counters() const { return impl_->counters; }

void ModelAttachment::transmit(Instant now, bool smi, const mad::Packet& packet) {
  model_.send(now, port_, smi, packet);
}
void ModelAttachment::set_is_sm(Instant now, bool on) { model_.set_is_sm(now, port_, on); }
std::uint8_t ModelAttachment::lmc() const { return model_.port_info(port_).lmc; }
bool ModelAttachment::is_switch() const { return model_.topology().node(port_.node).is_switch(); }
std::uint32_t ModelAttachment::receive_queue() const { return model_.faults().receive_queue; }
bool ModelAttachment::has_receive_thresholds() const { return model_.faults().receive_thresholds; }
bool ModelAttachment::has_sa_congestion() const { return model_.faults().sa_congestion; }

}  // namespace ib::sim
