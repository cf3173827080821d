/// The one inner loop that all kernels are built from: a small matrix product held in registers.
///
///     c[r][n] = initial[r][n] + sum over (outer o, inner k)  a[r, o, k] * b[o, k][n]
///
///              one k:   b[k] : | vector 0 | vector 1 |        n: `vectors` registers wide
///     a[0,k] broadcast  ->     |  c[0][..]           |
///     a[1,k] broadcast  ->     |  c[1][..]           |        r: up to `max_rows` rows
///
/// Every index of `a` has its own stride, so that convolutions, their gradients and the products of
/// dynamic routing are this loop over memory that is already there. Sums run in index order: the
/// result depends only on the arguments.
#pragma once

#include <cstdint>

#include "stages/cpu/instruction_set.hpp"

namespace seam::nn::kernels {

using stages::InstructionSet;

template <class T>
struct LaneTypes;
template <>
struct LaneTypes<float> {
  using Vector [[gnu::vector_size(64)]] = float;
  using Unaligned [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = float;
  using Integer [[gnu::vector_size(64)]] = std::int32_t;
};
template <>
struct LaneTypes<double> {
  using Vector [[gnu::vector_size(64)]] = double;
  using Unaligned [[gnu::vector_size(64), gnu::aligned(8), gnu::may_alias]] = double;
  using Integer [[gnu::vector_size(64)]] = std::int64_t;
};

/// A matrix operand: its start, and its strides in elements.
template <class T>
struct Operand {
  const T* data;
  std::int64_t row;    ///< to the next row (unused for b)
  std::int64_t outer;  ///< to the next outer step
  std::int64_t inner;  ///< to the next inner step
};

template <class T, InstructionSet set>
struct Lanes {
  using Vector = typename LaneTypes<T>::Vector;
  using Unaligned = typename LaneTypes<T>::Unaligned;
  static constexpr std::int64_t count = 64 / sizeof(T);
  static constexpr std::int64_t panel = 2 * count;  ///< columns of a two-vector product
  /// Rows of a product: as many as leave registers for b. A 64-byte vector takes one register of
  /// AVX-512 (32 of them), two of AVX2 and four of SSE or NEON.
  static constexpr int rows_of_two = set == InstructionSet::avx512 ? 8
                                     : set == InstructionSet::avx2 ? 3
                                                                   : 1;
  static constexpr int rows_of_one = set == InstructionSet::avx512 ? 24
                                     : set == InstructionSet::avx2 ? 6
                                                                   : 3;

  static Vector load(const T* p) { return *reinterpret_cast<const Unaligned*>(p); }
  static void store(T* p, const Vector& v) { *reinterpret_cast<Unaligned*>(p) = v; }

  template <int rows, int vectors>
  static void product(const Operand<T>& a, const Operand<T>& b, std::int64_t outer,
                      std::int64_t inner, const T* initial, std::int64_t initial_row, T* c,
                      std::int64_t c_row) {
    Vector sum[rows][vectors];
#pragma GCC unroll 32
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sum[r][v] = load(initial + r * initial_row + v * count);
    }
    for (std::int64_t o = 0; o < outer; ++o) {
      const T* a_at = a.data + o * a.outer;
      const T* b_at = b.data + o * b.outer;
      for (std::int64_t k = 0; k < inner; ++k, a_at += a.inner, b_at += b.inner) {
        Vector column[vectors];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) column[v] = load(b_at + v * count);
#pragma GCC unroll 32
        for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
          for (int v = 0; v < vectors; ++v) sum[r][v] += a_at[r * a.row] * column[v];
        }
      }
    }
#pragma GCC unroll 32
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) store(c + r * c_row + v * count, sum[r][v]);
    }
  }

  /// The product for a number of rows known at run time, at most `rows`.
  template <int rows, int vectors>
  static void product_of(std::int64_t used, const Operand<T>& a, const Operand<T>& b,
                         std::int64_t outer, std::int64_t inner, const T* initial,
                         std::int64_t initial_row, T* c, std::int64_t c_row) {
    if constexpr (rows > 1) {
      if (used < rows) {
        product_of<rows - 1, vectors>(used, a, b, outer, inner, initial, initial_row, c, c_row);
        return;
      }
    }
    product<rows, vectors>(a, b, outer, inner, initial, initial_row, c, c_row);
  }

  /// Two vectors wide, of which only `columns` are needed; c may end after them.
  static void tile(std::int64_t rows, std::int64_t columns, const Operand<T>& a,
                   const Operand<T>& b, std::int64_t outer, std::int64_t inner, const T* initial,
                   std::int64_t initial_row, T* c, std::int64_t c_row) {
    if (columns >= panel) {
      product_of<rows_of_two, 2>(rows, a, b, outer, inner, initial, initial_row, c, c_row);
      return;
    }
    alignas(64) T edge[rows_of_two * panel] = {};
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t n = 0; n < panel; ++n) {
        edge[r * panel + n] = n < columns ? initial[r * initial_row + n] : T(0);
      }
    }
    product_of<rows_of_two, 2>(rows, a, b, outer, inner, edge, panel, edge, panel);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t n = 0; n < columns; ++n) c[r * c_row + n] = edge[r * panel + n];
    }
  }
};

}  // namespace seam::nn::kernels
