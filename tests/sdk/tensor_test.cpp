#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <seam/field.hpp>
#include <seam/packet.hpp>
#include <seam/tensor.hpp>
#include <string>

namespace seam {
namespace {

using ::testing::HasSubstr;

TEST(TensorFields, TheTableOfSharedFieldsKnowsTheTensorByItsName) {
  EXPECT_EQ(shared_field_type("images"), type_name<Tensor>());
}

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
  EXPECT_THAT(violation(torch::zeros({3, 8}), "f64[N,E]"),
              HasSubstr("its elements are f32, not f64"));
  EXPECT_THAT(violation(torch::zeros({3}), "f32[N,E]"), HasSubstr("it has 1 dimension, not 2"));
}

}  // namespace
}  // namespace seam
