// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as the value of a key with a form of its own: subjects of the activity report,
// thresholds of error counters, peers of the console, what plug-ins are told. A value in its range,
// or an error of one line.
#include <string_view>

#include "sm/config/activity.h"
#include "sm/config/peers.h"
#include "sm/config/plugins.h"
#include "sm/policy/error_thresholds.h"
#include "tests/fuzz/fuzz.h"

namespace {

using ib::fuzz::require;

template <typename T>
bool is_read(const ib::Result<T>& read) {
  require(read || read.error().message.find('\n') == std::string::npos, "an error is one line");
  return read.has_value();
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto subjects = sm::config::activity_subjects(text); is_read(subjects))
    require(*subjects <= 15, "there are four subjects");
  if (const auto thresholds = sm::policy::read_error_thresholds(text); is_read(thresholds))
    require(thresholds->size() == sm::policy::kErrorCounters, "each counter has one, or none");
  (void)is_read(sm::config::Peers::read(text));
  for (const std::string_view plugin : sm::config::kPlugins)
    if (const auto file = sm::config::plugin_file(plugin, text); is_read(file) && !file->empty())
      require(text.find(*file) != std::string_view::npos, "the file is one of the words");
  return 0;
}
