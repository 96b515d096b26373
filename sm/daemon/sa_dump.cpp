// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/sa_dump.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "libdiag/base/text.h"
#include "libdiag/fabric/text_file.h"
#include "sm/sa/dump_file.h"

namespace sm::daemon {
namespace {

// 200,000 members take 40 MB.
constexpr std::size_t kDumpBytesMax = std::size_t{1} << 30;

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

std::optional<std::string> SaDump::result() {
  if (!under_way_.valid()) return std::nullopt;
  const auto done = under_way_.get();
  return done ? std::nullopt : std::optional(done.error().message);
}

std::optional<std::string> SaDump::look(ib::Instant now, const sa::Server& server) {
  if (next_deadline(server) > now) return std::nullopt;
  // Long done, unless the disk takes longer than `every`.
  auto failure = result();
  not_before_ = now + every_;
  written_ = server.revision();
  under_way_ = std::async(std::launch::async, [path = path_, contents = server.contents()] {
    return write_whole(path, sa::write_dump(contents));
  });
  return failure;
}

ib::Instant SaDump::next_deadline(const sa::Server& server) const {
  return path_.empty() || server.revision() == written_ ? ib::kNever : not_before_;
}

std::optional<std::string> SaDump::finish(const sa::Server& server) {
  auto failure = result();
  if (path_.empty() || server.revision() == written_) return failure;
  const auto done = write_whole(path_, sa::write_dump(server.contents()));
  return done ? failure : std::optional(done.error().message);
}

ib::Result<std::vector<std::string>> take_dump(const std::string& path, std::int64_t unix_seconds,
                                               store::Store& store, store::Contents& contents) {
  const auto text = ib::fabric::read_regular_file(path, kDumpBytesMax);
  if (!text)
    return ib::fail(ib::ErrorKind::Unavailable,
                    fmt::format("cannot read the SA dump: {}", text.error().message));
  auto dump = sa::read_dump(*text);
  const auto batch = sa::missing_from(contents, dump.contents, unix_seconds);
  if (auto kept = store.commit(batch); !kept) return tl::unexpected<ib::Error>(kept.error());
  store::apply(batch, contents);
  std::vector<std::string> lines;
  lines.reserve(dump.complaints.size() + 1);
  for (const auto& complaint : dump.complaints)
    lines.push_back(fmt::format("{}: {}", path, ib::printable(complaint)));
  lines.push_back(fmt::format(
      "{}: took {} groups with {} members, {} services, {} subscriptions, {} alias GUIDs", path,
      batch.groups.size(), batch.members.size(), batch.services.size(), batch.subscriptions.size(),
      batch.aliases.size()));
  return lines;
}

}  // namespace sm::daemon
