# How Seam itself is built: one place for flags, output folders and the helpers that the folders'
# CMakeLists use. Plugin authors use SeamPlugin.cmake instead.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# One code model everywhere, so that libraries and test programs can share precompiled headers: GCC
# refuses a header compiled with -fPIE where a source says -fPIC.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_COMPILE_OPTIONS_PIE "-fPIC")

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

find_program(SEAM_CCACHE ccache)
if(SEAM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${SEAM_CCACHE}")
endif()

add_library(seam_flags INTERFACE)
target_compile_options(seam_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wno-sign-conversion)  # index arithmetic between int64_t sizes and size_t is everywhere in numerics
if(SEAM_WARNINGS_AS_ERRORS)
  target_compile_options(seam_flags INTERFACE -Werror)
endif()
if(SEAM_SANITIZE)
  add_compile_options(-fsanitize=${SEAM_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SEAM_SANITIZE})
endif()

if(SEAM_LIBFUZZER)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# seam_library(NAME SOURCES ... LINK ... [TENSOR])
# A static library of the tree, compiled so that it may go into a plugin. TENSOR: uses LibTorch, with
# its headers precompiled.
function(seam_library name)
  cmake_parse_arguments(arg "TENSOR" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE seam_flags)
  if(arg_TENSOR)
    target_link_libraries(${name} PUBLIC Seam::tensor)
    target_precompile_headers(${name} REUSE_FROM seam_tensor_precompiled)
  endif()
endfunction()

# seam_test(NAME SOURCES ... LINK ... [TENSOR])
# A GoogleTest program; each of its cases is a test of ctest's.
function(seam_test name)
  cmake_parse_arguments(arg "TENSOR" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_LINK} seam_flags GTest::gmock GTest::gtest_main)
  if(arg_TENSOR)
    target_link_libraries(${name} PRIVATE Seam::tensor)
    target_precompile_headers(${name} REUSE_FROM seam_tensor_precompiled)
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endfunction()

# seam_bench(NAME SOURCES ... LINK ... [TENSOR]): a benchmark program in build/.../bench.
function(seam_bench name)
  cmake_parse_arguments(arg "TENSOR" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_LINK} seam_flags)
  if(arg_TENSOR)
    target_link_libraries(${name} PRIVATE Seam::tensor)
    target_precompile_headers(${name} REUSE_FROM seam_tensor_precompiled)
  endif()
endfunction()
