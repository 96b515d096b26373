// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ctl device` and lines of a topology file: devices that are unlike others.
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

Result<Words> read(const Model& model, const std::vector<std::string>& words) {
  if (words.empty()) return ib::fail(ErrorKind::Usage, kForm);
  const auto node = find_node(model.topology(), words[0]);
  if (!node) return tl::unexpected(node.error());
  Words all;
  all.node = *node;
  for (std::size_t i = 1; i < words.size(); ++i) {
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

/// Blanks between words, and quotes around those that have some.
Result<std::vector<std::string>> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < line.size()) {
    if (line[at] == ' ' || line[at] == '\t' || line[at] == '\r') {
      ++at;
      continue;
    }
    const bool quoted = line[at] == '"';
    const auto end = quoted ? line.find('"', at + 1) : line.find_first_of(" \t\r", at);
    if (quoted && end == std::string_view::npos)
      return ib::fail(ErrorKind::Malformed, "expected a closing quote");
    words.emplace_back(line.substr(at + (quoted ? 1 : 0), end - at - (quoted ? 1 : 0)));
    at = end == std::string_view::npos ? line.size() : end + (quoted ? 1 : 0);
  }
  return words;
}

}  // namespace

Result<void> change_device(Model& model, Instant now, const std::vector<std::string>& words) {
  const auto read_words = read(model, words);
  if (!read_words) return tl::unexpected(read_words.error());
  if (read_words->traits.empty()) return ib::fail(ErrorKind::Usage, kForm);
  for (const auto& [name, value] : read_words->traits)
    if (auto done = model.set_trait(now, read_words->node, read_words->port, name, value); !done)
      return done;
  return {};
}

Result<void> apply_device_lines(Model& model, const std::string& text, const std::string& file) {
  std::istringstream lines(text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    constexpr std::string_view kMark = "#device ";
    if (!line.starts_with(kMark)) continue;
    const auto words = split_words(std::string_view(line).substr(kMark.size()));
    const auto done = words ? change_device(model, Instant{0}, *words)
                            : Result<void>(tl::unexpected(words.error()));
    if (!done)
      return ib::fail(ErrorKind::Malformed,
                      file + ":" + std::to_string(number) + ": " + done.error().message);
  }
  return {};
}

CtlResult Control::device(Instant now, const CtlCommand& command) {
  const auto words = read(model_, command.words);
  if (!words) return refused(words.error());
  if (!words->traits.empty()) {
    const auto changed = change_device(model_, now, command.words);
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
