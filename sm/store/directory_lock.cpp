// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/directory_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace sm::store {
namespace {

using ib::ErrorKind;
using ib::fail;

/// " (process 123)" if the holder left its number, for the message only.
std::string owner(const std::string& lock_file) {
  const int fd = ::open(lock_file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char text[16]{};
  const auto n = ::pread(fd, text, sizeof text - 1, 0);
  ::close(fd);
  const long pid = n > 0 ? std::strtol(text, nullptr, 10) : 0;
  return pid > 0 ? fmt::format(" (process {})", pid) : std::string();
}

/// The number only serves the message above, so that a full disk is no reason to stop here.
void write_owner(int fd) {
  const auto text = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd, 0) == 0) (void)!::pwrite(fd, text.data(), text.size(), 0);
}

}  // namespace

ib::Result<DirectoryLock> DirectoryLock::take(const std::string& directory) {
  const std::string path = directory + "/ibsm.lock";
  DirectoryLock lock;
  lock.directory_ = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int directory_error = errno;
  lock.file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const int file_error = errno;
  if (lock.directory_ < 0 && lock.file_ < 0)
    return fail(ErrorKind::Io,
                fmt::format("cannot open state directory {}: {}{}", directory,
                            std::strerror(directory_error), advice_on_directory(directory_error)));
  bool has_one = false;
  std::string reason = lock.file_ < 0 ? std::strerror(file_error) : std::string();
  for (const int fd : {lock.directory_, lock.file_}) {
    if (fd < 0) continue;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
      has_one = true;
    } else if (errno == EWOULDBLOCK) {
      return fail(ErrorKind::Unavailable,
                  fmt::format("state directory {} is in use by another ibsm{}; end that one, or "
                              "give this one its own --state-dir",
                              directory, owner(path)));
    } else {
      reason = std::strerror(errno);  // a directory on NFS cannot be locked
    }
  }
  if (!has_one)
    return fail(ErrorKind::Io, fmt::format("cannot lock state directory {}: {}{}", directory,
                                           reason, advice_on_directory(file_error)));
  if (lock.file_ >= 0) write_owner(lock.file_);
  return lock;
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept
    : directory_(std::exchange(other.directory_, -1)), file_(std::exchange(other.file_, -1)) {}

DirectoryLock::~DirectoryLock() {
  for (const int fd : {directory_, file_})
    if (fd >= 0) ::close(fd);
}

ib::Result<std::shared_ptr<const DirectoryLock>> lock_directory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return fail(ErrorKind::Io, fmt::format("cannot create state directory {}: {}{}", directory,
                                           error.message(), advice_on_directory(error.value())));
  auto lock = DirectoryLock::take(directory);
  if (!lock) return tl::unexpected(std::move(lock.error()));
  return std::make_shared<const DirectoryLock>(*std::move(lock));
}

std::string advice_on_directory(int error) {
  return error == EACCES || error == EPERM ? "; run as root or give --state-dir DIR" : "";
}

}  // namespace sm::store
