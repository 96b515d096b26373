// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include <utility>

#include "libdiag/base/text.h"
#include "libdiag/mad/describe.h"
#include "libdiag/mad/tap/taps.h"
#include "libdiag/wire/registry.h"

namespace ib::mad {

TracePort::TracePort(Port& behind, Sink sink, Clock clock, bool bodies)
    : TapPort(behind),
      sink_(std::move(sink)),
      clock_(std::move(clock)),
      start_(clock_()),
      bodies_(bodies) {}

std::vector<std::string> trace_lines(char direction, const Packet& packet, bool body,
                                     const char* remark) {
  const wire::Mad& mad = packet.mad;
  // Only the lower half of the TID is ours; the kernel puts its own mark into the upper.
  std::string line = fmt::format("{} {} {} {} tid 0x{:08x}", direction, describe(mad),
                                 direction == '>' ? "to" : "from", target_name(packet.address, mad),
                                 static_cast<std::uint32_t>(mad.tid().value));
  if (mad.attribute_modifier() != 0) line += fmt::format(" mod 0x{:x}", mad.attribute_modifier());
  if (wire::is_response(mad.method())) line += fmt::format(" status 0x{:04x}", mad.status());
  if (!packet.more.empty()) line += fmt::format(" and {} bytes more", packet.more.size());
  line += remark;
  std::vector<std::string> lines{std::move(line)};
  if (!body) return lines;
  const std::string fields = wire::dump(mad);
  for (const std::string_view field : split(fields, '\n'))
    if (!field.empty()) lines.push_back("    " + std::string(field));
  return lines;
}

void TracePort::print(char direction, const Packet& packet, const char* remark) {
  const double seconds = std::chrono::duration<double>(clock_() - start_).count();
  auto lines = trace_lines(direction, packet, bodies_, remark);
  lines.front() = fmt::format("{:.6f} {}", seconds, lines.front());
  for (const std::string& line : lines) sink_(line);
}

Result<void> TracePort::send(AgentId agent, const Packet& packet, Duration reply_within) {
  auto sent = behind_.send(agent, packet, reply_within);
  print('>', packet, sent ? "" : ", refused");
  return sent;
}

Result<void> TracePort::receive(std::vector<Received>& out, Duration wait) {
  const std::size_t first = out.size();
  auto got = behind_.receive(out, wait);
  for (std::size_t i = first; i < out.size(); ++i)
    print('<', out[i].packet, out[i].timed_out ? ", given back unanswered" : "");
  return got;
}

}  // namespace ib::mad
