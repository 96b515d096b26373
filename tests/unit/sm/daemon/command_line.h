// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibsm's command line as tests give it, what is said of one that is refused, and a directory for
// the files that it names.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sm/daemon/options.h"

namespace sm::daemon {

inline Command read(std::vector<const char*> words) {
  words.insert(words.begin(), "ibsm");
  return read_command_line(static_cast<int>(words.size()), words.data(), "0");
}

/// What is said of words that are refused.
inline std::string all_of_refusal(std::vector<const char*> words) {
  testing::internal::CaptureStderr();
  const Command command = read(std::move(words));
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(std::holds_alternative<int>(command) && std::get<int>(command) == 2) << text;
  return text;
}

/// The first line of it.
inline std::string refusal(std::vector<const char*> words) {
  const std::string text = all_of_refusal(std::move(words));
  return text.substr(0, text.find('\n'));
}

/// A directory of its own for options files, which stands for the state directory too.
class OptionsFile : public testing::Test {
 protected:
  OptionsFile() {
    std::filesystem::create_directories(dir_);
    ::setenv("IBSM_STATE_DIR", dir_.c_str(), 1);
  }
  ~OptionsFile() override {
    ::unsetenv("IBSM_STATE_DIR");
    std::filesystem::remove_all(dir_);
  }
  std::string path(const char* name) const { return dir_ + "/" + name; }
  std::string write(const char* name, const char* text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  const std::string dir_ = testing::TempDir() + "ibkit-options-" + std::to_string(::getpid());
};

}  // namespace sm::daemon
