// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/adaptive_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "libdiag/base/text.h"
#include "sm/policy/text_line.h"

namespace sm::policy {
namespace {

using Settings = AdaptiveSettings;
constexpr std::size_t kDiagnosticsMax = 200;
constexpr std::string_view kSwitch = "SWITCH";
constexpr std::uint64_t kNumberMax = 0xFFFFFFFF, kErrorsMax = 0xFFFF;

/// Words, and the marks : ; { } each by itself.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  /// Empty at the end of the file.
  const Piece& peek() {
    if (!ahead_) ahead_ = scan();
    return *ahead_;
  }
  Piece take() {
    Piece piece = peek();
    ahead_.reset();
    return piece;
  }
  bool next_is(char mark) {
    if (peek().text != std::string_view(&mark, 1)) return false;
    ahead_.reset();
    return true;
  }
  static bool is_mark(const Piece& piece) {
    return piece.text.size() == 1 && kMarks.find(piece.text.front()) != std::string_view::npos;
  }

 private:
  static constexpr std::string_view kMarks = ":;{}", kBlanks = " \t\r\n";

  Piece scan() {
    skip();
    const std::size_t begin = at_;
    const ib::TextPlace place{line_, static_cast<std::uint32_t>(at_ - line_start_ + 1)};
    while (at_ < text_.size() && kBlanks.find(text_[at_]) == std::string_view::npos &&
           text_[at_] != '#') {
      const bool mark = kMarks.find(text_[at_]) != std::string_view::npos;
      if (mark && at_ != begin) break;
      ++at_;
      if (mark) break;
    }
    return {text_.substr(begin, at_ - begin), place};
  }
  void skip() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (kBlanks.find(text_[at_]) == std::string_view::npos) {
        return;
      } else if (text_[at_++] == '\n') {
        ++line_;
        line_start_ = at_;
      }
    }
  }

  std::string_view text_;
  std::size_t at_{0}, line_start_{0};
  std::uint32_t line_{1};
  std::optional<Piece> ahead_;
};

class Parser {
 public:
  Parser(std::string_view text, const std::string& file)
      : file_(file), scanner_(text), problems_(file, out_.diagnostics) {}

  AdaptiveFile run(std::string_view text) {
    if (auto wrong = not_text(text, file_)) {
      out_.diagnostics.assign(1, *std::move(wrong));
      return std::move(out_);
    }
    while (!scanner_.peek().text.empty() && out_.diagnostics.size() < kDiagnosticsMax) {
      const Piece word = scanner_.take();
      if (Scanner::is_mark(word))
        problems_.expected("an option or SWITCH", word);
      else if (word.text == kSwitch)
        read_switch(word);
      else
        read_option(word, nullptr);
    }
    std::ranges::stable_sort(out_.diagnostics, {}, &ib::Diagnostic::place);
    return std::move(out_);
  }

 private:
  using OfSwitch = Settings::OfSwitch;
  using Seen = std::map<std::string_view, std::uint32_t>;  // key, line

  /// A key: what its value does, of all switches and of one; the latter null: it has none there.
  struct Option {
    std::string_view key;
    void (Parser::*put)(const Piece&);
    void (Parser::*put_in)(const Piece&, OfSwitch&);
  };
  static constexpr std::size_t kOptions = 8;
  static const std::array<Option, kOptions> kTable;

  /// The text that there is, or where it ends: for messages.
  static Piece shown(const Piece& piece) {
    return piece.text.empty() ? Piece{"the end of the file", piece.place} : piece;
  }

  void read_switch(const Piece& word) {
    const Piece guid = scanner_.take();
    std::uint64_t number = 0;
    const bool known = ib::parse_number(guid.text, ~std::uint64_t{0}, number) && number != 0;
    if (!known) problems_.expected("the GUID of a switch", shown(guid));
    if (!scanner_.next_is('{')) return problems_.expected("'{'", shown(scanner_.peek()));
    OfSwitch own;
    seen_in_.clear();
    while (!scanner_.next_is('}')) {
      const Piece key = scanner_.take();
      if (key.text.empty()) return problems_.expected("'}'", shown(key));
      if (Scanner::is_mark(key))
        problems_.expected("an option or '}'", key);
      else
        read_option(key, &own);
      if (out_.diagnostics.size() >= kDiagnosticsMax) return;
    }
    if (known && !out_.settings.switches.emplace(ib::Guid{number}, own).second)
      problems_.error(word.place, fmt::format("switch 0x{:016x} has options already", number));
  }

  /// KEY: value;
  void read_option(const Piece& key, OfSwitch* own) {
    if (!scanner_.next_is(':')) return skip_statement("':' and a value");
    const Piece value = scanner_.peek();
    if (value.text.empty() || Scanner::is_mark(value)) return skip_statement("a value");
    scanner_.take();
    const auto row = std::ranges::find(kTable, key.text, &Option::key);
    if (row == kTable.end()) {
      say_unknown(key);
    } else if (own != nullptr && row->put_in == nullptr) {
      problems_.error(key.place, fmt::format("{} is of all switches, not of one", row->key));
    } else {
      warn_of_repetition(key, own != nullptr ? seen_in_ : seen_);
      if (own != nullptr)
        (this->*row->put_in)(value, *own);
      else
        (this->*row->put)(value);
    }
    if (!scanner_.next_is(';')) skip_statement("';'");
  }

  /// The rest of the statement belongs to what was wrong.
  void skip_statement(std::string_view expected) {
    problems_.expected(expected, shown(scanner_.peek()));
    while (!scanner_.peek().text.empty() && scanner_.peek().text != "}" && !scanner_.next_is(';'))
      scanner_.take();
  }

  void warn_of_repetition(const Piece& key, Seen& seen) {
    const auto [at, fresh] = seen.emplace(key.text, key.place.line);
    if (fresh) return;
    problems_.warning(
        key.place, fmt::format("{} is in line {} already; this one counts", key.text, at->second));
    at->second = key.place.line;
  }

  std::optional<bool> flag(const Piece& value) {
    if (value.text == "true" || value.text == "false") return value.text == "true";
    problems_.expected("true or false", value);
    return std::nullopt;
  }
  std::optional<std::uint32_t> time(const Piece& value) {
    const auto number = problems_.number(value, "a time in microseconds", 0, kNumberMax);
    return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
  }

  void put_enable(const Piece& value) {
    out_.settings.enable = flag(value).value_or(out_.settings.enable);
  }
  void put_enable_in(const Piece& value, OfSwitch& own) { own.enable = flag(value); }
  void put_ageing(const Piece& value) {
    out_.settings.ageing_time = time(value).value_or(out_.settings.ageing_time);
  }
  void put_ageing_in(const Piece& value, OfSwitch& own) { own.ageing_time = time(value); }
  void put_algorithm(const Piece& value) {
    if (value.text == "LAG")
      out_.settings.algorithm = Settings::Algorithm::Lag;
    else if (value.text == "TREE")
      out_.settings.algorithm = Settings::Algorithm::Tree;
    else if (value.text == "DF_PLUS")
      problems_.error(value.place,
                      "DF_PLUS is not supported: how it keeps routes free of deadlock is not "
                      "published; LAG is, with routing engine dfp");
    else
      problems_.expected("LAG or TREE", value);
  }
  void put_mode(const Piece& value) {
    if (value.text != "bounded" && value.text != "free")
      return problems_.expected("bounded or free", value);
    out_.settings.free_choice = value.text == "free";
  }
  /// Sets that fail are sent again like all others, and the log is that of the subnet manager.
  void put_count(const Piece& value) { problems_.number(value, "a number", 0, kErrorsMax); }
  void put_text(const Piece&) {}

  void say_unknown(const Piece& key) {
    std::vector<std::string_view> known{kSwitch};
    for (const Option& row : kTable) known.push_back(row.key);
    problems_.unknown_option(key, known);
  }

  const std::string& file_;
  AdaptiveFile out_;
  Scanner scanner_;
  Problems problems_;
  Seen seen_, seen_in_;
};

const std::array<Parser::Option, Parser::kOptions> Parser::kTable = {{
    {"ENABLE", &Parser::put_enable, &Parser::put_enable_in},
    {"AR_ALGORITHM", &Parser::put_algorithm, nullptr},
    {"AR_MODE", &Parser::put_mode, nullptr},
    {"AGEING_TIME", &Parser::put_ageing, &Parser::put_ageing_in},
    {"MAX_ERRORS", &Parser::put_count, nullptr},
    {"ERROR_WINDOW", &Parser::put_count, nullptr},
    {"LOG_FILE", &Parser::put_text, nullptr},
    {"LOG_SIZE", &Parser::put_count, nullptr},
}};

}  // namespace

AdaptiveFile read_adaptive_file(std::string_view text, const std::string& file) {
  return Parser(text, file).run(text);
}

}  // namespace sm::policy
