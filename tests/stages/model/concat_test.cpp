#include "stages/model/concat.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <string>
#include <vector>

#include "stages/model/capsule_module.hpp"
#include "tests/stages/model/descriptor_capsules_testing.hpp"

namespace seam::stages {
namespace concat_test {

using seam::testing::Harness;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Sizes = std::vector<std::int64_t>;

const Parameters together{{"type", std::string("d")},      {"width", std::int64_t{24}},
                          {"capsules", std::int64_t{3}},   {"capsule_size", std::int64_t{4}},
                          {"bottleneck", std::int64_t{6}}, {"classes", std::int64_t{5}}};
const Parameters apart{{"type", std::string("a")},
                       {"capsules", std::int64_t{3}},
                       {"capsule_size", std::int64_t{4}},
                       {"bottleneck", std::int64_t{6}},
                       {"classes", std::int64_t{5}}};

const auto concat_conformance = seam::testing::conformance<Concat>({
    .parameters = together,
    .packets =
        [](Harness&) {
          return batches({field::embedding, field::capsules});
        },
    .refused = {{{"width", std::int64_t{0}}}, {{"type", std::string("a")}}},
});
const auto apart_conformance = seam::testing::conformance<Concat>({
    .name = "apart",
    .parameters = apart,
    .packets = [](Harness&) { return batches({field::capsules}); },
});

TEST(ConcatStage, ProvidesWhatItsTypeSays) {
  With<Concat> d(together);
  d.push(batch(4));
  ASSERT_THAT(d.errors(), IsEmpty());
  const Packet& out = d.outputs().at(0);
  EXPECT_EQ(out[field::embedding].sizes(), (Sizes{4, 36}));
  EXPECT_EQ(out[field::logits].sizes(), (Sizes{4, 5}));
  EXPECT_TRUE(torch::allclose(out[field::embedding].norm(2, 1), torch::ones({4})));
  With<Concat> a(apart);
  a.push(batch(4));
  ASSERT_THAT(a.errors(), IsEmpty());
  EXPECT_TRUE(torch::equal(a.outputs().at(0)[field::embedding], batch(4)[field::embedding]));
  EXPECT_EQ(a.outputs().at(0)[field::logits].sizes(), (Sizes{4, 5}));
}

TEST(ConcatStage, SaysWhereItIsNotKnownWhatCapsulesAreMadeOf) {
  With<Concat> d(together);
  d.push(batch(4));
  EXPECT_THAT(d.log(), Contains(Field(&seam::testing::LogLine::text,
                                      HasSubstr("unknown whether they match `type`"))));
}

/// Empty, or why capsules of that input are rejected for that type.
std::string refusal(const char* type, const Parameters& capsules) {
  With<CapsuleModule> source(capsules);
  With<Concat> concat(std::string(type) == "a" ? apart : together);
  concat.set("type", type).upstream({&source.runner()});
  try {
    concat.open();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(ConcatStage, RefusesCapsulesOfWhatTheTypeDoesNotMakeThemOf) {
  EXPECT_EQ(refusal("a", of_descriptors), "");
  EXPECT_EQ(refusal("a", of_map), "");
  for (const char* type : {"b", "d"}) {
    EXPECT_EQ(refusal(type, of_descriptors), "");
    EXPECT_THAT(refusal(type, of_map), HasSubstr("made from the feature map"));
  }
  EXPECT_EQ(refusal("c", of_map), "");
  EXPECT_THAT(refusal("c", of_descriptors), HasSubstr("made from the descriptors"));
}

}  // namespace concat_test
}  // namespace seam::stages
