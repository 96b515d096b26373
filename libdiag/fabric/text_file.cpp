// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

namespace ib::fabric {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::string megabytes(std::size_t bytes) { return std::to_string(bytes >> 20) + " MB"; }

tl::unexpected<Error> too_long(const std::string& path, std::size_t bytes_max,
                               const std::string& got) {
  return fail(ErrorKind::Usage, path + ": expected a file of " + megabytes(bytes_max) +
                                    " at most, got " + got + ": is it the file that was meant?");
}

Result<std::string> rest_of(std::FILE* file, const std::string& path, std::size_t bytes_max) {
  std::string text;
  std::size_t size = 0;
  do {
    if (size > bytes_max) return too_long(path, bytes_max, "more");
    text.resize(size + (std::size_t{1} << 20));
    size += std::fread(text.data() + size, 1, text.size() - size, file);
  } while (size == text.size());
  if (size > bytes_max) return too_long(path, bytes_max, "more");
  if (std::ferror(file) != 0) return fail(ErrorKind::Usage, path + ": " + std::strerror(errno));
  text.resize(size);
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

const char* kind_of(const struct stat& facts) {
  if (S_ISDIR(facts.st_mode)) return "a folder";
  return S_ISFIFO(facts.st_mode) ? "a pipe" : "a device or socket";
}

}  // namespace

Result<std::string> read_file_or_pipe(const std::string& path, std::size_t bytes_max) {
  const File file(std::fopen(path.c_str(), "rb"));
  struct stat facts {};
  if (!file || ::fstat(::fileno(file.get()), &facts) != 0)
    return fail(ErrorKind::Usage, path + ": " + std::strerror(errno));
  if (!S_ISREG(facts.st_mode) && !S_ISFIFO(facts.st_mode))
    return fail(ErrorKind::Usage,
                path + ": expected a regular file or a pipe, got " + kind_of(facts));
  return rest_of(file.get(), path, bytes_max);
}

Result<std::string> read_regular_file(const std::string& path, std::size_t bytes_max) {
  const int fd =
      ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // a pipe is not waited for
  if (fd < 0) return fail(ErrorKind::Usage, path + ": " + std::strerror(errno));
  const File file(::fdopen(fd, "rb"));
  struct stat facts {};
  if (!file || ::fstat(fd, &facts) != 0)
    return fail(ErrorKind::Usage, path + ": " + std::strerror(errno));
  if (!S_ISREG(facts.st_mode))
    return fail(ErrorKind::Usage, path + ": expected a regular file, got " + kind_of(facts) +
                                      (S_ISFIFO(facts.st_mode)
                                           ? ", which is read only once; write what it says into a "
                                             "file, and name that"
                                           : ""));
  if (static_cast<std::uintmax_t>(facts.st_size) > bytes_max)
    return too_long(
        path, bytes_max,
        megabytes(static_cast<std::size_t>(facts.st_size) + (std::size_t{1} << 20) - 1));
  return rest_of(file.get(), path, bytes_max);
}

}  // namespace ib::fabric
