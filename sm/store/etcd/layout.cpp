// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/etcd/layout.h"

#include <fmt/format.h>

#include <map>

#include "libdiag/base/ids.h"
#include "libdiag/base/text.h"

namespace sm::store::etcd {
namespace {

constexpr std::uint64_t kVersion = 1;

/// Words as "name=value name=value".
using Words = std::map<std::string, std::string, std::less<>>;

Words words_of(std::string_view text) {
  Words words;
  for (const std::string_view word : ib::split(text, ' '))
    if (const auto at = word.find('='); at != std::string_view::npos)
      words.emplace(word.substr(0, at), word.substr(at + 1));
  return words;
}

bool take(const Words& words, std::string_view name, std::uint64_t max, std::uint64_t& value) {
  const auto at = words.find(name);
  return at != words.end() && ib::parse_number(at->second, max, value);
}

ib::Result<Words> read(std::string_view text, const char* what) {
  Words words = words_of(text);
  std::uint64_t version = 0;
  if (!take(words, "ibkit-store", UINT64_MAX, version))
    return ib::fail(ib::ErrorKind::Malformed, fmt::format("its {} is damaged", what));
  if (version > kVersion)
    return ib::fail(ib::ErrorKind::Unavailable,
                    fmt::format("a newer release wrote it (version {}, this ibsm knows {})",
                                version, kVersion));
  return words;
}

std::string word_of(const Words& words, std::string_view name) {
  const auto at = words.find(name);
  return at == words.end() ? std::string() : at->second;
}

}  // namespace

std::string text_of(const Head& head) {
  return fmt::format("ibkit-store={} fabric={} generation={} parts={} snapshot-at={} sequence={}",
                     kVersion, head.fabric, head.generation, head.parts, head.snapshot_at,
                     head.sequence);
}

std::string text_of(const Epoch& epoch) {
  return fmt::format("ibkit-store={} epoch={} holder={}", kVersion, epoch.number, epoch.holder);
}

ib::Result<Head> read_head(std::string_view text) {
  const auto words = read(text, "head");
  if (!words) return tl::unexpected<ib::Error>(words.error());
  Head head;
  head.fabric = word_of(*words, "fabric");
  std::uint64_t parts = 0;
  if (!take(*words, "generation", UINT64_MAX, head.generation) ||
      !take(*words, "parts", UINT32_MAX, parts) ||
      !take(*words, "snapshot-at", UINT64_MAX, head.snapshot_at) ||
      !take(*words, "sequence", UINT64_MAX, head.sequence) || head.sequence < head.snapshot_at)
    return ib::fail(ib::ErrorKind::Malformed, "its head is damaged");
  head.parts = static_cast<std::uint32_t>(parts);
  return head;
}

ib::Result<Epoch> read_epoch(std::string_view text) {
  const auto words = read(text, "epoch");
  if (!words) return tl::unexpected<ib::Error>(words.error());
  Epoch epoch;
  epoch.holder = word_of(*words, "holder");
  if (!take(*words, "epoch", UINT64_MAX, epoch.number) || epoch.holder.empty())
    return ib::fail(ib::ErrorKind::Malformed, "its epoch is damaged");
  return epoch;
}

std::string text_of(const PolicyHead& head) {
  return fmt::format(
      "ibkit-store={} fabric={} generation={} parts={} bytes={} sum=0x{:016x} host={}\n{}\n{}\n",
      kVersion, head.fabric, head.generation, head.parts, head.bytes, head.sum, head.host,
      head.directory, head.path);
}

ib::Result<PolicyHead> read_policy_head(std::string_view text) {
  const auto lines = ib::split(text, '\n');
  const auto words = read(lines.front(), "head");
  if (!words) return tl::unexpected<ib::Error>(words.error());
  PolicyHead head;
  head.fabric = word_of(*words, "fabric");
  head.host = word_of(*words, "host");
  std::uint64_t parts = 0;
  if (!take(*words, "generation", UINT64_MAX, head.generation) ||
      !take(*words, "parts", UINT32_MAX, parts) || !take(*words, "bytes", UINT64_MAX, head.bytes) ||
      !take(*words, "sum", UINT64_MAX, head.sum) || head.host.empty() || lines.size() < 3)
    return ib::fail(ib::ErrorKind::Malformed, "its head is damaged");
  head.parts = static_cast<std::uint32_t>(parts);
  head.directory = lines[1];
  head.path = lines[2];
  return head;
}

std::string epoch_key(const std::string& prefix) { return prefix + "epoch"; }
std::string head_key(const std::string& prefix) { return prefix + "head"; }
std::string term_key(const std::string& prefix) { return prefix + "term"; }
std::string lacks_key(const std::string& prefix) { return prefix + "lacks"; }
std::string log_folder(const std::string& prefix) { return prefix + "log/"; }
std::string log_key(const std::string& prefix, std::uint64_t sequence) {
  return fmt::format("{}{:020}", log_folder(prefix), sequence);
}
std::string managers_folder(const std::string& prefix) { return prefix + "managers/"; }
std::string policy_key(const std::string& prefix, const std::string& name) {
  return prefix + "policy/" + name;
}
std::string policy_folder(const std::string& prefix, const std::string& name) {
  return policy_key(prefix, name) + '/';
}
std::string policy_folder(const std::string& prefix, const std::string& name,
                          std::uint64_t generation) {
  return fmt::format("{}{:020}/", policy_folder(prefix, name), generation);
}
std::string policy_part_key(const std::string& prefix, const std::string& name,
                            std::uint64_t generation, std::uint32_t part) {
  return fmt::format("{}{:06}", policy_folder(prefix, name, generation), part);
}
std::string snapshots_folder(const std::string& prefix) { return prefix + "snapshot/"; }
std::string snapshot_folder(const std::string& prefix, std::uint64_t generation) {
  return fmt::format("{}{:020}/", snapshots_folder(prefix), generation);
}
std::string snapshot_key(const std::string& prefix, std::uint64_t generation, std::uint32_t part) {
  return fmt::format("{}{:06}", snapshot_folder(prefix, generation), part);
}

}  // namespace sm::store::etcd
