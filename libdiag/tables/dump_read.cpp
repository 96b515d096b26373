// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The formats differ in their headers, so one reader takes them all: a header says which switch the
// rows after it belong to and how they read.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "libdiag/base/text.h"
#include "libdiag/fabric/text_file.h"
#include "libdiag/tables/dump.h"

namespace ib::tables {
namespace {

constexpr std::size_t kMistakesMax = 200;  // that are said of one file

enum class Rows { None, Unicast, MulticastColumns, MulticastMasks, Fdb, McFdb };

class Reader {
 public:
  Reader(std::string_view text, std::string_view file, std::vector<Guid>* owners,
         std::vector<Diagnostic>* mistakes)
      : text_(text), file_(file), owners_(owners), mistakes_(mistakes) {}

  Result<std::vector<SwitchTables>> read() {
    while (!text_.empty()) {
      const std::size_t end = text_.find('\n');
      line_ = text_.substr(0, end);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
      if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
      ++number_;
      // What follows a header that is wrong cannot be told apart.
      const bool is_row = rows_ != Rows::None && starts("0x");
      if (!read_line() && (mistakes_ == nullptr || !is_row || mistakes_->size() >= kMistakesMax))
        break;
    }
    if (!error_ && open_) {
      ++number_;
      wrong(1, fmt::format("expected '... lids dumped' below the {} rows of switch {}, got end of "
                           "file",
                           rows_read_, to_string(tables_[current_].guid)));
    }
    if (error_) return tl::unexpected<Error>(*std::move(error_));
    return std::move(tables_);
  }

 private:
  bool starts(std::string_view what) const { return line_.substr(0, what.size()) == what; }

  bool expected(std::size_t column, std::string_view what) {
    std::string_view got = column < line_.size() ? line_.substr(column) : std::string_view();
    got = got.substr(0, 24);
    wrong(column + 1, fmt::format("expected {}, got {}", what,
                                  got.empty() ? "end of line" : "'" + printable(got) + "'"));
    return false;
  }
  /// The first is the error, all are mistakes.
  void wrong(std::size_t column, std::string what) {
    if (!error_)
      error_ = {ErrorKind::Usage, fmt::format("{}:{}:{}: {}", file_, number_, column, what), 0};
    if (mistakes_ != nullptr)
      mistakes_->push_back(
          {Severity::Error,
           std::string(file_),
           {static_cast<std::uint32_t>(number_), static_cast<std::uint32_t>(column)},
           std::move(what)});
  }

  /// A number at `at`, hexadecimal after 0x; moves `at` behind it.
  bool number(std::size_t& at, std::uint64_t max, std::uint64_t& value, int base = 0) const {
    if (at >= line_.size()) return false;
    std::size_t begin = at;
    if (base == 0) {
      base = 10;
      if (line_.substr(at, 2) == "0x") {
        begin += 2;
        base = 16;
      }
    }
    const char* first = line_.data() + begin;
    const char* last = line_.data() + line_.size();
    const auto [end, error] = std::from_chars(first, last, value, base);
    if (end == first || error != std::errc{} || value > max) return false;
    at = static_cast<std::size_t>(end - line_.data());
    return true;
  }

  bool read_line() {
    if (starts("0x")) {
      ++rows_read_;
      return read_row();
    }
    if (starts("Unicast lids [")) return read_header(14, Rows::Unicast);
    if (starts("Multicast mlids [")) return read_header(17, Rows::MulticastColumns);
    if (starts("dump_ucast_routes: Switch ")) return read_switch(26, Rows::Fdb);
    if (starts("Switch 0x")) return read_switch(7, Rows::McFdb);
    if (starts(" MLid       Port Mask")) {
      rows_ = Rows::MulticastMasks;
      return true;
    }
    const std::string_view text = trim(line_);
    if (text.ends_with("lids dumped")) return read_trailer();
    const bool known = text.empty() || text.front() == '#' || text.front() == '-' ||
                       text.starts_with("LID    :") || text.starts_with("Lid  Out") ||
                       text.starts_with("Port     Info") || text == "MLid" ||
                       text.starts_with("Ports:") ||
                       text.starts_with("Switch multicast mlid capability") ||
                       (starts("            ") && rows_ == Rows::MulticastColumns);
    return known || expected(0, "the header or a row of a forwarding table");
  }

  /// "... [0x0-0xd] of switch ADDRESS guid 0x... (NAME):"
  bool read_header(std::size_t at, Rows rows) {
    std::uint64_t first = 0, last = 0, guid = 0;
    if (!number(at, 0xFFFF, first)) return expected(at, "the first LID");
    if (line_.substr(at, 1) != "-") return expected(at, "'-'");
    if (!number(++at, 0xFFFF, last)) return expected(at, "the last LID");
    constexpr std::string_view kSwitch = "] of switch ";
    if (line_.substr(at, kSwitch.size()) != kSwitch) return expected(at, "'] of switch '");
    at += kSwitch.size();
    constexpr std::string_view kGuid = " guid 0x";
    const std::size_t mark = line_.find(kGuid, at);
    if (mark == std::string_view::npos) return expected(at, "an address and ' guid 0x'");
    const std::string_view address = line_.substr(at, mark - at);
    at = mark + kGuid.size() - 2;
    if (!number(at, ~std::uint64_t{0}, guid)) return expected(at, "a GUID");
    if (guid == 0) return expected(mark + kGuid.size() - 2, "a GUID other than 0");
    if (line_.substr(at, 2) != " (" || !line_.ends_with("):")) return expected(at, "' (NAME):'");
    std::string_view name = line_.substr(at + 2, line_.size() - at - 4);
    if (name.size() >= 2 && name.front() == '\'' && name.back() == '\'')
      name = name.substr(1, name.size() - 2);
    SwitchTables& table = table_of(Guid{guid});
    table.address = address;
    table.name = name;
    rows_ = rows;
    rows_read_ = 0;
    open_ = true;
    if (rows == Rows::Unicast && table.lft.size() < last + 1) table.lft.resize(last + 1, kNoPort);
    if (rows == Rows::MulticastColumns && last + 1 >= kLidMulticastMin.value)
      table.multicast_cap = static_cast<std::uint16_t>(last + 1 - kLidMulticastMin.value);
    return true;
  }

  /// "38 valid lids dumped": how many rows there must have been. Without "valid" opensm counts LIDs
  /// that nobody has, too, and has no row for them.
  bool read_trailer() {
    std::size_t at = 0;
    std::uint64_t count = 0;
    if (!number(at, ~std::uint64_t{0}, count, 10)) return expected(0, "a number of LIDs");
    const bool exact = line_.find("valid") != std::string_view::npos;
    if (open_ && (exact ? count != rows_read_ : count < rows_read_))
      return expected(0, fmt::format("the number of the rows above it, {}", rows_read_));
    open_ = false;
    return true;
  }

  bool read_switch(std::size_t at, Rows rows) {
    std::uint64_t guid = 0;
    const std::size_t begin = at;
    if (line_.substr(at, 2) != "0x" || !number(at, ~std::uint64_t{0}, guid) || guid == 0)
      return expected(begin, "a GUID");
    table_of(Guid{guid});
    rows_ = rows;
    open_ = false;
    return true;
  }

  SwitchTables& table_of(Guid guid) {
    const auto [at, fresh] = index_.emplace(guid, tables_.size());
    if (fresh) {
      tables_.emplace_back();
      tables_.back().guid = guid;
    }
    current_ = at->second;
    return tables_[current_];
  }

  bool read_row() {
    std::size_t at = 0;
    std::uint64_t lid = 0;
    if (!number(at, 0xFFFF, lid)) return expected(0, "a LID");
    switch (rows_) {
      case Rows::None:
        return expected(0, "the header of a forwarding table");
      case Rows::Unicast:
        return read_unicast(at, lid);
      case Rows::Fdb:
        return read_fdb(at, lid);
      case Rows::MulticastColumns:
      case Rows::MulticastMasks:
      case Rows::McFdb:
        return read_multicast(at, lid);
    }
    return true;
  }

  bool set_port(std::uint64_t lid, std::uint64_t port) {
    if (lid > kLidUnicastMax.value) return expected(0, "a unicast LID");
    auto& lft = tables_[current_].lft;
    if (lft.size() <= lid) lft.resize(lid + 1, kNoPort);
    lft[lid] = static_cast<std::uint8_t>(port);
    return true;
  }

  /// Three digits, as all of these formats have: of a row that was cut off fewer are left, which
  /// would be another port.
  bool port_number(std::size_t& at, std::uint64_t& port) {
    const std::size_t begin = at;
    if (number(at, 255, port, 10) && at == begin + 3) return true;
    at = begin;
    return false;
  }

  bool read_unicast(std::size_t at, std::uint64_t lid) {
    std::uint64_t port = 0;
    if (line_.substr(at, 1) != " ") return expected(at, "a blank");
    if (!port_number(++at, port)) return expected(at, "a port number of three digits");
    return set_port(lid, port) && read_owner(at, lid);
  }

  /// " # Channel Adapter portguid 0x0002c9...: 'name'", where there is one.
  bool read_owner(std::size_t at, std::uint64_t lid) {
    constexpr std::string_view kMark = " portguid 0x";
    const std::size_t mark = line_.find(kMark, at);
    if (owners_ == nullptr || mark == std::string_view::npos) return true;
    std::uint64_t guid = 0;
    at = mark + kMark.size() - 2;
    if (!number(at, ~std::uint64_t{0}, guid))
      return expected(mark + kMark.size() - 2, "a port GUID");
    if (owners_->size() <= lid) owners_->resize(lid + 1);
    (*owners_)[lid] = Guid{guid};
    return true;
  }

  /// "0x0001 : 011  : 02   : yes" or "0x0001 : UNREACHABLE"
  bool read_fdb(std::size_t at, std::uint64_t lid) {
    if (line_.substr(at, 3) != " : ") return expected(at, "' : '");
    at += 3;
    std::uint64_t port = kNoPort;
    if (!line_.substr(at).starts_with("UNREACHABLE") && !port_number(at, port))
      return expected(at, "a port number of three digits or UNREACHABLE");
    return set_port(lid, port);
  }

  bool read_multicast(std::size_t at, std::uint64_t lid) {
    const Lid mlid{static_cast<std::uint16_t>(lid)};
    if (!mlid.is_multicast()) return expected(0, "a multicast LID");
    PortMask mask;
    if (rows_ == Rows::McFdb) {
      if (line_.substr(at, 2) != " :") return expected(at, "' :'");
      for (at += 2; at < line_.size();) {
        std::uint64_t port = 0;
        if (line_[at] == ' ') {
          ++at;
        } else if (line_.substr(at, 2) == "0x" && number(at, 254, port)) {
          mask.set(static_cast<unsigned>(port));
        } else {
          return expected(at, "a port number");
        }
      }
    } else {
      constexpr std::size_t kColumn = 12;
      if (line_.substr(at, kColumn - at) != std::string_view("      "))
        return expected(at, "six blanks");
      const bool masks = rows_ == Rows::MulticastMasks;
      for (std::size_t i = kColumn; i < line_.size(); i += masks ? 4 : 2) {
        if (masks) {
          std::uint64_t bits = 0;
          const char* first = line_.data() + i;
          const auto [end, error] =
              std::from_chars(first, first + std::min<std::size_t>(4, line_.size() - i), bits, 16);
          const std::size_t chunk = (i - kColumn) / 4;
          if (end != first + 4 || chunk > 15) return expected(i, "four hexadecimal digits");
          mask.bits[chunk / 4] |= bits << (chunk % 4 * 16);
        } else if (line_[i] == 'x') {
          if ((i - kColumn) / 2 > 254) return expected(i, "at most 255 columns");
          mask.set(static_cast<unsigned>((i - kColumn) / 2));
        } else if (line_[i] != ' ') {
          return expected(i, "'x' or a blank");
        }
      }
      auto& ports = tables_[current_].num_ports;
      if (!masks && line_.size() > kColumn)
        ports = std::max(ports, static_cast<std::uint8_t>((line_.size() - kColumn - 1) / 2));
    }
    if (!mask.empty()) tables_[current_].mft[mlid] = mask;
    return true;
  }

  std::string_view text_, file_, line_;
  std::vector<Guid>* owners_;
  std::vector<Diagnostic>* mistakes_;
  std::size_t number_{0};
  Rows rows_{Rows::None};
  std::size_t rows_read_{0};  // since the header
  bool open_{false};          // a table that says at its end how many rows it has, and has not yet
  std::vector<SwitchTables> tables_;
  std::map<Guid, std::size_t> index_;
  std::size_t current_{0};
  std::optional<Error> error_;
};

/// A row of dump_fts has some 70 bytes: 1,620 switches with 13,284 LIDs make 1.4 GB of them, 5,000
/// with all LIDs there are 17.
constexpr std::size_t kTablesBytesMax = std::size_t{20} << 30;

}  // namespace

Result<std::vector<SwitchTables>> read_tables(std::string_view text, std::string_view file_name,
                                              std::vector<Guid>* owners,
                                              std::vector<Diagnostic>* mistakes) {
  return Reader(text, file_name, owners, mistakes).read();
}

Result<std::vector<SwitchTables>> read_tables_file(const std::string& path) {
  const auto text = fabric::read_file_or_pipe(path, kTablesBytesMax);
  if (!text) return tl::unexpected<Error>(text.error());
  return read_tables(*text, path);
}

}  // namespace ib::tables
