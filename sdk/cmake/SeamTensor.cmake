# Defines Seam::tensor: the SDK with LibTorch, for Seam's own build and for plugin authors alike.
find_package(Torch REQUIRED)
find_package(OpenMP REQUIRED)  # at::parallel_for is an inline function: parallel only under -fopenmp

add_library(Seam::tensor INTERFACE IMPORTED GLOBAL)
# SYSTEM: LibTorch's headers are not ours to keep free of warnings.
target_include_directories(Seam::tensor SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_compile_definitions(Seam::tensor INTERFACE SEAM_WITH_TENSOR)
target_link_libraries(Seam::tensor INTERFACE Seam::sdk ${TORCH_LIBRARIES} OpenMP::OpenMP_CXX)
