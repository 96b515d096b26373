// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/cli/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace ib::cli {
namespace {

/// As systemd has it: a socket of datagrams, by a path or by a name alone.
std::string heard_at(const std::string& name, std::string_view lines) {
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM, 0);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::memcpy(at.sun_path, name.data(), name.size());
  if (name[0] == '@') at.sun_path[0] = '\0';
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&at), bytes), 0) << std::strerror(errno);
  ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  tell_service_manager(lines);
  std::array<char, 256> text{};
  const auto got = ::recv(fd, text.data(), text.size(), MSG_DONTWAIT);
  ::close(fd);
  ::unsetenv("NOTIFY_SOCKET");
  return got < 0 ? "nothing" : std::string(text.data(), static_cast<std::size_t>(got));
}

TEST(ServiceManager, HearsWhatItIsTold) {
  const std::string unique = "ibkit-service-manager-test-" + std::to_string(::getpid());
  EXPECT_EQ(heard_at("@" + unique, "READY=1\nSTATUS=up"), "READY=1\nSTATUS=up");
  const auto path = std::filesystem::temp_directory_path() / unique;
  EXPECT_EQ(heard_at(path.string(), "STOPPING=1"), "STOPPING=1");
  std::filesystem::remove(path);
}

TEST(ServiceManager, WithoutOneNothingHappens) {
  ::unsetenv("NOTIFY_SOCKET");
  tell_service_manager("READY=1");
  for (const std::string& nobody : {std::string("/nonesuch/socket"), std::string("x"),
                                    std::string(), "/" + std::string(200, 'x')}) {
    ::setenv("NOTIFY_SOCKET", nobody.c_str(), 1);
    tell_service_manager("READY=1");
  }
  ::unsetenv("NOTIFY_SOCKET");
}

}  // namespace
}  // namespace ib::cli
