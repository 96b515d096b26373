// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What comes of one piece of work: what was seen and is known from now on, and what is a failure.
// Inside sm/apply only.
#pragma once

#include <cstdint>

#include "sm/apply/job.h"

namespace sm::apply {

void on_answer(Job& job, const Work& work, const ib::wire::Mad& mad);
/// An answer with a status.
void on_refusal(Job& job, const Work& work, std::uint16_t status);
void on_silence(Job& job, const Work& work, const ib::mad::Completion& completion);
/// Work for a node that is known not to answer, which is not asked.
void leave_alone(Job& job, const Work& work);

}  // namespace sm::apply
