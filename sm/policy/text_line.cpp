// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/text_line.h"

#include <fmt/format.h>

#include "libdiag/base/ids.h"
#include "libdiag/base/text.h"
#include "sm/policy/quotes.h"
#include "sm/policy/words.h"

namespace sm::policy {
namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";
constexpr std::size_t kDiagnosticsMax = 200;
constexpr char kDelete = 0x7F;

std::string bounded(std::string_view what, std::uint64_t min, std::uint64_t max) {
  return max == ~std::uint64_t{0} ? std::string(what)
                                  : fmt::format("{} from {} to {}", what, min, max);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kShownMax = 40;
  return "'" + ib::printable(text.substr(0, kShownMax)) + "'";
}

}  // namespace

Piece Piece::part(std::size_t from, std::size_t length) const {
  from = std::min(from, text.size());
  return {text.substr(from, length), {place.line, place.column + static_cast<std::uint32_t>(from)}};
}

Piece Piece::trimmed() const {
  const auto first = std::min(text.find_first_not_of(kBlanks), text.size());
  const auto last = text.find_last_not_of(kBlanks);
  return part(first, last == std::string_view::npos ? 0 : last + 1 - first);
}

std::pair<Piece, std::optional<Piece>> Piece::cut(char mark) const {
  const auto at = text.find(mark);
  if (at == std::string_view::npos) return {trimmed(), std::nullopt};
  return {part(0, at).trimmed(), part(at + 1).trimmed()};
}

std::pair<Piece, std::optional<Piece>> Piece::cut_last(char mark) const {
  const auto at = text.rfind(mark);
  if (at == std::string_view::npos) return {trimmed(), std::nullopt};
  return {part(0, at).trimmed(), part(at + 1).trimmed()};
}

std::vector<Piece> Piece::list() const {
  std::vector<Piece> out;
  std::size_t begin = 0;
  while (true) {
    const auto end = std::min(text.find(',', begin), text.size());
    out.push_back(part(begin, end - begin).trimmed());
    if (end == text.size()) return out;
    begin = end + 1;
  }
}

std::vector<Piece> text_lines(std::string_view text) {
  std::vector<Piece> out;
  std::uint32_t number = 0;
  for (const std::string_view whole : ib::split(text, '\n')) {
    Piece line{whole, {++number, 1}};
    line = line.part(0, line.text.find('#')).trimmed();
    if (!line.text.empty()) out.push_back(line);
  }
  return out;
}

std::string unquoted(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t quote = quote_length(text);
    if (quote == 0) out += text.front();
    text.remove_prefix(std::max<std::size_t>(quote, 1));
  }
  return std::string(ib::trim(out));
}

bool has_open_quote(std::string_view text) {
  bool open = false;
  while (!text.empty()) {
    const std::size_t quote = quote_length(text);
    if (quote != 0) open = !open;
    text.remove_prefix(std::max<std::size_t>(quote, 1));
  }
  return open;
}

std::optional<ib::Diagnostic> not_text(std::string_view text, const std::string& file) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return ib::Diagnostic{
        ib::Severity::Error, file, {1, 1}, "this file is UTF-16; write it as plain text (UTF-8)"};
  ib::TextPlace place{1, 1};
  for (const char c : text) {
    if (c == '\n') {
      place = {place.line + 1, 1};
      continue;
    }
    const bool is_control = static_cast<unsigned char>(c) < ' ' || c == kDelete;
    if (is_control && kBlanks.find(c) == std::string_view::npos)
      return ib::Diagnostic{ib::Severity::Error, file, place,
                            fmt::format("there is a control character (byte 0x{:02x}) here, which "
                                        "no text file has",
                                        static_cast<unsigned char>(c))};
    ++place.column;
  }
  return std::nullopt;
}

void Problems::error(ib::TextPlace place, std::string message) {
  if (out_.size() < kDiagnosticsMax)
    out_.push_back({ib::Severity::Error, file_, place, std::move(message)});
}
void Problems::warning(ib::TextPlace place, std::string message) {
  if (out_.size() < kDiagnosticsMax)
    out_.push_back({ib::Severity::Warning, file_, place, std::move(message)});
}
void Problems::expected(std::string_view what, const Piece& got) {
  error(got.place,
        fmt::format("expected {}, got {}", what, got.text.empty() ? "nothing" : quoted(got.text)));
}

void Problems::unknown_option(const Piece& key, std::span<const std::string_view> known) {
  const std::string hint = did_you_mean(key.text, known), name = quoted(key.text);
  if (hint.empty())
    warning(key.place, "no option is called " + name + "; ignored");
  else
    error(key.place, "no option is called " + name + hint);
}

std::optional<std::uint64_t> Problems::number(const Piece& piece, std::string_view what,
                                              std::uint64_t min, std::uint64_t max) {
  std::uint64_t value = 0;
  if (ib::parse_number(piece.text, max, value) && value >= min) return value;
  expected(bounded(what, min, max), piece);
  return std::nullopt;
}

Intervals<std::uint64_t> Problems::read_ranges(const Piece& piece, std::string_view what,
                                               std::uint64_t max) {
  Intervals<std::uint64_t> out;
  for (const Piece& item : piece.list()) {
    if (item.text.empty() && item.text.data() == piece.text.data() + piece.text.size() &&
        !out.empty())
      continue;  // a trailing comma
    const auto [begin, end] = item.cut('-');
    if (end && (begin.text.empty() || end->text.empty() ||
                end->text.find('-') != std::string_view::npos)) {
      expected(bounded(what, 0, max) + ", or a range of two with '-'", item);
      continue;
    }
    const auto first = number(begin, what, 0, max);
    const auto last = end ? number(*end, what, 0, max) : first;
    if (!first || !last) continue;
    if (*first > *last)
      warning(item.place,
              fmt::format("{} ends before it begins; its ends are swapped", quoted(item.text)));
    out.push_back({std::min(*first, *last), std::max(*first, *last)});
  }
  return out;
}

}  // namespace sm::policy
