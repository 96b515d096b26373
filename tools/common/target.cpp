// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/common/target.h"

#include "libdiag/base/text.h"

namespace ib::tools {
namespace {

tl::unexpected<Error> expected(const std::string& what, std::string_view got) {
  return fail(ErrorKind::Usage, "expected " + what + ", got '" + printable(got) + "'");
}

bool only(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

}  // namespace

Result<mad::DirectedRoute> parse_route(std::string_view text) {
  mad::DirectedRoute route;
  const auto pieces = split(text.ends_with(',') ? text.substr(0, text.size() - 1) : text, ',');
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    std::uint64_t port = 0;
    if (!parse_number(pieces[i], 254, port) || (port == 0) != (i == 0)) {
      return expected("a directed route: 0, then port numbers from 1 to 254, like 0,1,3", text);
    }
    if (i > 0) route.hops.push_back(static_cast<std::uint8_t>(port));
  }
  if (route.hops.size() > 63) return expected("a directed route of at most 63 hops", text);
  return route;
}

Result<Target> parse_target(std::string_view text) {
  text = trim(text);
  if (text.empty()) return expected("a LID, GUID, GID, name or directed route", text);
  if (text == "0" || (text.find(',') != std::string_view::npos && only(text, "0123456789,"))) {
    auto route = parse_route(text);
    if (!route) return tl::unexpected<Error>(route.error());
    return Target{*std::move(route)};
  }
  if (text.starts_with("0x") || text.starts_with("0X")) {
    Lid lid;
    Guid guid;
    // Up to four digits are a LID; GUIDs are longer, padded or not.
    if (text.size() <= 6 && parse_lid(text, lid)) return Target{lid};
    if (text.size() > 6 && parse_guid(text, guid)) return Target{guid};
    return expected("a LID or a GUID", text);
  }
  if (only(text, "0123456789") && text.size() < 16) {
    Lid lid;
    if (!parse_lid(text, lid))
      return expected("a LID (1 to 0xbfff, multicast 0xc000 to 0xfffe)", text);
    return Target{lid};
  }
  Gid gid;
  if (text.find(':') != std::string_view::npos && parse_gid(text, gid)) return Target{gid};
  Guid guid;
  if (text.size() == 16 && only(text, "0123456789abcdefABCDEF") && parse_guid(text, guid)) {
    return Target{guid};
  }
  return Target{NodeName{std::string(text)}};
}

std::string to_string(const Target& target) {
  struct {
    std::string operator()(Lid lid) const { return "LID " + ib::to_string(lid); }
    std::string operator()(Guid guid) const { return "GUID " + ib::to_string(guid); }
    std::string operator()(const Gid& gid) const { return "GID " + ib::to_string(gid); }
    std::string operator()(const NodeName& name) const { return "'" + printable(name.text) + "'"; }
    std::string operator()(const mad::DirectedRoute& route) const {
      return "DR path " + mad::to_string(route);
    }
  } words;
  return std::visit(words, target);
}

}  // namespace ib::tools
