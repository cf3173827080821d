#include "stages/model/inception.hpp"

#include <torch/nn/module.h>
#include <torch/ordered_dict.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>

#include <map>
#include <string>
#include <vector>

#include "tests/stages/model/network_testing.hpp"
#include "tests/stages/nn/network_properties.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::inception_test {

using Sizes = std::vector<std::int64_t>;

const auto conformance = seam::testing::conformance<Inception>({
    .parameters = {{"blocks", std::int64_t{4}}, {"width", 0.04}, {"dimensions", std::int64_t{6}}},
    .packets = test::batches_of(43, 45),
    .refused = {{{"blocks", std::int64_t{12}}}, {{"width", 0.0}}},
});

nn::InceptionOptions small(std::int64_t blocks) {
  nn::InceptionOptions options;
  options.blocks = blocks;
  options.width = 0.02;
  options.dimensions = 6;
  return options;
}

/// With statistics and scales like those of a trained network, not 0 and 1.
void randomise(torch::nn::Module& module) {
  const torch::NoGradGuard no_gradient;
  torch::manual_seed(7);
  for (auto& item : module.named_parameters()) {
    if (item.key().find("bn.") != std::string::npos) item.value().uniform_(0.5, 1.5);
  }
  for (auto& item : module.named_buffers()) {
    if (item.key().find("running_") != std::string::npos) item.value().uniform_(0.2, 1.2);
  }
}

TEST(Inception, HasTheNumbersOfTorchvision) {
  nn::InceptionOptions options;
  EXPECT_EQ(test::count_of_numbers(*nn::Inception(options)), 5'148'276);  // six blocks
  options.dimensions = 1000;
  options.blocks = 11;
  // torchvision's 27,161,264 without the 3,326,696 of its second classifier.
  EXPECT_EQ(test::count_of_numbers(*nn::Inception(options)), 23'834'568);
}

/// The blocks written out with LibTorch's functions, convolution by convolution.
class WrittenOut {
 public:
  explicit WrittenOut(const torch::nn::Module& network, std::string block)
      : parameters_(network.named_parameters()),
        buffers_(network.named_buffers()),
        block_(std::move(block)) {}

  [[nodiscard]] Tensor unit(const std::string& name, const Tensor& x, const Sizes& padding = {0, 0},
                            std::int64_t stride = 1) const {
    const std::string prefix = block_.empty() ? name : block_ + "." + name;
    const Tensor y = torch::conv2d(x, parameters_[prefix + ".conv.weight"], {}, stride, padding);
    const auto of_channel = [&](const Tensor& t) { return t.view({1, -1, 1, 1}); };
    const Tensor scale =
        parameters_[prefix + ".bn.weight"] / (buffers_[prefix + ".bn.running_var"] + 0.001).sqrt();
    return ((y - of_channel(buffers_[prefix + ".bn.running_mean"])) * of_channel(scale) +
            of_channel(parameters_[prefix + ".bn.bias"]))
        .clamp_min(0);
  }

  /// Mean over 3x3 pixels, those beyond the border counted as 0.
  static Tensor mean_of_nine(const Tensor& x) {
    const Tensor padded = torch::constant_pad_nd(x, {1, 1, 1, 1});
    Tensor sum = torch::zeros_like(x);
    for (std::int64_t row = 0; row < 3; ++row) {
      for (std::int64_t column = 0; column < 3; ++column) {
        sum += padded.narrow(2, row, x.size(2)).narrow(3, column, x.size(3));
      }
    }
    return sum / 9;
  }

 private:
  torch::OrderedDict<std::string, Tensor> parameters_, buffers_;
  std::string block_;
};

Tensor block_5(const WrittenOut& b, const Tensor& x) {
  const Tensor twice = b.unit("branch3x3dbl_2", b.unit("branch3x3dbl_1", x), {1, 1});
  return torch::cat(
      {b.unit("branch1x1", x), b.unit("branch5x5_2", b.unit("branch5x5_1", x), {2, 2}),
       b.unit("branch3x3dbl_3", twice, {1, 1}), b.unit("branch_pool", WrittenOut::mean_of_nine(x))},
      1);
}

Tensor first_6(const WrittenOut& b, const Tensor& x) {
  const Tensor twice = b.unit("branch3x3dbl_2", b.unit("branch3x3dbl_1", x), {1, 1});
  return torch::cat({b.unit("branch3x3", x, {0, 0}, 2), b.unit("branch3x3dbl_3", twice, {0, 0}, 2),
                     torch::max_pool2d(x, 3, 2)},
                    1);
}

Tensor block_6(const WrittenOut& b, const Tensor& x) {
  const Sizes flat{0, 3};  // 1 high, 7 wide
  const Sizes tall{3, 0};
  const Tensor once =
      b.unit("branch7x7_3", b.unit("branch7x7_2", b.unit("branch7x7_1", x), flat), tall);
  Tensor twice = b.unit("branch7x7dbl_2", b.unit("branch7x7dbl_1", x), tall);
  twice = b.unit("branch7x7dbl_4", b.unit("branch7x7dbl_3", twice, flat), tall);
  return torch::cat({b.unit("branch1x1", x), once, b.unit("branch7x7dbl_5", twice, flat),
                     b.unit("branch_pool", WrittenOut::mean_of_nine(x))},
                    1);
}

Tensor first_7(const WrittenOut& b, const Tensor& x) {
  Tensor narrow = b.unit("branch7x7x3_2", b.unit("branch7x7x3_1", x), {0, 3});
  narrow = b.unit("branch7x7x3_4", b.unit("branch7x7x3_3", narrow, {3, 0}), {0, 0}, 2);
  return torch::cat({b.unit("branch3x3_2", b.unit("branch3x3_1", x), {0, 0}, 2), narrow,
                     torch::max_pool2d(x, 3, 2)},
                    1);
}

Tensor block_7(const WrittenOut& b, const Tensor& x) {
  const Tensor once = b.unit("branch3x3_1", x);
  const Tensor twice = b.unit("branch3x3dbl_2", b.unit("branch3x3dbl_1", x), {1, 1});
  return torch::cat({b.unit("branch1x1", x), b.unit("branch3x3_2a", once, {0, 1}),
                     b.unit("branch3x3_2b", once, {1, 0}), b.unit("branch3x3dbl_3a", twice, {0, 1}),
                     b.unit("branch3x3dbl_3b", twice, {1, 0}),
                     b.unit("branch_pool", WrittenOut::mean_of_nine(x))},
                    1);
}

TEST(Inception, IsThePapersBlocksInARow) {
  nn::Inception network(small(11));
  network->to(torch::kFloat64);
  randomise(*network);
  network->eval();
  const torch::NoGradGuard no_gradient;
  const Tensor images = torch::rand({2, 3, 75, 91}, torch::kFloat64);
  const WrittenOut stem(*network, "");
  Tensor x = stem.unit("Conv2d_1a_3x3", images, {0, 0}, 2);
  x = stem.unit("Conv2d_2b_3x3", stem.unit("Conv2d_2a_3x3", x), {1, 1});
  x = stem.unit("Conv2d_4a_3x3", stem.unit("Conv2d_3b_1x1", torch::max_pool2d(x, 3, 2)));
  x = torch::max_pool2d(x, 3, 2);
  const auto in = [&](const char* block) { return WrittenOut(*network, block); };
  x = block_5(in("Mixed_5d"), block_5(in("Mixed_5c"), block_5(in("Mixed_5b"), x)));
  x = first_6(in("Mixed_6a"), x);
  x = block_6(in("Mixed_6c"), block_6(in("Mixed_6b"), x));
  x = block_6(in("Mixed_6e"), block_6(in("Mixed_6d"), x));
  x = first_7(in("Mixed_7a"), x);
  x = block_7(in("Mixed_7c"), block_7(in("Mixed_7b"), x));
  const auto weights = network->named_parameters();
  x = x.mean({2, 3}).matmul(weights["embedding.weight"].t()) + weights["embedding.bias"];
  EXPECT_GT(x.std().item<double>(), 1e-3) << "the test needs an embedding other than zeros";
  x = x / x.norm(2, 1, true);
  EXPECT_LT((network->forward(images) - x).abs().max().item<double>(), 1e-10);
}

TEST(Inception, GradientsAreThoseOfDifferences) {
  nn::InceptionBlock block(
      3, std::vector<nn::InceptionBranch>{
             {nn::InceptionPooling::average, {{"a", 2}}, {{"b", 2, 1, 3}, {"c", 1, 3, 1}}},
             {nn::InceptionPooling::none, {{"d", 2, 5, 5}}}});
  block->to(torch::kFloat64);
  randomise(*block);
  const Tensor x = torch::rand({3, 3, 6, 5}, torch::kFloat64).requires_grad_();
  const Tensor direction = torch::randn({3, 5, 6, 5}, torch::kFloat64);
  EXPECT_EQ(block->out(), 5);
  test::expect_gradients([&] { return (block(x) * direction).sum(); },
                         test::with_weights({x}, *block), 12);
}

TEST(Inception, TrainingGivesTheSameBytesForAnyNumberOfThreads) {
  test::expect_same_bytes_for_any_threads(
      [] { return nn::Inception(small(6)); }, {torch::rand({6, 3, 43, 43})},
      [](nn::Inception& net, const std::vector<Tensor>& inputs) {
        return std::vector<Tensor>{net->forward(inputs[0])};
      });
}

TEST(Inception, TakesTheSmallestImagesAndRefusesSmallerOnes) {
  for (const auto& sizes : std::map<std::int64_t, std::int64_t>{
           {1, 27}, {3, 27}, {4, 43}, {8, 43}, {9, 75}, {11, 75}}) {
    const std::int64_t least = sizes.second;
    nn::Inception network(small(sizes.first));
    network->eval();
    EXPECT_THAT(network->forward(torch::rand({2, 3, least, least})).sizes().vec(),
                ElementsAre(2, 6));
    EXPECT_REFUSED((void)network->forward(torch::rand({2, 3, least, least - 1})),
                   Fault::configuration, "at least " + std::to_string(least));
  }
}

TEST(Inception, AFileOfTheWholeNetworkGivesItsFirstBlocks) {
  const nn::InceptionOptions options = small(11);
  torch::manual_seed(11);
  nn::Inception whole(options);
  randomise(*whole);
  Archive archive;
  const auto put = [&](const auto& items) {
    for (const auto& item : items) {
      if (!item.key().starts_with("embedding.")) put_tensor(archive, item.key(), item.value());
    }
  };
  put(whole->named_parameters());
  put(whole->named_buffers());
  put_tensor(archive, "fc.weight", torch::zeros({10, 41}));
  put_tensor(archive, "AuxLogits.fc.bias", torch::zeros({10}));
  const test::TemporaryFolder folder;
  test::With<Inception> harness;
  harness.set("width", 0.02).set("weights", test::saved_weights(folder, archive).string());
  harness.set("skip", Value{std::vector<std::string>{"embedding.*"}});
  harness.open();
  for (const NamedWeight& weight : harness.weights()) {
    if (weight.name.starts_with("embedding.")) continue;
    EXPECT_TRUE(torch::equal(weight.tensor, whole->named_parameters()[weight.name])) << weight.name;
  }
  EXPECT_THAT(harness.names_of_weights(), Contains("Mixed_6c.branch_pool.bn.bias"));
  EXPECT_THAT(harness.names_of_weights(), Not(Contains(StartsWith("Mixed_6d"))));
}

}  // namespace seam::stages::inception_test
