// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Component masks checked against the specification's tables: a query must give exactly what a
// plain filter leaves of the full table. The filter reads bits at offsets and knows no layouts of
// ours.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <set>

#include "libdiag/query/sa_client.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {

using Bytes = std::vector<std::byte>;

/// Bits [at, at + width), read one by one.
inline std::vector<bool> bits(const Bytes& bytes, std::size_t at, std::size_t width) {
  std::vector<bool> out;
  for (std::size_t i = at; i < at + width; ++i)
    out.push_back((std::to_integer<unsigned>(bytes[i / 8]) >> (7 - i % 8) & 1) != 0);
  return out;
}
inline std::uint64_t number(const Bytes& bytes, std::size_t at, std::size_t width) {
  std::uint64_t n = 0;
  for (const bool b : bits(bytes, at, width)) n = n << 1 | (b ? 1U : 0U);
  return n;
}
inline void write_bits(Bytes& bytes, std::size_t at, const std::vector<bool>& value) {
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto one = std::byte{static_cast<unsigned char>(0x80U >> ((at + i) % 8))};
    auto& byte = bytes[(at + i) / 8];
    byte = value[i] ? byte | one : byte & ~one;
  }
}

/// A component as the specification's tables have it.
struct Component {
  /// How a value asked for selects records.
  enum class Rule {
    Equal,
    Lid,           // any LID of the end port that has the record's
    PortOfSwitch,  // equal where the record's LID is a switch's; CAs' ports are named by LID
    PKey,          // the same partition, one of the two as full member
  };
  unsigned mask_bit;
  std::size_t byte, bit, width;
  Rule rule{Rule::Equal};
  std::size_t at() const { return byte * 8 + bit; }
};
using Rule = Component::Rule;

/// The full table of one attribute and what its components select.
class MaskCheck {
 public:
  MaskCheck(Bench& bench, std::uint16_t attribute, std::size_t record_bytes,
            std::vector<Component> components)
      : bench_(bench),
        attribute_(attribute),
        record_bytes_(record_bytes),
        components_(std::move(components)),
        all_(ask(Bytes(record_bytes), 0)) {}

  const std::vector<Bytes>& all() const { return all_; }

  std::vector<Bytes> ask(const Bytes& wanted, std::uint64_t mask) const {
    auto request = bench_.request(Method::GetTable, attribute_, mask);
    std::copy(wanted.begin(), wanted.end(), request.mad.data());
    const auto answer = bench_.ask_table(request);
    EXPECT_EQ(answer.mad.status(), 0) << std::hex << attribute_ << " mask " << mask;
    const auto shape = ib::query::table_shape(answer, record_bytes_);
    EXPECT_TRUE(shape);
    std::vector<Bytes> records(shape ? shape->count : 0, Bytes(record_bytes_));
    for (std::size_t i = 0; i < records.size(); ++i)
      ib::query::copy_data(answer, i * shape->stride, records[i].data(), record_bytes_);
    return records;
  }

  std::vector<Bytes> expected(const Bytes& wanted, std::uint64_t mask) const {
    std::vector<Bytes> out;
    for (const auto& record : all_)
      if (std::ranges::all_of(components_, [&](const Component& c) {
            return (mask >> c.mask_bit & 1) == 0 || selects(c, record, wanted);
          }))
        out.push_back(record);
    return out;
  }

  /// Every bit by itself, with every value that occurs (up to `values_max`) and its complement.
  void every_bit(std::size_t values_max = 12) const {
    ASSERT_FALSE(all_.empty()) << std::hex << attribute_;
    for (const auto& c : components_) {
      SCOPED_TRACE(::testing::Message()
                   << "attribute " << attribute_ << ", component-mask bit " << c.mask_bit);
      std::set<std::vector<bool>> asked;
      for (const auto& record : all_) {
        auto value = bits(record, c.at(), c.width);
        if (!asked.insert(value).second || asked.size() > values_max) continue;
        compare(c, record, value);
        value.flip();
        compare(c, record, value);
      }
    }
  }

  /// Every number that fits into 8 bits, or stands at an edge, for each component up to 16 bits
  /// wide: none may lead out of a table. Alone, and with the LID of the first and of the last
  /// record.
  void every_index() const {
    for (const auto& c : components_) {
      if (c.width > 16) continue;
      SCOPED_TRACE(::testing::Message()
                   << "attribute " << attribute_ << ", component-mask bit " << c.mask_bit);
      const std::uint64_t end = std::uint64_t{1} << c.width;
      const bool of_lid = components_.front().rule == Rule::Lid && c.mask_bit != 0;
      for (std::uint64_t n = 0; n < end; ++n) {
        if (n > 260 && n + 3 < end && (n & (n - 1)) != 0 && ((n + 1) & n) != 0) continue;
        std::vector<bool> value(c.width);
        for (std::size_t i = 0; i < c.width; ++i) value[i] = (n >> (c.width - 1 - i) & 1) != 0;
        compare(c, all_.front(), value);
        if (!of_lid) continue;
        compare(c, all_.front(), value, 1);
        compare(c, all_.back(), value, 1);
      }
    }
  }

  /// Random masks, components of reserved fields among them, with values of records and others.
  void random_masks(unsigned seed, unsigned turns) const {
    std::mt19937_64 random(seed);
    for (unsigned turn = 0; turn < turns; ++turn) {
      Bytes wanted = all_[random() % all_.size()];
      std::uint64_t mask = 0;
      for (const auto& c : components_) {
        if (random() % 3 == 0) mask |= std::uint64_t{1} << c.mask_bit;
        if (random() % 12 != 0) continue;
        const auto& other = all_[random() % all_.size()];
        auto value = bits(other, c.at(), c.width);
        if (random() % 2 == 0) value[random() % value.size()].flip();
        write_bits(wanted, c.at(), value);
      }
      if (random() % 2 == 0) mask |= random() & ~known() & unjudged;
      const auto got = ask(wanted, mask);
      ASSERT_TRUE(are_same(got, expected(wanted, mask)))
          << std::hex << "attribute " << attribute_ << " mask " << mask << std::dec << " seed "
          << seed << " turn " << turn << ": " << got.size() << " records, expected "
          << expected(wanted, mask).size();
    }
  }

  /// Bits of components that the table above leaves out and that select nothing.
  std::uint64_t unjudged{~std::uint64_t{0}};
  /// A byte that says how well a record fits what was asked; such records come best first.
  std::optional<std::size_t> preference;

 private:
  bool are_same(std::vector<Bytes> got, std::vector<Bytes> want) const {
    if (preference) {
      for (auto* records : {&got, &want}) {
        for (auto& record : *records) record[*preference] = std::byte{0};
        std::ranges::sort(*records);
      }
    }
    return got == want;
  }
  std::uint64_t known() const {
    std::uint64_t mask = 0;
    for (const auto& c : components_) mask |= std::uint64_t{1} << c.mask_bit;
    return mask;
  }
  void compare(const Component& c, Bytes wanted, const std::vector<bool>& value,
               std::uint64_t with = 0) const {
    write_bits(wanted, c.at(), value);
    const auto mask = std::uint64_t{1} << c.mask_bit | with;
    const auto got = ask(wanted, mask);
    const auto want = expected(wanted, mask);
    EXPECT_TRUE(are_same(got, want))
        << "value " << number(wanted, c.at(), std::min<std::size_t>(c.width, 64)) << ": "
        << got.size() << " records, expected " << want.size();
  }
  bool selects(const Component& c, const Bytes& record, const Bytes& wanted) const {
    const bool equal = bits(record, c.at(), c.width) == bits(wanted, c.at(), c.width);
    const auto& fabric = bench_.snapshot->fabric();
    const auto lid_at = [&](std::size_t at) {
      return Lid{static_cast<std::uint16_t>(number(record, at, 16))};
    };
    switch (c.rule) {
      case Rule::Equal:
        return equal;
      case Rule::Lid: {
        const auto owner = fabric.find_lid(lid_at(c.at()));
        const auto base = lid_at(c.at()).value,
                   asked = static_cast<std::uint16_t>(number(wanted, c.at(), 16));
        return owner && asked >= base && asked < base + (1 << fabric.port(*owner).lmc);
      }
      case Rule::PortOfSwitch: {
        const auto owner = fabric.find_lid(lid_at(0));
        return equal || (owner && !fabric.node(owner->node).is_switch());
      }
      case Rule::PKey: {
        const auto a = number(record, c.at(), 16), b = number(wanted, c.at(), 16);
        return (a & 0x7FFF) == (b & 0x7FFF) && ((a | b) & 0x8000) != 0;
      }
    }
    return false;
  }

  Bench& bench_;
  std::uint16_t attribute_;
  std::size_t record_bytes_;
  std::vector<Component> components_;
  std::vector<Bytes> all_;
};

}  // namespace sm::sa::test
