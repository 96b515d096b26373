# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# One-line targets: ib_library, ib_program, ib_test.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_program(CCACHE ccache)
if(CCACHE)
  # The second word lets it keep what was compiled with the tests' precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(ibkit_flags INTERFACE)
target_include_directories(ibkit_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(ibkit_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror)
# In libraries a section for each function: the linker leaves out whom nobody calls (ib_resident).
target_compile_options(ibkit_flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,STATIC_LIBRARY>:-ffunction-sections>)
# With -O2 or a sanitizer g++ 12 sees ghosts in inlined std::string, std::variant and tl::expected (GCC bugs 105651, 105329): they
# stay warnings.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND (IBKIT_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo"))
  target_compile_options(ibkit_flags INTERFACE
    -Wno-error=free-nonheap-object -Wno-error=restrict -Wno-error=maybe-uninitialized -Wno-error=array-bounds
    -Wno-error=stringop-overflow -Wno-error=stringop-overread)
endif()
# ThreadSanitizer does not see fences. Those there are stand between atomics, which it does see.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND IBKIT_SANITIZE MATCHES thread)
  target_compile_options(ibkit_flags INTERFACE -Wno-tsan)
endif()
target_link_libraries(ibkit_flags INTERFACE Threads::Threads)
if(IBKIT_SANITIZE)
  target_compile_options(ibkit_flags INTERFACE -fsanitize=${IBKIT_SANITIZE} -fno-omit-frame-pointer
                                               -fno-sanitize-recover=undefined)
  target_link_options(ibkit_flags INTERFACE -fsanitize=${IBKIT_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    if(IBKIT_SANITIZE MATCHES address)
      target_link_options(ibkit_flags INTERFACE -static-libasan -static-libubsan)
    else()
      target_link_options(ibkit_flags INTERFACE -static-libtsan)
    endif()
  endif()
endif()

# fmt without its shared library (see fmt.cpp), and spdlog without its own, in front of it.
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
add_library(ib_fmt STATIC ${CMAKE_SOURCE_DIR}/cmake/fmt.cpp)
target_link_libraries(ib_fmt PRIVATE ibkit_flags)
target_include_directories(ib_fmt SYSTEM INTERFACE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_definitions(ib_fmt INTERFACE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
add_library(ib_spdlog INTERFACE)
target_link_libraries(ib_spdlog INTERFACE ib_fmt)
target_include_directories(ib_spdlog SYSTEM INTERFACE
  $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_definitions(ib_spdlog INTERFACE SPDLOG_FMT_EXTERNAL)

# What nearly every source includes is compiled once: once as libraries need it, once as ib_for_programs does. Not in the presets
# of clang: clang-tidy would need the compiled headers, and nothing builds them; and so an include that is missing is found.
target_compile_definitions(ibkit_flags INTERFACE FMT_SHARED)
target_include_directories(ibkit_flags SYSTEM INTERFACE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
function(ib_headers name)
  file(WRITE ${CMAKE_BINARY_DIR}/headers.cpp "")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/headers.cpp)
  target_link_libraries(${name} PRIVATE ibkit_flags)
  target_compile_options(${name} PRIVATE -ffunction-sections ${ARGN})
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <chrono> <cstdint> <cstring> <deque> <functional> <map> <memory> <numeric> <optional> <set> <span> <string>
    <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <tl/expected.hpp>)
endfunction()
ib_headers(ib_headers)
ib_headers(ib_headers_for_programs -fPIE)
set_target_properties(ib_headers_for_programs PROPERTIES POSITION_INDEPENDENT_CODE OFF)

# What the sanitizer of this build is to know, in every executable.
function(ib_sanitizer_defaults name)
  if(IBKIT_SANITIZE)
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/sanitizer_defaults.cpp)
  endif()
endfunction()

# ib_compile_together(NAME [ALONE a.cpp ...]): the sources of the target are compiled eight at a time, as one: what they include
# costs more than what they say. Not with IBKIT_TOGETHER=OFF, as in the presets of clang: there each stands alone, for clang-tidy, and
# so that an include that is missing is found. ALONE: those whose class of a header has members of the file's own types, of which g++
# warns elsewhere than in the main file. Not for libraries whose speed was measured file by file: tables, route, sim.
function(ib_compile_together name)
  cmake_parse_arguments(A "" "" "ALONE" ${ARGN})
  set_source_files_properties(${A_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${IBKIT_TOGETHER} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# ib_library(NAME SOURCES a.cpp ... [DEPS target ...] [PRIVATE_DEPS target ...])
function(ib_library name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  if(A_SOURCES)
    add_library(${name} STATIC ${A_SOURCES})
    target_link_libraries(${name} PUBLIC ibkit_flags ${A_DEPS} PRIVATE ${A_PRIVATE_DEPS})
    target_precompile_headers(${name} REUSE_FROM ib_headers)
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ibkit_flags ${A_DEPS})
  endif()
endfunction()

# ib_for_programs(NAME): a library of which programs are made and no shared one, which CMake would build as if it were: then no
# function that others may call could be inlined, not even in its own file. For those whose speed counts.
function(ib_for_programs name)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF PRECOMPILE_HEADERS_REUSE_FROM ib_headers_for_programs)
  target_compile_options(${name} PRIVATE -fPIE)
endfunction()

# ib_small(NAME): a library whose size in a program that stays counts, and whose speed does not.
function(ib_small name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-Os>)
  set_target_properties(${name} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)  # those are for -O2
endfunction()

# ib_program(NAME SOURCES main.cpp ... DEPS target ...)
function(ib_program name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ibkit_flags ${A_DEPS})
  target_compile_definitions(${name} PRIVATE IBKIT_VERSION="${PROJECT_VERSION}")
  ib_sanitizer_defaults(${name})
  set_property(GLOBAL APPEND PROPERTY IBKIT_PROGRAMS ${name})
endfunction()

# ib_resident(NAME): a program that stays, so what it holds in memory counts. It has its own part of libstdc++ (the shared one is
# 1.7 MB resident), nothing that nobody calls, relative relocations as bits, and is bound at the start.
include(CheckLinkerFlag)
check_linker_flag(CXX LINKER:-z,pack-relative-relocs IBKIT_HAS_RELR)
function(ib_resident name)
  if(IBKIT_SANITIZE)
    return()
  endif()
  target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc LINKER:--gc-sections LINKER:-z,now
                                      $<$<BOOL:${IBKIT_HAS_RELR}>:LINKER:-z,pack-relative-relocs>)
endfunction()

# Tests are half of what is compiled, and the code they test is in libraries: less optimisation and no debug information do, and
# what every test includes is compiled once (ib_test_headers). Without any optimisation the judges of routes take too long. Not in the preset `clang`: clang-tidy would need the compiled headers, and nothing builds them.
function(ib_compile_as_test name)
  target_link_libraries(${name} PRIVATE ibkit_flags GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1> $<$<CONFIG:RelWithDebInfo>:-g0>)
  target_compile_definitions(${name} PRIVATE IBKIT_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                             IBKIT_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
endfunction()
function(ib_test_headers)
  file(WRITE ${CMAKE_BINARY_DIR}/test_headers.cpp "")
  add_library(ib_test_headers OBJECT ${CMAKE_BINARY_DIR}/test_headers.cpp)
  ib_compile_as_test(ib_test_headers)
  set_target_properties(ib_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(ib_test_headers PRIVATE -fPIE)
  target_precompile_headers(ib_test_headers PRIVATE
    <gmock/gmock.h> <gtest/gtest.h> <algorithm> <array> <deque> <functional> <map> <memory> <optional> <random> <set> <string>
    <unordered_map> <utility> <vector>)
endfunction()

# ib_test(NAME SOURCES x_test.cpp ... DEPS target ...): a Google Test binary under build/tests, each TEST known to ctest.
function(ib_test name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  if(NOT TARGET ib_test_headers)
    ib_test_headers()
  endif()
  add_executable(${name} ${A_SOURCES})
  ib_compile_as_test(${name})
  target_link_libraries(${name} PRIVATE ${A_DEPS})
  target_precompile_headers(${name} REUSE_FROM ib_test_headers)
  ib_compile_together(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  ib_sanitizer_defaults(${name})
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 120)
endfunction()
