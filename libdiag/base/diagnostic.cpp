// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/base/diagnostic.h"

#include <algorithm>
#include <numeric>

#include "libdiag/base/text.h"

namespace ib {
namespace {

constexpr std::size_t kShownMax = 160;  // bytes of a line that are shown

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::Note:
      return "note";
    case Severity::Warning:
      return "warning";
    case Severity::Error:
      return "error";
  }
  return "";
}

std::string_view line_of(std::string_view text, std::uint32_t number) {
  for (std::uint32_t line = 1; line < number; ++line) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Damerau-Levenshtein distance (optimal string alignment), without regard to case.
unsigned distance(std::string_view a, std::string_view b) {
  std::vector<unsigned> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), 0U);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = static_cast<unsigned>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const unsigned change = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1]))
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

}  // namespace

std::string to_string(const Diagnostic& d) {
  std::string out = d.file + ':' + std::to_string(d.place.line) + ':';
  out += std::to_string(d.place.column) + ": ";
  out += severity_name(d.severity);
  return out + ": " + d.message;
}

std::string with_caret(const Diagnostic& d, std::string_view text) {
  std::string_view line = line_of(text, d.place.line);
  std::size_t at = std::min<std::size_t>(d.place.column - 1, line.size());
  // Of a long line the part around the place.
  if (at > kShownMax / 2 && line.size() > kShownMax) {
    const std::size_t cut = at - kShownMax / 2;
    line.remove_prefix(cut);
    at -= cut;
  }
  line = line.substr(0, kShownMax);
  std::string under;
  for (std::size_t i = 0; i < at; ++i) {
    // A caret stands under a character, not under a byte of UTF-8; tabs keep their width.
    if ((static_cast<unsigned char>(line[i]) & 0xC0) == 0x80) continue;
    under += line[i] == '\t' ? '\t' : ' ';
  }
  std::string shown;
  for (const std::string_view part : split(line, '\t')) {
    if (!shown.empty() || part.data() != line.data()) shown += '\t';
    shown += printable(part);
  }
  return to_string(d) + "\n  " + shown + "\n  " + under + "^";
}

bool has_errors(std::span<const Diagnostic> diagnostics) {
  return std::ranges::any_of(diagnostics,
                             [](const Diagnostic& d) { return d.severity == Severity::Error; });
}

std::vector<std::string_view> nearest_words(std::string_view word,
                                            std::span<const std::string_view> known,
                                            unsigned distance_max) {
  constexpr std::size_t kWordMax = 64;  // no word of that length is a mistyped name
  std::vector<std::string_view> best;
  if (word.empty() || word.size() > kWordMax) return best;
  unsigned least = distance_max;
  for (const std::string_view candidate : known) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    if (longer - std::min(word.size(), candidate.size()) > least) continue;
    const unsigned d = distance(word, candidate);
    // Half of a short word changed makes another word.
    if (d > least || std::size_t{d} * 2 > longer) continue;
    if (d < least) best.clear();
    least = d;
    if (std::ranges::find(best, candidate) == best.end()) best.push_back(candidate);
  }
  return best;
}

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known,
                              unsigned distance_max) {
  const auto nearest = nearest_words(word, known, distance_max);
  return nearest.size() == 1 ? nearest.front() : std::string_view{};
}

}  // namespace ib
