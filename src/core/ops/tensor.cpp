// Matrix multiply-accumulate: HMMA, QMMA, IMMA, BMMA, DMMA. The fragment layouts are those of mma.sync in the
// PTX documentation: lane = 4 * group + member; group picks a row of A or a column of B, member a run of k.
#include <algorithm>
#include <cmath>

#include "ops/families.hpp"
#include "ops/rounding.hpp"
#include "ops/tensor_model.hpp"

namespace warpath {
namespace {

constexpr int kMaxM = 16, kN = 8;

// Fragment of A or B: element (index, k) where index is a row of A or a column of B. `elements` of `Bits` per
// register, register r holds rows (index + 8 * (r % height)) and k from 4 * elements * (r / height).
template <int Bits>
struct Fragment {
  static constexpr int kElements = 32 / Bits;
  const u32* rows[8];
  int height;  // 2 for A of 16 rows, else 1

  u32 get(int index, int k) const {
    const int member = (k / kElements) % 4;
    const int reg = (k / (4 * kElements)) * height + (index / 8) % height;
    const u32 word = rows[reg][4 * (index % 8) + member];
    if constexpr (Bits == 32) return word;
    return (word >> (Bits * (k % kElements))) & ((1u << (Bits % 32)) - 1);
  }
};

template <int Bits>
Fragment<Bits> fragment(const Warp& warp, const Operand& op, int extent, int depth) {
  Fragment<Bits> out{};
  out.height = extent == 16 ? 2 : 1;
  const int registers = std::max(1, out.height * depth / (4 * Fragment<Bits>::kElements));
  for (int r = 0; r < registers; ++r) {
    out.rows[r] = warp.read_row(op.reg == kRZ ? kRZ : static_cast<u16>(op.reg + r));
  }
  return out;
}

// Element (row, column) of C or D, one per 32-bit register: which register and lane.
int c_register(int row, int column) { return 2 * (row / 8) + column % 2; }
int c_lane(int row, int column) { return 4 * (row % 8) + column / 2; }

const u32* c_row(const Warp& warp, const Operand& op, int r) {
  return warp.read_row(op.reg == kRZ ? kRZ : static_cast<u16>(op.reg + r));
}

u16 d_register(const Operand& op, int r) { return op.reg == kRZ ? kRZ : static_cast<u16>(op.reg + r); }

// Flags: format and K of floats; K, signs and saturation of integers.
struct Shape {
  int m, k;
};
u32 pack_shape(Shape shape) { return static_cast<u32>(shape.m) | static_cast<u32>(shape.k) << 8; }
Shape shape_of(u32 aux) { return {static_cast<int>(aux & 0xff), static_cast<int>(aux >> 8)}; }

// --- HMMA, QMMA
// ---------------------------------------------------------------------------------------------
constexpr u32 kHalfAccumulator = 8;

// Measured on an H200 for 16-bit and TF32 factors. For 8-bit factors the published figure (an accumulator of
// 13 fraction bits) is used: that GPU has no such instruction.
constexpr TensorSum kSum{16, 25}, kSmallSum{32, 13};

template <int Bits>
void exec_float_mma(Warp& warp, const Instr& in, u32) {
  const Shape shape = shape_of(in.aux);
  const TensorFormat format_a = static_cast<TensorFormat>(in.flags & 7);
  const TensorFormat format_b = static_cast<TensorFormat>((in.flags >> 4) & 7);
  const Fragment<Bits> a = fragment<Bits>(warp, in.operands[1], shape.m, shape.k);
  const Fragment<Bits> b = fragment<Bits>(warp, in.operands[2], kN, shape.k);
  const bool halves = in.flags & kHalfAccumulator;
  FloatTile tile;
  for (int k = 0; k < shape.k; ++k) {
    for (int i = 0; i < shape.m; ++i) tile.a_bits[i][k] = a.get(i, k);
    for (int j = 0; j < kN; ++j) tile.b_bits[k][j] = b.get(j, k);
  }
  for (int i = 0; i < shape.m; ++i) {
    for (int j = 0; j < kN; ++j) {
      const int r = halves ? i / 8 : c_register(i, j);
      const u32 word = c_row(warp, in.operands[3], r)[c_lane(i, j)];
      tile.c[i][j] = halves ? half_to_float((word >> (16 * (j % 2))) & 0xffff) : word;
    }
  }
  unpack_tile(tile, format_a, format_b, shape.m, shape.k);
  multiply_tile(tile, format_a, format_b, shape.m, shape.k, Bits == 8 ? kSmallSum : kSum);
  Row result[4] = {};
  for (int i = 0; i < shape.m; ++i) {
    for (int j = 0; j < kN; ++j) {
      const u32 word = tile.d[i][j];
      if (halves) {
        const u32 half = is_nan32(word) ? kNan16 : round_to(kBinary16, as_float(word), Round::Nearest);
        result[i / 8].v[c_lane(i, j)] |= half << (16 * (j % 2));
      } else {
        result[c_register(i, j)].v[c_lane(i, j)] = word;
      }
    }
  }
  const int registers = shape.m / 8 * (halves ? 1 : 2);
  for (int r = 0; r < registers; ++r) write32(warp, d_register(in.operands[0], r), result[r].v, kFullMask);
}

// --- IMMA, BMMA
// -----------------------------------------------------------------------------------------------
constexpr u32 kSignedA = 1, kSignedB = 2, kSaturate = 4, kAndPopc = 8;

template <int Bits>
i32 int_element(u32 bits, bool is_signed) {
  return is_signed ? static_cast<i32>(bits << (32 - Bits)) >> (32 - Bits) : static_cast<i32>(bits);
}

// Operands as integers; BMMA counts k in words of 32 single bits.
struct IntTile {
  i32 a[kMaxM][64];
  i32 b[64][kN];
};

// Products of one row of A with all columns of B. Sums of 64 products of 8-bit factors fit a word.
template <int Bits>
void int_row(const IntTile& tile, int i, int depth, bool and_popc, i32* sums) {
  for (int k = 0; k < depth; ++k) {
    for (int j = 0; j < kN; ++j) {
      const i32 x = tile.a[i][k], y = tile.b[k][j];
      if constexpr (Bits == 32) {
        sums[j] += __builtin_popcount(static_cast<u32>(and_popc ? x & y : x ^ y));
      } else {
        sums[j] += x * y;
      }
    }
  }
}

template <int Bits>
void exec_int_mma(Warp& warp, const Instr& in, u32) {
  const Shape shape = shape_of(in.aux);
  const Fragment<Bits> a = fragment<Bits>(warp, in.operands[1], shape.m, shape.k);
  const Fragment<Bits> b = fragment<Bits>(warp, in.operands[2], kN, shape.k);
  IntTile tile;
  for (int k = 0; k < shape.k; ++k) {
    for (int i = 0; i < shape.m; ++i) tile.a[i][k] = int_element<Bits>(a.get(i, k), in.flags & kSignedA);
    for (int j = 0; j < kN; ++j) tile.b[k][j] = int_element<Bits>(b.get(j, k), in.flags & kSignedB);
  }
  Row result[4];
  for (int i = 0; i < shape.m; ++i) {
    i32 sums[kN] = {};
    int_row<Bits>(tile, i, shape.k, in.flags & kAndPopc, sums);
    for (int j = 0; j < kN; ++j) {
      const int r = c_register(i, j), lane = c_lane(i, j);
      const i64 sum = i64{sums[j]} + static_cast<i32>(c_row(warp, in.operands[3], r)[lane]);
      const i64 value = in.flags & kSaturate ? std::clamp<i64>(sum, INT32_MIN, INT32_MAX) : sum;
      result[r].v[lane] = static_cast<u32>(value);
    }
  }
  for (int r = 0; r < shape.m / 4; ++r) write32(warp, d_register(in.operands[0], r), result[r].v, kFullMask);
}

// --- DMMA: a chain of fused multiply-adds
// ------------------------------------------------------------------------
u64 double_at(const Warp& warp, const Operand& op, int element, int lane) {
  if (op.reg == kRZ) return 0;
  const u16 low = static_cast<u16>(op.reg + 2 * element);
  const u64 high = warp.read_row(static_cast<u16>(low + 1))[lane];
  return high << 32 | warp.read_row(low)[lane];
}

u64 fma_bits(u64 a, u64 b, u64 c) {
  const double result = __builtin_fma(as_double(a), as_double(b), as_double(c));
  return result != result ? nan_result64(a, b, c) : as_bits(result);
}

void exec_double_mma(Warp& warp, const Instr& in, u32) {
  const Shape shape = shape_of(in.aux);
  const int height = shape.m / 8;
  Row64 result[4];
  for (int i = 0; i < shape.m; ++i) {
    for (int j = 0; j < kN; ++j) {
      const int r = c_register(i, j), lane = c_lane(i, j);
      u64 sum = double_at(warp, in.operands[3], r, lane);
      for (int k = 0; k < shape.k; ++k) {
        const u64 a = double_at(warp, in.operands[1], (k / 4) * height + i / 8, 4 * (i % 8) + k % 4);
        const u64 b = double_at(warp, in.operands[2], k / 4, 4 * j + k % 4);
        sum = fma_bits(a, b, sum);
      }
      result[r].v[lane] = sum;
    }
  }
  for (int r = 0; r < shape.m / 4; ++r)
    write64(warp, d_register(in.operands[0], 2 * r), result[r], kFullMask);
}

// --- binding
// --------------------------------------------------------------------------------------------------------
bool register_operands(const InstrText& text) {
  return text.operands.size() == 4 &&
         std::all_of(text.operands.begin(), text.operands.end(), [](const Operand& op) {
           return op.kind == OperandKind::Reg && !op.neg && !op.abs && !op.inv;
         });
}

// A row-major and B column-major is the only layout of these shapes; nvdisasm prints it for some generations.
bool row_col(const InstrText& text) {
  const auto has = [&](int i, const char* suffix) {
    return text.operand_texts[i].find(suffix) != std::string::npos;
  };
  return !has(1, ".COL") && !has(2, ".ROW");
}

struct NamedShape {
  std::string_view name;
  Shape shape;
};

template <std::size_t Count>
bool find_shape(const InstrText& text, const NamedShape (&shapes)[Count], Shape& shape) {
  for (const NamedShape& named : shapes) {
    if (!text.has(named.name)) continue;
    shape = named.shape;
    return true;
  }
  return false;
}

std::string bind_hmma(const InstrText& text, Instr& out) {
  if (!register_operands(text) || !row_col(text)) return refuse_operands(text);
  static constexpr NamedShape shapes[] = {{"1684", {16, 4}}, {"1688", {16, 8}}, {"16816", {16, 16}}};
  Shape shape;
  if (!find_shape(text, shapes, shape)) return refuse_modifiers(text);
  const TensorFormat format = text.has("TF32")   ? TensorFormat::Tf32
                              : text.has("BF16") ? TensorFormat::Bf16
                                                 : TensorFormat::F16;
  if (format != TensorFormat::Tf32 && shape.k == 4) return refuse_modifiers(text);
  out.aux = pack_shape(shape);
  out.flags = static_cast<u32>(format) * 0x11 | (text.has("F16") ? kHalfAccumulator : 0);
  out.exec = format == TensorFormat::Tf32 ? exec_float_mma<32> : exec_float_mma<16>;
  return "";
}

std::string bind_qmma(const InstrText& text, Instr& out) {
  if (!register_operands(text) || !row_col(text)) return refuse_operands(text);
  static constexpr NamedShape shapes[] = {{"16816", {16, 16}}, {"16832", {16, 32}}};
  Shape shape;
  const std::size_t count = text.modifiers.size();
  if (!find_shape(text, shapes, shape) || count != 4) return refuse_modifiers(text);
  const auto format = [&](std::size_t i) {
    return static_cast<u32>(text.modifiers[i] == "E4M3" ? TensorFormat::E4m3 : TensorFormat::E5m2);
  };
  out.aux = pack_shape(shape);
  out.flags = format(2) | format(3) << 4 | (text.has("F16") ? kHalfAccumulator : 0);
  out.exec = exec_float_mma<8>;
  return "";
}

std::string bind_imma(const InstrText& text, Instr& out) {
  if (!register_operands(text) || !row_col(text)) return refuse_operands(text);
  static constexpr NamedShape bytes[] = {{"8816", {8, 16}}, {"16816", {16, 16}}, {"16832", {16, 32}}};
  static constexpr NamedShape nibbles[] = {{"8832", {8, 32}}, {"16832", {16, 32}}, {"16864", {16, 64}}};
  if (text.modifiers.size() < 3) return refuse_modifiers(text);
  const std::string& type_a = text.modifiers[1];
  const std::string& type_b = text.modifiers[2];
  const bool narrow = type_a[1] == '4';
  Shape shape;
  if (type_a[1] != type_b[1] ||
      !(narrow ? find_shape(text, nibbles, shape) : find_shape(text, bytes, shape))) {
    return refuse_modifiers(text);
  }
  out.aux = pack_shape(shape);
  out.flags = (type_a[0] == 'S' ? kSignedA : 0) | (type_b[0] == 'S' ? kSignedB : 0) |
              (text.has("SAT") ? kSaturate : 0);
  out.exec = narrow ? exec_int_mma<4> : exec_int_mma<8>;
  return "";
}

std::string bind_bmma(const InstrText& text, Instr& out) {
  if (!register_operands(text) || !row_col(text)) return refuse_operands(text);
  // K in words of 32 bits.
  static constexpr NamedShape shapes[] = {{"88128", {8, 4}}, {"168128", {16, 4}}, {"168256", {16, 8}}};
  Shape shape;
  if (!find_shape(text, shapes, shape) || text.has("AND") == text.has("XOR")) return refuse_modifiers(text);
  out.aux = pack_shape(shape);
  out.flags = text.has("AND") ? kAndPopc : 0;
  out.exec = exec_int_mma<32>;
  return "";
}

std::string bind_dmma(const InstrText& text, Instr& out) {
  if (!register_operands(text)) return refuse_operands(text);
  static constexpr NamedShape shapes[] = {
      {"884", {8, 4}}, {"8x8x4", {8, 4}}, {"16x8x4", {16, 4}}, {"16x8x8", {16, 8}}, {"16x8x16", {16, 16}}};
  Shape shape;
  if (!find_shape(text, shapes, shape)) return refuse_modifiers(text);
  out.aux = pack_shape(shape);
  out.exec = exec_double_mma;
  return "";
}

constexpr Latency kVariable = Latency::Variable;

constexpr OpDecl kOps[] = {
    {"HMMA", "1684 1688 16816 F16 F32 BF16 TF32", Pipe::Tensor, kVariable, bind_hmma},
    {"QMMA", "16816 16832 F16 F32 E4M3 E5M2", Pipe::Tensor, kVariable, bind_qmma},
    {"IMMA", "8816 8832 16816 16832 16864 S8 U8 S4 U4 SAT", Pipe::Tensor, kVariable, bind_imma},
    {"BMMA", "88128 168128 168256 AND XOR POPC", Pipe::Tensor, kVariable, bind_bmma},
    {"DMMA", "884 8x8x4 16x8x4 16x8x8 16x8x16", Pipe::Tensor, kVariable, bind_dmma},
};

}  // namespace

const Family& tensor_family() {
  static constexpr Family family{"tensor", kOps};
  return family;
}

}  // namespace warpath
