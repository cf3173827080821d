# Defines Seam::opencv: the SDK with OpenCV's core and imgproc, for Seam's own build and for plugin authors alike.
# Not by find_package(OpenCV): Debian's needs all modules to be installed, with 300 packages that they depend on.
find_path(SEAM_OPENCV_INCLUDE opencv2/imgproc.hpp PATH_SUFFIXES opencv4 REQUIRED)
find_library(SEAM_OPENCV_CORE opencv_core REQUIRED)
find_library(SEAM_OPENCV_IMGPROC opencv_imgproc REQUIRED)
mark_as_advanced(SEAM_OPENCV_INCLUDE SEAM_OPENCV_CORE SEAM_OPENCV_IMGPROC)

add_library(Seam::opencv INTERFACE IMPORTED GLOBAL)
target_compile_definitions(Seam::opencv INTERFACE SEAM_WITH_OPENCV)
target_include_directories(Seam::opencv SYSTEM INTERFACE "${SEAM_OPENCV_INCLUDE}")
target_link_libraries(Seam::opencv INTERFACE Seam::sdk "${SEAM_OPENCV_CORE}" "${SEAM_OPENCV_IMGPROC}")
