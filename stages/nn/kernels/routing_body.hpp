/// The bodies of routing.hpp's kernels, for one instruction set. Included by the files that compile
/// them and by nothing else.
#pragma once

#include "stages/nn/kernels/lanes_body.hpp"
#include "stages/nn/kernels/routing.hpp"

namespace seam::nn::kernels {

/// e^x of each lane, x <= 0. For float the range reduction x = n ln 2 + r and a Taylor polynomial
/// of degree 7 in |r| <= ln 2 / 2, whose first omitted term is below half a unit in the last place.
template <InstructionSet set>
inline void exponential(typename LaneTypes<float, set>::Vector& x) {
  using Vector = typename LaneTypes<float, set>::Vector;
  using Integer = typename LaneTypes<float, set>::Integer;
  const Vector lowest = Vector{} - 87.0F;
  x = x > lowest ? x : lowest;
  // Adding and taking away 1.5 * 2^23 rounds to an integer.
  const Vector n = (x * 1.44269504F + 12582912.0F) - 12582912.0F;
  const Vector r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  Vector e = r * (1.0F / 5040) + (1.0F / 720);
  e = e * r + (1.0F / 120);
  e = e * r + (1.0F / 24);
  e = e * r + (1.0F / 6);
  e = e * r + 0.5F;
  e = e * r + 1.0F;
  e = e * r + 1.0F;
  const Integer exponent = (__builtin_convertvector(n, Integer) + 127) << 23;
  x = e * __builtin_bit_cast(Vector, exponent);
}
template <InstructionSet set>
inline void exponential(typename LaneTypes<double, set>::Vector& x) {
  for (int lane = 0; lane < Lanes<double, set>::count; ++lane) x[lane] = __builtin_exp(x[lane]);
}

template <class T, InstructionSet set>
struct RoutingBody {
  using L = Lanes<T, set>;
  using Vector = typename L::Vector;
  using Index = std::int64_t;
  static constexpr Index block = L::panel;  ///< input capsules processed together, one per lane

  static Index blocks(const RoutingShape& s) { return (s.inputs + block - 1) / block; }
  static Index padded(const RoutingShape& s) {
    return (s.input_size + L::count - 1) / L::count * L::count;
  }

  // Scratch of an image. Rows of K x D matrices are padded to whole vectors.
  struct Scratch {
    T* lanes;           ///< u, [block][D][capsule]
    T* capsules;        ///< u, [block][capsule][padded D]
    T* gradient;        ///< of u, like capsules
    T* couplings;       ///< c, [K][capsule] of one block
    T* logit_gradient;  ///< follows couplings
    T* sum_gradient;    ///< dS, [K][padded D]
    T* agreement;       ///< G, [K][padded D]; follows sum_gradient
    T* agreement_gradient;
    T* output;  ///< s, v and their gradients: [iterations][K][O] each
    T* output_gradient;
  };
  static Index matrix_size(const RoutingShape& s) { return s.outputs * padded(s); }
  static Index scratch_size(const RoutingShape& s) {
    return blocks(s) * block * (s.input_size + 2 * padded(s)) + 2 * s.outputs * block +
           3 * matrix_size(s) + 2 * s.iterations * s.outputs * s.output_size;
  }
  static Scratch divide(const RoutingShape& s, T* at) {
    Scratch scratch{};
    const auto take = [&at](Index size) {
      T* const from = at;
      at += size;
      return from;
    };
    // Whole vectors first, so that the rest stays aligned as far as the sizes allow.
    scratch.lanes = take(blocks(s) * block * s.input_size);
    scratch.capsules = take(blocks(s) * block * padded(s));
    scratch.gradient = take(blocks(s) * block * padded(s));
    scratch.couplings = take(s.outputs * block);
    scratch.logit_gradient = take(s.outputs * block);
    scratch.sum_gradient = take(matrix_size(s));
    scratch.agreement = take(matrix_size(s));
    scratch.agreement_gradient = take(matrix_size(s));
    scratch.output = take(s.iterations * s.outputs * s.output_size);
    scratch.output_gradient = take(s.iterations * s.outputs * s.output_size);
    return scratch;
  }
  static Index saved_size(const RoutingShape& s) { return s.iterations * matrix_size(s); }

  static void fill(T* at, Index count, T value) {
    for (Index i = 0; i < count; ++i) at[i] = value;
  }

  static void arrange(const RoutingShape& s, const T* u, const Scratch& scratch) {
    const Index D = s.input_size;
    const Index row = padded(s);
    for (Index b = 0; b < blocks(s); ++b) {
      const Index left = s.inputs - b * block;
      const Index used = left < block ? left : block;
      const T* from = u + b * block * D;
      T* lanes = scratch.lanes + b * block * D;
      T* capsules = scratch.capsules + b * block * row;
      if (used < block || row != D) fill(capsules, block * row, T(0));
      if (used < block) fill(lanes, block * D, T(0));
      for (Index i = 0; i < used; ++i) {
        for (Index d = 0; d < D; ++d) capsules[i * row + d] = from[i * D + d];
      }
      for (Index d = 0; d < D; ++d) {
        for (Index i = 0; i < used; ++i) lanes[d * block + i] = from[i * D + d];
      }
    }
  }

  /// out [K][capsule] = matrix [K][padded D] times the lanes of one block.
  static void project(const RoutingShape& s, const T* matrix, const T* lanes, const T* zeros,
                      T* out) {
    const Index row = padded(s);
    for (Index j = 0; j < s.outputs; j += L::rows_of_two) {
      const Index left = s.outputs - j;
      L::tile(left < L::rows_of_two ? left : L::rows_of_two, block, {matrix + j * row, row, 0, 1},
              {lanes, 0, 0, block}, 1, s.input_size, zeros, 0, out + j * block, block);
    }
  }
  /// sums [K][padded D] += coefficients [K][capsule] times the capsules of one block.
  static void gather(const RoutingShape& s, const T* coefficients, const T* capsules, T* sums) {
    const Index row = padded(s);
    for (Index column = 0; column < row; column += L::count) {
      for (Index j = 0; j < s.outputs; j += L::rows_of_one) {
        const Index left = s.outputs - j;
        T* const c = sums + j * row + column;
        L::template product_of<L::rows_of_one, 1>(
            left < L::rows_of_one ? left : L::rows_of_one, {coefficients + j * block, block, 0, 1},
            {capsules + column, 0, 0, row}, 1, block, c, row, c, row);
      }
    }
  }
  /// gradient [capsule][padded D] += coefficientsᵀ times matrices, over two pairs of them.
  static void spread(const RoutingShape& s, const T* coefficients, const T* matrices, T* gradient) {
    const Index row = padded(s);
    for (Index column = 0; column < row; column += L::count) {
      for (Index i = 0; i < block; i += L::rows_of_one) {
        const Index left = block - i;
        T* const c = gradient + i * row + column;
        L::template product_of<L::rows_of_one, 1>(left < L::rows_of_one ? left : L::rows_of_one,
                                                  {coefficients + i, 1, s.outputs * block, block},
                                                  {matrices + column, 0, matrix_size(s), row}, 2,
                                                  s.outputs, c, row, c, row);
      }
    }
  }

  /// Softmax over the K output capsules, for each lane.
  static void softmax(const RoutingShape& s, T* logits) {
    for (Index half = 0; half < block; half += L::count) {
      T* const at = logits + half;
      Vector highest = L::load(at);
      for (Index j = 1; j < s.outputs; ++j) {
        const Vector value = L::load(at + j * block);
        highest = value > highest ? value : highest;
      }
      Vector total{};
      for (Index j = 0; j < s.outputs; ++j) {
        Vector value = L::load(at + j * block) - highest;
        exponential<set>(value);
        total += value;
        L::store(at + j * block, value);
      }
      const Vector factor = T(1) / total;
      for (Index j = 0; j < s.outputs; ++j) {
        L::store(at + j * block, L::load(at + j * block) * factor);
      }
    }
  }

  static void couplings_of(const RoutingShape& s, const T* agreement, const T* lanes,
                           const T* zeros, T* couplings) {
    project(s, agreement, lanes, zeros, couplings);
    softmax(s, couplings);
  }

  // The small products with W, weight[d][j * O + o] = W_j[o][d].
  static void to_output(const RoutingShape& s, const T* weight, const T* sums, T* out) {
    const Index O = s.output_size;
    for (Index j = 0; j < s.outputs; ++j) {
      fill(out + j * O, O, T(0));
      for (Index d = 0; d < s.input_size; ++d) {
        const T* w = weight + (d * s.outputs + j) * O;
        const T factor = sums[j * padded(s) + d];
        for (Index o = 0; o < O; ++o) out[j * O + o] += w[o] * factor;
      }
    }
  }
  static void add_to_input(const RoutingShape& s, const T* weight, const T* out, T* sums) {
    const Index O = s.output_size;
    for (Index j = 0; j < s.outputs; ++j) {
      for (Index d = 0; d < s.input_size; ++d) {
        const T* w = weight + (d * s.outputs + j) * O;
        T sum = 0;
        for (Index o = 0; o < O; ++o) sum += w[o] * out[j * O + o];
        sums[j * padded(s) + d] += sum;
      }
    }
  }
  static void add_outer(const RoutingShape& s, const T* out, const T* sums, T* weight_gradient) {
    const Index O = s.output_size;
    for (Index j = 0; j < s.outputs; ++j) {
      for (Index d = 0; d < s.input_size; ++d) {
        T* w = weight_gradient + (d * s.outputs + j) * O;
        const T factor = sums[j * padded(s) + d];
        for (Index o = 0; o < O; ++o) w[o] += out[j * O + o] * factor;
      }
    }
  }

  /// G of iteration t: the sum over the iterations before (accumulate) or only the last one.
  static void agreement_of(const RoutingShape& s, const T* weight, const T* v, Index t, T* out) {
    const Index step = s.outputs * s.output_size;
    fill(out, matrix_size(s), T(0));
    for (Index r = s.accumulate ? 0 : t - 1; r < t; ++r) add_to_input(s, weight, v + r * step, out);
  }

  /// All vectors that the iterations compute: s into `pre`, v into `post` (which may be the same).
  static void uniform_sum(const RoutingShape& s, const Scratch& scratch, T* sums) {
    const Index row = padded(s);
    for (Index column = 0; column < row; column += L::count) {
      Vector sum[4] = {};
      for (Index i = 0; i < blocks(s) * block; i += 4) {
        for (Index k = 0; k < 4; ++k) sum[k] += L::load(scratch.capsules + (i + k) * row + column);
      }
      const Vector mean = ((sum[0] + sum[1]) + (sum[2] + sum[3])) / T(s.outputs);
      for (Index j = 0; j < s.outputs; ++j) L::store(sums + j * row + column, mean);
    }
  }

  static void forward(const RoutingShape& s, T epsilon, const T* u, const T* weight, T* memory,
                      T* saved, T* v) {
    alignas(64) T zeros[block] = {};
    const Scratch scratch = divide(s, memory);
    const Index row = padded(s);
    const Index step = s.outputs * s.output_size;
    arrange(s, u, scratch);
    for (Index t = 0; t < s.iterations; ++t) {
      T* const sums = saved + t * matrix_size(s);
      if (t == 0) {
        uniform_sum(s, scratch, sums);
      } else {
        agreement_of(s, weight, scratch.output, t, scratch.agreement);
        fill(sums, matrix_size(s), T(0));
        for (Index b = 0; b < blocks(s); ++b) {
          couplings_of(s, scratch.agreement, scratch.lanes + b * block * s.input_size, zeros,
                       scratch.couplings);
          gather(s, scratch.couplings, scratch.capsules + b * block * row, sums);
        }
      }
      T* const output = scratch.output + t * step;
      to_output(s, weight, sums, output);
      squash(s.outputs, s.output_size, epsilon, output, t + 1 == s.iterations ? v : output);
    }
  }

  static void backward(const RoutingShape& s, T epsilon, const T* u, const T* weight,
                       const T* saved, const T* v_gradient, T* memory, T* u_gradient,
                       T* weight_gradient) {
    alignas(64) T zeros[block] = {};
    const Scratch scratch = divide(s, memory);
    const Index row = padded(s);
    const Index step = s.outputs * s.output_size;
    arrange(s, u, scratch);
    fill(scratch.gradient, blocks(s) * block * row, T(0));
    fill(weight_gradient, s.input_size * step, T(0));
    fill(scratch.output_gradient, s.iterations * step, T(0));
    for (Index t = 0; t < s.iterations; ++t) {
      T* const output = scratch.output + t * step;
      to_output(s, weight, saved + t * matrix_size(s), output);
      // The last one's gradient needs s; of those before, v makes the logits.
      if (t + 1 < s.iterations) squash(s.outputs, s.output_size, epsilon, output, output);
    }
    T* const last_gradient = scratch.output_gradient + (s.iterations - 1) * step;
    for (Index i = 0; i < step; ++i) last_gradient[i] = v_gradient[i];

    for (Index t = s.iterations - 1; t >= 0; --t) {
      const T* const sums = saved + t * matrix_size(s);
      T* const gradient = scratch.output_gradient + t * step;
      if (t > 0) agreement_of(s, weight, scratch.output, t, scratch.agreement);
      // The iterations before do not need v of this one: s is written in its place.
      T* const output = scratch.output + t * step;
      to_output(s, weight, sums, output);
      squash_gradient(s.outputs, s.output_size, epsilon, output, gradient, gradient);
      add_outer(s, gradient, sums, weight_gradient);
      fill(scratch.sum_gradient, matrix_size(s), T(0));
      add_to_input(s, weight, gradient, scratch.sum_gradient);
      if (t == 0) {
        add_uniform(s, scratch);
      } else {
        backward_pass(s, scratch, zeros);
      }
      if (t == 0) continue;
      for (Index r = s.accumulate ? 0 : t - 1; r < t; ++r) {
        add_outer(s, scratch.output + r * step, scratch.agreement_gradient, weight_gradient);
        add_weighted(s, weight, scratch.agreement_gradient, scratch.output_gradient + r * step);
      }
    }
    for (Index i = 0; i < s.inputs; ++i) {
      for (Index d = 0; d < s.input_size; ++d) {
        u_gradient[i * s.input_size + d] = scratch.gradient[i * row + d];
      }
    }
  }
  static void add_weighted(const RoutingShape& s, const T* weight, const T* sums, T* out) {
    const Index O = s.output_size;
    for (Index j = 0; j < s.outputs; ++j) {
      for (Index d = 0; d < s.input_size; ++d) {
        const T* w = weight + (d * s.outputs + j) * O;
        const T factor = sums[j * padded(s) + d];
        for (Index o = 0; o < O; ++o) out[j * O + o] += w[o] * factor;
      }
    }
  }
  static void add_uniform(const RoutingShape& s, const Scratch& scratch) {
    const Index row = padded(s);
    for (Index column = 0; column < row; column += L::count) {
      Vector mean{};
      for (Index j = 0; j < s.outputs; ++j)
        mean += L::load(scratch.sum_gradient + j * row + column);
      mean /= T(s.outputs);
      for (Index i = 0; i < blocks(s) * block; ++i) {
        T* const at = scratch.gradient + i * row + column;
        L::store(at, L::load(at) + mean);
      }
    }
  }
  /// One iteration's part of the gradient of u, and of G.
  static void backward_pass(const RoutingShape& s, const Scratch& scratch, const T* zeros) {
    const Index row = padded(s);
    fill(scratch.agreement_gradient, matrix_size(s), T(0));
    for (Index b = 0; b < blocks(s); ++b) {
      const T* lanes = scratch.lanes + b * block * s.input_size;
      couplings_of(s, scratch.agreement, lanes, zeros, scratch.couplings);
      T* const gradient = scratch.gradient + b * block * row;
      project(s, scratch.sum_gradient, lanes, zeros, scratch.logit_gradient);
      for (Index half = 0; half < block; half += L::count) {
        Vector mean{};
        for (Index j = 0; j < s.outputs; ++j) {
          mean += L::load(scratch.couplings + j * block + half) *
                  L::load(scratch.logit_gradient + j * block + half);
        }
        for (Index j = 0; j < s.outputs; ++j) {
          T* const at = scratch.logit_gradient + j * block + half;
          L::store(at, L::load(scratch.couplings + j * block + half) * (L::load(at) - mean));
        }
      }
      // Couplings with dS and logit gradients with G, which follow each other in memory.
      spread(s, scratch.couplings, scratch.sum_gradient, gradient);
      gather(s, scratch.logit_gradient, scratch.capsules + b * block * row,
             scratch.agreement_gradient);
    }
  }

  static T dot(Index size, const T* a, const T* b) {
    T sum[4] = {};
    Index i = 0;
    for (; i + 4 <= size; i += 4) {
      for (Index k = 0; k < 4; ++k) sum[k] += a[i + k] * b[i + k];
    }
    for (; i < size; ++i) sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
  static T root(T x) {
    if constexpr (sizeof(T) == 4) {
      return __builtin_sqrtf(x);
    } else {
      return __builtin_sqrt(x);
    }
  }
  static void squash(Index count, Index size, T epsilon, const T* s, T* v) {
    for (Index i = 0; i < count; ++i, s += size, v += size) {
      const T square = dot(size, s, s);
      const T factor = square / ((T(1) + square) * root(square + epsilon));
      for (Index d = 0; d < size; ++d) v[d] = s[d] * factor;
    }
  }
  static void squash_gradient(Index count, Index size, T epsilon, const T* s, const T* v_gradient,
                              T* s_gradient) {
    for (Index i = 0; i < count; ++i, s += size, v_gradient += size, s_gradient += size) {
      const T square = dot(size, s, s);
      const T inner = dot(size, s, v_gradient);
      const T one = T(1) / (T(1) + square);
      const T inverse = T(1) / root(square + epsilon);
      const T factor = square * one * inverse;
      // d factor / d square = inverse / (1 + q)^2 - q inverse^3 / (2 (1 + q)); twice that times
      // s·g.
      const T slope = (T(2) * one * one - square * one * inverse * inverse) * inverse * inner;
      for (Index d = 0; d < size; ++d) s_gradient[d] = factor * v_gradient[d] + slope * s[d];
    }
  }

  static constexpr RoutingKernels<T> table{&scratch_size, &saved_size, &forward,
                                           &backward,     &squash,     &squash_gradient};
};

}  // namespace seam::nn::kernels
