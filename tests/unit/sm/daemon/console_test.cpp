// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The TCP port of the console: who is served, and what clients that misbehave cost the others.
#include "sm/daemon/console.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace sm::daemon {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using Place = ConsoleOptions::Place;

/// Everything on this thread: the test says when the console has its turn.
class ConsolePort : public testing::Test {
 protected:
  ConsolePort() {
    std::string name = (fs::temp_directory_path() / "ibsm-console-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    log_.emplace(*LogFile::open((folder_ / "log").string(), 0xF, true));
  }
  ~ConsolePort() override { fs::remove_all(folder_); }

  void open(Place place = Place::Loopback, const std::string& allowed = "127.0.0.1") {
    ConsoleOptions options;
    options.place = place;
    options.port = 0;
    options.allowed = *config::Peers::read(allowed);
    console_ = Console::open(options, *log_, [this](console::Words words, bool is_trusted) {
      EXPECT_FALSE(is_trusted);
      ++runs_;
      console::Outcome outcome;
      if (!words.empty() && words.front() == "large") outcome.text.assign(kLarge, 'x');
      if (!words.empty()) outcome.text += words.front() + '\n';
      outcome.ends = !words.empty() && words.front() == "quit";
      outcome.loops = words.size() > 1;
      return outcome;
    });
    std::smatch found;
    const std::string text = log_text(), last = text.substr(text.rfind("listening on "));
    ASSERT_TRUE(std::regex_search(last, found, std::regex("TCP port (\\d+)"))) << text;
    port_ = static_cast<std::uint16_t>(std::stoul(found[1]));
  }
  std::string log_text() const {
    std::ostringstream text;
    text << std::ifstream(folder_ / "log").rdbuf();
    return text.str();
  }
  int connected(const char* to = "127.0.0.1") const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    inet_pton(AF_INET, to, &address.sin_addr);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  void say(int fd, const std::string& text) const {
    ASSERT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  /// Turns until the console has nothing to do.
  void serve(ib::Instant now = ib::Instant{1}) {
    for (pollfd fd{console_->port_fd(), POLLIN, 0}; poll(&fd, 1, 0) > 0;) console_->serve(now);
  }
  /// What there is to read, up to `end` or to the end.
  std::string heard(int fd, const std::string& end = "OpenSM $ ") {
    std::string text;
    char buffer[65536];
    for (int silent = 0; !text.ends_with(end) && silent < 100;) {
      serve();
      const ssize_t n = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (n == 0) break;
      if (n < 0) {
        ++silent;
        pollfd one{fd, POLLIN, 0};
        poll(&one, 1, 10);
        continue;
      }
      silent = 0;
      text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
  }

  static constexpr std::size_t kLarge = 8U << 20;  // more than sockets hold
  fs::path folder_;
  std::optional<LogFile> log_;
  std::unique_ptr<Console> console_;
  std::uint16_t port_{0};
  unsigned runs_{0};
};

TEST_F(ConsolePort, GreetsAnswersAndLetsGo) {
  open();
  const int fd = connected();
  EXPECT_EQ(heard(fd), "OpenSM $ ");
  say(fd, "status\r\n");
  EXPECT_EQ(heard(fd), "status\nOpenSM $ ");
  say(fd, "quit\n");
  EXPECT_EQ(heard(fd), "quit\n");
  char byte;
  EXPECT_EQ(recv(fd, &byte, 1, 0), 0);
  close(fd);
}

TEST_F(ConsolePort, ALineMayComeInPiecesAndTheEndOfInputIsNotTheEndOfTheAnswer) {
  open();
  const int fd = connected();
  EXPECT_EQ(heard(fd), "OpenSM $ ");
  say(fd, "por");
  serve();
  EXPECT_EQ(runs_, 0U);
  say(fd, "tstatus\nlarge\n");
  shutdown(fd, SHUT_WR);
  const auto text = heard(fd, "never");
  EXPECT_THAT(text, StartsWith("portstatus\nOpenSM $ xxx"));
  EXPECT_THAT(text, EndsWith("xlarge\nOpenSM $ "));
  const std::string small = "portstatus\nOpenSM $ large\nOpenSM $ ";
  EXPECT_EQ(text.size(), kLarge + small.size());
  close(fd);
}

TEST_F(ConsolePort, ALineThatIsTooLongEndsIt) {
  open();
  const int fd = connected();
  EXPECT_EQ(heard(fd), "OpenSM $ ");
  say(fd, std::string(5000, 'x'));
  EXPECT_EQ(heard(fd, "never"), "a line has 4096 bytes at most\n");
  close(fd);
  EXPECT_EQ(runs_, 0U);
}

TEST_F(ConsolePort, WhoDoesNotReadIsNotHeardAndOthersAre) {
  open();
  const int deaf = connected(), other = connected();
  EXPECT_EQ(heard(other), "OpenSM $ ");
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "large\n";
  say(deaf, lines);
  serve();
  EXPECT_EQ(runs_, 1U);
  say(other, "status\n");
  EXPECT_EQ(heard(other), "status\nOpenSM $ ");
  EXPECT_EQ(runs_, 2U);
  close(deaf);
  close(other);
}

TEST_F(ConsolePort, InOneTurnEachIsHeardForALine) {
  open();
  const int fd = connected();
  EXPECT_EQ(heard(fd), "OpenSM $ ");
  say(fd, "a\nb\nc\n");
  pollfd ready{console_->port_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, 1000), 1);
  console_->serve(ib::Instant{1});
  EXPECT_EQ(runs_, 1U);
  EXPECT_EQ(poll(&ready, 1, 0), 1);  // it is called again
  EXPECT_EQ(heard(fd, "c\nOpenSM $ "), "a\nOpenSM $ b\nOpenSM $ c\nOpenSM $ ");
  close(fd);
}

TEST_F(ConsolePort, OfAThousandThatSayNothingNobodyIsKeptOut) {
  open();
  std::vector<int> silent;
  for (int i = 0; i < 1000; ++i) {
    silent.push_back(connected());
    serve();
  }
  const int fd = connected();
  EXPECT_EQ(heard(fd), "OpenSM $ ");
  say(fd, "status\n");
  EXPECT_EQ(heard(fd), "status\nOpenSM $ ");
  close(fd);
  for (const int one : silent) close(one);
}

TEST_F(ConsolePort, WhoSaidALineStaysWhateverNumberOfOthersSaysNothing) {
  open();
  const int fd = connected();
  EXPECT_EQ(heard(fd), "OpenSM $ ");
  say(fd, "status\n");
  EXPECT_EQ(heard(fd), "status\nOpenSM $ ");
  std::vector<int> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(connected());
    serve();
  }
  say(fd, "again\n");
  EXPECT_EQ(heard(fd), "again\nOpenSM $ ");
  close(fd);
  for (const int one : silent) close(one);
}

TEST_F(ConsolePort, ALoopIsToldByAndBy) {
  open();
  const int fd = connected();
  EXPECT_EQ(heard(fd), "OpenSM $ ");
  EXPECT_EQ(console_->next_deadline(), ib::kNever);
  say(fd, "status loop\n");
  EXPECT_THAT(heard(fd, "quit loop\n"), StartsWith("status\nuse \"q<ret>\""));
  const ib::Instant next = console_->next_deadline();
  EXPECT_EQ(next, ib::Instant{1} + console::kLoopPause);
  console_->serve(next);
  EXPECT_EQ(heard(fd, "status\n"), "status\n");
  close(fd);
  serve();
  EXPECT_EQ(console_->next_deadline(), ib::kNever);  // it went with its session
}

TEST_F(ConsolePort, TheSocketIsForThoseWhoAreListed) {
  open(Place::AllAddresses, "192.0.2.0/24, 127.0.0.2");
  EXPECT_THAT(log_text(), HasSubstr("telnet asks for no password"));
  const int stranger = connected();
  EXPECT_EQ(heard(stranger, "never"), "");
  close(stranger);
  EXPECT_THAT(log_text(), HasSubstr("127.0.0.1 refused: it is not in console_allow"));
  open(Place::AllAddresses);
  const int known = connected();
  EXPECT_EQ(heard(known), "OpenSM $ ");
  close(known);
}

TEST_F(ConsolePort, APortThatIsTakenIsSaidAndIbsmGoesOn) {
  open();
  ConsoleOptions options;
  options.place = Place::Loopback;
  options.port = port_;
  EXPECT_EQ(Console::open(options, *log_, {}), nullptr);
  EXPECT_THAT(log_text(), HasSubstr("cannot listen on TCP port " + std::to_string(port_) + ": "));
  options.place = Place::None;
  EXPECT_EQ(Console::open(options, *log_, {}), nullptr);
}

TEST_F(ConsolePort, WhyThereIsNoSocketIsSaid) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  ConsoleOptions options;
  for (const Place place : {Place::Loopback, Place::AllAddresses}) {
    options.place = place;
    rlimit none = before;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    EXPECT_EQ(Console::open(options, *log_, {}), nullptr);
    setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_THAT(log_text(), HasSubstr("cannot listen on TCP port 10000: Too many open files"));
    fs::resize_file(folder_ / "log", 0);
  }
}

}  // namespace
}  // namespace sm::daemon
