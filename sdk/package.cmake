# Installs everything except the plugins (see seam_add_plugin), and the CMake package for building plugins, both against
# an installation and against the build folder.
include(CMakePackageConfigHelpers)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/Seam")
get_filename_component(SEAM_LIBTORCH_PREFIX "${TORCH_INSTALL_PREFIX}" ABSOLUTE)
if(SEAM_LIBTORCH STREQUAL "debian")
  set(SEAM_LIBTORCH_PREFIX "")  # LibTorch is in a system folder and needs no prefix
endif()

install(TARGETS seam_sdk seam_testing EXPORT SeamTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY include/seam DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp")
install(EXPORT SeamTargets NAMESPACE Seam:: DESTINATION "${package_folder}")
install(TARGETS seam_network EXPORT SeamTensorTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT SeamTensorTargets NAMESPACE Seam:: DESTINATION "${package_folder}")
set(modules cmake/SeamPlugin.cmake cmake/SeamTensor.cmake cmake/SeamOpenCV.cmake)
install(FILES ${modules} DESTINATION "${package_folder}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/pipelines" DESTINATION "${CMAKE_INSTALL_DATADIR}/seam"
  FILES_MATCHING PATTERN "*.toml")
# Scripts that the heads of pipeline files say to run first.
install(PROGRAMS "${PROJECT_SOURCE_DIR}/scripts/export_lite0.py" "${PROJECT_SOURCE_DIR}/scripts/inshop-folds"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/seam/scripts")
# As in the source tree, so that links between the pages work in both.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN "*.svg")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY template DESTINATION "${CMAKE_INSTALL_DATADIR}/seam")
# `seam new` reads this folder, both in the build folder and in an installation.
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/share/seam")
file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}/template" "${CMAKE_BINARY_DIR}/share/seam/template" SYMBOLIC)

set(SEAM_PROGRAM_PATH "${CMAKE_INSTALL_BINDIR}/seam")
set(SEAM_PLUGIN_PATH lib/seam/plugins)
configure_package_config_file(cmake/SeamConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/SeamConfig.cmake"
  INSTALL_DESTINATION "${package_folder}" PATH_VARS SEAM_PROGRAM_PATH SEAM_PLUGIN_PATH)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/SeamConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/SeamConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/SeamConfigVersion.cmake" DESTINATION "${package_folder}")

# The build folder has the layout of an installation (bin/, lib/), so the same package works for it:
# cmake -DCMAKE_PREFIX_PATH=.../build/release.
set(package_folder "${CMAKE_BINARY_DIR}/lib/cmake/Seam")
export(EXPORT SeamTargets NAMESPACE Seam:: FILE "${package_folder}/SeamTargets.cmake")
export(EXPORT SeamTensorTargets NAMESPACE Seam:: FILE "${package_folder}/SeamTensorTargets.cmake")
set(SEAM_PROGRAM_PATH "${CMAKE_BINARY_DIR}/bin/seam")
set(SEAM_PLUGIN_PATH "${CMAKE_BINARY_DIR}/lib/seam/plugins")
configure_package_config_file(cmake/SeamConfig.cmake.in "${package_folder}/SeamConfig.cmake"
  INSTALL_PREFIX "${CMAKE_BINARY_DIR}" INSTALL_DESTINATION "${package_folder}"
  PATH_VARS SEAM_PROGRAM_PATH SEAM_PLUGIN_PATH)
write_basic_package_version_file("${package_folder}/SeamConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
foreach(module IN LISTS modules)
  configure_file("${module}" "${package_folder}/" COPYONLY)
endforeach()
