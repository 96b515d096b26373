// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibpath/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>

#include "libdiag/base/ids.h"
#include "libdiag/base/text.h"
#include "libdiag/wire/sa_records.h"
#include "tools/ibpath/quantity.h"

namespace ibpath {
namespace {

using ib::ErrorKind;
using ib::Result;
using ib::wire::FieldInfo;
using ib::wire::Show;
using ib::wire::StructureInfo;

/// A name without what people write differently: "P_Key", "pkey" and "p-key" are one.
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_' && c != '-' && c != ' ')
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

void collect(const StructureInfo& structure, const std::string& prefix, std::size_t base,
             std::vector<Spot>& out) {
  for (const FieldInfo& field : structure.fields) {
    if (field.show == Show::Reserved) continue;
    const std::string name = prefix + std::string(field.name);
    if (!field.nested) {
      out.push_back({&field, base, 0, field.sa_bit, name});
      continue;
    }
    // A structure that is one component has one field, which goes by the structure's name.
    if (field.sa_bit >= 0 && field.nested->fields.size() == 1) {
      out.push_back({&field.nested->fields[0], base + field.bit / 8, 0, field.sa_bit, name});
      continue;
    }
    collect(*field.nested, name + ".", base + field.bit / 8, out);
  }
}

std::vector<Spot> all_spots(const StructureInfo& structure) {
  std::vector<Spot> spots;
  collect(structure, "", 0, spots);
  return spots;
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

/// saquery's options whose words are not the field's.
std::string_view other_name(std::string_view word) {
  struct Word {
    std::string_view theirs, ours;
  };
  static constexpr Word kWords[] = {
      {"pktlifetime", "packetlifetime"}, {"gid", "portgid"},  {"inport", "inputportnum"},
      {"outport", "outputportnum"},      {"port", "portnum"}, {"block", "blocknum"}};
  const auto at = std::ranges::find(kWords, word, &Word::theirs);
  return at == std::end(kWords) ? std::string_view{} : at->ours;
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

ib::Error usage(std::string text) { return {ErrorKind::Usage, std::move(text), 0}; }

std::uint64_t largest(const FieldInfo& field) {
  return field.width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << field.width) - 1;
}

bool is_quantity(const FieldInfo& field) {
  return field.show == Show::Named && are_quantities(ib::wire::names_of(field.name));
}
bool is_hexadecimal(std::string_view text) {
  return text.starts_with("0x") || text.starts_with("0X");
}

std::string what_fits(const FieldInfo& field, std::string_view text) {
  if (is_quantity(field) && !is_hexadecimal(text))
    return fmt::format("{} (a code is written in hexadecimal, 0x0 to 0x{:x})",
                       quantities_that_fit(ib::wire::names_of(field.name), text), largest(field));
  switch (field.show) {
    case Show::Gid:
      return "a GID";
    case Show::Guid:
      return "a GUID";
    case Show::Named:
    case Show::Flags: {
      std::vector<std::string> names;
      for (const auto& name : ib::wire::names_of(field.name)) names.emplace_back(name.name);
      return "a number or one of " + list(names);
    }
    default:
      return fmt::format("a number from 0 to {}", largest(field));
  }
}

/// The value of an integer field; none: it is not one.
std::optional<std::uint64_t> read_value(const FieldInfo& field, std::string_view text) {
  const std::string wanted = plain(text);
  if (field.show == Show::Named || field.show == Show::Flags) {
    std::uint64_t bits = 0;
    bool known = true;
    for (const auto part : ib::split(text, ',')) {
      const auto names = ib::wire::names_of(field.name);
      const auto name = std::ranges::find_if(
          names, [&](const auto& n) { return plain(n.name) == plain(ib::trim(part)); });
      if (name == names.end()) {
        known = false;
        break;
      }
      bits = field.show == Show::Named ? name->value : bits | name->value;
    }
    if (known && (field.show == Show::Flags || text.find(',') == std::string_view::npos))
      return bits;
  }
  if (is_quantity(field) && !is_hexadecimal(text))
    return code_of_quantity(ib::wire::names_of(field.name), text);
  std::uint64_t value = 0;
  if (field.show == Show::Guid) {
    ib::Guid guid;
    if (ib::parse_guid(text, guid)) return guid.value;
  }
  if (field.width == 1) {
    if (wanted == "true" || wanted == "yes") return 1;
    if (wanted == "false" || wanted == "no") return 0;
  }
  if (ib::parse_number(text, largest(field), value)) return value;
  return std::nullopt;
}

bool parse_hex_bytes(std::string_view text, std::span<std::byte> to) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  if (text.size() != 2 * to.size()) return false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::uint64_t value = 0;
    if (!ib::parse_number("0x" + std::string(text.substr(2 * i, 2)), 0xFF, value)) return false;
    to[i] = static_cast<std::byte>(value);
  }
  return true;
}

std::size_t spot_bytes(const Spot& spot) {
  return ib::wire::is_one_value(*spot.field) ? spot.field->count * spot.field->width / 8
                                             : spot.field->width / 8;
}
std::size_t spot_byte(const Spot& spot) {
  return spot.base + (spot.field->bit + spot.index * spot.field->stride) / 8;
}
/// More than an integer holds: compared and written as bytes.
bool is_bytes(const Spot& spot) {
  return spot.field->width > 64 || (spot.field->count > 1 && ib::wire::is_one_value(*spot.field));
}

}  // namespace

std::vector<std::string> field_names(const StructureInfo& structure) {
  std::vector<std::string> names;
  for (const Spot& spot : all_spots(structure)) names.push_back(spot.name);
  return names;
}

Result<Spot> find_field(const StructureInfo& structure, std::string_view name) {
  // "ServiceData8[3]": the fourth element.
  std::uint64_t index = 0;
  std::string_view stem = name;
  if (const auto bracket = name.find('['); bracket != std::string_view::npos) {
    stem = name.substr(0, bracket);
    const auto inside = name.substr(bracket + 1);
    if (!inside.ends_with(']') ||
        !ib::parse_number(inside.substr(0, inside.size() - 1), 0xFFFF, index))
      return tl::unexpected(
          usage(fmt::format("'{}': expected FIELD[NUMBER]", ib::printable(name))));
  }
  const std::vector<Spot> spots = all_spots(structure);
  std::vector<Spot> found;
  const auto look_for = [&](const std::string& wanted) {
    for (const Spot& spot : spots)
      if (plain(spot.name) == wanted) found.push_back(spot);
    if (!found.empty()) return;
    for (const Spot& spot : spots)
      if (plain(last_part(spot.name)) == wanted) found.push_back(spot);
  };
  const std::string wanted = plain(stem);
  look_for(wanted);
  if (const auto other = other_name(wanted); found.empty() && !other.empty())
    look_for(std::string(other));
  if (found.empty())
    return tl::unexpected(usage(fmt::format("{} has no field '{}'; it has {}", structure.name,
                                            ib::printable(stem), list(field_names(structure)))));
  if (found.size() > 1) {
    std::vector<std::string> names;
    names.reserve(found.size());
    for (const Spot& spot : found) names.push_back(spot.name);
    return tl::unexpected(
        usage(fmt::format("'{}' may be any of {}", ib::printable(stem), list(names))));
  }
  Spot spot = found.front();
  const FieldInfo& field = *spot.field;
  const bool array = field.count > 1 && !ib::wire::is_one_value(field);
  if (stem.size() != name.size() && (!array || index >= field.count))
    return tl::unexpected(usage(
        array ? fmt::format("{} has elements 0 to {}, not {}", spot.name, field.count - 1, index)
              : fmt::format("{} is one value, without elements", spot.name)));
  if (array && stem.size() == name.size())
    return tl::unexpected(usage(
        fmt::format("{} has {} elements: say which, as {}[0]", spot.name, field.count, spot.name)));
  spot.index = index;
  if (spot.sa_bit >= 0) spot.sa_bit += static_cast<int>(index);
  return spot;
}

Query::Query(const StructureInfo& structure) : structure_(&structure), body_(structure.bytes) {}

bool Query::says(std::string_view name) const {
  return std::ranges::any_of(said_, [&](const Spot& spot) { return spot.name == name; });
}

Result<void> Query::claim(const Spot& spot, std::string_view condition) {
  if (std::ranges::any_of(said_, [&](const Spot& other) {
        return other.name == spot.name && other.index == spot.index;
      }))
    return tl::unexpected(
        usage(fmt::format("{}: '{}' is a second condition on this field; a request carries one",
                          spot.name, ib::printable(condition))));
  said_.push_back(spot);
  return {};
}

void Query::write(const Spot& spot, std::uint64_t raw) {
  ib::wire::set_raw_value(*spot.field, std::span(body_).subspan(spot.base), spot.index, raw);
}

Result<void> Query::set(const Spot& spot, std::string_view value) {
  if (auto ok = claim(spot, value); !ok) return ok;
  return assign(spot, value);
}

Result<void> Query::assign(const Spot& spot, std::string_view value) {
  const FieldInfo& field = *spot.field;
  const auto refuse = [&](const std::string& wanted) {
    return tl::unexpected(
        usage(fmt::format("{}: expected {}, got '{}'", spot.name, wanted, ib::printable(value))));
  };
  const auto bytes = is_bytes(spot) ? std::span(body_).subspan(spot_byte(spot), spot_bytes(spot))
                                    : std::span<std::byte>{};
  if (field.show == Show::Gid) {
    ib::Gid gid;
    if (!ib::parse_gid(value, gid)) return refuse("a GID");
    std::memcpy(bytes.data(), gid.bytes.data(), bytes.size());
  } else if (field.show == Show::Text) {
    if (value.size() > bytes.size())
      return refuse(fmt::format("at most {} characters", bytes.size()));
    std::ranges::fill(bytes, std::byte{0});
    std::memcpy(bytes.data(), value.data(), value.size());
  } else if (is_bytes(spot)) {
    if (!parse_hex_bytes(value, bytes))
      return refuse(fmt::format("0x and {} hexadecimal digits", 2 * bytes.size()));
  } else {
    const auto raw = read_value(field, value);
    if (!raw) return refuse(what_fits(field, value));
    write(spot, *raw);
  }
  if (spot.sa_bit >= 0) mask_ |= std::uint64_t{1} << spot.sa_bit;
  // Its first byte and the rest are two components, which are always named together (CA13-6).
  if (structure_ == &ib::wire::describe<ib::wire::PathRecord>() && spot.name == "ServiceID")
    mask_ |= 3;
  spots_.push_back(spot);
  return {};
}

Result<void> Query::add(std::string_view condition) {
  const auto at = condition.find_first_of("=<>");
  if (at == std::string_view::npos || at == 0)
    return tl::unexpected(
        usage(fmt::format("expected FIELD=VALUE, got '{}'", ib::printable(condition))));
  const auto name = ib::trim(condition.substr(0, at));
  const auto value = ib::trim(condition.substr(at + 1));
  const auto spot = find_field(*structure_, name);
  if (!spot) return tl::unexpected(spot.error());
  const auto selector = find_field(*structure_, spot->name + "Selector");
  using ib::wire::Selector;
  Selector how = Selector::Exactly;
  if (condition[at] == '>') how = Selector::GreaterThan;
  if (condition[at] == '<') how = Selector::LessThan;
  if (!selector) {
    if (how != Selector::Exactly)
      return tl::unexpected(usage(
          fmt::format("{} has no selector: only {}=VALUE can be asked", spot->name, spot->name)));
    return set(*spot, value);
  }
  // The best there is: the largest MTU and rate, the smallest packet life.
  const std::string word = plain(value);
  const bool best =
      how == Selector::Exactly && (word == "largest" || word == "smallest" || word == "best");
  if (best) how = Selector::Largest;
  // The byte as saquery takes and prints it: a selector and a code.
  std::string code;
  if (std::uint64_t byte = 0; how == Selector::Exactly && is_hexadecimal(value) &&
                              ib::parse_number(value, 0xFF, byte) && byte > largest(*spot->field)) {
    how = static_cast<Selector>(byte >> spot->field->width);
    code = fmt::format("0x{:x}", byte & largest(*spot->field));
  }
  if (auto ok = claim(*spot, condition); !ok) return ok;
  if (auto ok = claim(*selector, condition); !ok) return ok;
  write(*selector, static_cast<std::uint64_t>(how));
  mask_ |= std::uint64_t{1} << selector->sa_bit;
  if (best) return {};
  const auto before = spots_.size();
  auto done = assign(*spot, code.empty() ? value : code);
  // What a selector means is the SA's to judge.
  if (done && how != Selector::Exactly) spots_.resize(before);
  return done;
}

bool Query::equal(const Spot& spot, std::span<const std::byte> record) const {
  if (spot.field->show == Show::Secret) return true;
  if (is_bytes(spot)) {
    const auto bytes = spot_bytes(spot);
    if (spot_byte(spot) + bytes > record.size()) return false;
    return std::memcmp(record.data() + spot_byte(spot), body_.data() + spot_byte(spot), bytes) == 0;
  }
  return ib::wire::raw_value(*spot.field, record.subspan(std::min(spot.base, record.size())),
                             spot.index) ==
         ib::wire::raw_value(*spot.field, std::span(body_).subspan(spot.base), spot.index);
}

bool Query::satisfied_by(std::span<const std::byte> record) const {
  return std::ranges::all_of(spots_, [&](const Spot& spot) { return equal(spot, record); });
}
bool Query::has_own_conditions() const {
  return std::ranges::any_of(spots_, [](const Spot& spot) { return spot.sa_bit < 0; });
}
bool Query::satisfies_own_conditions(std::span<const std::byte> record) const {
  return std::ranges::all_of(
      spots_, [&](const Spot& spot) { return spot.sa_bit >= 0 || equal(spot, record); });
}

}  // namespace ibpath
