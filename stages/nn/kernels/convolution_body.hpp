/// The bodies of convolution.hpp's kernels, for one instruction set. Included by the files that
/// compile them and by nothing else.
#pragma once

#include "stages/nn/kernels/convolution.hpp"
#include "stages/nn/kernels/lanes_body.hpp"

namespace seam::nn::kernels {

// Standard library templates (std::min ...) are avoided on purpose: their instances would be
// compiled for this instruction set and could be chosen by the linker for the whole program.
template <class T, InstructionSet set>
struct ConvolutionBody {
  using L = Lanes<T, set>;
  using Index = std::int64_t;
  static constexpr Index panel = L::panel;
  /// Positions whose gradients are held together in the second-level cache.
  static constexpr Index row_block = 8;

  static Index minimum(Index a, Index b) { return a < b ? a : b; }
  static Index maximum(Index a, Index b) { return a > b ? a : b; }
  static Index panels(Index channels) { return (channels + panel - 1) / panel; }
  static Index taps(const ConvolutionShape& s, Index parity) {
    return (s.kernel - parity + s.stride - 1) / s.stride;
  }

  static Index packed_size(const ConvolutionShape& s) {
    return panels(s.out_channels) * s.kernel * s.kernel * s.in_channels * panel;
  }
  static Index packed_transposed_size(const ConvolutionShape& s) {
    return panels(s.in_channels) * panels(s.out_channels) * panel * s.kernel * s.kernel * panel;
  }
  static Index all_panels(const ConvolutionShape& s) { return panels(s.out_channels); }
  static Index weight_rows(const ConvolutionShape& s) {
    return panels(s.out_channels) * s.groups * s.kernel;
  }
  static Index transposed_blocks(const ConvolutionShape& s) {
    return s.stride * s.stride * panels(s.in_channels);
  }
  static Index input_rows(const ConvolutionShape& s, Index out_rows) {
    return (out_rows - 1) * s.stride + s.kernel;
  }
  static Index input_size(const ConvolutionShape& s, Index out_rows) {
    return s.in_channels * input_rows(s, out_rows) * s.padded_width;
  }
  static Index gradient_size(const ConvolutionShape& s) {
    return panels(s.out_channels) * s.gradient_height * s.gradient_width * panel;
  }

  // Packed order: [panel of out][group of in][ky][kx][c of group][out of panel].
  static Index packed_row(const ConvolutionShape& s, Index n, Index g, Index ky) {
    return ((n * s.groups + g) * s.kernel + ky) * s.kernel * s.group * panel;
  }
  static Index weight_index(const ConvolutionShape& s, Index out, Index in, Index ky, Index kx) {
    return ((out * s.in_channels + in) * s.kernel + ky) * s.kernel + kx;
  }
  static void pack(const ConvolutionShape& s, Range some, const T* weight, T* packed) {
    for (Index n = some.begin; n < some.end; ++n) {
      for (Index g = 0; g < s.groups; ++g) {
        for (Index ky = 0; ky < s.kernel; ++ky) {
          T* at = packed + packed_row(s, n, g, ky);
          for (Index kx = 0; kx < s.kernel; ++kx) {
            for (Index c = 0; c < s.group; ++c) {
              for (Index o = 0; o < panel; ++o) {
                const Index out = n * panel + o;
                *at++ = out < s.out_channels ? weight[weight_index(s, out, g * s.group + c, ky, kx)]
                                             : T(0);
              }
            }
          }
        }
      }
    }
  }
  static void unpack(const ConvolutionShape& s, Range some, const T* packed, T* weight) {
    for (Index n = some.begin; n < some.end; ++n) {
      for (Index g = 0; g < s.groups; ++g) {
        for (Index ky = 0; ky < s.kernel; ++ky) {
          const T* at = packed + packed_row(s, n, g, ky);
          for (Index kx = 0; kx < s.kernel; ++kx) {
            for (Index c = 0; c < s.group; ++c, at += panel) {
              const Index used = minimum(panel, s.out_channels - n * panel);
              for (Index o = 0; o < used; ++o) {
                weight[weight_index(s, n * panel + o, g * s.group + c, ky, kx)] = at[o];
              }
            }
          }
        }
      }
    }
  }

  // Transposed order: [parity y][parity x][panel of in][panel of out][tap y][tap x, last first]
  // [out of panel][in of panel]. The gradient of the input at padded position stride * P + parity
  // gets the gradients of outputs P - q through kernel element stride * q + parity.
  static Index transposed_block(const ConvolutionShape& s, Index py, Index px) {
    Index before = 0;
    for (Index y = 0; y < py; ++y) before += taps(s, y) * s.kernel;
    for (Index x = 0; x < px; ++x) before += taps(s, py) * taps(s, x);
    return before * panels(s.in_channels) * panels(s.out_channels) * panel * panel;
  }
  static void pack_transposed(const ConvolutionShape& s, Range some, const T* weight, T* packed) {
    for (Index block = some.begin; block < some.end; ++block) {
      const Index parity = block / panels(s.in_channels);
      const Index py = parity / s.stride;
      const Index px = parity % s.stride;
      const Index n = block % panels(s.in_channels);
      T* at = packed + transposed_block(s, py, px) +
              n * panels(s.out_channels) * taps(s, py) * taps(s, px) * panel * panel;
      for (Index m = 0; m < panels(s.out_channels); ++m) {
        for (Index q = 0; q < taps(s, py); ++q) {
          for (Index r = taps(s, px) - 1; r >= 0; --r) {
            for (Index o = 0; o < panel; ++o) {
              for (Index i = 0; i < panel; ++i) {
                const Index out = m * panel + o;
                const Index in = n * panel + i;
                *at++ = out < s.out_channels && in < s.in_channels
                            ? weight[weight_index(s, out, in, s.stride * q + py, s.stride * r + px)]
                            : T(0);
              }
            }
          }
        }
      }
    }
  }

  static void fill_zero(T* at, Index count) {
    for (Index i = 0; i < count; ++i) at[i] = T(0);
  }

  static void pad_planes(const ConvolutionShape& s, const T* image, Index first, Index last,
                         T* buffer) {
    const Index rows = input_rows(s, last - first);
    for (Index g = 0; g < s.groups; ++g) {
      for (Index row = 0; row < rows; ++row) {
        T* to = buffer + (g * rows + row) * s.padded_width * s.group;
        fill_zero(to, s.padded_width * s.group);
        const Index y = first * s.stride + row - s.pad_top;
        if (y < 0 || y >= s.height) continue;
        const Index width = minimum(s.width, s.padded_width - s.pad_left);
        for (Index c = 0; c < s.group; ++c) {
          const T* from = image + ((g * s.group + c) * s.height + y) * s.width;
          T* channel = to + s.pad_left * s.group + c;
          for (Index x = 0; x < width; ++x) channel[x * s.group] = from[x];
        }
      }
    }
  }

  using Vector = typename L::Vector;

  /// The coefficients of `count` channels from c on.
  struct ChannelVectors {
    Vector scale, shift, keep, keep_below;
    ChannelVectors(const ChannelTransform<T>& t, Index c)
        : scale(L::load(t.scale + c)),
          shift(L::load(t.shift + c)),
          keep(L::load(t.keep + c)),
          keep_below(keep * t.slope) {}
    /// The factors of a gradient on its way through dropout and activation.
    [[nodiscard]] Vector passes(const Vector& y) const {
      const Vector z = y * scale + shift;
      return z > Vector{} ? keep : keep_below;
    }
  };

  static void transform_row(Index width, Index group, Index channels, const T* from,
                            const ChannelTransform<T>& t, Index first, T* to) {
    Index c = 0;
    for (; c + L::count <= group; c += L::count) {
      const ChannelVectors at(t, first + c);
      for (Index x = 0; x < width; ++x) {
        const Vector z = L::load(from + x * channels + c) * at.scale + at.shift;
        L::store(to + x * group + c, z * (z > Vector{} ? at.keep : at.keep_below));
      }
    }
    for (; c < group; ++c) {
      for (Index x = 0; x < width; ++x) {
        const T z = from[x * channels + c] * t.scale[first + c] + t.shift[first + c];
        to[x * group + c] = z * (z > T(0) ? T(1) : t.slope) * t.keep[first + c];
      }
    }
  }

  static void copy_pixels(const ConvolutionShape& s, const T* image, Index first, Index last,
                          T* buffer) {
    pad_rows(s, first, last, buffer, [&](Index width, Index y, Index c, T* to) {
      const T* from = image + y * s.width * s.in_channels + c;
      for (Index x = 0; x < width; ++x) {
        for (Index i = 0; i < s.group; ++i) to[x * s.group + i] = from[x * s.in_channels + i];
      }
    });
  }
  static void pad_pixels(const ConvolutionShape& s, const T* image, const ChannelTransform<T>& t,
                         Index first, Index last, T* buffer) {
    pad_rows(s, first, last, buffer, [&](Index width, Index y, Index c, T* to) {
      transform_row(width, s.group, s.in_channels, image + y * s.width * s.in_channels + c, t, c,
                    to);
    });
  }
  /// Zeros around the output of `row(width, y, first channel, to)`.
  template <class Row>
  static void pad_rows(const ConvolutionShape& s, Index first, Index last, T* buffer,
                       const Row& row_of) {
    const Index rows = input_rows(s, last - first);
    const Index width = minimum(s.width, s.padded_width - s.pad_left);
    const Index after = s.padded_width - s.pad_left - width;
    for (Index g = 0; g < s.groups; ++g) {
      for (Index row = 0; row < rows; ++row) {
        T* to = buffer + (g * rows + row) * s.padded_width * s.group;
        const Index y = first * s.stride + row - s.pad_top;
        if (y < 0 || y >= s.height) {
          fill_zero(to, s.padded_width * s.group);
          continue;
        }
        fill_zero(to, s.pad_left * s.group);
        T* inside = to + s.pad_left * s.group;
        row_of(width, y, g * s.group, inside);
        fill_zero(inside + width * s.group, after * s.group);
      }
    }
  }

  static void forward(const ConvolutionShape& s, Range some, const T* buffer, const T* packed,
                      const T* bias, Index first, Index last, T* output) {
    const Index rows = input_rows(s, last - first);
    const Index row_length = s.padded_width * s.group;
    const Index run = s.kernel * s.group;  // contiguous in buffer and packed: kx and c
    // Enough of the kernel's rows at once to make a product long, few enough that the packed
    // weights of a panel stay in the first-level cache (16 KB).
    constexpr Index enough = 3584 / panel;
    const Index together = run >= enough ? 1 : minimum(s.kernel, (enough + run - 1) / run + 1);
    for (Index n = some.begin; n < some.end; ++n) {
      const Index columns = s.out_channels - n * panel;
      for (Index g = 0; g < s.groups; ++g) {
        for (Index ky = 0; ky < s.kernel; ky += together) {
          const Index outer = minimum(together, s.kernel - ky);
          const bool fresh = g == 0 && ky == 0;
          const Operand<T> b{packed + packed_row(s, n, g, ky), 0, run * panel, panel};
          for (Index y = first; y < last; ++y) {
            const T* row = buffer + (g * rows + (y - first) * s.stride + ky) * row_length;
            for (Index x = 0; x < s.out_width; x += L::rows_of_two) {
              T* c = output + (y * s.out_width + x) * s.out_channels + n * panel;
              L::tile(minimum(L::rows_of_two, s.out_width - x), columns,
                      {row + x * s.stride * s.group, s.stride * s.group, row_length, 1}, b, outer,
                      run, fresh ? bias + n * panel : c, fresh ? 0 : s.out_channels, c,
                      s.out_channels);
            }
          }
        }
      }
    }
  }

  static void output_sums(Index pixels, Index channels, const T* output, double* sums) {
    // Short runs are summed in T, in registers; runs are summed in double.
    for (Index pixel = 0; pixel < pixels; pixel += sum_run) {
      const T* const at = output + pixel * channels;
      const Index run_length = minimum(sum_run, pixels - pixel);
      Index c = 0;
      for (; c + L::count <= channels; c += L::count) {
        Vector sum{};
        Vector squares{};
        for (Index i = 0; i < run_length; ++i) {
          const Vector value = L::load(at + i * channels + c);
          sum += value;
          squares += value * value;
        }
        add_lanes(sum, sums + c);
        add_lanes(squares, sums + channels + c);
      }
      for (; c < channels; ++c) {
        for (Index i = 0; i < run_length; ++i) {
          const double value = at[i * channels + c];
          sums[c] += value;
          sums[channels + c] += value * value;
        }
      }
    }
  }
  static constexpr Index sum_run = 32;
  static void add_lanes(const Vector& values, double* sums) {
    for (Index lane = 0; lane < L::count; ++lane) sums[lane] += values[lane];
  }

  static void gradient_sums(Index pixels, Index channels, const T* y, const T* gradient,
                            const ChannelTransform<T>& t, double* sums) {
    for (Index pixel = 0; pixel < pixels; pixel += sum_run) {
      const Index run_length = minimum(sum_run, pixels - pixel);
      const T* const y_at = y + pixel * channels;
      const T* const gradient_at = gradient + pixel * channels;
      Index c = 0;
      for (; c + L::count <= channels; c += L::count) {
        const ChannelVectors at(t, c);
        Vector sum{};
        Vector products{};
        for (Index i = 0; i < run_length; ++i) {
          const Vector value = L::load(y_at + i * channels + c);
          const Vector dz = L::load(gradient_at + i * channels + c) * at.passes(value);
          sum += dz;
          products += dz * value;
        }
        add_lanes(sum, sums + c);
        add_lanes(products, sums + channels + c);
      }
      for (; c < channels; ++c) {
        for (Index i = 0; i < run_length; ++i) {
          const T value = y_at[i * channels + c];
          const double dz = passed(value, gradient_at[i * channels + c], t, c);
          sums[c] += dz;
          sums[channels + c] += dz * double(value);
        }
      }
    }
  }
  static T passed(T y, T gradient, const ChannelTransform<T>& t, Index c) {
    const T z = y * t.scale[c] + t.shift[c];
    return gradient * t.keep[c] * (z > T(0) ? T(1) : t.slope);
  }

  static void pad_gradient(const ConvolutionShape& s, const T* y, const T* gradient,
                           const ChannelTransform<T>* t, const GradientTransform<T>* d, T* buffer) {
    const Index row_length = s.gradient_width * panel;
    for (Index n = 0; n < panels(s.out_channels); ++n) {
      const Index used = minimum(panel, s.out_channels - n * panel);
      T* plane = buffer + n * s.gradient_height * row_length;
      for (Index row = 0; row < s.gradient_height; ++row) {
        T* to = plane + row * row_length;
        const Index out_y = row - s.border;
        if (out_y < 0 || out_y >= s.out_height) {
          fill_zero(to, row_length);
          continue;
        }
        fill_zero(to, s.border * panel);
        to += s.border * panel;
        const Index at = out_y * s.out_width * s.out_channels + n * panel;
        if (d == nullptr) {
          for (Index x = 0; x < s.out_width; ++x) {
            for (Index c = 0; c < used; ++c) {
              to[x * panel + c] = gradient[at + x * s.out_channels + c];
            }
          }
        } else {
          gradient_row(s.out_width, used, s.out_channels, y + at, gradient + at, *t, *d, n * panel,
                       to);
        }
        if (used < panel) {
          for (Index x = 0; x < s.out_width; ++x) fill_zero(to + x * panel + used, panel - used);
        }
        to += s.out_width * panel;
        fill_zero(to, row_length - (s.border + s.out_width) * panel);
      }
    }
  }
  static void gradient_row(Index width, Index used, Index channels, const T* y, const T* gradient,
                           const ChannelTransform<T>& t, const GradientTransform<T>& d, Index first,
                           T* to) {
    Index c = 0;
    for (; c + L::count <= used; c += L::count) {
      const ChannelVectors at(t, first + c);
      const Vector scale = L::load(d.scale + first + c);
      const Vector slope = L::load(d.slope_of_output + first + c);
      const Vector offset = L::load(d.offset + first + c);
      for (Index x = 0; x < width; ++x) {
        const Vector value = L::load(y + x * channels + c);
        const Vector dz = L::load(gradient + x * channels + c) * at.passes(value);
        L::store(to + x * panel + c, scale * dz + (slope * value + offset));
      }
    }
    for (; c < used; ++c) {
      for (Index x = 0; x < width; ++x) {
        const T value = y[x * channels + c];
        const T dz = passed(value, gradient[x * channels + c], t, first + c);
        to[x * panel + c] =
            d.scale[first + c] * dz + (d.slope_of_output[first + c] * value + d.offset[first + c]);
      }
    }
  }

  static void bias_gradient(const ConvolutionShape& s, const T* buffer, double* sums) {
    for (Index n = 0; n < panels(s.out_channels); ++n) {
      const Index used = minimum(panel, s.out_channels - n * panel);
      for (Index y = 0; y < s.out_height; ++y) {
        const T* at =
            buffer + ((n * s.gradient_height + y + s.border) * s.gradient_width + s.border) * panel;
        for (Index x = 0; x < s.out_width; ++x, at += panel) {
          for (Index c = 0; c < used; ++c) sums[n * panel + c] += at[c];
        }
      }
    }
  }

  static void weight_gradient(const ConvolutionShape& s, Range some, const T* buffer,
                              const T* gradient_buffer, Index first, Index last, T* packed) {
    const Index rows = input_rows(s, last - first);
    const Index row_length = s.padded_width * s.group;
    const Index run = s.kernel * s.group;
    const Index gradient_row_length = s.gradient_width * panel;
    // Enough pixels for a long product, few enough that the rows stay in the first-level cache.
    const Index together = maximum(1, 64 / s.out_width);
    for (Index weight_row = some.begin; weight_row < some.end; ++weight_row) {
      const Index n = weight_row / (s.groups * s.kernel);
      const Index g = weight_row / s.kernel % s.groups;
      const Index ky = weight_row % s.kernel;
      T* to = packed + weight_row * run * panel;
      for (Index y = first; y < last; y += together) {
        const Index outer = minimum(together, last - y);
        const T* row = buffer + (g * rows + (y - first) * s.stride + ky) * row_length;
        const Operand<T> b{gradient_buffer +
                               (n * s.gradient_height + y + s.border) * gradient_row_length +
                               s.border * panel,
                           0, gradient_row_length, panel};
        for (Index r = 0; r < run; r += L::rows_of_two) {
          L::tile(minimum(L::rows_of_two, run - r), panel,
                  {row + r, 1, s.stride * row_length, s.stride * s.group}, b, outer, s.out_width,
                  to + r * panel, panel, to + r * panel, panel);
        }
      }
    }
  }

  static void input_gradient(const ConvolutionShape& s, Range some, const T* gradient_buffer,
                             const T* packed_transposed, T* input_gradient) {
    alignas(64) T zeros[panel];
    fill_zero(zeros, panel);
    const Index first_position = s.pad_top / s.stride;
    const Index last_position = (s.height - 1 + s.pad_top) / s.stride + 1;
    const Index gradient_row_length = s.gradient_width * panel;
    for (Index row = first_position; row < last_position; row += row_block) {
      const Index row_end = minimum(row + row_block, last_position);
      for (Index block = some.begin; block < some.end; ++block) {
        const Index parity = block / panels(s.in_channels);
        const Index py = parity / s.stride;
        const Index px = parity % s.stride;
        input_gradient_block(s, gradient_buffer, packed_transposed + transposed_block(s, py, px),
                             row, row_end, py, px, block % panels(s.in_channels),
                             gradient_row_length, zeros, input_gradient);
      }
    }
  }
  static void input_gradient_block(const ConvolutionShape& s, const T* gradient_buffer,
                                   const T* weights, Index first, Index last, Index py, Index px,
                                   Index n, Index gradient_row_length, const T* zeros,
                                   T* input_gradient) {
    const Index taps_x = taps(s, px);
    const Index run = taps_x * panel;
    // Positions X of this parity whose input pixel stride * X + px - pad_left lies in the image.
    const Index x_begin = maximum(0, (s.pad_left - px + s.stride - 1) / s.stride);
    const Index x_last = s.width - 1 + s.pad_left - px;
    const Index x_end = x_last < 0 ? 0 : x_last / s.stride + 1;
    if (taps_x == 0 || taps(s, py) == 0) {  // a stride longer than the kernel skips these pixels
      for (Index position = first; position < last; ++position) {
        const Index in_y = position * s.stride + py - s.pad_top;
        if (in_y < 0 || in_y >= s.height) continue;
        for (Index x = x_begin; x < x_end; ++x) {
          const Index in_x = x * s.stride + px - s.pad_left;
          fill_zero(input_gradient + (in_y * s.width + in_x) * s.in_channels + n * panel,
                    minimum(panel, s.in_channels - n * panel));
        }
      }
      return;
    }
    const Index columns = s.in_channels - n * panel;
    for (Index m = 0; m < panels(s.out_channels); ++m) {
      for (Index q = 0; q < taps(s, py); ++q) {
        const Operand<T> b{
            weights + ((n * panels(s.out_channels) + m) * taps(s, py) + q) * run * panel, 0, 0,
            panel};
        const bool fresh = m == 0 && q == 0;
        for (Index position = first; position < last; ++position) {
          const Index in_y = position * s.stride + py - s.pad_top;
          if (in_y < 0 || in_y >= s.height) continue;
          const T* row = gradient_buffer +
                         (m * s.gradient_height + position - q + s.border) * gradient_row_length +
                         (s.border - taps_x + 1) * panel;
          for (Index x = x_begin; x < x_end; x += L::rows_of_two) {
            const Index in_x = x * s.stride + px - s.pad_left;
            T* c = input_gradient + (in_y * s.width + in_x) * s.in_channels + n * panel;
            L::tile(minimum(L::rows_of_two, x_end - x), columns, {row + x * panel, panel, 0, 1}, b,
                    1, run, fresh ? zeros : c, fresh ? 0 : s.stride * s.in_channels, c,
                    s.stride * s.in_channels);
          }
        }
      }
    }
  }

  static constexpr ConvolutionKernels<T> table{panel,
                                               &packed_size,
                                               &packed_transposed_size,
                                               &input_size,
                                               &gradient_size,
                                               &all_panels,
                                               &weight_rows,
                                               &transposed_blocks,
                                               &pack,
                                               &pack_transposed,
                                               &unpack,
                                               &pad_planes,
                                               &copy_pixels,
                                               &pad_pixels,
                                               &forward,
                                               &output_sums,
                                               &gradient_sums,
                                               &pad_gradient,
                                               &bias_gradient,
                                               &weight_gradient,
                                               &input_gradient};
};

}  // namespace seam::nn::kernels
