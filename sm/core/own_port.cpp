// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/own_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "libdiag/base/text.h"
#include "libdiag/fabric/labels.h"
#include "libdiag/wire/words.h"

namespace sm::core {
namespace {

using ib::wire::Method;
using ib::wire::PKeyTable;
using ib::wire::PortInfo;
using ib::wire::PortState;
using plan::PortWant;
namespace attr = ib::wire::attr;

/// Forged traps about this port cause no more than ten looks a second.
constexpr ib::Duration kPause = std::chrono::milliseconds(100);
constexpr std::size_t kKeysInBlock = 32;

/// What is told of a field that differs.
struct FieldRow {
  const char* name;
  const char* format;  // empty: its values are nobody's business
  std::uint64_t (*wanted)(const PortWant&);
  std::uint64_t (*held)(const PortInfo&);
};
constexpr FieldRow kFields[] = {
    {"LID", "{}", [](const PortWant& w) -> std::uint64_t { return w.lid.value; },
     [](const PortInfo& i) -> std::uint64_t { return i.lid.value; }},
    {"LMC", "{}", [](const PortWant& w) -> std::uint64_t { return w.lmc; },
     [](const PortInfo& i) -> std::uint64_t { return i.lmc; }},
    {"MasterSMLID", "{}", [](const PortWant& w) -> std::uint64_t { return w.sm_lid.value; },
     [](const PortInfo& i) -> std::uint64_t { return i.master_sm_lid.value; }},
    {"MasterSMSL", "{}", [](const PortWant& w) -> std::uint64_t { return w.sm_sl.value; },
     [](const PortInfo& i) -> std::uint64_t { return i.master_sm_sl.value; }},
    {"GidPrefix", "0x{:016x}", [](const PortWant& w) { return w.gid_prefix; },
     [](const PortInfo& i) { return i.gid_prefix; }},
    {"M_Key", "", [](const PortWant& w) { return w.m_key; },
     [](const PortInfo& i) { return i.m_key; }},
    {"M_KeyLeasePeriod", "{}", [](const PortWant& w) -> std::uint64_t { return w.m_key_lease; },
     [](const PortInfo& i) -> std::uint64_t { return i.m_key_lease_period; }},
    {"M_KeyProtectBits", "{}", [](const PortWant& w) -> std::uint64_t { return w.m_key_protect; },
     [](const PortInfo& i) -> std::uint64_t { return i.m_key_protect_bits; }},
    {"SubnetTimeOut", "{}", [](const PortWant& w) -> std::uint64_t { return w.subnet_timeout; },
     [](const PortInfo& i) -> std::uint64_t { return i.subnet_timeout; }},
};

std::string difference(const PortWant& want, const PortInfo& info) {
  std::string text;
  for (const FieldRow& row : kFields) {
    const std::uint64_t wanted = row.wanted(want), held = row.held(info);
    if (wanted == held) continue;
    if (!text.empty()) text += ", ";
    if (*row.format == '\0') {
      text += fmt::format("{} is another one", row.name);
    } else {
      text += fmt::format("{} is {}, not {}", row.name, fmt::format(fmt::runtime(row.format), held),
                          fmt::format(fmt::runtime(row.format), wanted));
    }
  }
  return text.empty() ? "fields of its link differ" : text;
}

std::string difference(const PKeyTable& want, const PKeyTable& held, std::size_t block) {
  std::string first;
  std::size_t others = 0;
  for (std::size_t i = 0; i < kKeysInBlock; ++i) {
    if (want.p_keys[i] == held.p_keys[i]) continue;
    if (!first.empty()) {
      ++others;
      continue;
    }
    first = fmt::format("P_Key {} is 0x{:04x}, not 0x{:04x}", block * kKeysInBlock + i,
                        held.p_keys[i].value, want.p_keys[i].value);
  }
  return others == 0 ? first : fmt::format("{}, and {} more differ", first, others);
}

bool is_empty(const PKeyTable& table) {
  return std::ranges::all_of(table.p_keys, [](ib::PKey key) { return key.base() == 0; });
}

}  // namespace

bool concerns(const ib::wire::Notice& notice, ib::Lid lid) {
  namespace trap = ib::wire::trap;
  if (!notice.is_generic || notice.trap_number < trap::kBadPKey ||
      notice.trap_number > trap::kSwitchBadPKey)
    return false;
  constexpr std::size_t kLidAddr2 = 4;  // of the packet's receiver (IBA 14.2.5.1)
  const auto named =
      static_cast<std::uint16_t>(notice.details[kLidAddr2] << 8 | notice.details[kLidAddr2 + 1]);
  return notice.issuer_lid == lid || named == lid.value;
}

void OwnPort::alarm(std::string message) {
  // Some host's Set did it, and nothing tells whose.
  logs_.push_back(
      {ib::LogLevel::Error, "own port", std::move(message), ib::LogCause{"own port", ib::kNoLid}});
}

void OwnPort::call_for(ib::Instant now) { due_ = std::min(due_, std::max(now, not_before_)); }

void OwnPort::begin(ib::Instant now, const ib::discover::Observed& seen,
                    const plan::Desired& desired) {
  due_ = ib::kNever;
  not_before_ = now + kPause;
  const auto at = desired.sm_port;
  const auto& node = seen.fabric.node(at.node);
  const auto info = seen.port(at).info();
  node_ = node.guid;
  name_ = ib::fabric::port_label(seen.fabric, at);
  port_ = at.port;
  // What a port does not take is the sweep's business; no key of anybody's stays.
  const PortWant& wanted = desired.ports[seen.port_index(at)];
  want_ = plan::held(wanted, info);
  want_.m_key = wanted.m_key;
  state_ = info.port_state;
  blocks_ = (seen.nodes[at.node].info.partition_cap + kKeysInBlock - 1) / kKeysInBlock;
  differences_.clear();
  take_wanted(desired);
  ask({Method::Get, attr::kPortInfo, port_});
  for (std::size_t b = 0; b < std::max<std::size_t>(p_keys_.size(), 1); ++b)
    ask({Method::Get, attr::kPKeyTable, static_cast<std::uint16_t>(b)});
}

/// Where partitions say which keys the port is to have, these are right.
void OwnPort::take_wanted(const plan::Desired& desired) {
  const auto at = desired.sm_port;
  std::vector<PKeyTable> wanted;
  for (const plan::WantedBlock& want : desired.p_key_blocks)
    if (want.node == at.node && want.slot.port == at.port)
      wanted.push_back(ib::wire::decode<PKeyTable>(want.block.data()));
  while (wanted.size() > 1 && is_empty(wanted.back())) wanted.pop_back();
  if (wanted.empty()) return;
  p_keys_ = std::move(wanted);
  learnt_ = true;
}

void OwnPort::ask(Question q, const std::byte* data) {
  const ib::mad::Cookie cookie = owner_ | static_cast<ib::mad::Cookie>(q.method) << 32 |
                                 static_cast<ib::mad::Cookie>(q.attribute) << 16 | q.modifier;
  auto request = ib::mad::smp_request(cookie, node_.value, ib::mad::DirectedRoute{}, q.method,
                                      q.attribute, q.modifier, m_key_);
  if (data != nullptr) std::copy_n(data, ib::wire::kSmpDataBytes, request.mad.data());
  queue_.push_back(std::move(request));
  ++under_way_;
}

std::vector<ib::mad::Request> OwnPort::take_requests() { return std::exchange(queue_, {}); }

void OwnPort::on_completion(const ib::mad::Completion& completion) {
  --under_way_;
  const ib::mad::Cookie c = completion.cookie - owner_;
  const Question q{static_cast<Method>(c >> 32 & 0xFF), static_cast<std::uint16_t>(c >> 16),
                   static_cast<std::uint16_t>(c)};
  if (q.method == Method::Set) return on_set(q, completion);
  if (!completion.reply) {
    if (q.attribute == attr::kPortInfo)
      alarm(
          fmt::format("our own port {} does not answer ({}): an M_Key that it does not show "
                      "would do that",
                      name_, completion.reply.error().message));
    return;
  }
  const ib::wire::Mad& mad = completion.reply->mad;
  if (mad.status() != 0) return;
  if (q.attribute == attr::kPortInfo) {
    on_port_info(mad);
  } else {
    on_p_keys(q.modifier, ib::wire::body<PKeyTable>(mad));
  }
}

void OwnPort::on_port_info(const ib::wire::Mad& answer) {
  const auto info = ib::wire::body<PortInfo>(answer);
  m_key_ = info.m_key;
  if (info.port_state < state_) {
    logs_.push_back(
        {ib::LogLevel::Warning, "own port",
         fmt::format("our own port {} is not {} any more", name_, ib::wire::state_word(state_)),
         ib::LogCause{"own port", ib::kNoLid}});
    sweep_wanted_ = true;
  }
  if (!want_.managed || plan::satisfied(want_, info)) return;
  // It may have had our own LID.
  const bool was_renumbered = info.lid.is_unicast() && info.lid != want_.lid;
  if (info.master_sm_lid != want_.sm_lid || was_renumbered) other_master_ = info.master_sm_lid;
  const Question set{Method::Set, attr::kPortInfo, port_};
  differences_[std::uint32_t{attr::kPortInfo} << 16 | port_] = difference(want_, info);
  std::array<std::byte, ib::wire::kSmpDataBytes> bytes{};
  std::copy_n(answer.data(), bytes.size(), bytes.data());
  plan::write_wanted(want_, bytes.data());
  ask(set, bytes.data());
}

void OwnPort::on_p_keys(std::uint16_t block, const PKeyTable& held) {
  if (!learnt_) return learn(block, held);
  if (block >= p_keys_.size() || held == p_keys_[block]) return;
  differences_[std::uint32_t{attr::kPKeyTable} << 16 | block] =
      difference(p_keys_[block], held, block);
  set_p_keys(block);
}

void OwnPort::learn(std::uint16_t block, const PKeyTable& held) {
  if (block == 0 || !is_empty(held)) p_keys_.push_back(held);
  if (!is_empty(held) && block + std::size_t{1} < blocks_)
    return ask({Method::Get, attr::kPKeyTable, static_cast<std::uint16_t>(block + 1)});
  learnt_ = true;
  require_default_p_key();
}

void OwnPort::require_default_p_key() {
  const auto held_in = [](const PKeyTable& table) {
    return std::ranges::find(table.p_keys, ib::kDefaultPKey) != table.p_keys.end();
  };
  if (std::ranges::any_of(p_keys_, held_in)) return;
  // In place of limited membership of the same partition, else of nothing, else of the first.
  auto& keys = p_keys_.front().p_keys;
  auto place = std::ranges::find(keys, ib::kDefaultPKey.base(), &ib::PKey::base);
  if (place == keys.end()) place = std::ranges::find(keys, 0, &ib::PKey::base);
  if (place == keys.end()) place = keys.begin();
  const PKeyTable found = p_keys_.front();
  *place = ib::kDefaultPKey;
  differences_[std::uint32_t{attr::kPKeyTable} << 16] = difference(p_keys_.front(), found, 0);
  set_p_keys(0);
}

void OwnPort::set_p_keys(std::uint16_t block) {
  std::array<std::byte, ib::wire::kSmpDataBytes> bytes{};
  ib::wire::encode(p_keys_[block], bytes.data());
  ask({Method::Set, attr::kPKeyTable, block}, bytes.data());
}

bool OwnPort::is_as_wanted(Question q, const ib::wire::Mad& answer) const {
  if (answer.status() != 0) return false;
  if (q.attribute == attr::kPortInfo)
    return plan::satisfied(want_, ib::wire::body<PortInfo>(answer));
  return ib::wire::body<PKeyTable>(answer) == p_keys_[q.modifier];
}

void OwnPort::on_set(Question q, const ib::mad::Completion& completion) {
  std::string done = "it is put right";
  if (!completion.reply) {
    done = "it could not be put right: " + completion.reply.error().message;
  } else if (!is_as_wanted(q, completion.reply->mad)) {
    done = fmt::format("it could not be put right: the Set was answered with status 0x{:04x}",
                       completion.reply->mad.status());
  } else if (q.attribute == attr::kPortInfo) {
    m_key_ = want_.m_key;
  }
  alarm(fmt::format("another program changed the {} of our own port {}: {}; {}",
                    q.attribute == attr::kPortInfo ? "PortInfo" : "P_KeyTable", name_,
                    differences_[std::uint32_t{q.attribute} << 16 | q.modifier], done));
}

bool OwnPort::take_sweep_wanted() { return std::exchange(sweep_wanted_, false); }

std::optional<ib::LogEvent> OwnPort::next_log() {
  if (logs_.empty()) return std::nullopt;
  auto event = std::move(logs_.front());
  logs_.pop_front();
  return event;
}

}  // namespace sm::core
