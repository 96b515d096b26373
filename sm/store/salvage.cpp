// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/salvage.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "sm/store/row_sum.h"
#include "sm/store/sqlite_file.h"
#include "sm/store/sqlite_tables.h"
#include "sm/store/wal.h"

namespace sm::store {
namespace {

using Bytes = std::span<const std::byte>;

/// More than any record of ours has, and less than makes SQLite spread one over pages.
constexpr std::size_t kRecordBytesMax = 1000;
constexpr std::uint8_t kInterior = 2, kLeaf = 10;  // pages of tables WITHOUT ROWID
constexpr std::uint8_t kNumberedLeaf = 13;         // of one with

std::size_t two_bytes(Bytes at) {
  return static_cast<std::size_t>(at[0]) << 8 | static_cast<std::size_t>(at[1]);
}

/// A number of SQLite's: seven bits a byte, the ninth has eight. Takes it off `rest`.
std::optional<std::uint64_t> take_varint(Bytes& rest) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < rest.size() && i < 9; ++i) {
    const auto byte = static_cast<std::uint8_t>(rest[i]);
    if (i < 8 && (byte & 0x80) != 0) {
      value = value << 7 | (byte & 0x7F);
      continue;
    }
    value = i == 8 ? value << 8 | byte : value << 7 | byte;
    rest = rest.subspan(i + 1);
    return value;
  }
  return std::nullopt;
}

/// The value of a serial type (fileformat2.html, 2.1). Takes its bytes off `rest`.
std::optional<Value> take_value(std::uint64_t type, Bytes& rest) {
  constexpr std::size_t kIntegerBytes[] = {0, 1, 2, 3, 4, 6, 8};
  if (type == 0) return Value{};
  if (type == 8 || type == 9)
    return Value{Value::Kind::Integer, static_cast<std::int64_t>(type - 8), {}};
  const bool is_blob = type >= 12 && type % 2 == 0;
  if (!is_blob && type >= std::size(kIntegerBytes)) return std::nullopt;
  const std::uint64_t size = is_blob ? (type - 12) / 2 : kIntegerBytes[type];
  if (size > rest.size()) return std::nullopt;
  const Bytes bytes = rest.first(size);
  rest = rest.subspan(size);
  if (is_blob) return Value{Value::Kind::Blob, 0, bytes};
  // The first byte has the sign.
  std::uint64_t integer = (static_cast<std::uint8_t>(bytes[0]) & 0x80) != 0 ? ~std::uint64_t{0} : 0;
  for (const std::byte b : bytes) integer = integer << 8 | static_cast<std::uint8_t>(b);
  return Value{Value::Kind::Integer, static_cast<std::int64_t>(integer), {}};
}

struct Record {
  Row row;
  std::size_t bytes{};  // of the page
};

/// What a cell holds, if its lengths agree.
std::optional<Record> read_record(Bytes at) {
  Bytes rest = at;
  const auto payload = take_varint(rest);
  if (!payload || *payload > kRecordBytesMax || *payload > rest.size()) return std::nullopt;
  Bytes types = rest.first(*payload);
  const std::size_t before = types.size();
  const auto header = take_varint(types);
  if (!header || *header > *payload || *header < before - types.size()) return std::nullopt;
  Bytes values = rest.subspan(*header, *payload - *header);
  types = types.first(*header - (before - types.size()));
  Record record;
  record.bytes = at.size() - rest.size() + *payload;
  while (!types.empty()) {
    const auto type = take_varint(types);
    const auto value = type ? take_value(*type, values) : std::nullopt;
    if (!value || record.row.size() == Row::kColumnsMax) return std::nullopt;
    record.row.add(*value);
  }
  return values.empty() && record.row.size() > 1 ? std::optional(record) : std::nullopt;
}

/// Whose row it is, as its sum says.
const Table* table_of(const Row& row) {
  for (const Table& table : tables())
    if (table.column_count == row.size() && fits_its_sum(table.name, row)) return &table;
  return nullptr;
}

/// A page's own directory of its cells, as far as it makes sense.
struct Directory {
  explicit Directory(Bytes page) {
    const auto type = static_cast<std::uint8_t>(page[0]);
    const std::size_t header = type == kInterior ? 12 : 8;
    const std::size_t count = two_bytes(page.subspan(3)), content = two_bytes(page.subspan(5));
    const bool content_fits = content >= header && content <= page.size();
    content_begins = content_fits ? content : header;
    fits = (type == kInterior || type == kLeaf) && content_fits && header + 2 * count <= content;
    if (!fits) return;
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t cell = two_bytes(page.subspan(header + 2 * i));
      if (cell < header + 2 * count || cell >= page.size()) {
        cell = 0;  // points out of the page
      } else {
        content_begins = std::min(content_begins, cell);
        if (type == kInterior) cell += 4;  // behind the number of the page below
      }
      cells.push_back(cell);
    }
  }
  bool fits{false};
  std::vector<std::size_t> cells;  // where the record of each begins; 0: nowhere
  /// What lies before it was moved or removed.
  std::size_t content_begins{};
};

class Salvage {
 public:
  /// Reads one page; `number` is for messages.
  void read(Bytes page, std::size_t number) {
    if (std::all_of(page.begin(), page.end(), [](std::byte b) { return b == std::byte{0}; }))
      return;  // free
    const Directory directory(page);
    std::set<std::size_t> found;
    const Table* owner = nullptr;
    for (std::size_t at = directory.content_begins; at < page.size();) {
      const auto record = read_record(page.subspan(at));
      const Table* table = record ? table_of(record->row) : nullptr;
      if (table == nullptr) {
        ++at;
        continue;
      }
      owner = table;
      table->take(record->row, contents_);
      found.insert(at);
      at += record->bytes;
    }
    if (!directory.fits) result_.whole = false;
    std::size_t missing = directory.cells.size() - std::min(directory.cells.size(), found.size());
    for (const std::size_t cell : directory.cells) {
      if (missing == 0) break;
      if (found.contains(cell)) continue;
      name_lost(page.subspan(cell), owner, number);
      --missing;
    }
  }

  Salvaged result() && {
    apply(batch_of(std::move(contents_)), result_.contents);
    result_.whole = result_.whole && result_.lost.empty();
    return std::move(result_);
  }

 private:
  void name_lost(Bytes at, const Table* owner, std::size_t number) {
    const auto record = read_record(at);
    if (record) {
      const auto has_as_many = [&](const Table& t) { return t.column_count == record->row.size(); };
      if (owner == nullptr || !has_as_many(*owner)) {
        const auto like = std::ranges::find_if(tables(), has_as_many);
        owner = like != tables().end() ? &*like : nullptr;
      }
    }
    if (record && owner != nullptr) {
      result_.lost.push_back(describe(*owner, record->row));
    } else {
      result_.lost.push_back(fmt::format("a record {}on page {}",
                                         owner != nullptr ? fmt::format("of {} ", owner->name) : "",
                                         number));
    }
  }

  Contents contents_;  // in the order of the file
  Salvaged result_;
};

/// The table of the first record found in a page: all its others are of that.
const Table* owner_of(Bytes page) {
  for (std::size_t at = 0; at < page.size(); ++at)
    if (const auto record = read_record(page.subspan(at)))
      if (const Table* table = table_of(record->row)) return table;
  return nullptr;
}

/// What does not fit page 1 of the statements that made the tables. Its rows have numbers, which
/// ours do not.
bool is_of_schema(Bytes page) {
  constexpr std::string_view kStatement = "CREATE TABLE";
  const std::string_view text(reinterpret_cast<const char*>(page.data()), page.size());
  return page[0] == std::byte{kNumberedLeaf} && text.find(kStatement) != std::string_view::npos;
}

/// Where a frame of the log belongs among `pages`. In one that is not whole the number may be what
/// is damaged, or not: many a bit of the page changes the checksum as one of the number does.
std::size_t page_of(const WalFrame& frame, const std::vector<Bytes>& pages) {
  if (frame.good || frame.page == frame.repaired_page) return frame.page;
  const auto is_there = [&](std::size_t page) { return page >= 1 && page <= pages.size(); };
  if (!is_there(frame.page)) return frame.repaired_page;
  if (!is_there(frame.repaired_page)) return frame.page;
  const Table* owner = owner_of(frame.image);
  const bool other_fits_better =
      owner_of(pages[frame.page - 1]) != owner && owner_of(pages[frame.repaired_page - 1]) == owner;
  return other_fits_better ? frame.repaired_page : frame.page;
}

}  // namespace

Salvaged salvage(const std::string& path) {
  const auto file = read_what_can_be(path);
  const Wal wal = read_wal(path + "-wal");
  std::vector<Bytes> pages;
  for (std::size_t at = 0; at + kPageBytes <= file.size(); at += kPageBytes)
    pages.push_back(Bytes(file).subspan(at, kPageBytes));

  // Of how many pages the file says that it is.
  bool whole =
      !pages.empty() && file.size() % kPageBytes == 0 &&
      (two_bytes(pages[0].subspan(28)) << 16 | two_bytes(pages[0].subspan(30))) <= pages.size();

  // The log's pages stand for the file's.
  const std::size_t pages_max = pages.size() + wal.frames.size();
  for (const WalFrame& frame : wal.frames) {
    const std::size_t page = page_of(frame, pages);
    if (page == 0 || page > pages_max) {
      whole = false;
      continue;
    }
    if (page > pages.size()) pages.resize(page);
    pages[page - 1] = frame.image;
  }

  Salvage salvage;
  // Page 1 is the schema's.
  for (std::size_t i = 1; i < pages.size(); ++i)
    if (!pages[i].empty() && !is_of_schema(pages[i])) salvage.read(pages[i], i + 1);
  Salvaged result = std::move(salvage).result();
  result.whole = result.whole && whole;
  return result;
}

}  // namespace sm::store
