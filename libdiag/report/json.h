// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// JsonWriter: JSON text, written front to back, so that a document of any size is never in memory
// as a tree. Values are nlohmann/json's to write: strings pass printable() first (they may come
// from the wire) and nothing can break out of them. This is layout, and the frame every document
// has.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "libdiag/base/ids.h"
#include "libdiag/base/result.h"

namespace ib::report {

///   JsonWriter w;
///   w.begin_object().field("lid", 7).key("ports").begin_array().value(1).value(2).end_array();
///   w.end_object();
/// Objects inside arrays come out one a line: a big document stays readable and diffs well. Arrays
/// within such an object are inline unless Items::Lines is asked for.
class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  enum class Items { Usual, Lines };
  JsonWriter& begin_array(Items items = Items::Usual);
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);  // null when not finite
  JsonWriter& value(Guid guid);      // "0x0002c903000085d1"
  /// A value that is a tree already, its members in their order.
  JsonWriter& tree(const nlohmann::ordered_json& value);
  JsonWriter& value(Lid lid) { return value(lid.value); }
  template <class T>
    requires std::is_integral_v<T>
  JsonWriter& value(T number) {
    if constexpr (std::is_same_v<T, bool>) {
      return raw(number ? "true" : "false");
    } else {
      return raw(std::to_string(number));
    }
  }
  template <class T>
  JsonWriter& value(const std::optional<T>& maybe) {
    return maybe ? value(*maybe) : null();
  }
  JsonWriter& null() { return raw("null"); }

  template <class T>
  JsonWriter& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }

  /// What was written so far, moved out; a document is complete when every begin has its end.
  std::string take();

 private:
  struct Level {
    bool array;
    bool inline_items;  // no line of its own for each item
    bool empty;
    bool lines{false};  // Items::Lines
  };
  JsonWriter& raw(std::string_view text);
  void separate(bool container);
  void new_line();

  std::string text_;
  std::vector<Level> levels_;
  bool after_key_{false};
};

/// The members every --json document of the suite starts with. `schema` is "ibkit.NAME/N".
struct Envelope {
  std::string schema;
  std::string tool;
  std::string version;
  bool complete{true};
  std::vector<std::string> errors;
};
/// Opens the document's object and writes these members; the caller adds its own and closes it.
void begin_document(JsonWriter& json, const Envelope& envelope);

/// What --json prints of a run that has nothing else to print: the frame, not complete, and "error"
/// with its exit status, kind and message. `before`: lines of "errors" that come first.
std::string failure_document(const std::string& schema, const std::string& tool,
                             const std::string& version, const Error& error, int status,
                             std::vector<std::string> before = {});

}  // namespace ib::report
