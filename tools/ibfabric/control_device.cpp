// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ctl device` and lines of a topology file: devices that are unlike others.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "libdiag/base/text.h"
#include "tools/ibfabric/control.h"
#include "tools/ibfabric/control_answers.h"
#include "tools/ibfabric/device_lines.h"
#include "tools/ibfabric/place.h"

namespace ibfabric {

using ib::ErrorKind;
using ib::Instant;
using ib::Result;
using ib::sim::Model;

namespace {

constexpr const char* kForm = "expected device NODE [PORT] [NAME=VALUE]...";

struct Words {
  ib::fabric::NodeIndex node{};
  std::optional<std::uint8_t> port;
  std::vector<std::pair<std::string, std::string>> traits;
};

/// `at` is the word that an error is about, or where one is missing.
Result<Words> read(const Model& model, const std::vector<std::string>& words, std::size_t& at) {
  at = 0;
  if (words.empty()) return ib::fail(ErrorKind::Usage, kForm);
  const auto node = find_node(model.topology(), words[0]);
  if (!node) return tl::unexpected(node.error());
  Words all;
  all.node = *node;
  for (std::size_t i = 1; i < words.size(); ++i) {
    at = i;
    const auto equals = words[i].find('=');
    if (equals != std::string::npos) {
      all.traits.emplace_back(words[i].substr(0, equals), words[i].substr(equals + 1));
      continue;
    }
    std::uint64_t port = 0;
    const unsigned ports = model.topology().node(*node).num_ports;
    if (i == 1 && ib::parse_number(words[i], 255, port) && port > ports)
      return ib::fail(ErrorKind::Usage,
                      ib::printable(words[0]) + " has " +
                          (ports == 1 ? "1 port" : std::to_string(ports) + " ports") +
                          ", none is " + std::to_string(port));
    if (i != 1 || !ib::parse_number(words[i], ports, port))
      return ib::fail(ErrorKind::Usage,
                      std::string(kForm).append(", got '").append(ib::printable(words[i])) + "'");
    all.port = static_cast<std::uint8_t>(port);
  }
  return all;
}

/// NODE [PORT] NAME=VALUE...: all of it, or nothing and an error about the word `at`.
Result<void> change_device(Model& model, Instant now, const std::vector<std::string>& words,
                           std::size_t& at) {
  const auto read_words = read(model, words, at);
  if (!read_words) return tl::unexpected(read_words.error());
  const auto& [node, port, traits] = *read_words;
  if (traits.empty()) return at = words.size(), ib::fail(ErrorKind::Usage, kForm);
  at = words.size() - traits.size();
  for (const auto& [name, value] : traits) {
    if (auto good = model.check_trait(node, port, name, value); !good) return good;
    ++at;
  }
  for (const auto& [name, value] : traits)
    if (auto done = model.set_trait(now, node, port, name, value); !done) return done;
  return {};
}

constexpr std::string_view kBlanks = " \t\r";

/// Of a line of a file: blanks between words, and quotes around those that have some.
struct LineWords {
  std::vector<std::string> words;
  std::vector<std::size_t> columns;  // from 0; behind the last word that of the end
  bool is_open{false};               // the last word lacks its closing quote
};

LineWords split_words(std::string_view line, std::size_t at) {
  LineWords all;
  const auto end_of = [&](std::size_t end) { return std::min(end, line.size()); };
  for (; (at = line.find_first_not_of(kBlanks, at)) != std::string_view::npos;) {
    const bool quoted = line[at] == '"';
    const std::size_t begin = at + (quoted ? 1 : 0);
    const std::size_t found = quoted ? line.find('"', begin) : line.find_first_of(kBlanks, begin);
    all.is_open = quoted && found == std::string_view::npos;
    all.words.emplace_back(line.substr(begin, end_of(found) - begin));
    all.columns.push_back(at);
    at = end_of(found) + (quoted ? 1 : 0);
  }
  all.columns.push_back(line.find_last_not_of(kBlanks) + 1);
  return all;
}

}  // namespace

Result<void> apply_device_lines(Model& model, const std::string& text, const std::string& file) {
  std::istringstream lines(text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    constexpr std::string_view kMark = "#device";
    const std::size_t mark = std::min(line.find_first_not_of(kBlanks), line.size());
    const std::size_t rest = mark + kMark.size();
    if (!line.substr(mark).starts_with(kMark)) continue;
    if (line.size() > rest && kBlanks.find(line[rest]) == std::string_view::npos) continue;
    const LineWords words = split_words(line, rest);
    std::size_t at = words.is_open ? words.words.size() - 1 : 0;
    const auto done = words.is_open ? ib::fail(ErrorKind::Malformed, "expected a closing quote")
                                    : change_device(model, Instant{0}, words.words, at);
    if (!done)
      return ib::fail(ErrorKind::Malformed, file + ":" + std::to_string(number) + ":" +
                                                std::to_string(words.columns[at] + 1) + ": " +
                                                done.error().message);
  }
  return {};
}

CtlResult Control::device(Instant now, const CtlCommand& command) {
  std::size_t at = 0;
  const auto words = read(model_, command.words, at);
  if (!words) return refused(words.error());
  if (!words->traits.empty()) {
    const auto changed = change_device(model_, now, command.words, at);
    return changed ? done(command) : refused(changed.error());
  }
  Json rows = Json::array();
  std::string text;
  for (const auto& trait : model_.traits(words->node)) {
    if (words->port && trait.port != words->port) continue;
    rows.push_back({{"port", trait.port ? Json(*trait.port) : Json()},
                    {"name", trait.name},
                    {"value", trait.value}});
    if (trait.port) text += "port " + std::to_string(*trait.port) + " ";
    text += trait.name + "=" + trait.value + "\n";
  }
  if (command.json) return in_json("device", {{"traits", std::move(rows)}});
  return {0, text};
}

}  // namespace ibfabric
