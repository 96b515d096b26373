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
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(ibkit_flags INTERFACE)
target_include_directories(ibkit_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(ibkit_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror)
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

# What the sanitizer of this build is to know, in every executable.
function(ib_sanitizer_defaults name)
  if(IBKIT_SANITIZE)
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/sanitizer_defaults.cpp)
  endif()
endfunction()

# ib_library(NAME SOURCES a.cpp ... [DEPS target ...] [PRIVATE_DEPS target ...])
function(ib_library name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  if(A_SOURCES)
    add_library(${name} STATIC ${A_SOURCES})
    target_link_libraries(${name} PUBLIC ibkit_flags ${A_DEPS} PRIVATE ${A_PRIVATE_DEPS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ibkit_flags ${A_DEPS})
  endif()
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

# ib_test(NAME SOURCES x_test.cpp ... DEPS target ...): a Google Test binary under build/tests, each TEST known to ctest.
function(ib_test name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ibkit_flags ${A_DEPS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE IBKIT_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                             IBKIT_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  ib_sanitizer_defaults(${name})
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 120)
endfunction()
