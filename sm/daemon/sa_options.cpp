// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/sa_options.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "libdiag/base/text.h"
#include "sm/store/text_backup.h"

namespace sm::daemon {
namespace {

constexpr const char* kKeyFile = "sa_key";

ib::Error file_error(const char* what, const std::string& path) {
  return {ib::ErrorKind::Io, fmt::format("{} {}: {}", what, path, std::strerror(errno)), 0};
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

ib::Result<std::uint64_t> make_key(const std::string& path) {
  std::uint64_t key = 0;
  // 0 is no key and 1 is everybody's.
  while (key <= sa::kKnownSaKey)
    if (getrandom(&key, sizeof key, 0) != sizeof key)
      return tl::unexpected<ib::Error>(file_error("making a key for", path));
  const std::string text = fmt::format("0x{:016x}\n", key);
  const std::string fresh = path + ".new";
  const File file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.fd() < 0 || fchmod(file.fd(), 0600) != 0 ||
      write(file.fd(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      fsync(file.fd()) != 0 || rename(fresh.c_str(), path.c_str()) != 0)
    return tl::unexpected<ib::Error>(file_error("writing the SA key to", path));
  return store::keep_name(path).map([&] { return key; });
}

}  // namespace

std::optional<std::uint64_t> parse_sa_key_file(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::uint64_t key = 0;
  if (!ib::parse_number(text, UINT64_MAX, key) || key <= sa::kKnownSaKey) return std::nullopt;
  return key;
}

namespace {

ib::Result<std::uint64_t> read_key(int fd, const std::string& path) {
  struct stat about {};
  if (fstat(fd, &about) != 0) return tl::unexpected<ib::Error>(file_error("reading", path));
  if ((about.st_mode & 077) != 0 || !S_ISREG(about.st_mode))
    return ib::fail(ib::ErrorKind::Unavailable,
                    fmt::format("{} holds the SA key and others may read or change it; "
                                "chmod 600, or remove it to have a new key made",
                                path));
  char text[64] = {};
  const auto bytes = read(fd, text, sizeof text - 1);
  const auto key = parse_sa_key_file({text, bytes > 0 ? static_cast<std::size_t>(bytes) : 0});
  if (!key)
    return ib::fail(ib::ErrorKind::Unavailable,
                    fmt::format("{} does not hold a key; remove it to have one made", path));
  return *key;
}

}  // namespace

ib::Result<std::string> settle_sa_key(const std::string& state_dir, SaOptions& options) {
  if (!options.key_auto) return {};
  const std::string path = state_dir + "/" + kKeyFile;
  const File file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  const bool fresh = file.fd() < 0;
  if (fresh && errno != ENOENT)
    return tl::unexpected<ib::Error>(file_error("reading the SA key from", path));
  auto key = fresh ? make_key(path) : read_key(file.fd(), path);
  if (!key) return tl::unexpected<ib::Error>(std::move(key.error()));
  options.server.trust.sa_key = *key;
  options.server.trust.sa_key_is_secret = true;
  return fmt::format(
      "sa_key auto: the key {} {}; requests with it are trusted, those with 1 are not",
      fresh ? "was made and is in" : "is that of", path);
}

std::string sa_key_warning(const SaOptions& options) {
  if (options.key_auto || options.server.trust.sa_key != sa::kKnownSaKey) return {};
  return "sa_key is 1, the well-known default: any client can make trusted requests "
         "(--sa_key auto makes a secret one)";
}

}  // namespace sm::daemon
