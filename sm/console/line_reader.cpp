// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/console/line_reader.h"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <string_view>

#include "sm/control/lines.h"

namespace sm::console {
namespace {

constexpr int kRemembered = 500;  // lines

/// False: it is to stop, or cannot wait.
bool wait_for_input(int stop_fd) {
  std::array<pollfd, 2> fds{{{STDIN_FILENO, POLLIN, 0}, {stop_fd, POLLIN, 0}}};
  while (poll(fds.data(), fds.size(), -1) < 0)
    if (errno != EINTR) return false;
  return fds[1].revents == 0;
}

class Plain final : public LineReader {
 public:
  Plain(int stop_fd, std::size_t most) : stop_fd_(stop_fd), most_(most), lines_(most) {}
  std::optional<std::string> read_line(const std::string& prompt) override {
    std::cout << prompt << std::flush;
    while (true) {
      if (auto line = lines_.next()) return line;
      if (lines_.too_long()) {
        std::cout << "a line has " << most_ << " bytes at most\n";
        return std::nullopt;
      }
      std::array<char, 4096> piece;
      if (!wait_for_input(stop_fd_)) return std::nullopt;
      const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) return std::nullopt;
      lines_.add({piece.data(), static_cast<std::size_t>(got)});
    }
  }

 private:
  int stop_fd_;
  std::size_t most_;
  control::Lines lines_;
};

class Edited final : public LineReader {
 public:
  Edited(int stop_fd, std::size_t most)
      : stop_fd_(stop_fd),
        most_(most),
        edit_(el_init("ibsm", stdin, stdout, stderr)),
        history_(history_init()) {
    HistEvent event{};
    history(history_, &event, H_SETSIZE, kRemembered);
    history(history_, &event, H_SETUNIQUE, 1);
    el_set(edit_, EL_CLIENTDATA, this);
    el_set(edit_, EL_PROMPT, prompt_of);
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_SIGNAL, 0);  // the daemon has them
    el_set(edit_, EL_HIST, history, history_);
    el_set(edit_, EL_GETCFN, next_key);
  }
  ~Edited() override {
    el_end(edit_);  // the terminal is as it was
    history_end(history_);
  }
  Edited(const Edited&) = delete;
  Edited& operator=(const Edited&) = delete;

  std::optional<std::string> read_line(const std::string& prompt) override {
    std::cout << std::flush;
    prompt_ = prompt;
    int count = 0;
    const char* said = el_gets(edit_, &count);
    if (said == nullptr || count <= 0) return std::nullopt;
    std::string_view line(said, static_cast<std::size_t>(count));
    if (line.ends_with('\n')) line.remove_suffix(1);
    line = line.substr(0, most_);
    HistEvent event{};
    if (!line.empty()) history(history_, &event, H_ENTER, std::string(line).c_str());
    return std::string(line);
  }

 private:
  static Edited& of(EditLine* edit) {
    void* self = nullptr;
    el_get(edit, EL_CLIENTDATA, &self);
    return *static_cast<Edited*>(self);
  }
  static char* prompt_of(EditLine* edit) { return of(edit).prompt_.data(); }
  /// As EL_GETCFN wants it: 1, or 0 where there are no more.
  static int next_key(EditLine* edit, wchar_t* key) {
    unsigned char byte = 0;
    do {
      if (!wait_for_input(of(edit).stop_fd_)) return 0;
      const ssize_t got = read(STDIN_FILENO, &byte, 1);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) return 0;
    } while (byte == 0 || byte > 0x7F);  // libedit knows the characters of the locale alone
    *key = byte;
    return 1;
  }

  int stop_fd_;
  std::size_t most_;
  std::string prompt_;
  EditLine* edit_;
  History* history_;
};

}  // namespace

std::unique_ptr<LineReader> LineReader::of_standard_input(int stop_fd, std::size_t most) {
  if (isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0)
    return std::make_unique<Edited>(stop_fd, most);
  return std::make_unique<Plain>(stop_fd, most);
}

}  // namespace sm::console
