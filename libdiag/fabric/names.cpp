// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/names.h"

#include <algorithm>
#include <vector>

#include "libdiag/base/text.h"
#include "libdiag/fabric/text_file.h"

namespace ib::fabric {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string place(std::string_view file, std::size_t line, std::size_t column) {
  return std::string(file) + ':' + std::to_string(line) + ':' + std::to_string(column) + ": ";
}

tl::unexpected<Error> wrong(std::string_view file, std::size_t line, std::string_view text,
                            std::size_t at, std::string_view expected) {
  std::string got = "the end of the line";
  if (at < text.size()) {
    const std::string_view word = text.substr(at, text.find_first_of(kBlanks, at) - at);
    got = "'" + printable(word.empty() ? text.substr(at, 1) : word.substr(0, 40)) + "'";
  }
  return fail(ErrorKind::Usage, place(file, line, std::min(at, text.size()) + 1) + "expected " +
                                    std::string(expected) + ", got " + got);
}

std::string quoted(std::string_view text) { return "'" + printable(text) + "'"; }

/// The one that fits, or in which way there is none.
template <class Fits>
std::optional<Result<NodeIndex>> only_one(const Fabric& fabric, std::string_view text, Fits fits) {
  std::vector<NodeIndex> found;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (fits(fabric.node(n))) found.push_back(n);
  }
  if (found.empty()) return std::nullopt;
  if (found.size() == 1) return found[0];
  std::string message = "the name " + quoted(text) + " is borne by " +
                        std::to_string(found.size()) + " nodes; say which by GUID:";
  constexpr std::size_t kListed = 8;
  for (std::size_t i = 0; i < std::min(found.size(), kListed); ++i) {
    message += (i == 0 ? " " : ", ") + to_string(fabric.node(found[i]).guid);
  }
  if (found.size() > kListed) message += ", ...";
  return Result<NodeIndex>(fail(ErrorKind::Usage, message));
}

std::optional<NodeIndex> find_by_guid(const Fabric& fabric, std::string_view text) {
  Guid guid;
  if (!text.starts_with("0x") || !parse_guid(text, guid)) return std::nullopt;
  if (const auto node = fabric.find_node(guid)) return node;
  if (const auto port = fabric.find_port_guid(guid)) return port->node;
  return std::nullopt;
}

}  // namespace

Result<NodeNames> NodeNames::read(std::string_view text, std::string_view file_name) {
  NodeNames names;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::size_t at = line.find_first_not_of(kBlanks);
    if (at == std::string_view::npos || line[at] == '#') continue;
    const std::size_t guid_end = std::min(line.find_first_of(" \t\"", at), line.size());
    Guid guid;
    const std::string_view digits = line.substr(at, guid_end - at);
    if (!digits.starts_with("0x") || !parse_guid(digits, guid)) {
      return wrong(file_name, number, line, at, "a node GUID (0x and hexadecimal digits)");
    }
    at = std::min(line.find_first_not_of(kBlanks, guid_end), line.size());
    if (at == line.size() || line[at] != '"') {
      return wrong(file_name, number, line, at, "a name in quotes");
    }
    const std::size_t name_end = line.find('"', at + 1);
    if (name_end == std::string_view::npos) {
      return wrong(file_name, number, line, line.size(), "a closing quote");
    }
    if (name_end == at + 1) return wrong(file_name, number, line, at, "a name that is not empty");
    names.names_.emplace(guid, printable(line.substr(at + 1, name_end - at - 1)));
    at = std::min(line.find_first_not_of(kBlanks, name_end + 1), line.size());
    if (at < line.size() && line[at] != '#') {
      return wrong(file_name, number, line, at, "a comment or the end of the line");
    }
  }
  return names;
}

Result<NodeNames> NodeNames::read_file(const std::string& path) {
  const auto text = read_file_or_pipe(path);
  if (!text) return tl::unexpected<Error>(text.error());
  return read(*text, path);
}

std::optional<std::string_view> NodeNames::find(Guid node_guid) const {
  const auto it = names_.find(node_guid);
  if (it == names_.end()) return std::nullopt;
  return it->second;
}

std::string NodeNames::name_of(const Node& node) const {
  const auto mapped = find(node.guid);
  return mapped ? std::string(*mapped) : printable(node.description);
}

std::string short_name(const Node& node) {
  std::string name(trim(printable(node.description)));
  if (!node.is_switch()) return name.substr(0, name.find(' '));
  // "MF0;" and the like, NAME, ":MODEL/"; what follows the model is the place in a chassis, and
  // "U1" alone, the only chip of a box, is none.
  const std::size_t semicolon = name.find(';');
  const std::size_t colon = name.find(':', semicolon == std::string::npos ? 0 : semicolon);
  if (semicolon == std::string::npos || colon == std::string::npos) return name;
  const std::size_t slash = name.find('/', colon);
  std::string host = name.substr(semicolon + 1, colon - semicolon - 1);
  if (slash == std::string::npos || name.substr(slash) == "/U1") return host;
  return host.append(1, ' ').append(name, slash + 1);
}

Result<NodeIndex> find_node(const Fabric& fabric, std::string_view text, const NodeNames* names) {
  if (text.empty()) return fail(ErrorKind::Usage, "expected a node, got nothing");
  if (auto n = only_one(fabric, text, [&](const Node& node) { return node.file_id == text; })) {
    return *n;
  }
  if (const auto n = find_by_guid(fabric, text)) return *n;
  if (names != nullptr) {
    if (auto n = only_one(fabric, text,
                          [&](const Node& node) { return names->find(node.guid) == text; })) {
      return *n;
    }
  }
  if (auto n = only_one(fabric, text, [&](const Node& node) { return node.description == text; })) {
    return *n;
  }
  if (auto n = only_one(fabric, text, [&](const Node& node) { return short_name(node) == text; })) {
    return *n;
  }
  return fail(ErrorKind::NotFound, "no node has the name, id or GUID " + quoted(text));
}

Result<NodeAndPort> find_node_and_port(const Fabric& fabric, std::string_view text,
                                       const NodeNames* names) {
  auto whole = find_node(fabric, text, names);
  if (whole) return NodeAndPort{*whole, std::nullopt};
  const std::size_t colon = text.rfind(':');
  std::uint64_t port = 0;
  if (colon == std::string_view::npos || !parse_number(text.substr(colon + 1), 254, port)) {
    return tl::unexpected<Error>(whole.error());
  }
  const auto node = find_node(fabric, text.substr(0, colon), names);
  if (!node) return tl::unexpected<Error>(node.error());
  const unsigned ports = fabric.node(*node).num_ports;
  const unsigned first = fabric.node(*node).is_switch() ? 0 : 1;
  if (port < first || port > ports) {
    return fail(ErrorKind::Usage, "expected a port of " + quoted(text.substr(0, colon)) + ", " +
                                      std::to_string(first) + " to " + std::to_string(ports) +
                                      ", got " + std::to_string(port));
  }
  return NodeAndPort{*node, static_cast<std::uint8_t>(port)};
}

}  // namespace ib::fabric
