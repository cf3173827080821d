# Defines Seam::tensor, for Seam's own build and for plugin authors alike: the SDK with LibTorch (Seam::libtorch), and the
# compiled parts of the headers that need it (Seam::network).
set(CMAKE_MESSAGE_LOG_LEVEL ERROR)  # the wheel's own files warn of a library that they do without
find_package(Torch REQUIRED)
unset(CMAKE_MESSAGE_LOG_LEVEL)
# With C++20, Clang instantiates the vector of c10::IValue in LibTorch 1.13's List.h before IValue is complete.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND Torch_VERSION VERSION_LESS 2)
  message(FATAL_ERROR "Seam: Clang cannot compile the headers of LibTorch ${Torch_VERSION} (${Torch_DIR}) as C++20; use GCC, or "
    "PyTorch's CPU wheel (scripts/setup --libtorch wheel)")
endif()
find_package(OpenMP REQUIRED)  # at::parallel_for is an inline function: parallel only under -fopenmp

# LibTorch's targets refer to each other by name wherever they are used (in 1.13), but are known only in the folder that
# found them.
get_property(found DIRECTORY PROPERTY IMPORTED_TARGETS)
set_target_properties(${found} PROPERTIES IMPORTED_GLOBAL TRUE)

add_library(Seam::libtorch INTERFACE IMPORTED GLOBAL)
# SYSTEM: LibTorch's headers are not ours to keep free of warnings.
target_include_directories(Seam::libtorch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_compile_definitions(Seam::libtorch INTERFACE SEAM_WITH_TENSOR)
# The compiler's library comes first: the libtorch.so of CUDA wheels exports parts of a std::filesystem that call null.
target_link_libraries(Seam::libtorch INTERFACE Seam::sdk -Wl,--push-state,--no-as-needed,-lstdc++,--pop-state
  ${TORCH_LIBRARIES})
# OpenMP's target names its library by path, and LibTorch brings one of the same name in a folder of
# its own: CMake would warn of that for each program. The compiler's flag does not need a path.
separate_arguments(openmp_flags NATIVE_COMMAND "${OpenMP_CXX_FLAGS}")
target_compile_options(Seam::libtorch INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${openmp_flags}>")
target_link_options(Seam::libtorch INTERFACE ${openmp_flags})

add_library(Seam::tensor INTERFACE IMPORTED GLOBAL)
target_link_libraries(Seam::tensor INTERFACE Seam::network Seam::libtorch)
include("${CMAKE_CURRENT_LIST_DIR}/SeamTensorTargets.cmake" OPTIONAL)  # Seam's own tree has the target itself

# The location of LibTorch for installed plugins. INSTALL_RPATH_USE_LINK_PATH covers only folders outside the project,
# and scripts/setup unpacks a LibTorch inside.
list(GET TORCH_INCLUDE_DIRS 0 torch_include)
get_filename_component(torch_libraries "${torch_include}/../lib" ABSOLUTE)
if(NOT torch_libraries MATCHES "^/usr/")
  set_property(GLOBAL PROPERTY SEAM_LIBTORCH_FOLDER "${torch_libraries}")
endif()
