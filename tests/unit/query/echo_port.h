// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A port whose far end is a function of the test's.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "libdiag/mad/transport.h"
#include "libdiag/wire/gmp_attributes.h"

namespace ib::query::test {

/// A port that hands every request to a function and its answer back.
class Echo final : public mad::Port {
 public:
  using Answer = std::function<std::optional<mad::Packet>(const mad::Packet&)>;
  explicit Echo(Answer answer) : answer_(std::move(answer)) {}
  Result<mad::PortFacts> facts() override { return facts_now; }
  Result<mad::AgentId> register_agent(const mad::AgentSpec& spec) override {
    specs.push_back(spec);
    return static_cast<mad::AgentId>(specs.size());
  }
  Result<void> send(mad::AgentId agent, const mad::Packet& packet, Duration) override {
    sent.push_back(packet);
    if (auto answer = answer_(packet)) waiting_.push_back({agent, false, *answer});
    return {};
  }
  Result<void> receive(std::vector<mad::Received>& out, Duration wait) override {
    if (waiting_.empty()) now = now + wait;
    out.insert(out.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
    return {};
  }
  int readable_fd() const override { return -1; }

  mad::PortFacts facts_now;
  std::vector<mad::AgentSpec> specs;
  std::vector<mad::Packet> sent;
  Instant now{1};

 private:
  Answer answer_;
  std::vector<mad::Received> waiting_;
};

inline mad::Packet answer_to(const mad::Packet& request, wire::Method method,
                             std::uint16_t status = 0) {
  mad::Packet answer = request;
  answer.mad.set<&wire::MadHeader::method>(method);
  answer.mad.set<&wire::MadHeader::status>(status);
  return answer;
}

/// A table as the kernel delivers it: headers once, then records `stride` bytes apart.
template <class Record>
mad::Packet table_answer(const mad::Packet& request, const std::vector<Record>& records,
                         std::size_t stride, wire::Method method = wire::Method::GetTableResp) {
  auto answer = answer_to(request, method);
  std::vector<std::byte> data(records.size() * stride);
  for (std::size_t i = 0; i < records.size(); ++i)
    wire::encode(records[i], data.data() + i * stride);
  const auto first = std::min(data.size(), wire::kSaDataBytes);
  std::fill_n(answer.mad.data(), wire::kSaDataBytes, std::byte{0});
  std::copy_n(data.begin(), first, answer.mad.data());
  answer.more.assign(data.begin() + static_cast<std::ptrdiff_t>(first), data.end());
  answer.mad.set<&wire::SaHeader::attribute_offset>(
      static_cast<std::uint16_t>(records.empty() ? 0 : stride / 8));
  wire::RmppHeader header;
  header.version = header.type = 1;
  header.active = header.first = true;
  header.last = answer.more.empty();
  header.data1 = 1;
  header.data2 = static_cast<std::uint32_t>(20 + data.size());
  wire::encode(header, answer.mad.bytes.data());
  return answer;
}

}  // namespace ib::query::test
