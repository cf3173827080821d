# seam_add_plugin(NAME SOURCES ... [LINK ...] [TENSOR [PRECOMPILE]] [OPENCV] [OUTPUT_DIRECTORY dir]
#                 [NO_INSTALL])
#
# A shared library of stages. The host's loader relies on its flags: hidden symbols, no undefined ones (so that the
# linker reports missing symbols, not the user's first run), never unloaded. An installed plugin finds libseam.so in its
# own tree and LibTorch in its location at build time. TENSOR and OPENCV link Seam::tensor and Seam::opencv. PRECOMPILE:
# LibTorch's headers, which cost 20 s per source, are compiled once; worth it from the second source or edit on.
function(seam_add_plugin name)
  cmake_parse_arguments(arg "TENSOR;PRECOMPILE;OPENCV;NO_INSTALL" "OUTPUT_DIRECTORY" "SOURCES;LINK" ${ARGN})
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "seam_add_plugin(${name}): its SOURCES are missing")
  endif()
  if(NOT arg_OUTPUT_DIRECTORY)
    set(arg_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib/seam/plugins")
  endif()
  set(libtorch "")
  if(arg_TENSOR)
    get_property(libtorch GLOBAL PROPERTY SEAM_LIBTORCH_FOLDER)
  endif()
  add_library(${name} MODULE ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES
    PREFIX "" OUTPUT_NAME "seam_${name}"
    LIBRARY_OUTPUT_DIRECTORY "${arg_OUTPUT_DIRECTORY}"
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    DEFINE_SYMBOL ""  # -D${name}_EXPORTS would keep shared precompiled headers from fitting
    INSTALL_RPATH "$ORIGIN;$ORIGIN/../../../${CMAKE_INSTALL_LIBDIR};${libtorch}" INSTALL_RPATH_USE_LINK_PATH ON)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_link_libraries(${name} PRIVATE Seam::sdk ${arg_LINK}
    $<$<BOOL:${arg_TENSOR}>:Seam::tensor> $<$<BOOL:${arg_OPENCV}>:Seam::opencv>)
  if(arg_TENSOR AND TARGET seam_network)  # in Seam's own tree
    target_precompile_headers(${name} REUSE_FROM seam_network)
  elseif(arg_TENSOR AND arg_PRECOMPILE)
    target_precompile_headers(${name} PRIVATE <torch/torch.h>)
  endif()
  target_link_options(${name} PRIVATE -Wl,-z,nodelete)
  if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize" AND NOT SEAM_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-z,defs)  # sanitizers leave their symbols to the program
  endif()
  set_property(GLOBAL APPEND PROPERTY SEAM_PLUGINS ${name})
  if(NOT arg_NO_INSTALL)
    # Not below lib64 or lib/x86_64-linux-gnu: the program looks in one place, beside its own folder.
    install(TARGETS ${name} LIBRARY DESTINATION lib/seam/plugins)
  endif()
endfunction()
