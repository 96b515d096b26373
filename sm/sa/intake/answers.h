// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Answers as MADs: what of the request comes back, what does not (IBA 13.4.5, 15.2.1.1).
#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "libdiag/mad/transport.h"
#include "libdiag/wire/mad.h"

namespace sm::sa {

/// The method that answers `m`; nothing for what is no request.
std::optional<ib::wire::Method> response_to(ib::wire::Method m);

/// Whether `attribute` says what a GetMulti or GetTraceTable is about. The data of a GetTraceTable
/// is a PathRecord, whether it is called by that name or by that of its answer.
bool is_multi(ib::wire::Method method, std::uint16_t attribute);
/// The attribute of the records that answer `request`: mostly its own.
std::uint16_t answered_attribute(const ib::mad::Packet& request);

/// An answer without RMPP, SM_Key and records; the request's data area stands.
ib::mad::Packet answer_to(const ib::mad::Packet& request, ib::wire::Method method,
                          std::uint16_t status);
/// The same in a packet that was another; its `more` stays as it is.
void make_answer(ib::mad::Packet& answer, const ib::mad::Packet& request, ib::wire::Method method,
                 std::uint16_t status);

/// Puts one record, a multiple of 8 bytes, into an answer.
void put_record(ib::mad::Packet& answer, std::span<const std::byte> record);

}  // namespace sm::sa
