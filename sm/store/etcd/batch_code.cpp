// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/etcd/batch_code.h"

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>
#include <utility>

#include "libdiag/base/fnv.h"
#include "sm/store/kinds.h"
#include "sm/store/row.h"

namespace sm::store::etcd {
namespace {

// The mark is that of all versions but for its last byte.
constexpr std::string_view kMark = "ibkb\x01";
constexpr std::size_t kSumBytes = 8;

// Sections that are no kind.
constexpr std::string_view kForgetLids = "forget-lids", kVls = "vls-programmed", kRoutes = "routes";

std::uint64_t sum_of(std::string_view bytes) {
  ib::Fnv1a sum;
  for (const char c : bytes) sum.add(static_cast<std::uint8_t>(c));
  return sum.value();
}

/// How many columns a row has, without its sum.
template <class Kind>
std::size_t columns() {
  return static_cast<std::size_t>(std::ranges::count(std::string_view(Kind::columns), ','));
}

/// What is written of a removal. Where the whole of a value is the key, all of its columns are.
template <class Kind>
constexpr bool kKeyIsValue = std::is_same_v<typename Kind::Key, typename Kind::Value>;

// ---- writing

/// Takes rows as a statement of SQLite does.
class Writer {
 public:
  Writer& bind(std::uint64_t v) {
    kind(Value::Kind::Integer);
    number(v);
    return *this;
  }
  Writer& bind(const ib::Gid& gid) { return bind(std::as_bytes(std::span(gid.bytes))); }
  Writer& bind_ordered(std::uint64_t v) {
    std::array<std::byte, 8> bytes{};
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(v >> (56 - 8 * i));
    return bind(std::span<const std::byte>(bytes));
  }
  Writer& bind(ib::Guid guid) { return bind_ordered(guid.value); }
  Writer& bind(std::span<const std::byte> bytes) {
    kind(Value::Kind::Blob);
    number(bytes.size());
    text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return *this;
  }
  Writer& bind_null() {
    kind(Value::Kind::Null);
    return *this;
  }

  void section(std::string_view name) {
    number(name.size());
    text_ += name;
  }
  /// Seven bits a byte, the lowest first; the highest bit says that there are more.
  void number(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) text_ += static_cast<char>((v & 0x7F) | 0x80);
    text_ += static_cast<char>(v);
  }
  std::string finish() && {
    const std::uint64_t sum = sum_of(text_);
    for (int shift = 56; shift >= 0; shift -= 8) text_ += static_cast<char>(sum >> shift);
    return std::move(text_);
  }

 private:
  void kind(Value::Kind k) { text_ += static_cast<char>(k); }
  std::string text_{kMark};
};

template <class Kind>
void put_kind(Writer& writer, const Batch& batch) {
  const auto& changed = batch.*Kind::changed;
  std::size_t removals = 0;
  if constexpr (kHasRemovals<Kind>) removals = (batch.*Kind::removed).size();
  const auto has_row = [](const auto& value) {
    return Kind::removes(value) || Kind::has_row(value);
  };
  const auto rows = std::ranges::count_if(changed, has_row);
  if (removals == 0 && rows == 0) return;
  writer.section(Kind::table);
  writer.number(removals);
  if constexpr (kHasRemovals<Kind>)
    for (const auto& key : batch.*Kind::removed) {
      Kind::bind_key(writer, key);
      if constexpr (kKeyIsValue<Kind>) Kind::bind(writer, key);
    }
  writer.number(static_cast<std::uint64_t>(rows));
  for (const auto& value : changed) {
    if (!has_row(value)) continue;
    Kind::bind_key(writer, Kind::key(value));
    Kind::bind(writer, value);
  }
}

// ---- reading

/// Behind the end there are zeros, and it is no good any more.
class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}

  std::string_view section() { return bytes(number()); }
  std::uint64_t number() {
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto piece = bytes(1);
      if (piece.empty()) return 0;
      const auto byte = static_cast<std::uint8_t>(piece[0]);
      v |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return v;
    }
    is_good_ = false;
    return 0;
  }
  Row row(std::size_t column_count) {
    Row row;
    for (std::size_t i = 0; i < column_count; ++i) row.add(value());
    return row;
  }
  bool is_good() const { return is_good_; }
  bool at_end() const { return left_.empty(); }

 private:
  Value value() {
    const auto kind = bytes(1);
    switch (kind.empty() ? Value::Kind::Other : static_cast<Value::Kind>(kind[0])) {
      case Value::Kind::Null:
        return {};
      case Value::Kind::Integer:
        return {Value::Kind::Integer, static_cast<std::int64_t>(number()), {}};
      case Value::Kind::Blob: {
        const auto b = bytes(number());
        return {Value::Kind::Blob, 0, std::as_bytes(std::span(b.data(), b.size()))};
      }
      default:
        is_good_ = false;
        return {};
    }
  }
  std::string_view bytes(std::uint64_t count) {
    if (count > left_.size()) {
      is_good_ = false;
      left_ = {};
      return {};
    }
    const auto taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }

  std::string_view left_;
  bool is_good_{true};
};

void take_key(const Row& row, ib::Guid& key) { key = row.guid(0); }
void take_key(const Row& row, ib::Gid& key) { key = row.gid(0); }
void take_key(const Row& row, ServiceKey& key) {
  key = {row.guid(0).value, row.gid(1), ib::PKey{row.integer_as<std::uint16_t>(2)}};
}
void take_key(const Row& row, AliasPlace& key) {
  key = {row.guid(0), row.integer_as<std::uint16_t>(1)};
}
void take_key(const Row& row, CountedWindowKey& key) {
  key = {row.guid(0), row.integer_as<std::uint8_t>(1), row.integer_as<std::int64_t>(2)};
}

template <class Kind>
void take_kind(Reader& reader, Batch& batch) {
  // Rows are at least a byte each, so that no number asks for memory that nobody sent.
  for (auto left = reader.number(); reader.is_good() && left > 0; --left) {
    if constexpr (kHasRemovals<Kind> && kKeyIsValue<Kind>) {
      (batch.*Kind::removed).push_back(Kind::take(reader.row(columns<Kind>())));
    } else if constexpr (kHasRemovals<Kind>) {
      take_key(reader.row(Kind::keys), (batch.*Kind::removed).emplace_back());
    } else {
      (void)reader.row(Kind::keys);
    }
  }
  for (auto left = reader.number(); reader.is_good() && left > 0; --left)
    (batch.*Kind::changed).push_back(Kind::take(reader.row(columns<Kind>())));
}

/// False: there is no such section.
bool take_section(std::string_view name, Reader& reader, Batch& batch) {
  if (name == kForgetLids) return batch.forget_lids = true;
  if (name == kVls) {
    const auto vls = reader.number();
    if (vls > static_cast<std::uint64_t>(DeviceVls::PutBack)) return false;
    batch.vls = static_cast<DeviceVls>(vls);
    return true;
  }
  if (name == kRoutes) {
    const Row row = reader.row(1);
    batch.routes.emplace(row.bytes(0).begin(), row.bytes(0).end());
    return true;
  }
  bool known = false;
  for_each_kind([&](auto kind) {
    using Kind = decltype(kind);
    if (known || name != Kind::table) return;
    known = true;
    take_kind<Kind>(reader, batch);
  });
  return known;
}

tl::unexpected<ib::Error> damaged() {
  return ib::fail(ib::ErrorKind::Malformed, "a record is damaged");
}
tl::unexpected<ib::Error> newer() {
  return ib::fail(ib::ErrorKind::Unavailable, "a newer release wrote a record");
}

}  // namespace

std::string encode(const Batch& batch) {
  Writer writer;
  if (batch.forget_lids) writer.section(kForgetLids);
  for_each_kind([&](auto kind) { put_kind<decltype(kind)>(writer, batch); });
  if (batch.vls) {
    writer.section(kVls);
    writer.number(static_cast<std::uint64_t>(*batch.vls));
  }
  if (batch.routes) {
    writer.section(kRoutes);
    writer.bind(*batch.routes);
  }
  return std::move(writer).finish();
}

ib::Result<Batch> decode(std::string_view bytes) {
  if (bytes.size() < kMark.size() + kSumBytes ||
      !bytes.starts_with(kMark.substr(0, kMark.size() - 1)))
    return damaged();
  std::uint64_t sum = 0;
  for (const char c : bytes.substr(bytes.size() - kSumBytes))
    sum = sum << 8 | static_cast<std::uint8_t>(c);
  bytes.remove_suffix(kSumBytes);
  if (sum != sum_of(bytes)) return damaged();
  if (!bytes.starts_with(kMark)) return newer();

  Batch batch;
  Reader reader(bytes.substr(kMark.size()));
  while (!reader.at_end()) {
    const std::string_view name = reader.section();
    if (!reader.is_good()) return damaged();
    if (!take_section(name, reader, batch)) return newer();
    if (!reader.is_good()) return damaged();
  }
  return batch;
}

}  // namespace sm::store::etcd
