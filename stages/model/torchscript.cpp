#include "stages/model/torchscript.hpp"

#include <torch/nn/functional/normalization.h>
#include <torch/types.h>
#include <seam/error.hpp>

#include <string>

namespace seam::stages {

void Torchscript::declare(Declaration& d) {
  d.doc(
      "A network that Python exported with torch.jit.trace or torch.jit.script, for computing "
      "embeddings or further training.");
  d.parameter("file", file_, "file written by torch.jit.save").required().must_exist();
  d.parameter("output", output_, "index of the embedding if the network returns a tuple, from 0")
      .range(0, 1000);
  d.parameter("unit_length", unit_length_, "whether to scale the embedding to length 1");
  d.needs(field::images);
  d.provides(field::embedding);
  declare_module(d);
}

void Torchscript::forward(nn::ScriptModule& net, Packet& packet, Context& /*context*/) {
  const Tensor images = packet.get(field::images);
  Tensor embedding = embedding_in(net->forward(images), images.size(0));
  if (embedding.scalar_type() != torch::kFloat32) embedding = embedding.to(torch::kFloat32);
  if (unit_length_) {
    namespace functional = torch::nn::functional;
    embedding = functional::normalize(embedding, functional::NormalizeFuncOptions().dim(1));
  }
  packet.set(field::embedding, embedding);
}

Tensor Torchscript::embedding_in(const torch::IValue& result, std::int64_t images) const {
  const std::string where = "the network in '" + file_.string() + "' ";
  torch::IValue value = result;
  if (result.isTuple()) {
    const auto& elements = result.toTupleRef().elements();
    if (output_ >= static_cast<std::int64_t>(elements.size())) {
      throw Error(where + "returns " + std::to_string(elements.size()) + " results, so 'output' " +
                      std::to_string(output_) + " does not exist",
                  Fault::configuration);
    }
    value = elements[static_cast<std::size_t>(output_)];
  } else if (output_ != 0) {
    throw Error(where + "returns one result: 'output' can only be 0", Fault::configuration);
  }
  if (!value.isTensor()) {
    throw Error(where + "returns a " + value.tagKind() + " instead of a tensor",
                Fault::configuration);
  }
  if (value.toTensor().dim() != 2 || value.toTensor().size(0) != images) {
    throw Error(where + "returns a tensor " + shape_text(value.toTensor().sizes()) + " for " +
                    std::to_string(images) +
                    " images; an embedding must have one row per image, as from a network that "
                    "ends in pooling and flatten(1)",
                Fault::configuration);
  }
  return value.toTensor();
}

}  // namespace seam::stages
