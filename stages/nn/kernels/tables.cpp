// Chooses among the compiled copies. This file is compiled for the baseline and only takes
// addresses.
#include "stages/nn/kernels/convolution_body.hpp"
#include "stages/nn/kernels/routing_body.hpp"

namespace seam::nn::kernels {

extern template struct ConvolutionBody<float, InstructionSet::baseline>;
extern template struct ConvolutionBody<double, InstructionSet::baseline>;
extern template struct RoutingBody<float, InstructionSet::baseline>;
extern template struct RoutingBody<double, InstructionSet::baseline>;
#if defined(__x86_64__)
extern template struct ConvolutionBody<float, InstructionSet::avx2>;
extern template struct ConvolutionBody<double, InstructionSet::avx2>;
extern template struct RoutingBody<float, InstructionSet::avx2>;
extern template struct RoutingBody<double, InstructionSet::avx2>;
extern template struct ConvolutionBody<float, InstructionSet::avx512>;
extern template struct ConvolutionBody<double, InstructionSet::avx512>;
extern template struct RoutingBody<float, InstructionSet::avx512>;
extern template struct RoutingBody<double, InstructionSet::avx512>;
#endif

namespace {

template <template <class, InstructionSet> class Body, class T>
const auto& choose([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return Body<T, InstructionSet::avx512>::table;
  if (set == InstructionSet::avx2) return Body<T, InstructionSet::avx2>::table;
#endif
  return Body<T, InstructionSet::baseline>::table;
}

}  // namespace

template <>
const ConvolutionKernels<float>& convolution_kernels<float>(InstructionSet set) {
  return choose<ConvolutionBody, float>(set);
}
template <>
const ConvolutionKernels<double>& convolution_kernels<double>(InstructionSet set) {
  return choose<ConvolutionBody, double>(set);
}
template <>
const RoutingKernels<float>& routing_kernels<float>(InstructionSet set) {
  return choose<RoutingBody, float>(set);
}
template <>
const RoutingKernels<double>& routing_kernels<double>(InstructionSet set) {
  return choose<RoutingBody, double>(set);
}

}  // namespace seam::nn::kernels
