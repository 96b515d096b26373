// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/effects.h"

#include <utility>

#include "sm/core/subnet_manager.h"

namespace sm::core {

bool Effects::empty() const {
  return !foreign_store && commit.empty() && device_state == nullptr && snapshot == nullptr &&
         stopgap == nullptr && doubted.empty() && subscriptions_doubted.empty() &&
         asked_again.empty() && log.empty() && notices.empty() && send.empty() && !relieved &&
         !sm_status && !recall && !watched && !plan && reports.empty();
}

void carry_out(SubnetManager& manager, ib::Instant now, Carrier& carrier) {
  for (Effects todo = manager.take_effects(now); !todo.empty(); todo = manager.take_effects(now)) {
    if (todo.foreign_store) carrier.refuse_store(*todo.foreign_store);
    for (store::Batch& batch : todo.commit) carrier.commit(std::move(batch));
    if (todo.device_state) carrier.publish(todo.device_state);
    if (todo.snapshot) carrier.publish(todo.snapshot);
    if (todo.stopgap) carrier.publish_stopgap(todo.stopgap, todo.stopgap_registers);
    if (!todo.doubted.empty()) carrier.doubt_clients(todo.doubted);
    if (!todo.subscriptions_doubted.empty())
      carrier.doubt_subscriptions(todo.subscriptions_doubted);
    if (!todo.asked_again.empty()) carrier.on_asked_again(todo.asked_again);
    for (const ib::LogEvent& event : todo.log) carrier.log(event);
    for (const ReceivedNotice& notice : todo.notices) carrier.on_notice(notice);
    for (const Outgoing& outgoing : todo.send)
      if (auto sent = carrier.send(outgoing); !sent)
        manager.on_send_failed(now, outgoing, std::move(sent.error()));
    if (todo.relieved) carrier.on_relieved();
    if (todo.sm_status) carrier.on_sm_status(*todo.sm_status);
    if (todo.recall) carrier.recall(*todo.recall);
    if (todo.watched) carrier.watch(*todo.watched);
    if (todo.plan)
      if (auto result = carrier.plan(*std::move(todo.plan)))
        manager.on_planned(now, *std::move(result));
    for (Report& report : todo.reports) carrier.report(std::move(report));
  }
}

}  // namespace sm::core
