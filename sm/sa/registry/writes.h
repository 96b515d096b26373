// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Sets and Deletes by attribute: one row for each registered kind.
#pragma once

#include <cstddef>
#include <optional>

#include "sm/sa/registry/change.h"
#include "sm/sa/registry/world.h"

namespace sm::sa {

/// What can be registered, and how requests about it are judged. What State keeps of it is a class
/// of its own (State::kinds()).
struct RegisteredKind {
  std::uint16_t attribute;  // of Set and Delete
  Outcome (*set)(const World&, const WriteRequest&);
  Outcome (*remove)(const World&, const WriteRequest&);  // nullptr: there is no Delete
  /// The first bytes of the record say which one it is; the rest is what is wished of it.
  std::size_t subject_bytes;
  std::optional<std::size_t> wish_byte;  // among them, but a wish
  bool is_requesters;                    // nobody can write about another's
  /// Whether what the request registers ends by itself; nullptr: it never does.
  bool (*is_lease)(const ib::wire::Mad& request);
};

/// nullptr: records of this attribute cannot be written.
const RegisteredKind* find_kind(std::uint16_t attribute);

/// The change that a request asks for, or the refusal.
Outcome evaluate(const World& world, const WriteRequest& request);

}  // namespace sm::sa
