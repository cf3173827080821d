// The kernels, compiled for one instruction set by the flags that CMakeLists.txt gives this file.
#include "stages/nn/kernels/convolution_body.hpp"
#include "stages/nn/kernels/routing_body.hpp"

namespace seam::nn::kernels {

template struct ConvolutionBody<float, InstructionSet::avx512>;
template struct ConvolutionBody<double, InstructionSet::avx512>;
template struct RoutingBody<float, InstructionSet::avx512>;
template struct RoutingBody<double, InstructionSet::avx512>;

}  // namespace seam::nn::kernels
