// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/announcer.h"

#include <iostream>
#include <utility>

namespace sm::daemon {

void Announcer::say_engine(const Routing& routing) {
  const bool one_vl = routing.virtual_lanes.trivial();
  std::string news = routing.engine.empty() ? "no routes stand"
                                            : "routes are those of " + routing.engine +
                                                  (one_vl ? ", on one VL" : ", on several VLs");
  if (news == last_engine_) return;
  last_engine_ = std::move(news);
  log_.write({ib::LogLevel::Info, "plan", last_engine_});
}

std::string Announcer::announce(const std::string& headline,
                                const std::vector<std::string>& lines) {
  log_.write_always(headline);
  std::string news = headline.substr(0, headline.find(" mads="));
  for (const std::string& line : lines) news += "\n" + line;
  if (news == last_news_) return {};
  last_news_ = news;
  std::cout << headline << '\n';
  for (const std::string& line : lines) std::cout << line << '\n';
  std::cout << std::flush;
  return std::cout || std::exchange(unheard_, true) ? std::string() : told_otherwise();
}

/// stdout could not be written. Who runs ibsm once wants the result; a daemon goes on managing the
/// subnet as long as somebody can learn of it.
std::string Announcer::told_otherwise() {
  std::string why = "cannot write the result to stdout";
  if (!once_) {
    log_.write({ib::LogLevel::Warning, "ibsm", why});
    std::cerr << "ibsm: " << why << (log_.is_file() ? "; the log has it" : "") << std::endl;
    if (std::cerr || log_.is_file()) return {};
  }
  return why;
}

}  // namespace sm::daemon
