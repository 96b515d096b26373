// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The reader goes over the text once, line by line, on string_views; cables are joined afterwards,
// when every node is known.
#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>

#include "libdiag/base/text.h"
#include "libdiag/fabric/text_file.h"
#include "libdiag/fabric/topology_cables.h"
#include "libdiag/fabric/topology_gaps.h"
#include "libdiag/fabric/topology_line.h"
#include "libdiag/fabric/topology_oddities.h"
#include "libdiag/fabric/topology_text.h"

namespace ib::fabric {
namespace {

using wire::LinkSpeed;
using wire::LinkWidth;
using wire::NodeType;
using Oddity = TopologyOddities::Kind;

bool parse_hex(std::string_view digits, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out, 16);
  return !digits.empty() && error == std::errc{} && end == digits.data() + digits.size();
}

/// Facts that precede a node's header line.
struct Preamble {
  std::uint64_t vendor{}, device{}, system_image{}, guid{}, port_guid{};
  bool has_guid{false};
  std::size_t line{0};  // of the first of them; 0: there is none
};

class Reader : TopologyLine {
 public:
  Reader(std::string_view text, std::string_view file, std::vector<std::string>* warnings)
      : text_(text), file_(file), warnings_(warnings) {}

  Result<Fabric> read() {
    while (next_line()) {
      if (read_line()) continue;
      if (!is_cut_off()) return tl::unexpected<Error>(std::move(error_));
      cut_line_ = line_number_;
    }
    if (fabric_.nodes().empty()) {
      // A file that was never written, comments alone, or text of another kind.
      if (oddities_.header_lines() == 0)
        wrong_at(line_number_ + 1, 1, "a node", "the end of the file");
      return tl::unexpected<Error>(std::move(error_));
    }
    for (const auto& [line, column, text] : oddities_.warnings()) warn(line, column, text);
    if (!resolve_claims()) return tl::unexpected<Error>(std::move(error_));
    const WarnAt say = [this](std::size_t line, std::size_t column, const std::string& text) {
      warn(line, column, text);
    };
    const bool may_be_cut = is_unfinished() || !undescribed_.empty() || names_both_ends_;
    warn_of_undescribed(join_cables(fabric_, claims_, may_be_cut ? current_ : kNoNode, say));
    if (warnings_ != nullptr) warn_of_twins(fabric_, line_of_node_, say);
    fill_port_guids(fabric_);
    fabric_.reindex();
    return std::move(fabric_);
  }

 private:
  // ---- the current line ----

  bool next_line() {
    if (next_ >= text_.size()) return false;
    const std::size_t end = std::min(text_.find('\n', next_), text_.size());
    start(text_.substr(next_, end - next_));
    next_ = end + 1;
    ++line_number_;
    const std::size_t length = line_.find_last_not_of('\r') + 1;
    if (length < line_.size()) odd(Oddity::CarriageReturns, length);
    line_ = line_.substr(0, length);
    return true;
  }
  /// The current line is the last one, and has no end.
  bool is_unfinished() const { return next_ > text_.size(); }
  /// ... and is what such a line may begin with.
  bool is_cut_off() const {
    return is_unfinished() && !fabric_.nodes().empty() &&
           may_begin_a_record(line_.substr(std::min(line_.find_first_not_of(" \t"), line_.size())));
  }
  void odd(Oddity kind, std::size_t column) {
    oddities_.met(kind, line_number_, column + 1, line_);
  }

  // ---- messages ----

  std::string place(std::size_t line, std::size_t column) const {
    return std::string(file_) + ':' + std::to_string(line) + ':' + std::to_string(column) + ": ";
  }
  bool wrong_at(std::size_t line, std::size_t column, std::string_view expected,
                std::string_view got) {
    error_ = {
        ErrorKind::Usage,
        place(line, column) + "expected " + std::string(expected) + ", got " + std::string(got), 0};
    return false;
  }
  /// Fails at the current place of the current line.
  bool wrong(std::string_view expected) {
    if (at_end()) return wrong_at(line_number_, at_ + 1, expected, "the end of the line");
    std::string_view got = rest();
    got = got.substr(0, std::min<std::size_t>(got.find_first_of(" \t"), 40));
    if (got.empty()) got = rest().substr(0, 1);
    return wrong_at(line_number_, at_ + 1, expected, "'" + printable(got) + "'");
  }
  void warn(std::size_t line, std::size_t column, const std::string& message) {
    if (warnings_ != nullptr) warnings_->push_back(place(line, column) + message);
  }

  // ---- lines ----

  bool read_line() {
    skip_blanks();
    if (at_end() && !line_.empty()) odd(Oddity::WhiteSpace, 0);
    if (!is_begun_ && !at_end() && peek() != '#') {
      if (!begins_a_record(rest())) return read_header_line();
      is_begun_ = true;
    }
    switch (peek()) {
      case '\0':
        if (at_end()) return true;
        break;
      case '#':
        return read_comment();
      case '[':
        return read_port();
      case 'v':
        if (take("vendid=")) return read_hex_value(preamble_.vendor, 0xFFFFFFFF);
        break;
      case 'd':
        if (take("devid=")) return read_hex_value(preamble_.device, 0xFFFF);
        break;
      case 's':
        if (take("sysimgguid=")) return read_hex_value(preamble_.system_image, ~std::uint64_t{0});
        if (take("switchguid=")) return read_guids();
        break;
      case 'c':
        if (take("caguid=")) return read_guids();
        break;
      case 'r':
        if (take("rtguid=")) return read_guids();
        break;
      case 'S':
        if (take("Switch")) return read_header(NodeType::Switch);
        break;
      case 'H':
        if (take("Hca")) return read_header(NodeType::ChannelAdapter);
        break;
      case 'R':
        if (take("Rt") || take("Router")) return read_header(NodeType::Router);
        break;
      case 'C':
        // Only `Chassis N (guid 0x...)` of -g has a word here that is no node.
        if (take("Chassis ")) return true;
        if (take("Ca")) return read_header(NodeType::ChannelAdapter);
        break;
      case 'N':
        if (take("Non-Chassis Nodes")) return true;
        break;
      default:
        break;
    }
    return wrong(kRecords);
  }

  /// What a terminal or a mail put before the file.
  bool read_header_line() {
    constexpr std::size_t kHeaderMax = 20;
    if (oddities_.header_lines() == 0) wrong(kRecords);  // for a file without anything else
    if (oddities_.header_lines() == kHeaderMax) return false;
    odd(Oddity::Header, at_);
    return true;
  }

  bool read_comment() {
    static constexpr std::string_view kFrom = "# Initiated from node ";
    if (!take(kFrom)) return true;
    std::uint64_t node = 0;
    std::uint64_t port = 0;
    if (!take_hex(node)) return true;
    skip_blanks();
    if (!take("port ") || !take_hex(port)) return true;
    fabric_.initiated_from_node = Guid{node};
    fabric_.initiated_from_port = Guid{port};
    return true;
  }

  bool read_hex_value(std::uint64_t& out, std::uint64_t max) {
    const std::size_t begin = at_;
    begin_record();
    if (!take_hex(out) || out > max || (!at_end() && !is_blank(peek()))) {
      at_ = begin;
      return wrong("a hexadecimal number");
    }
    return read_tail();
  }

  void begin_record() {
    if (preamble_.line == 0) preamble_.line = line_number_;
  }

  /// `0xNODE(PORT)`; the port's GUID is a switch's port 0 or, for a CA, not written at all.
  bool read_guids() {
    const std::size_t begin = at_;
    begin_record();
    if (!take_hex(preamble_.guid) || (!at_end() && !is_blank(peek()) && peek() != '(')) {
      at_ = begin;
      return wrong("a GUID in hexadecimal");
    }
    preamble_.has_guid = true;
    preamble_.port_guid = 0;
    if (take('(')) {
      if (!take_hex(preamble_.port_guid)) return wrong("a port GUID in hexadecimal");
      if (!take(')')) return wrong("')'");
    }
    return read_tail();
  }

  /// Nothing but a comment may follow.
  bool read_tail() {
    skip_blanks();
    if (!at_end() && peek() != '#') return wrong("a comment or the end of the line");
    return true;
  }

  bool read_id(std::string_view& id) {
    if (!take('"')) return wrong("a node id in quotes");
    const std::size_t end = line_.find('"', at_);
    if (end == std::string_view::npos || end == at_) return wrong("a node id and a closing quote");
    id = line_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }

  /// GUID that an id of the form `S-0002c9...` spells.
  static std::optional<Guid> guid_of_id(std::string_view id) {
    std::uint64_t value = 0;
    if (id.size() < 3 || id[1] != '-' || id.size() > 18 || !parse_hex(id.substr(2), value)) {
      return std::nullopt;
    }
    return Guid{value};
  }

  bool read_header(NodeType type) {
    const std::size_t end_of_word = at_;
    if (!is_blank(peek())) {
      if (peek() < '0' || peek() > '9') return wrong("a blank after the node's type");
      oddities_.met(Oddity::LostBlank, line_number_, at_ + 1,
                    line_.substr(0, end_of_word).substr(line_.find_first_not_of(" \t")));
    }
    skip_blanks();
    Node node;
    node.type = type;
    std::uint64_t ports = 0;
    if (!take_number(254, ports, 1)) return wrong("a number of ports, 1 to 254");
    node.num_ports = static_cast<std::uint8_t>(ports);
    skip_blanks();
    std::string_view id;
    const std::size_t id_column = at_ + 1;
    if (!read_id(id)) return false;
    if (const auto seen = node_of_id_.find(id); seen != node_of_id_.end()) {
      return wrong_at(line_number_, id_column, "a node id that was not used before",
                      "'" + printable(id) + "'");
    }
    node.file_id = id;
    node.vendor_id = static_cast<std::uint32_t>(preamble_.vendor);
    node.device_id = static_cast<std::uint16_t>(preamble_.device);
    node.system_image_guid = Guid{preamble_.system_image};
    const auto spelled = guid_of_id(id);
    if (preamble_.has_guid) {
      node.guid = Guid{preamble_.guid};
    } else if (spelled) {
      node.guid = *spelled;
    } else {
      // ibsim's hand-written files have plain names and no GUIDs: give them some, in file order.
      node.guid = Guid{0x0100000000000000ULL + ((fabric_.nodes().size() + 1) << 8)};
      node.description = id;
    }
    Lid lid;
    std::uint8_t lmc = 0;
    if (!read_header_comment(node, lid, lmc)) {
      if (!is_unfinished()) return false;
      cut_line_ = line_number_;
    }
    if (is_unfinished() && preamble_.has_guid) lid = {};  // its last digits may be missing
    const Guid port0_guid = preamble_.port_guid != 0 ? Guid{preamble_.port_guid} : node.guid;
    names_both_ends_ = preamble_.has_guid;
    preamble_ = {};

    current_ = fabric_.add_node(std::move(node));
    line_of_node_.push_back(line_number_);
    claims_.add_ports(ports + 1);
    node_of_id_.emplace(id, current_);
    if (type == NodeType::Switch) {
      Port& port0 = fabric_.port(current_, 0);
      port0.guid = port0_guid;
      port0.lid = lid;
      port0.lmc = lmc;
    }
    return true;
  }

  /// `# "name" enhanced port 0 lid 13 lmc 0`. A name may hold quotes: it ends at the line's last.
  bool read_header_comment(Node& node, Lid& lid, std::uint8_t& lmc) {
    skip_blanks();
    if (at_end()) return true;
    if (!take('#')) return wrong("a comment or the end of the line");
    skip_blanks();
    if (take('"')) {
      const std::size_t end = line_.rfind('"');
      if (end < at_) {
        node.description = std::string(rest());
        return true;
      }
      node.description = std::string(line_.substr(at_, end - at_));
      at_ = end + 1;
    }
    while (skip_blanks(), !at_end()) {
      if (!read_comment_word(lid, lmc, &node.enhanced_port0, nullptr)) return false;
    }
    return true;
  }

  /// One word of a comment outside quotes: `lid N`, `lmc N`, `enhanced`, `4xEDR`, `v=N`; others
  /// pass.
  bool read_comment_word(Lid& lid, std::uint8_t& lmc, bool* enhanced, CableClaim* claim) {
    const std::string_view word = take_word();
    std::uint64_t value = 0;
    if (word == "lid") {
      skip_blanks();
      if (!take_number(0xFFFF, value)) return wrong("a LID, 0 to 65535");
      lid = Lid{static_cast<std::uint16_t>(value)};
    } else if (word == "lmc") {
      skip_blanks();
      if (!take_number(7, value)) return wrong("an LMC, 0 to 7");
      lmc = static_cast<std::uint8_t>(value);
    } else if (word == "enhanced" && enhanced != nullptr) {
      *enhanced = true;
    } else if (claim != nullptr) {
      read_link_word(word, *claim);
    }
    return true;
  }

  void read_link_word(std::string_view word, CableClaim& claim) {
    if (word.starts_with("v=")) {
      std::uint64_t vl_cap = 0;
      if (parse_hex(word.substr(2), vl_cap) && vl_cap <= 15) {
        fabric_.port(claim.from).vl_cap = static_cast<std::uint8_t>(vl_cap);
      }
      return;
    }
    std::size_t width_end = 0;
    if (word.starts_with("??")) {
      width_end = 2;
    } else {
      while (width_end < word.size() && word[width_end] >= '0' && word[width_end] <= '9') {
        ++width_end;
      }
      if (width_end == 0 || width_end == word.size() || word[width_end] != 'x') return;
      ++width_end;
    }
    const std::string_view width = word.substr(0, width_end);
    const std::string_view speed = word.substr(width_end);
    claim.width = wire::parse_width(width).value_or(LinkWidth::Unknown);
    claim.speed = wire::parse_speed(speed).value_or(LinkSpeed::Unknown);
    const std::size_t column = static_cast<std::size_t>(word.data() - line_.data()) + 1;
    if ((claim.width == LinkWidth::Unknown && width != "??") ||
        (claim.speed == LinkSpeed::Unknown && speed != "???")) {
      if (is_unfinished()) {
        cut_line_ = line_number_;
        return;
      }
      warn(line_number_, column, "'" + printable(word) + "' is no width and speed known here");
    }
  }

  /// `[ext 5]` of -g, after a port number.
  bool read_external_port(std::uint8_t* out) {
    const std::size_t begin = at_;
    skip_blanks();
    if (!take("[ext ")) {
      at_ = begin;
      return true;
    }
    std::uint64_t external = 0;
    if (!take_number(255, external)) return wrong("an external port number");
    if (!take(']')) return wrong("']'");
    if (out != nullptr) *out = static_cast<std::uint8_t>(external);
    return true;
  }

  /// `(2c9030008a773)` where there is one.
  bool read_port_guid(Guid& guid) {
    const std::size_t begin = at_;
    skip_blanks();
    if (!take('(')) {
      at_ = begin;
      return true;
    }
    std::uint64_t value = 0;
    if (!take_hex(value)) return wrong("a port GUID in hexadecimal");
    if (!take(')')) return wrong("')'");
    guid = Guid{value};
    return true;
  }

  bool read_port() {
    const std::size_t line_start = at_;
    if (current_ == kNoNode) return wrong("a node before its ports");
    ++at_;
    std::uint64_t number = 0;
    const unsigned ports = fabric_.node(current_).num_ports;
    if (!take_number(ports, number, 1)) {
      at_ = line_start + 1;
      return wrong("a port number, 1 to " + std::to_string(ports));
    }
    if (!take(']')) return wrong("']'");
    CableClaim claim;
    claim.from = {current_, static_cast<std::uint8_t>(number)};
    Port& port = fabric_.port(claim.from);
    const std::size_t index = fabric_.node(current_).first_port + number;
    if (claims_.has(index)) {
      at_ = line_start;
      return wrong("a port that was not described before");
    }
    if (!read_external_port(&port.external_port)) return false;
    if (!read_port_guid(port.guid)) return false;
    if (!read_external_port(&port.external_port)) return false;
    skip_blanks();
    claim.line = line_number_;
    claim.column = at_ + 1;
    if (!read_id(claim.peer_id)) return false;
    if (!take('[')) return wrong("'[' and the far port's number");
    if (!take_number(254, number, 1)) return wrong("a port number, 1 to 254");
    if (!take(']')) return wrong("']'");
    claim.peer_port = static_cast<std::uint8_t>(number);
    if (!read_external_port(nullptr) || !read_port_guid(claim.peer_port_guid)) return false;
    if (!read_external_port(nullptr)) return false;
    if (!read_port_comment(claim, port)) return false;
    port.present = true;
    claims_.add(index, claim);
    return true;
  }

  /// Of a switch: `# "far name" lid 19 4xFDR`; of others: `# lid 28 lmc 0 "far name" lid 13 4xEDR`.
  bool read_port_comment(CableClaim& claim, Port& port) {
    skip_blanks();
    if (at_end()) return true;
    if (!take('#')) return wrong("a comment or the end of the line");
    std::uint8_t ignored_lmc = 0;
    bool own = !fabric_.node(claim.from.node).is_switch();
    while (skip_blanks(), !at_end()) {
      if (peek() == '"') {
        const std::size_t end = line_.rfind('"');
        at_ = (end == at_) ? line_.size() : end + 1;
        own = false;
      } else if (!(own ? read_comment_word(port.lid, port.lmc, nullptr, &claim)
                       : read_comment_word(claim.peer_lid, ignored_lmc, nullptr, &claim))) {
        return false;
      }
    }
    return true;
  }

  // ---- cables ----

  std::optional<NodeIndex> node_of_id(std::string_view id) const {
    if (const auto it = node_of_id_.find(id); it != node_of_id_.end()) return it->second;
    if (const auto guid = guid_of_id(id)) return fabric_.find_node(*guid);
    return std::nullopt;
  }

  /// Where the cables lead. False where the far node has no such port.
  bool resolve_claims() {
    for (CableClaim& claim : claims_.all) {
      const auto node = node_of_id(claim.peer_id);
      if (!node) {
        undescribed_.push_back(&claim);
        continue;
      }
      if (claim.peer_port > fabric_.node(*node).num_ports) {
        return wrong_at(claim.line, claim.column + claim.peer_id.size() + 3,
                        "a port of '" + printable(claim.peer_id) + "', 1 to " +
                            std::to_string(fabric_.node(*node).num_ports),
                        std::to_string(claim.peer_port));
      }
      claim.to = {*node, claim.peer_port};
    }
    drop_half_a_claim();
    return true;
  }

  /// Of a last line without an end the other end of the cable knows better.
  void drop_half_a_claim() {
    if (!is_unfinished() || claims_.all.empty() || claims_.all.back().line != line_number_) return;
    const CableClaim& claim = claims_.all.back();
    const CableClaim* far = claim.to ? claims_.at(fabric_, claim.to) : nullptr;
    if (far == nullptr || far->to != claim.from) return;
    Port& port = fabric_.port(claim.from);
    const bool is_switch = fabric_.node(claim.from.node).is_switch();
    if (far->width == claim.width && far->speed == claim.speed &&
        (is_switch || far->peer_lid.value == 0 || far->peer_lid == port.lid))
      return;
    cut_line_ = line_number_;
    port.lid = {};
    claims_.drop_last(fabric_.node(claim.from.node).first_port + std::size_t{claim.from.port});
  }

  /// Behind the first lines of a record, or behind a header alone. Of a port that is down there is
  /// no line: the node that ibnetdiscover began with may have none.
  bool ends_within_a_record() const {
    if (preamble_.line != 0) return true;
    const Node& first = fabric_.nodes().front();
    return names_both_ends_ && fabric_.nodes().size() == 1 && claims_.all.empty() &&
           (is_unfinished() ||
            (fabric_.initiated_from_node.value != 0 ? fabric_.initiated_from_node != first.guid
                                                    : first.is_switch()));
  }

  /// One line about all cables to nodes that are not in the file. `of_cut`: cables of the last node
  /// that others named.
  void warn_of_undescribed(std::size_t of_cut) {
    const std::string the_file(kUndescribed);
    const bool ends_early = of_cut > 0 || ends_within_a_record();
    if (is_unfinished() && ends_early) cut_line_ = line_number_;
    if (cut_line_ == 0 && !ends_early && undescribed_.size() <= 1) {
      for (const CableClaim* claim : undescribed_)
        warn(claim->line, claim->column,
             the_file + " node '" + printable(claim->peer_id) + "'; cable ignored");
      return;
    }
    std::set<std::string_view> nodes;
    for (const CableClaim* claim : undescribed_) nodes.insert(claim->peer_id);
    const auto count = [](std::size_t number, const char* one, const char* many) {
      return std::to_string(number) + ' ' + (number == 1 ? one : many);
    };
    std::string what = !nodes.empty() ? ' ' + count(nodes.size(), "node", "nodes") + " ('" +
                                            printable(undescribed_.front()->peer_id) + "' first)"
                       : preamble_.line != 0
                           ? " the node of line " + std::to_string(preamble_.line)
                           : " all of '" + printable(fabric_.nodes().back().file_id) + "'";
    what += cut_line_ != 0 ? std::string(kEndsInTheMiddle) + std::to_string(cut_line_)
                           : std::string(kTruncated);
    std::string_view between = cut_line_ != 0 ? "; " : " ";
    const auto add = [&](std::size_t number, const char* is) {
      if (number == 0) return;
      what.append(between).append(count(number, "cable ", "cables ")).append(is);
      between = ", ";
    };
    add(undescribed_.size(), "ignored");
    add(of_cut, "known from one end");
    const bool of_line = cut_line_ != 0 || undescribed_.empty();
    warn(of_line ? line_number_ : undescribed_.front()->line,
         of_line ? 1 : undescribed_.front()->column, the_file + what);
  }

  static constexpr std::string_view kRecords =
      "a node, a port, vendid=, devid=, sysimgguid=, switchguid=, caguid= or rtguid=";

  std::string_view text_, file_;
  std::vector<std::string>* warnings_;
  std::size_t next_{0}, line_number_{0};
  Error error_;
  Fabric fabric_;
  Preamble preamble_;
  NodeIndex current_{kNoNode};
  /// The current node has a line with its GUID, which ibnetdiscover writes, and people do not: a
  /// file of its own names each cable at both ends.
  bool names_both_ends_{false};
  bool is_begun_{false};     // the first record was read, or is
  std::size_t cut_line_{0};  // which the file ends in the middle of; 0: it does not
  TopologyOddities oddities_;
  CableClaims claims_;
  std::vector<const CableClaim*> undescribed_;  // claims whose far node is not in the file
  std::vector<std::size_t> line_of_node_;
  std::unordered_map<std::string_view, NodeIndex> node_of_id_;
};

}  // namespace

Result<Fabric> read_topology(std::string_view text, std::string_view file_name,
                             std::vector<std::string>* warnings) {
  return Reader(text, file_name, warnings).read();
}

Result<Fabric> read_topology_file(const std::string& path, std::vector<std::string>* warnings) {
  const auto text = read_file_or_pipe(path);
  if (!text) return tl::unexpected<Error>(text.error());
  return read_topology(*text, path, warnings);
}

}  // namespace ib::fabric
