// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sm/console/port.h"

namespace sm::daemon {
namespace {

using ib::Instant;
using ib::LogLevel;
using Place = ConsoleOptions::Place;

}  // namespace

Console::Console(ConsoleOptions options, LogFile& log, Runner runner)
    : options_(std::move(options)), log_(log), runner_(std::move(runner)) {}

std::unique_ptr<Console> Console::open(const ConsoleOptions& options, LogFile& log, Runner runner) {
  if (options.place == Place::None) return nullptr;
  std::unique_ptr<Console> made(new Console(options, log, std::move(runner)));
  if (options.place == Place::Terminal) {
    made->terminal_.emplace();
    return made;
  }
  const bool is_open = options.place == Place::AllAddresses;
  auto listening = console::listen_at(
      is_open ? console::Reach::AllAddresses : console::Reach::Loopback, options.port);
  const std::uint16_t port = listening ? console::port_of(listening->get()) : std::uint16_t{0};
  auto clients = std::move(listening).and_then([](control::Descriptor fd) {
    return control::Clients::at(std::move(fd), console::kLineMost);
  });
  if (!clients) {
    made->say(LogLevel::Error, clients.error().message + ": there is no console");
    return nullptr;
  }
  made->clients_.emplace(*std::move(clients));
  made->say(LogLevel::Info,
            fmt::format("listening on TCP port {}{}", port, is_open ? "" : " of 127.0.0.1"));
  if (is_open)
    made->say(
        LogLevel::Warning,
        "anyone who reaches the port from an address in console_allow administers the subnet: "
        "telnet asks for no password and hides nothing");
  return made;
}

void Console::serve(Instant now) {
  now_ = now;
  if (clients_) clients_->serve(*this);
  if (terminal_) listen_to_terminal();
  // A client that cannot be told goes, and its session with it.
  std::vector<control::ClientId> due;
  for (const auto& [client, session] : sessions_)
    if (session.next_deadline() <= now) due.push_back(client);
  for (const control::ClientId client : due)
    if (const auto at = sessions_.find(client); at != sessions_.end())
      clients_->tell(client, at->second.on_time(now, runner(false)), *this);
}

Instant Console::next_deadline() const {
  Instant t = terminal_ ? typing_.next_deadline() : ib::kNever;
  for (const auto& [client, session] : sessions_) t = std::min(t, session.next_deadline());
  return t;
}

void Console::listen_to_terminal() {
  if (const auto line = terminal_->take_line()) answer_terminal(*line);
  if (terminal_->has_ended()) {
    // The end of the input is not the end of ibsm.
    terminal_.reset();
    return;
  }
  if (const std::string text = typing_.on_time(now_, runner(true)); !text.empty())
    Terminal::print(text);
}

/// The prompt is the terminal's, which edits the line behind it.
void Console::answer_terminal(std::string_view line) {
  const control::Reply reply = typing_.on_line(now_, line, runner(true));
  if (reply.ends) return terminal_->answer("Ctrl-C ends ibsm\n", console::kPrompt);
  const std::string_view text = reply.text;
  const bool asks = text.ends_with(console::kPrompt);
  const std::size_t prompt = asks ? std::string_view(console::kPrompt).size() : 0;
  terminal_->answer(text.substr(0, text.size() - prompt), asks ? console::kPrompt : "");
}

console::Session::Runner Console::runner(bool is_trusted) {
  return [this, is_trusted](console::Words words) { return runner_(words, is_trusted); };
}

bool Console::admits(int fd) {
  const bool is_one =
      options_.place == Place::Loopback || console::is_peer_among(fd, options_.allowed);
  const std::string who = console::peer_name(fd);
  if (is_one) {
    say(LogLevel::Verbose, "connection of " + who);
  } else {
    log_.write({LogLevel::Warning, "console",
                "connection of " + who + " refused: it is not in console_allow",
                ib::LogCause{"console connection"}});
  }
  return is_one;
}

control::Reply Console::on_line(control::ClientId client, std::string_view line) {
  return sessions_[client].on_line(now_, line, runner(false));
}

std::string Console::too_long() const {
  return fmt::format("a line has {} bytes at most\n", console::kLineMost);
}

void Console::on_gone(control::ClientId client) { sessions_.erase(client); }

void Console::say(LogLevel level, std::string message) {
  log_.write({level, "console", std::move(message)});
}

}  // namespace sm::daemon
