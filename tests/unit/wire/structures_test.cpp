// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// One test of all described structures: round trips, layout, and every field against somebody
// else's description of it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "libdiag/wire/all_structures.h"
#include "libdiag/wire/component_mask.h"
#include "libdiag/wire/registry.h"
#include "tests/unit/wire/ibmad_fields.h"
#include "tests/unit/wire/known_components.h"
#include "tests/unit/wire/known_positions.h"

namespace ib::wire {
namespace {

using Bytes = std::vector<std::byte>;

/// libibmad may touch a word beyond a structure's end.
constexpr std::size_t kRoom = 512;

Bytes filled(int seed) {
  Bytes bytes(kRoom);
  std::mt19937 random(static_cast<unsigned>(seed));
  for (std::byte& b : bytes)
    b = seed == 0   ? std::byte{0}
        : seed == 1 ? std::byte{0xFF}
                    : static_cast<std::byte>(random() & 0xFF);
  return bytes;
}

/// A leaf field with its absolute position: what nested structures come down to.
struct Leaf {
  std::string name;
  const FieldInfo* field;
  std::size_t base;  // bits
};
void collect(const StructureInfo& structure, const std::string& prefix, std::size_t base,
             std::vector<Leaf>& out) {
  for (const FieldInfo& field : structure.fields) {
    if (field.nested) {
      ASSERT_EQ(field.bit % 8, 0U);
      for (std::size_t i = 0; i < field.count; ++i)
        collect(*field.nested, prefix + std::string(field.name) + ".",
                base + field.bit + i * field.stride, out);
    } else {
      out.push_back({prefix + std::string(field.name), &field, base});
    }
  }
}
std::vector<Leaf> leaves(const StructureInfo& structure) {
  std::vector<Leaf> out;
  collect(structure, "", 0, out);
  return out;
}

/// One bit for each bit of the structure that a field covers.
Bytes coverage(const StructureInfo& structure) {
  Bytes mask(kRoom);
  for (const Leaf& leaf : leaves(structure)) {
    for (std::size_t i = 0; i < leaf.field->count; ++i) {
      for (std::size_t b = 0; b < leaf.field->width; ++b) {
        const std::size_t bit = leaf.base + leaf.field->bit + i * leaf.field->stride + b;
        EXPECT_LT(bit, structure.bytes * 8) << leaf.name << " reaches beyond the structure";
        if (bit >= structure.bytes * 8) return mask;
        const std::byte one{static_cast<unsigned char>(0x80U >> (bit % 8))};
        EXPECT_EQ(mask[bit / 8] & one, std::byte{0})
            << leaf.name << " overlaps at byte " << bit / 8 << " bit " << bit % 8;
        mask[bit / 8] |= one;
      }
    }
  }
  return mask;
}

const Leaf* find(const std::vector<Leaf>& all, std::string_view name) {
  for (const Leaf& leaf : all)
    if (leaf.name == name) return &leaf;
  return nullptr;
}

std::uint64_t raw_of(const Leaf& leaf, const Bytes& bytes, std::size_t index = 0) {
  return raw_value(*leaf.field, std::span(bytes).subspan(leaf.base / 8), index);
}

template <class T>
void check_codec(const Bytes& input, const Bytes& covered) {
  const std::size_t n = LayoutOf<T>::kBytes;
  const T value = decode<T>(input.data());
  Bytes zeros(kRoom), ones(kRoom, std::byte{0xFF});
  encode(value, zeros.data());
  encode(value, ones.data());
  for (std::size_t i = 0; i < kRoom; ++i) {
    const std::byte field = i < n ? covered[i] : std::byte{0};
    ASSERT_EQ(zeros[i], input[i] & field) << "byte " << i;
    ASSERT_EQ(ones[i], (input[i] & field) | ~field) << "byte " << i << ": foreign bits survive";
  }
  if constexpr (requires { value == value; }) {
    EXPECT_TRUE(decode<T>(zeros.data()) == value);
    EXPECT_TRUE(decode<T>(ones.data()) == value);
  }
  Bytes through_view(kRoom, std::byte{0xFF});
  View<T> view(through_view.data());
  LayoutOf<T>::for_each([&](auto field) {
    using F = decltype(field);
    view.template set<F::kMember>(value.*(F::kMember));
    EXPECT_TRUE(view.template get<F::kMember>() == value.*(F::kMember)) << F::name();
    if constexpr (!Described<typename F::member_type> && !IsArray<typename F::member_type>::value &&
                  F::kWidth <= 64) {
      const FieldInfo info = detail::field_info<F>(nullptr);
      EXPECT_EQ(raw_value(info, input), to_raw(value.*(F::kMember))) << F::name();
      Bytes by_info(kRoom, std::byte{0xFF}), by_field(kRoom, std::byte{0xFF});
      set_raw_value(info, by_info, 0, raw_value(info, input));
      View<T>(by_field.data()).template set<F::kMember>(value.*(F::kMember));
      EXPECT_EQ(by_info, by_field) << F::name();
    }
  });
  EXPECT_EQ(through_view, ones);
}

void check_text(const StructureInfo& structure, const Bytes& input) {
  const auto bytes = std::span(input).first(structure.bytes);
  for (const bool secrets : {false, true}) {
    const FormatOptions options{secrets};
    const std::string text = dump(structure, bytes, options);
    std::size_t lines = 0;
    for (const char c : text) {
      if (c == '\n') ++lines;
      EXPECT_FALSE(c != '\n' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F));
    }
    EXPECT_EQ(lines, values(structure, bytes, options).size());
    const auto json = nlohmann::json::parse(to_json(structure, bytes, options));
    ASSERT_TRUE(json.is_object());
    EXPECT_EQ(json.size(), structure.fields.size()) << "no two fields share a name";
    for (const FieldInfo& field : structure.fields) {
      ASSERT_TRUE(json.contains(std::string(field.name)));
      if (field.show == Show::Secret) {
        EXPECT_EQ(json[std::string(field.name)].is_null(), !secrets) << field.name;
      }
    }
  }
  for (std::size_t cut = 0; cut < structure.bytes; cut += 7) {
    const auto part = std::span(input).first(cut);
    EXPECT_EQ(values(structure, part).size(), values(structure, bytes).size());
    EXPECT_FALSE(to_json(structure, part).empty());
  }
}

/// Every field of `structure` as libibmad reads and writes it; names of those it does not know.
std::set<std::string> check_libibmad(const StructureInfo& structure, const std::vector<Leaf>& all) {
  std::set<std::string> unknown;
  for (const Leaf& leaf : all) unknown.insert(leaf.name);
  for (const IbmadField& row : kIbmadFields) {
    if (structure.name != row.structure) continue;
    SCOPED_TRACE(row.field);
    const Leaf* leaf = find(all, row.field);
    if (leaf == nullptr) {
      ADD_FAILURE() << "no such field";
      continue;
    }
    unknown.erase(row.field);
    const FieldInfo& field = *leaf->field;
    const bool array = field.width > 64 || (field.count > 1 && field.width == 8);
    for (int seed = 0; seed < 20; ++seed) {
      Bytes input = filled(seed), output(kRoom);
      if (array) {
        const std::size_t size = field.width * field.count / 8;
        std::vector<unsigned char> theirs(kRoom);
        mad_get_array(input.data(), 0, row.id, theirs.data());
        const auto* ours =
            reinterpret_cast<const unsigned char*>(input.data()) + (leaf->base + field.bit) / 8;
        EXPECT_TRUE(std::equal(ours, ours + size, theirs.begin()));
        continue;
      }
      for (std::size_t i = 0; i < field.count; ++i) {
        const auto id = static_cast<MAD_FIELDS>(row.id + static_cast<int>(i));
        const std::uint64_t ours = raw_of(*leaf, input, i);
        const std::uint64_t theirs = field.width > 32 ? mad_get_field64(input.data(), 0, id)
                                                      : mad_get_field(input.data(), 0, id);
        EXPECT_EQ(ours, theirs) << "element " << i;
        if (field.width > 32) {
          mad_set_field64(output.data(), 0, id, ours);
        } else {
          mad_set_field(output.data(), 0, id, static_cast<std::uint32_t>(ours));
        }
        EXPECT_EQ(raw_of(*leaf, output, i), ours) << "element " << i;
      }
      std::size_t set_bits = 0, want_bits = 0;
      for (const std::byte b : output)
        set_bits += static_cast<std::size_t>(std::popcount(static_cast<unsigned char>(b)));
      for (std::size_t i = 0; i < field.count; ++i)
        want_bits += static_cast<std::size_t>(std::popcount(raw_of(*leaf, input, i)));
      EXPECT_EQ(set_bits, want_bits) << "libibmad writes no bit outside our field";
    }
  }
  return unknown;
}

const StructureInfo* structure_named(std::string_view name) {
  const auto all = structures();
  const auto at = std::ranges::find(all, name, &StructureInfo::name);
  return at == all.end() ? nullptr : *at;
}

/// Takes the fields whose positions are known out of `unjudged`. A nested structure is judged by
/// itself; where its record is known to keep it, its fields are too.
void check_positions(const StructureInfo& structure, const std::vector<Leaf>& all,
                     std::set<std::string>& unjudged) {
  for (const KnownPosition& row : kKnownPositions) {
    if (structure.name != row.structure) continue;
    SCOPED_TRACE(std::string(row.field) + ": " + row.source);
    const auto nested = std::ranges::find(structure.fields, row.field, &FieldInfo::name);
    if (nested != structure.fields.end() && nested->nested != nullptr) {
      EXPECT_EQ(nested->bit, row.bit);
      EXPECT_EQ(nested->nested->bytes * 8, row.width);
      EXPECT_EQ(structure_named(nested->nested->name), nested->nested);
      std::erase_if(unjudged, [&](const std::string& name) {
        return name.starts_with(std::string(row.field) + ".");
      });
      continue;
    }
    const Leaf* leaf = find(all, row.field);
    EXPECT_NE(leaf, nullptr);
    if (leaf == nullptr) continue;
    unjudged.erase(row.field);
    EXPECT_EQ(leaf->base + leaf->field->bit, row.bit);
    EXPECT_EQ(leaf->field->width, row.width);
  }
}

TEST(Structures, EachOneRoundTripsAndAgreesWithOtherDescriptions) {
  std::size_t seen = 0;
  AllStructures::for_each([&]<class T>() {
    const StructureInfo& structure = describe<T>();
    SCOPED_TRACE(std::string(structure.name));
    ++seen;
    EXPECT_EQ(structure_named(structure.name), &structure);
    EXPECT_FALSE(structure.section.empty());
    EXPECT_LE(structure.bytes, kMadBytes);
    const std::vector<Leaf> all = leaves(structure);
    const Bytes covered = coverage(structure);
    for (int seed = 0; seed < 30; ++seed) check_codec<T>(filled(seed), covered);
    for (int seed = 0; seed < 4; ++seed) check_text(structure, filled(seed));
    for (const Leaf& leaf : all) {
      if (leaf.field->show == Show::Named || leaf.field->show == Show::Flags) {
        EXPECT_FALSE(names_of(leaf.field->name).empty()) << leaf.name << " has no names";
      }
      for (const NamedValue& name : names_of(leaf.field->name)) {
        if (leaf.field->show == Show::Named || leaf.field->show == Show::Flags) {
          EXPECT_LT(name.value, leaf.field->width == 64 ? ~0ULL : 1ULL << leaf.field->width)
              << name.name;
        }
      }
    }

    std::set<std::string> unjudged = check_libibmad(structure, all);
    check_positions(structure, all, unjudged);
    for (const std::string& field : unjudged)
      ADD_FAILURE() << field << " is compared with nobody's description";
  });
  EXPECT_EQ(seen, structures().size());
  EXPECT_GE(seen, 41U);
}

TEST(Structures, ComponentBitsAreThoseOfThePublicHeaders) {
  std::set<std::pair<std::string, std::string>> judged;
  for (const KnownComponent& row : kKnownComponents) {
    const StructureInfo* structure = structure_named(row.structure);
    ASSERT_NE(structure, nullptr) << row.structure;
    bool found = false;
    for (const FieldInfo& field : structure->fields) {
      if (field.name != row.field) continue;
      found = true;
      EXPECT_EQ(field.sa_bit, row.bit) << row.structure << "." << row.field;
    }
    EXPECT_TRUE(found) << row.structure << "." << row.field;
    judged.insert({row.structure, row.field});
  }
  for (const StructureInfo* structure : structures()) {
    for (const FieldInfo& field : structure->fields) {
      if (field.sa_bit < 0) continue;
      EXPECT_TRUE(judged.count({std::string(structure->name), std::string(field.name)}))
          << structure->name << "." << field.name << " has a bit nobody vouches for";
    }
  }
  EXPECT_EQ(all_components<NodeRecord>(), 0x7FFDU);
  EXPECT_EQ(component<&NodeInfo::node_guid>(), 1U << 7);
  EXPECT_EQ(component<&PortInfo::capability_mask>(), 1U << 7);
  EXPECT_EQ(component<&PathRecord::dgid>(), 1U << 2);
  EXPECT_EQ(component<&ServiceRecord::data8>(), 0x7FFF80U);
  EXPECT_EQ(component<&ServiceRecord::data64>(), 0x1800000000U);
  EXPECT_EQ(all_components<ServiceRecord>(), 0x1FFFFFFFF7U);
  EXPECT_EQ(all_components<GuidInfoRecord>(), 0xFF3U);
  EXPECT_EQ(all_components<SwitchInfoRecord>(), 0x7F7FDU);
  EXPECT_EQ(all_components<MulticastFdtRecord>(), 0xBU) << "tables have no bits of their own";
}

TEST(Structures, ATruncatedMadDumpIsHarmless) {
  for (int c = 0; c < 256; ++c) {
    Mad mad;
    const Bytes noise = filled(c + 2);
    std::copy_n(noise.begin(), kMadBytes, mad.bytes.begin());
    mad.set<&MadHeader::mgmt_class>(static_cast<MgmtClass>(c));
    EXPECT_FALSE(dump(mad).empty());
  }
}

TEST(Structures, RecordsStandWholeWordsApart) {
  EXPECT_EQ(record_bytes<NodeRecord>(), 112U);
  EXPECT_EQ(record_bytes<PortInfoRecord>(), 72U);
  EXPECT_EQ(record_bytes<PathRecord>(), 64U);
  EXPECT_EQ(record_bytes<McMemberRecord>(), 56U);
  EXPECT_EQ(record_bytes<SlToVlRecord>(), 16U);
  EXPECT_EQ(record_bytes<SwitchInfoRecord>(), 24U);
  EXPECT_EQ(record_bytes<LinearFdtRecord>(), 72U);
  EXPECT_EQ(record_bytes<MulticastFdtRecord>(), 72U);
  EXPECT_EQ(record_bytes<SmInfoRecord>(), 32U);
  EXPECT_EQ(record_bytes<VlArbitrationRecord>(), 72U);
  EXPECT_EQ(record_bytes<PKeyTableRecord>(), 72U);
  EXPECT_EQ(record_bytes<InformInfoRecord>(), 64U);
  EXPECT_EQ(record_bytes<LinkRecord>(), 8U);
  EXPECT_EQ(record_bytes<ServiceRecord>(), 176U);
  EXPECT_EQ(record_bytes<GuidInfoRecord>(), 72U);
  EXPECT_EQ(record_bytes<TraceRecord>(), 48U);
}

}  // namespace
}  // namespace ib::wire
