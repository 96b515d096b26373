// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/sa_dump.h"

#include <fmt/format.h>

#include <filesystem>
#include <ranges>
#include <utility>

#include "libdiag/base/text.h"
#include "libdiag/fabric/text_file.h"
#include "sm/sa/registry/dump_file.h"

namespace sm::daemon {
namespace {

// 200,000 members take 40 MB.
constexpr std::size_t kDumpBytesMax = std::size_t{1} << 30;
constexpr std::size_t kGroupsNamedMax = 20;

}  // namespace

BackupFile::Text SaDump::take(const sa::Server& server) {
  store::Contents contents = server.contents();
  std::error_code ignored;
  if (contents.members.empty() && contents.services.empty() && contents.subscriptions.empty() &&
      contents.aliases.empty()) {
    if (!had_something_ && std::filesystem::exists(path_, ignored)) return {};
  } else {
    had_something_ = true;
  }
  return [contents = std::move(contents)] { return sa::write_dump(contents); };
}

std::optional<ib::LogEvent> SaDump::look(ib::Instant now, const sa::Server& server) {
  return file_.look(now, server.revision(), [&] { return take(server); });
}

ib::Instant SaDump::next_deadline(const sa::Server& server) const {
  return file_.next_deadline(server.revision());
}

std::optional<std::string> SaDump::finish(const sa::Server& server) {
  return file_.finish(server.revision(), [&] { return take(server); });
}

ib::Result<std::string> read_dump_file(const std::string& path) {
  auto text = ib::fabric::read_regular_file(path, kDumpBytesMax);
  if (!text)
    return ib::fail(ib::ErrorKind::Usage,
                    fmt::format("cannot read the SA dump: {}", text.error().message));
  return text;
}

ib::Result<std::vector<ib::LogEvent>> take_dump(const std::string& path, const std::string& text,
                                                std::int64_t unix_seconds, store::Store& store,
                                                store::Contents& contents) {
  auto dump = sa::read_dump(text);
  const auto missing = sa::missing_from(contents, dump.contents, unix_seconds);
  const store::Batch& batch = missing.batch;
  if (auto kept = store.commit(batch); !kept) return tl::unexpected<ib::Error>(kept.error());
  store::apply(batch, contents);
  std::vector<ib::LogEvent> events;
  const auto say = [&](ib::LogLevel level, const std::string& what) {
    events.push_back({level, "store", fmt::format("{}: {}", path, what)});
  };
  for (const auto& complaint : dump.complaints)
    say(ib::LogLevel::Warning, ib::printable(complaint));
  if (dump.passed_over != 0)
    say(ib::LogLevel::Warning,
        fmt::format("{} lines could not be read and are skipped", dump.passed_over));
  for (const auto& group : missing.left_out | std::views::take(kGroupsNamedMax))
    say(ib::LogLevel::Warning, group);
  if (missing.left_out.size() > kGroupsNamedMax)
    say(ib::LogLevel::Warning, fmt::format("and so are those of {} more groups",
                                           missing.left_out.size() - kGroupsNamedMax));
  say(ib::LogLevel::Info,
      fmt::format("took {} groups with {} members, {} services, {} subscriptions, {} alias GUIDs",
                  batch.groups.size(), batch.members.size(), batch.services.size(),
                  batch.subscriptions.size(), batch.aliases.size()));
  return events;
}

}  // namespace sm::daemon
