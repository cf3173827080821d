# How Seam itself is built: one place for flags, output folders and the helpers that the folders'
# CMakeLists use. Plugin authors use SeamPlugin.cmake instead.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# One code model everywhere, so that libraries and test programs can share precompiled headers: GCC
# rejects a header compiled with -fPIE for a source compiled with -fPIC.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_COMPILE_OPTIONS_PIE "-fPIC")

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

# Paths go into the cache relative to the checkout, so that checkouts share it: a fresh clone need not compile again
# what another one compiled. (A debugger may then show the sources of the checkout that compiled them.)
find_program(SEAM_CCACHE ccache)
if(SEAM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=true
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${SEAM_CCACHE}")
endif()

# By default, GCC spends 13 % of its time on garbage collection, to suit small machines. Units take up to 1.3 GB instead.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(--param=ggc-min-heapsize=1048576)  # KiB
endif()

add_library(seam_flags INTERFACE)
target_compile_options(seam_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion
  -Wno-sign-conversion)  # index arithmetic between int64_t sizes and size_t is everywhere in numerics
# Not for groups: a local variable may have the name of a constant in another source of its group.
target_compile_options(seam_flags INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>)
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

# A group hides a missing include in one of its sources; a build with SEAM_UNITY=OFF finds it.
option(SEAM_UNITY "Compile sources in groups, in a fraction of the time" ON)

# Compiles the target's sources in groups. The groups are formed when all targets are known.
function(seam_group_sources name)
  if(SEAM_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    set_property(GLOBAL APPEND PROPERTY SEAM_GROUPED ${name})
  endif()
endfunction()

# Call it once, after the last target.
function(seam_form_groups)
  get_property(targets GLOBAL PROPERTY SEAM_GROUPED)
  set(lines "")
  foreach(target ${targets})
    get_target_property(folder ${target} SOURCE_DIR)
    get_target_property(sources ${target} SOURCES)
    list(JOIN sources "\t" sources)
    string(APPEND lines "${target}\t${folder}\t${sources}\n")
  endforeach()
  file(WRITE "${CMAKE_BINARY_DIR}/targets.txt" "${lines}")
  execute_process(COMMAND python3 "${PROJECT_SOURCE_DIR}/scripts/unity_groups.py" "${CMAKE_BINARY_DIR}/targets.txt"
    "${CMAKE_BINARY_DIR}/groups.cmake" COMMAND_ERROR_IS_FATAL ANY)
  include("${CMAKE_BINARY_DIR}/groups.cmake")
endfunction()

# Links LibTorch and its precompiled headers, if the caller's arg_TENSOR says so.
function(seam_use_libtorch name visibility)
  if(arg_TENSOR)
    target_link_libraries(${name} ${visibility} Seam::tensor)
    target_precompile_headers(${name} REUSE_FROM seam_network)
  endif()
endfunction()

# Compiles the target with -O1, which takes a quarter to a third less time: for tests, and for code that waits for LibTorch
# or for files.
function(seam_optimise_less name)
  target_compile_options(${name} PRIVATE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:RelWithDebInfo>>:-O1>)
endfunction()

# Sets `sources`: arg_SOURCES, or the files in the calling CMakeLists.txt's folder and below it that match `pattern`, and
# arg_GENERATED. If arg_ONLY is set, only files whose path matches it; none that matches arg_EXCLUDE.
function(seam_find_sources pattern)
  set(sources "${arg_SOURCES}")
  if(NOT sources)
    file(GLOB_RECURSE sources RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS "${pattern}")
    if(arg_ONLY)
      list(FILTER sources INCLUDE REGEX "${arg_ONLY}")
    endif()
    if(arg_EXCLUDE)
      list(FILTER sources EXCLUDE REGEX "${arg_EXCLUDE}")
    endif()
  endif()
  set(sources ${sources} ${arg_GENERATED} PARENT_SCOPE)
endfunction()

# seam_library(NAME [SOURCES ...] [ONLY expression] [EXCLUDE expression] [GENERATED ...] LINK ... [TENSOR])
# A static library of the tree, compiled so that it may go into a plugin; without SOURCES, of all sources in the folder.
# TENSOR: uses LibTorch, whose headers are precompiled.
function(seam_library name)
  cmake_parse_arguments(arg "TENSOR" "ONLY;EXCLUDE" "SOURCES;GENERATED;LINK" ${ARGN})
  seam_find_sources("*.cpp")
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE seam_flags)
  seam_use_libtorch(${name} PUBLIC)
  seam_group_sources(${name})
endfunction()

# seam_add_stages(NAME [TENSOR] [OPENCV] [LINK ...])
# The plugin NAME with every stage declared in a header in stages/NAME, which begins
#     class Triplet final : public Loss {
#      public:
#       static constexpr std::string_view name = "loss.triplet";
function(seam_add_stages name)
  set(begins "class [A-Za-z0-9_]+ final[^{;]*{[ \n]*public:[ \n]*static constexpr std::string_view name = \"${name}[\".]")
  file(GLOB_RECURSE headers RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/stages/${name}/*.hpp")
  set(includes "")
  set(classes "")
  foreach(header IN LISTS headers)
    file(READ "${PROJECT_SOURCE_DIR}/${header}" text)
    string(REGEX MATCHALL "${begins}" found "${text}")
    if(found)
      string(APPEND includes "#include \"${header}\"\n")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${header}")
    endif()
    foreach(class IN LISTS found)
      string(REGEX REPLACE "^class ([A-Za-z0-9_]+) .*" "seam::stages::\\1" class "${class}")
      list(APPEND classes ${class})
    endforeach()
  endforeach()
  list(JOIN classes ",\n            " classes)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/seam_${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "#include <seam/plugin.hpp>\n\n${includes}\nSEAM_PLUGIN(${classes})\n" @ONLY)
  seam_add_plugin(${name} ${ARGN} SOURCES "${source}")
  if(NOT name STREQUAL "loss")  # whose headers compute
    seam_optimise_less(${name})
  endif()
endfunction()

# seam_test(NAME [SOURCES ...] [ONLY expression] [EXCLUDE expression] LINK ... [TENSOR])
# A GoogleTest program; without SOURCES, of all *_test.cpp in the folder. It is one test
# for ctest; scripts/run-tests knows its cases by the label.
function(seam_test name)
  cmake_parse_arguments(arg "TENSOR" "ONLY;EXCLUDE" "SOURCES;LINK" ${ARGN})
  seam_find_sources("*_test.cpp")
  add_executable(${name} ${sources})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_LINK} Seam::testing seam_flags GTest::gmock GTest::gtest_main)
  seam_optimise_less(${name})
  seam_use_libtorch(${name} PRIVATE)
  seam_group_sources(${name})
  target_link_libraries(${name} PRIVATE seam_clean_state)
  if(arg_TENSOR)
    target_link_libraries(${name} PRIVATE seam_clean_libtorch)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS gtest)
endfunction()

# seam_bench(NAME SOURCES ... LINK ... [TENSOR]): a benchmark program in build/.../bench.
function(seam_bench name)
  cmake_parse_arguments(arg "TENSOR" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_LINK} seam_flags)
  seam_use_libtorch(${name} PRIVATE)
endfunction()
