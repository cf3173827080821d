/// The parameters that the stages with class capsules share.
#pragma once

#include <seam/declaration.hpp>

#include <optional>
#include <string>

#include "stages/nn/routing.hpp"

namespace seam::stages {

inline void declare_routing(Declaration& d, nn::RoutingOptions& routing) {
  d.parameter("iterations", routing.iterations, "routing iterations").range(1, 100);
}

/// For separate weights of each input capsule. `usual` is the distribution of their initial values
/// if `deviation` is unset.
inline void declare_own_routing(Declaration& d, nn::RoutingOptions& routing,
                                std::optional<double>& deviation, const std::string& usual) {
  declare_routing(d, routing);
  d.parameter("weight_deviation", deviation,
              "standard deviation of the routing weights' initial values, which are then normally "
              "distributed; default: " +
                  usual)
      .range(1e-9, 100);
  d.parameter("compat", routing.softmax,
              "routes_softmax repeats an error of well-known ports, to compare with their results: "
              "coupling coefficients sum to 1 over the input capsules instead of the class "
              "capsules",
              {{"none", nn::RoutingSoftmax::classes},
               {"routes_softmax", nn::RoutingSoftmax::input_capsules}});
}

}  // namespace seam::stages
