// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/sa_dump.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ranges>
#include <utility>

#include "libdiag/base/text.h"
#include "libdiag/fabric/text_file.h"
#include "sm/sa/dump_file.h"

namespace sm::daemon {
namespace {

// 200,000 members take 40 MB.
constexpr std::size_t kDumpBytesMax = std::size_t{1} << 30;
constexpr std::size_t kGroupsNamedMax = 20;
// After failures in a row the rest between two tries doubles up to this.
constexpr auto kRetryMax = std::chrono::minutes(10);
// How often a writing under way is looked after.
constexpr auto kLookEvery = std::chrono::milliseconds(200);

ib::Result<void> write_whole(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".tmp";
  const auto failed = [&](const char* what) {
    return ib::fail(ib::ErrorKind::Io,
                    fmt::format("cannot {} {}: {}", what, fresh, std::strerror(errno)));
  };
  // Service keys are in it: nobody else reads it.
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return failed("open");
  std::size_t done = 0;
  while (done < text.size()) {
    const auto n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  const bool whole = done == text.size() && ::fsync(fd) == 0;
  const int reason = errno;
  ::close(fd);
  errno = reason;
  if (!whole) return failed("write");
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return failed("rename");
  return {};
}

}  // namespace

std::optional<ib::LogEvent> SaDump::judge(ib::Instant now, const ib::Result<void>& done) {
  if (done) {
    if (std::exchange(failures_, 0) == 0) return std::nullopt;
    return ib::LogEvent{ib::LogLevel::Info, "store", "the SA dump is written again: " + path_};
  }
  written_.reset();
  ib::Duration rest = every_;
  for (unsigned i = 0; i < failures_ && rest < kRetryMax; ++i)
    rest = std::min<ib::Duration>(2 * rest, kRetryMax);
  ++failures_;
  not_before_ = now + rest;
  return ib::LogEvent{
      ib::LogLevel::Error, "store",
      fmt::format("the SA dump is not written: {}; it is tried again in {} s", done.error().message,
                  std::chrono::duration_cast<std::chrono::seconds>(rest).count())};
}

std::optional<ib::LogEvent> SaDump::look(ib::Instant now, const sa::Server& server) {
  if (under_way_.valid()) {
    if (under_way_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) {
      look_again_ = now + kLookEvery;
      return std::nullopt;
    }
    return judge(now, under_way_.get());
  }
  if (next_deadline(server) > now) return std::nullopt;
  not_before_ = now + every_;
  look_again_ = now;
  written_ = server.revision();
  under_way_ = std::async(launch_, [path = path_, contents = server.contents()] {
    return write_whole(path, sa::write_dump(contents));
  });
  return std::nullopt;
}

ib::Instant SaDump::next_deadline(const sa::Server& server) const {
  if (under_way_.valid()) return look_again_;
  return path_.empty() || server.revision() == written_ ? ib::kNever : not_before_;
}

std::optional<std::string> SaDump::finish(const sa::Server& server) {
  if (under_way_.valid() && !under_way_.get()) written_.reset();
  if (path_.empty() || server.revision() == written_) return std::nullopt;
  const auto done = write_whole(path_, sa::write_dump(server.contents()));
  if (done) return std::nullopt;
  return "the SA dump is not written: " + done.error().message;
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
        fmt::format("{} lines could not be read and are passed over", dump.passed_over));
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
