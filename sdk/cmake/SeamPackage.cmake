# The Debian package: scripts/package. Its dependencies are determined from its libraries, so it must be built against
# Debian's own LibTorch and OpenCV.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME seam)
set(CPACK_PACKAGE_VENDOR "Seam")
set(CPACK_PACKAGE_CONTACT "The Seam developers <seam@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")  # libseam.so itself
# Needed only by plugin authors.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "cmake, g++")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libgtest-dev, libtorch-dev, libopencv-imgproc-dev")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Trains, evaluates and compares image-retrieval models. An experiment is a TOML file
that names stages and draws arrows between them; stages are C++ classes in plugins. With the program, its
plugins, and the SDK with its CMake package, templates and manual.")
include(CPack)
