# Defines Seam::opencv: the SDK with OpenCV, for Seam's own build and for plugin authors alike.
find_package(OpenCV REQUIRED COMPONENTS core imgproc imgcodecs)

add_library(Seam::opencv INTERFACE IMPORTED GLOBAL)
target_compile_definitions(Seam::opencv INTERFACE SEAM_WITH_OPENCV)
target_link_libraries(Seam::opencv INTERFACE Seam::sdk opencv_core opencv_imgproc opencv_imgcodecs)
