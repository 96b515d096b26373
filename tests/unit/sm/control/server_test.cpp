// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The socket itself: who is answered, what a client that misbehaves costs the others.
#include "sm/control/server.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sm/control/client.h"

namespace sm::control {
namespace {

namespace fs = std::filesystem;

class ControlServer : public testing::Test {
 protected:
  ControlServer() {
    std::string name = (fs::temp_directory_path() / "ibsm-control-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    path_ = (folder_ / "control").string();
  }
  ~ControlServer() override {
    stop();
    fs::remove_all(folder_);
  }

  /// Serves on a thread of its own: an answer names the words.
  void start() {
    server_.emplace(Server::listen(path_).value());
    thread_ = std::thread([this] {
      while (!ending_) {
        pollfd fd{server_->readable_fd(), POLLIN, 0};
        if (poll(&fd, 1, 10) > 0) server_->serve(handler_);
      }
    });
  }
  void stop() {
    ending_ = true;
    if (thread_.joinable()) thread_.join();
    server_.reset();
  }
  int connected() const {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
  }

  fs::path folder_;
  std::string path_;
  std::optional<Server> server_;
  Server::Handler handler_ = [](const Request& request) {
    std::string text = request.verb;
    for (const std::string& word : request.words) text += " " + word;
    return Answer{0, text};
  };
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

TEST_F(ControlServer, AnswersAndIsForItsUserAlone) {
  start();
  EXPECT_EQ(ask(path_, {"partition", {"list"}, {}}).value(), (Answer{0, "partition list"}));
  struct stat file {};
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0600U);
  stop();
  EXPECT_FALSE(fs::exists(path_));
  const auto gone = ask(path_, {"partition", {"list"}, {}});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ib::ErrorKind::Unavailable);
}

TEST_F(ControlServer, TakesThePlaceOfOneThatDiedAndOfNoneThatLives) {
  {
    const int left = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    ASSERT_EQ(bind(left, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    close(left);
  }
  start();
  EXPECT_TRUE(ask(path_, {"x", {}, {}}));
  const auto second = Server::listen(path_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ib::ErrorKind::Unavailable);
  EXPECT_TRUE(ask(path_, {"x", {}, {}}));
}

TEST_F(ControlServer, LeavesAFileThatIsNoSocket) {
  std::ofstream(path_) << "text";
  EXPECT_FALSE(Server::listen(path_));
  EXPECT_TRUE(fs::is_regular_file(path_));
}

TEST_F(ControlServer, APathThatIsTooLongIsSaid) {
  const auto server = Server::listen(path_ + std::string(200, 'x'));
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().message.find("longer than 107 bytes"), std::string::npos);
}

TEST_F(ControlServer, SeveralRequestsOnOneConnectionAreAnsweredInTheirOrder) {
  start();
  const int fd = connected();
  const std::string lines =
      encode(Request{"one", {}, {}}) + "nonsense\n" + encode(Request{"two", {}, {}});
  ASSERT_EQ(write(fd, lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
  std::string got;
  char buffer[512];
  while (std::count(got.begin(), got.end(), '\n') < 3) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    ASSERT_GT(n, 0);
    got.append(buffer, static_cast<std::size_t>(n));
  }
  const std::string wrong = encode(Answer{2, "expected a request as a JSON object\n"});
  EXPECT_EQ(got, encode(Answer{0, "one"}) + wrong + encode(Answer{0, "two"}));
  close(fd);
}

TEST_F(ControlServer, AThousandWhoSayNothingKeepNobodyOut) {
  start();
  std::vector<int> silent;
  for (int i = 0; i < 1000; ++i) silent.push_back(connected());
  EXPECT_TRUE(ask(path_, {"x", {}, {}}));
  for (const int fd : silent) close(fd);
}

TEST_F(ControlServer, ALineWithoutAnEndIsRefusedAndLargeOnesAreServed) {
  start();
  const std::string large(1U << 20, 'w');
  EXPECT_EQ(ask(path_, {"x", {large}, {}}).value().text.size(), large.size() + 2);
  const std::string endless(kRequestMax + 70'000, 'x');
  const int fd = connected();
  std::size_t sent = 0;
  while (sent < endless.size()) {
    const ssize_t n = send(fd, endless.data() + sent, endless.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) break;
    sent += static_cast<std::size_t>(n);
  }
  std::string got;
  char buffer[512];
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;)
    got.append(buffer, static_cast<std::size_t>(n));
  close(fd);
  EXPECT_TRUE(got.empty() || got.find("ask in parts") != std::string::npos) << got;
  EXPECT_TRUE(ask(path_, {"x", {}, {}}));
}

}  // namespace
}  // namespace sm::control
