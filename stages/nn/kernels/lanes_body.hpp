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
#include <type_traits>

#include "stages/cpu/instruction_set.hpp"

namespace seam::nn::kernels {

using stages::InstructionSet;

/// Bytes of a vector register. Vectors are never longer: GCC keeps longer ones in memory and moves
/// them one element at a time, which made AVX2 thirty times slower.
constexpr int register_bytes(InstructionSet set) {
  return set == InstructionSet::avx512 ? 64 : set == InstructionSet::avx2 ? 32 : 16;
}

template <class T, InstructionSet set>
struct LaneTypes {
  static constexpr int bytes = register_bytes(set);
  using Element = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  using Vector [[gnu::vector_size(bytes)]] = T;
  using Unaligned [[gnu::vector_size(bytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
  using Integer [[gnu::vector_size(bytes)]] = Element;
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
  using Vector = typename LaneTypes<T, set>::Vector;
  using Unaligned = typename LaneTypes<T, set>::Unaligned;
  static constexpr std::int64_t count = register_bytes(set) / sizeof(T);
  static constexpr std::int64_t panel = 2 * count;  ///< columns of a two-vector product
  /// Rows of a product: as many as leave registers for b. AVX-512 has 32 registers, AVX2 and SSE
  /// have 16.
  static constexpr int rows_of_two = set == InstructionSet::avx512 ? 8 : 6;
  static constexpr int rows_of_one = set == InstructionSet::avx512 ? 24 : 12;

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
