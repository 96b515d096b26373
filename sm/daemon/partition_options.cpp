// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/partition_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "libdiag/base/text.h"
#include "sm/daemon/operator_file.h"
#include "sm/store/text_backup.h"

namespace sm::daemon {
namespace {

constexpr std::string_view kKeysName = "/partition-keys";

/// Takes SLs out of the definitions, not out of mgid lines; gives a line for each that has one.
std::vector<std::string> drop_sls(policy::PartitionFile& file, const std::string& name) {
  std::vector<std::string> lines;
  for (policy::PartitionDefinition& definition : file.definitions)
    if (std::exchange(definition.flags.sl, std::nullopt))
      lines.push_back(
          fmt::format("{}:{}: sl= of partition '{}' has no effect without -Q (qos TRUE)", name,
                      definition.place.line, ib::printable(definition.name)));
  return lines;
}

void warn_of_both(policy::PartitionFile& file, const std::string& name) {
  for (const policy::PartitionDefinition& definition : file.definitions)
    for (const policy::Member& member : definition.members) {
      if (member.membership != policy::Membership::Both) continue;
      file.diagnostics.push_back({ib::Severity::Warning, name, member.place,
                                  "members that are both get the full P_Key alone, since "
                                  "allow_both_pkeys (-W) is off"});
      return;  // once is enough
    }
}

/// `name` is what messages call the file.
ib::Result<ReadPartitions> understand(std::string text, const std::string& name,
                                      const PartitionOptions& options, policy::GeneratedKeys keys,
                                      const std::set<std::uint16_t>& in_use = {}) {
  auto file = policy::read_partition_file(text, name);
  if (ib::has_errors(file.diagnostics))
    return refused("the partitions of " + name, text, file.diagnostics);
  ReadPartitions out;
  out.name = name;
  out.keys = std::move(keys);
  if (!options.with_sls) out.notes = drop_sls(file, name);
  policy::PartitionPolicy policy;
  policy.from_file = true;
  policy.allow_both = options.allow_both;
  policy.partitions = policy::merge_definitions(file, name, out.keys, file.diagnostics, in_use);
  if (ib::has_errors(file.diagnostics))
    return refused("the partitions of " + name, text, file.diagnostics);
  if (options.groups) {
    policy.port_groups = *options.groups;
    policy::check_groups(file, name, policy.port_groups, options.groups_file, file.diagnostics);
  }
  if (ib::has_errors(file.diagnostics))
    return refused("the partitions of " + name, text, file.diagnostics);
  if (!options.allow_both) warn_of_both(file, name);
  out.warnings = shown(file.diagnostics, text);
  out.policy = std::make_shared<const policy::PartitionPolicy>(std::move(policy));
  out.text = std::move(text);
  return out;
}

policy::GeneratedKeys keys_of(const std::string& state_dir) {
  const std::string path = state_dir + std::string(kKeysName);
  // A death while it was written leaves the one before.
  for (const std::string& candidate : {path, store::previous_backup(path)})
    if (const auto kept = read_operator_file(candidate)) return read_generated_keys(*kept);
  return {};
}

}  // namespace

ib::Result<ReadPartitions> read_partitions(const PartitionOptions& options, PolicyFiles& files) {
  if (options.file.empty()) {
    policy::PartitionPolicy policy;
    policy.allow_both = options.allow_both;
    return ReadPartitions{
        std::make_shared<const policy::PartitionPolicy>(std::move(policy)), {}, {}, {}, {}, {}};
  }
  const auto use = [&](const std::string& text, const std::string& name) {
    return understand(text, name, options, keys_of(files.state_dir()));
  };
  if (options.must_be_readable)
    if (const auto text = read_operator_file(options.file); !text)
      return tl::unexpected<ib::Error>(text.error());
  return files.read(kPartitionFile, options.file, use);
}

ib::Result<ReadPartitions> with_kept_keys(ReadPartitions read, const PartitionOptions& options,
                                          const policy::GeneratedKeys& kept,
                                          const std::set<std::uint16_t>& in_use) {
  policy::GeneratedKeys keys = read.keys;
  for (const auto& [name, key] : kept) keys.insert_or_assign(name, key);
  const bool collides = std::ranges::any_of(read.keys, [&](const auto& entry) {
    return !kept.contains(entry.first) && in_use.contains(entry.second);
  });
  if (read.text.empty() || (keys == read.keys && !collides)) return read;
  // What was generated for want of these does not count.
  keys = kept;
  for (const auto& [name, key] : read.keys)
    if (!in_use.contains(key) &&
        !std::ranges::any_of(kept, [&](const auto& k) { return k.second == key; }))
      keys.emplace(name, key);
  return understand(std::move(read.text), read.name, options, std::move(keys), in_use);
}

store::Batch keys_to_keep(const ReadPartitions& read, policy::GeneratedKeys& kept) {
  store::Batch batch;
  for (const auto& [name, key] : read.keys) {
    const auto [at, fresh] = kept.try_emplace(name, key);
    if (!fresh && at->second == key) continue;
    at->second = key;
    batch.generated_p_keys.push_back({name, key});
  }
  return batch;
}

ib::Result<void> keep_generated_keys(const policy::GeneratedKeys& keys,
                                     const std::string& state_dir) {
  if (keys.empty()) return {};
  return store::write_backup(state_dir + std::string(kKeysName), write_generated_keys(keys));
}

std::string write_generated_keys(const policy::GeneratedKeys& keys) {
  std::string text;
  for (const auto& [name, key] : keys) text += fmt::format("0x{:04x} {}\n", key, name);
  return text;
}

policy::GeneratedKeys read_generated_keys(std::string_view text) {
  policy::GeneratedKeys keys;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto blank = line.find(' ');
    std::uint64_t key = 0;
    if (blank != std::string_view::npos && ib::parse_number(line.substr(0, blank), 0x7FFE, key) &&
        key != 0)
      keys.insert_or_assign(std::string(line.substr(blank + 1)), static_cast<std::uint16_t>(key));
  }
  return keys;
}

}  // namespace sm::daemon
