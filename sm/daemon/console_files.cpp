// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/console_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "sm/store/text_backup.h"

namespace sm::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameMost = 200;  // with what is appended while it is written

tl::unexpected<ib::Error> refused(std::string message) {
  return ib::fail(ib::ErrorKind::Io, std::move(message));
}

/// Made where it is not there yet.
ib::Result<void> own_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return refused(fmt::format("cannot make {}: {}", folder, std::strerror(errno)));
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0)
    return refused(fmt::format("cannot look at {}: {}", folder, std::strerror(errno)));
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid())
    return refused(
        fmt::format("{} is expected to be a folder of the user that ibsm runs as", folder));
  return {};
}

}  // namespace

ib::Result<void> write_console_file(const std::string& dump_folder, const std::string& name,
                                    const std::string& text) {
  // Hidden names and those of backups and of files under way are ibsm's to give.
  if (name.empty() || name.size() > kNameMost || name.front() == '.' ||
      name.find('/') != std::string::npos || name.ends_with(".tmp"))
    return refused("a name without a folder is expected, not hidden, not ending in .tmp");
  const std::string folder = dump_folder + '/' + kConsoleFolder;
  if (auto made = own_folder(folder); !made) return made;
  const std::string path = folder + '/' + name;
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) {
    const auto files =
        std::distance(fs::directory_iterator(folder, error), fs::directory_iterator());
    if (error) return refused(fmt::format("cannot read {}: {}", folder, error.message()));
    if (static_cast<std::size_t>(files) >= kConsoleFilesMax)
      return refused(fmt::format("there are {} files in {}, the most there may be: remove some",
                                 files, folder));
  }
  return store::replace_file(path, text);
}

ib::Result<void> write_file_anywhere(const std::string& state_dir, const std::string& path,
                                     const std::string& text) {
  std::error_code error;
  // Where the file itself is a link, that is what is replaced: its folder counts.
  const fs::path folder = fs::canonical(fs::path(path).parent_path(), error);
  if (error) return refused(error.message());
  const fs::path state = fs::canonical(state_dir, error);
  if (!error && folder == state)
    return refused("the state directory is for ibsm's own files: name another folder");
  return store::replace_file(path, text);
}

}  // namespace sm::daemon
