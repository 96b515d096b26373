// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/text_backup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>

namespace sm::store {
namespace {

tl::unexpected<ib::Error> failed(const char* what, const std::string& path, int reason) {
  return ib::fail(ib::ErrorKind::Io,
                  fmt::format("cannot {} {}: {}", what, path, std::strerror(reason)));
}

ib::Result<void> write_whole(const std::string& path, const std::string& text) {
  // Service keys are in it: nobody else reads it.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return failed("open", path, errno);
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
  if (!whole) return failed("write", path, reason);
  return {};
}

/// Whether `path` is a file with `text`.
bool is_already(const std::string& path, const std::string& text) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || file.tellg() != static_cast<std::streamoff>(text.size())) return false;
  file.seekg(0);
  std::array<char, 1 << 16> part;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = std::min(part.size(), text.size() - at);
    if (!file.read(part.data(), static_cast<std::streamsize>(size))) return false;
    if (std::string_view(part.data(), size) != std::string_view(text).substr(at, size))
      return false;
    at += size;
  }
  return true;
}

/// `previous`: what was there becomes that; empty: it is gone.
ib::Result<void> put_in_place(const std::string& path, const std::string& text,
                              const std::string& previous) {
  if (is_already(path, text)) return {};
  const std::string fresh = path + ".tmp";
  if (auto written = write_whole(fresh, text); !written) return written;
  // A death between the two leaves the previous one, which is read where there is no other.
  if (!previous.empty() && std::rename(path.c_str(), previous.c_str()) != 0 && errno != ENOENT)
    return failed("keep", path, errno);
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return failed("rename", fresh, errno);
  return keep_name(path);
}

}  // namespace

ib::Result<void> keep_name(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string dir = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return failed("open", dir, errno);
  // Some file systems have nothing to write through for a directory, and say EINVAL.
  const bool kept = ::fsync(fd) == 0 || errno == EINVAL;
  const int reason = errno;
  ::close(fd);
  if (!kept) return failed("write through", dir, reason);
  return {};
}

std::string previous_backup(const std::string& path) { return path + ".1"; }

ib::Result<void> replace_file(const std::string& path, const std::string& text) {
  return put_in_place(path, text, {});
}

ib::Result<void> write_backup(const std::string& path, const std::string& text) {
  return put_in_place(path, text, previous_backup(path));
}

}  // namespace sm::store
