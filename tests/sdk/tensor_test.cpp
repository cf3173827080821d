#include <torch/types.h>
#include <torch/utils.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <seam/conformance.hpp>
#include <seam/field.hpp>
#include <seam/packet.hpp>
#include <seam/tensor.hpp>
#include <seam/tensor_testing.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/matchers.hpp"

namespace seam::tensor_test {

TEST(TensorFields, TheFirstDimensionIsTheBatchs) {
  Packet batch;
  batch.set(field::embedding, torch::zeros({3, 8}));
  batch.set(field::indices, {0, 1, 2});
  batch.set(field::loss, torch::zeros({}));  // one number for the whole batch
  EXPECT_EQ(batch.row_mismatch(), "");
  batch.set(field::indices, {0, 1});
  EXPECT_EQ(batch.row_mismatch(), "'embedding' has 3 rows and 'indices' has 2 rows");
}

TEST(TensorFields, AScalarOrNoTensorWhereABatchShouldBeHasNoRows) {
  Packet batch;
  batch.set(field::indices, {0, 1});
  batch.set(field::embedding, torch::zeros({}));
  EXPECT_EQ(batch.row_mismatch(), "'indices' has 2 rows and 'embedding' has no rows");
  batch.set(field::embedding, Tensor());
  EXPECT_EQ(batch.row_mismatch(), "'indices' has 2 rows and 'embedding' has no rows");
}

TEST(TensorFields, AContractsViolationIsAClause) {
  const auto violation = &FieldTraits<Tensor>::violation;
  EXPECT_EQ(violation(torch::zeros({3, 8}), "f32[N,E]"), "");
  EXPECT_EQ(violation(Tensor(), "f32[N,E]"), "it is an undefined tensor");
  EXPECT_THAT(violation(torch::zeros({3, 8}, torch::kMeta), "f32[N,E]"),
              HasSubstr("it is on the device 'meta'"));
  EXPECT_THAT(violation(torch::zeros({3, 8}), "f64[N,E]"),
              HasSubstr("its elements are f32, not f64"));
  EXPECT_THAT(violation(torch::zeros({3}), "f32[N,E]"), HasSubstr("it has 1 dimension, not 2"));
  EXPECT_EQ(violation(torch::zeros({3, 8}), "f32[N,E]@cpu"), "");
  EXPECT_EQ(violation(torch::zeros({3, 8}), "f32[N,E]@cuda:0"), "it is on the device 'cpu'");
  EXPECT_EQ(violation(torch::zeros({3, 8}), "f32[N,9]@cpu"), "dimension 1 is 8, not 9");
}

// ---------------------------------------------------------------------------------------------------
// Saved tensors

TEST(SavedTensors, ComeBackInTheShapeThatTheyHad) {
  Archive archive;
  const Tensor memory = torch::arange(6.0F).view({2, 3});
  put_tensor(archive, "memory", memory);
  EXPECT_TRUE(torch::equal(saved_tensor(archive, "memory"), memory));
  EXPECT_REFUSED((void)saved_tensor(archive, "memory", torch::kInt64), Fault::data,
                 "saved entry 'memory' is f32, not i64");
}

TEST(SavedTensors, AreNotCopiedIntoOneOfAnotherTypeOrShape) {
  Archive archive;
  put_tensor(archive, "memory", torch::zeros({2, 3}));
  for (const Tensor& other : {torch::zeros({3, 2}), torch::zeros({2, 3}, torch::kInt32)}) {
    EXPECT_REFUSED(get_tensor(archive, "memory", other), Fault::data,
                   "the checkpoint belongs to a different architecture");
  }
}

TEST(SavedTensors, AreNotCopiedIntoAnUndefinedTensor) {
  Archive archive;
  put_tensor(archive, "memory", torch::zeros({2}));
  EXPECT_REFUSED(get_tensor(archive, "memory", Tensor()), Fault::internal,
                 "saved tensor 'memory' cannot be copied into an undefined tensor; allocate it "
                 "first, or call saved_tensor()");
}

// ---------------------------------------------------------------------------------------------------
// Devices, precision, determinism

using testing::Harness;

constexpr Field<Tensor> doubled{"doubled", "f32[N,E]"};

/// Twice the embedding, by way of on_device().
class Twice final : public Compute<Transform> {
 public:
  static constexpr std::string_view name = "test.twice";

  void declare(Declaration& d) override {
    d.doc("Doubles embeddings.");
    d.needs(field::embedding);
    d.provides(doubled);
  }
  void process(Packet& packet, Context& context) override {
    packet.set(doubled, on_device(packet, field::embedding, context) * 2);
  }
};

Packet embeddings(const Tensor& values) {
  Packet packet;
  packet.set(field::embedding, values);
  return packet;
}

const auto conformance_of_twice = testing::conformance<Twice>({
    .packets =
        [](Harness&) {
          std::vector<Packet> packets;
          for (std::int64_t rows = 1; rows < 4; ++rows) {
            packets.push_back(embeddings(torch::ones({rows, 4}) * rows));
          }
          return packets;
        },
});

class OnEachDevice : public testing::EachDevice {};
SEAM_ON_EACH_DEVICE(OnEachDevice);

TEST_P(OnEachDevice, TheFirstStageThatComputesMovesAFieldAndItStays) {
  Harness twice("twice", std::make_unique<Twice>());
  twice.device(GetParam()).push(embeddings(torch::ones({2, 3})));
  ASSERT_TRUE(twice.errors().empty()) << twice.errors().front().full_message();
  const Packet& out = twice.outputs().front();
  EXPECT_EQ(out.get(field::embedding).device(), device());
  EXPECT_EQ(out.get(doubled).device(), device());
  EXPECT_TRUE(torch::equal(on_host(out.get(doubled)), torch::full({2, 3}, 2.0F)));
}

TEST_P(OnEachDevice, NumbersAreReadInTheirOrderFromWhereverTheyAre) {
  const Tensor on_cpu = torch::full({}, 0.1, torch::kFloat64);
  const Tensor first = torch::full({1}, 2.0F, device()).requires_grad_();
  const Tensor second = torch::full({}, 3, torch::dtype(torch::kInt64).device(device()));
  EXPECT_THAT(numbers_in({first, on_cpu, second}), ElementsAre(2.0, 0.1, 3.0));
  EXPECT_TRUE(numbers_in({}).empty());
}

TEST_P(OnEachDevice, HostValuesAreContiguousFloatsWithoutGradient) {
  const Tensor values = torch::rand({3, 2}, device()).to(torch::kBFloat16).requires_grad_();
  const Tensor host = on_host(values.t());
  EXPECT_TRUE(host.is_cpu() && host.is_contiguous() && !host.requires_grad());
  EXPECT_EQ(host.scalar_type(), torch::kFloat32);
  EXPECT_TRUE(torch::equal(host, values.detach().t().to(torch::kFloat32).to(torch::kCPU)));
}

TEST_P(OnEachDevice, AutocastComputesInTheRunsPrecision) {
  const Tensor a = torch::rand({8, 8}, device());
  const auto product = [&](Precision precision) {
    const Autocast autocast(device().type(), precision);
    return torch::matmul(a, a).scalar_type();
  };
  EXPECT_EQ(product(Precision::float32), torch::kFloat32);
  EXPECT_EQ(product(Precision::bfloat16), torch::kBFloat16);
  EXPECT_EQ(torch::matmul(a, a).scalar_type(), torch::kFloat32);  // as it was
  const Autocast outer(device().type(), Precision::bfloat16);
  EXPECT_EQ(product(Precision::float32), torch::kFloat32);  // a loss inside of a bfloat16 scope
  EXPECT_EQ(torch::matmul(a, a).scalar_type(), torch::kBFloat16);
}

TEST_P(OnEachDevice, EachAutocastSeesTheWeightsOfItsTime) {
  Tensor weight = torch::ones({4, 4}, device()).requires_grad_();  // only leaves are cached
  const Tensor input = torch::ones({1, 4}, device());
  const auto output = [&] {
    const Autocast autocast(device().type(), Precision::bfloat16);
    return torch::matmul(input, weight).to(torch::kFloat32)[0][0].item<float>();
  };
  EXPECT_EQ(output(), 4.0F);
  {
    const torch::NoGradGuard no_gradient;
    weight.fill_(2);
  }
  EXPECT_EQ(output(), 8.0F);
}

TEST_P(OnEachDevice, GradientsOfAdvancedIndexingAreTheSameEachTime) {
  const Tensor rows = torch::rand({100000, 8}, device());
  const Tensor index =
      torch::randint(7, {100000}, torch::TensorOptions(torch::kInt64)).to(device());
  RunState run;
  testing::RecordingServices services;
  run.services = &services;
  run.device = GetParam();
  run.compute_threads = 4;
  const Twice stage;
  stage.enter_thread(Context(run, "twice", 0));
  const auto sums = [&] {
    return torch::zeros({7, 8}, device()).index_put_({index}, rows, /*accumulate=*/true);
  };
  const Tensor once = sums();
  for (int again = 0; again < 5; ++again) EXPECT_TRUE(torch::equal(sums(), once));
  at::globalContext().setDeterministicAlgorithms(false, false);  // the other tests' process
}

/// Records its notifications.
class Heard final : public BackwardListener {
 public:
  void made(std::string_view stage, std::uint64_t first, std::uint64_t end) override {
    makers_.insert(makers_.end(), end - first, std::string(stage));
    if (makers_.size() == end - first) first_ = first;
  }
  void entered(std::uint64_t node) override {
    ++open;
    told.push_back(node == numberless ? "weight" : makers_.at(node - first_));
  }
  void left() override { --open; }

  std::vector<std::string> told;
  int open = 0;

 private:
  std::vector<std::string> makers_;  // of each node, from the first on
  std::uint64_t first_ = 0;
};

TEST(BackwardWatch, TellsWhoseTheNodesAreThatRun) {
  const torch::AutoGradMode with_gradients(true);
  Heard heard;
  const Tensor weight = torch::ones({2}, torch::requires_grad());
  Tensor embedding;
  Tensor loss;
  {
    const BackwardScope scope(&heard);
    {
      const detail::BackwardWatch watch("model");
      embedding = (weight * 2).exp();
    }
    {
      const detail::BackwardWatch watch("loss");
      loss = embedding.sum();
    }
    {
      const detail::BackwardWatch watch("adam");
      loss.backward();
    }
    (weight * 2).sum().backward();  // in no stage's call
  }
  EXPECT_THAT(heard.told, ::testing::ElementsAre("loss", "model", "model", "weight"));
  EXPECT_EQ(heard.open, 0);
}

TEST(Determinism, Float32IsNotTf32OnAGpu) {
  at::Context& libtorch = at::globalContext();
  EXPECT_TRUE(libtorch.allowTF32CuDNN()) << "LibTorch's default";
  detail::set_deterministic(torch::Device("cuda:0"), true);  // needs no GPU
  EXPECT_TRUE(libtorch.deterministicAlgorithms() && libtorch.deterministicAlgorithmsWarnOnly());
  EXPECT_FALSE(libtorch.allowTF32CuDNN() || libtorch.allowTF32CuBLAS());
  libtorch.setAllowTF32CuDNN(true);
  detail::set_deterministic(torch::Device("cuda:0"), false);
  EXPECT_FALSE(libtorch.deterministicAlgorithms());
  EXPECT_TRUE(libtorch.allowTF32CuDNN());
}

/// Alerts like a LibTorch operation without a deterministic implementation.
class Alerting final : public Compute<Transform> {
 public:
  static constexpr std::string_view name = "test.alerting";

  void declare(Declaration& d) override { d.doc("Alerts."); }
  void process(Packet& /*packet*/, Context& /*context*/) override {
    at::globalContext().alertNotDeterministic("scatter_by_dice");
    at::globalContext().alertNotDeterministic("sum_of_luck");
  }
};

TEST(Determinism, AnOperationWithoutADeterministicFormIsReportedOnceByNameAndStage) {
  Harness harness("alerting", std::make_unique<Alerting>());
  for (int packet = 0; packet < 3; ++packet) harness.push(Packet());
  ASSERT_TRUE(harness.errors().empty()) << harness.errors().front().full_message();
  std::vector<std::string> warnings;
  for (const testing::LogLine& line : harness.log()) {
    EXPECT_EQ(line.level, LogLevel::warning);
    warnings.push_back(line.text);
  }
  EXPECT_THAT(
      warnings,
      ElementsAre(AllOf(HasSubstr("'scatter_by_dice' has no deterministic implementation on cpu"),
                        HasSubstr("deterministic = false")),
                  HasSubstr("'sum_of_luck'")));
  at::globalContext().setDeterministicAlgorithms(false, false);
}

// ---------------------------------------------------------------------------------------------------
// Side effects of a stage's call

/// Calls a function of the test for its batch.
class Doing final : public Compute<Transform> {
 public:
  using Deed = std::function<void(Packet&)>;
  explicit Doing(Deed deed) : deed_(std::move(deed)) {}
  void declare(Declaration& d) override {
    d.needs(field::images);
    d.needs(field::embedding);
    d.provides(field::embedding).contract("f32[N,8]");
  }
  void process(Packet& packet, Context& /*context*/) override { deed_(packet); }

 private:
  Deed deed_;
};

Packet two_tensors() {
  Packet packet;
  packet.set(field::images, torch::ones({2, 3, 4, 4}));
  packet.set(field::embedding, torch::ones({2, 8}));
  return packet;
}

/// Returns the error for this deed, or an empty string. `before`: stages before this one.
std::string refusal(Doing::Deed deed, Packet packet = two_tensors(),
                    std::vector<StageRunner*> before = {}) {
  Harness harness("doing", std::make_unique<Doing>(std::move(deed)));
  harness.upstream(std::move(before)).push(std::move(packet));
  return harness.errors().empty() ? std::string() : harness.errors().front().what();
}

TEST(InPlace, TensorsThatOthersMayReadAreNotWrittenInto) {
  EXPECT_THAT(refusal([](Packet& packet) { packet.get(field::images).mul_(2); }),
              HasSubstr("it writes in place into the tensor of field 'images', which other packets "
                        "may share; create a new tensor and set the field to it"));
  EXPECT_THAT(refusal([](Packet& packet) { packet[field::images][0][0][0][0] = 7; }),
              HasSubstr("in place into the tensor of field 'images'"));
  const auto doubles = [](Packet& packet) { packet[field::embedding].mul_(2); };
  EXPECT_EQ(refusal(doubles), "") << "it provides this field, and no other packet shares it";
  const Packet branch = two_tensors();
  EXPECT_THAT(refusal(doubles, branch), HasSubstr("in place into the tensor of field 'embedding'"));
  EXPECT_EQ(
      refusal([](Packet& packet) { packet.set(field::embedding, packet[field::embedding] * 2); },
              branch),
      "");
}

TEST(Provided, ATensorThatIsNotAsDeclaredIsTheFaultOfWhoProvidesIt) {
  const auto hands_on = [](const Tensor& tensor) {
    return refusal([&](Packet& packet) { packet.set(field::embedding, tensor); });
  };
  const std::string declared =
      "stage 'doing' declares that it provides field 'embedding' as f32[N,8], but ";
  EXPECT_EQ(hands_on(torch::ones({2, 4})), declared + "dimension 1 is 4, not 8");
  EXPECT_EQ(hands_on(torch::ones({2, 8}, torch::kFloat64)),
            declared + "its elements are f64, not f32");
  EXPECT_EQ(hands_on(torch::ones({2, 8}, torch::kMeta)),
            declared + "it is on the device 'meta', where tensors have no values");
}

/// The error of a stage that adds weights on the CPU to an embedding from elsewhere.
std::string refusal_of_sum(const Tensor& embedding, bool says_provider) {
  StageRunner embedder("mine", "acme.mine", std::make_unique<Doing>(nullptr));
  const auto add = [](Packet& packet) {
    packet.set(field::embedding, packet.get(field::embedding) + torch::ones({2, 8}));
  };
  Packet packet = two_tensors();
  packet.set(field::embedding, embedding);
  return refusal(add, std::move(packet),
                 says_provider ? std::vector{&embedder} : std::vector<StageRunner*>());
}

TEST(Provided, ATensorOnAnotherDeviceIsTheFaultOfWhoProvidesIt) {
  const Tensor elsewhere = torch::ones({2, 8}, torch::kMeta);
  const std::string said = refusal_of_sum(elsewhere, true);
  EXPECT_THAT(said, HasSubstr("field 'embedding' cannot be used: it is on the device 'meta'"));
  EXPECT_THAT(said, HasSubstr("comes from stage 'mine' (acme.mine); read it with "
                              "on_device(packet, field, context), which moves it to 'cpu'"));
  EXPECT_THAT(said, HasSubstr("LibTorch reports: "));
  EXPECT_THAT(said, Not(HasSubstr("frame #"))) << "a stack trace";
  EXPECT_THAT(said, Not(HasSubstr("'images'"))) << "that tensor is on the run's device";
  EXPECT_THAT(refusal_of_sum(elsewhere, false), HasSubstr("comes from an unknown stage"));
  EXPECT_EQ(refusal_of_sum(torch::ones({2, 8}), true), "");
  EXPECT_THAT(refusal_of_sum(torch::ones({2, 7}), true), Not(HasSubstr("acme.mine")))
      << "that error is not about devices";
}

TEST(LeftBehind, ThreadsAndGradientModeDoNotReachTheNextCall) {
  struct Seen {
    int threads;
    bool gradients;
  };
  std::vector<Seen> seen;
  Harness harness("doing", std::make_unique<Doing>([&seen](Packet& /*packet*/) {
                    seen.push_back({at::get_num_threads(), at::GradMode::is_enabled()});
                    at::set_num_threads(1);
                    at::GradMode::set_enabled(false);
                  }));
  harness.training(true).compute_threads(2);
  for (int i = 0; i < 2; ++i) harness.push(two_tensors());
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[1].threads, 2);
  EXPECT_TRUE(seen[1].gradients);
}

/// Changes its thread in one of its calls.
class Careless final : public Compute<Transform> {
 public:
  Careless(std::string call, std::function<void()> deed)
      : call_(std::move(call)), deed_(std::move(deed)) {}
  void declare(Declaration& d) override { d.doc("Changes its thread."); }
  void open(Context& /*context*/) override { in("open()"); }
  void begin(Context& /*context*/) override { in("begin()"); }
  void process(Packet& /*packet*/, Context& /*context*/) override { in("process()"); }
  void end(Context& /*context*/) override { in("end()"); }

 private:
  void in(const std::string& call) {
    if (call == call_) deed_();
  }
  std::string call_;
  std::function<void()> deed_;
};

/// Findings for such a stage; like all checks, on a new thread.
testing::Findings findings_of(const std::string& call, const std::function<void()>& deed) {
  testing::Candidate candidate{
      "test.careless", [&] { return std::make_unique<Careless>(call, deed); }, {}};
  candidate.example.packets = [](Harness&) { return std::vector{two_tensors(), two_tensors()}; };
  candidate.thread_settings = &testing::thread_settings;
  testing::Findings findings;
  for (const testing::Check& check : testing::conformance_checks()) {
    if (check.name != "LeavesItsThreadAsItWas") continue;
    std::thread([&] { findings = check.run(candidate); }).join();
  }
  return findings;
}

TEST(LeftBehind, TheConformanceSuiteNamesTheCallThatLeavesItsThreadChanged) {
  for (const std::string call : {"open()", "begin()", "process()", "end()"}) {
    EXPECT_THAT(findings_of(call, [] { at::GradMode::set_enabled(!at::GradMode::is_enabled()); }),
                Contains(AllOf(HasSubstr(call + " changes LibTorch's gradient mode from off to on"),
                               HasSubstr("at::AutoGradMode"))));
    EXPECT_THAT(findings_of(call, [] { at::set_num_threads(3); }),
                Contains(AllOf(HasSubstr(call + " changes the number of threads of LibTorch and "
                                                "OpenMP from 1 to 3"),
                               HasSubstr("context.compute_threads()"))));
    EXPECT_THAT(findings_of(call, [] { const at::AutoGradMode restored(true); }), IsEmpty());
  }
}

}  // namespace seam::tensor_test
