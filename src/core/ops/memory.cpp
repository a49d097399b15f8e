// Loads and stores of global, shared, local and generic memory, copies from global to shared, and fences.
#include <algorithm>
#include <array>

#include "exec/access.hpp"
#include "exec/lanes.hpp"
#include "exec/operand.hpp"
#include "exec/run.hpp"
#include "ops/bind.hpp"
#include "ops/families.hpp"
#include "ops/memory_ops.hpp"
#include "sm/grid.hpp"

namespace warpath {
namespace {

const Row kZeros[4] = {};

// Where a load's registers go: rows of the destination, or rows nobody reads for RZ.
template <class Kind>
struct Destination {
  explicit Destination(Warp& warp, u16 reg)
      : rows(reg == kRZ ? dropped : reinterpret_cast<Row*>(warp.write_row(reg))) {}
  Row dropped[Kind::kRegisters];
  Row* rows;
};

const Row* source_rows(const Warp& warp, u16 reg) {
  return reg == kRZ ? kZeros : reinterpret_cast<const Row*>(warp.read_row(reg));
}

// The data operand of a store may be a uniform register (sm_100 and later).
template <class Kind>
const Row* store_source(const Warp& warp, const Operand& op, Row* scratch) {
  if (op.kind == OperandKind::Reg) return source_rows(warp, op.reg);
  for (u32 word = 0; word < Kind::kRegisters; ++word) {
    const u32 value = op.kind == OperandKind::UReg && op.reg != kRZ ? warp.ureg[op.reg + word] : 0;
    std::fill_n(scratch[word].v, kLanes, value);
  }
  return scratch;
}

// Local memory is word-interleaved: byte b of lane l's word w lies at (w * 32 + l) * 4 + b.
u32 local_place(u32 offset, u32 lane) { return (offset / 4 * kLanes + lane) * 4 + offset % 4; }

template <class Kind>
void load_local(Warp& warp, const Instr& in, u32 mask, Row& offset, Row* rows) {
  if (warp.worker->observe) {
    observe_narrow(*warp.worker, in, Space::Local, mask, Kind::kBytes, AccessKind::Read, offset);
  }
  check_local(warp, in, mask, Kind::kBytes, AccessKind::Read, offset);
  using Word = std::conditional_t<(Kind::kBytes < 4), Kind, B32>;
  for (u32 word = 0; word < Kind::kRegisters; ++word) {
    Row place;
    for (int lane = 0; lane < kLanes; ++lane) place.v[lane] = local_place(offset.v[lane] + word * 4, lane);
    gather<Word>(warp.local, place.v, mask, rows + word);
  }
}

template <class Kind>
void store_local(Warp& warp, const Instr& in, u32 mask, Row& offset, const Row* rows) {
  if (warp.worker->observe) {
    observe_narrow(*warp.worker, in, Space::Local, mask, Kind::kBytes, AccessKind::Write, offset);
  }
  check_local(warp, in, mask, Kind::kBytes, AccessKind::Write, offset);
  using Word = std::conditional_t<(Kind::kBytes < 4), Kind, B32>;
  for (u32 word = 0; word < Kind::kRegisters; ++word) {
    Row place;
    for (int lane = 0; lane < kLanes; ++lane) place.v[lane] = local_place(offset.v[lane] + word * 4, lane);
    scatter<Word>(warp.local, place.v, mask, rows + word);
  }
}

template <class Kind>
void load_shared(Warp& warp, const Instr& in, u32 mask, const Row& offset, Row* rows) {
  if (warp.worker->observe) {
    observe_narrow(*warp.worker, in, Space::Shared, mask, Kind::kBytes, AccessKind::Read, offset);
  }
  check_shared(warp, in, mask, Kind::kBytes, AccessKind::Read, offset);
  gather<Kind>(warp.cta->shared.data(), offset.v, mask, rows);
}

template <class Kind>
void store_shared(Warp& warp, const Instr& in, u32 mask, const Row& offset, const Row* rows) {
  if (warp.worker->observe) {
    observe_narrow(*warp.worker, in, Space::Shared, mask, Kind::kBytes, AccessKind::Write, offset);
  }
  check_shared(warp, in, mask, Kind::kBytes, AccessKind::Write, offset);
  scatter<Kind>(warp.cta->shared.data(), offset.v, mask, rows);
}

template <class Kind>
void load_global(Warp& warp, const Instr& in, u32 mask, Row64& address, Row* rows) {
  if (warp.worker->observe) {
    observe_wide(*warp.worker, in, Space::Global, mask, Kind::kBytes, AccessKind::Read, address);
  }
  const u8* base = translate(warp, in, mask, Kind::kBytes, AccessKind::Read, address);
  gather<Kind>(base, address.v, mask, rows);
}

template <class Kind>
void store_global(Warp& warp, const Instr& in, u32 mask, Row64& address, const Row* rows) {
  if (warp.worker->observe) {
    observe_wide(*warp.worker, in, Space::Global, mask, Kind::kBytes, AccessKind::Write, address);
  }
  u8* base = translate(warp, in, mask, Kind::kBytes, AccessKind::Write, address);
  scatter<Kind>(base, address.v, mask, rows);
}

// Host address of a full warp's consecutive elements, or null when the access is of any other shape. The
// common case of well-written kernels, decided on 32-bit words.
template <class Kind>
u8* consecutive(Warp& warp, const Instr& in, const Operand& op, u32 mask) {
  const bool plain = mask == kFullMask && (in.flags & kWideAddress) != 0 && !op.base_uniform &&
                     !op.addr_u32 && op.ureg == kRZ && op.reg != kRZ && !warp.worker->observe;
  if (!plain) return nullptr;
  const u32* lo = warp.read_row(op.reg);
  const u32* hi = lo + kLanes;
  const u32 first = lo[0], high = hi[0];
  u32 different = 0;
  for (u32 lane = 0; lane < kLanes; ++lane)
    different |= (lo[lane] - first - lane * Kind::kBytes) | (hi[lane] - high);
  if (different != 0 || first > ~u32{0} - kLanes * Kind::kBytes) return nullptr;
  const i64 address = static_cast<i64>(((static_cast<u64>(high) << 32) | first) + static_cast<u64>(op.value));
  const AccessSlot& slot = warp.worker->slots[in.index];
  const i64 offset = address - slot.lo;
  if (offset < 0 || offset > slot.limit - kLanes * i64{Kind::kBytes} || address % Kind::kBytes != 0)
    return nullptr;
  return slot.host + offset;
}

template <class Kind>
void exec_ldg(Warp& warp, const Instr& in, u32 mask) {
  const Operand& op = in.operands[1];
  Destination<Kind> out(warp, in.operands[0].reg);
  if (const u8* host = consecutive<Kind>(warp, in, op, mask)) {
    lanes_to_rows(host, out.rows, static_cast<const Kind*>(nullptr));
  } else {
    Row64 address;
    wide_addresses(warp, in, op, mask, address);
    load_global<Kind>(warp, in, mask, address, out.rows);
  }
  if (in.flags & kPolls) charge_poll(*warp.worker);
}

template <class Kind>
void exec_stg(Warp& warp, const Instr& in, u32 mask) {
  const Operand& op = in.operands[0];
  Row scratch[Kind::kRegisters];
  const Row* rows = store_source<Kind>(warp, in.operands[1], scratch);
  if (u8* host = consecutive<Kind>(warp, in, op, mask)) {
    LaneMajor<Kind> values;
    rows_to_lanes(rows, values);
    std::memcpy(host, values.bytes, sizeof values.bytes);
    return;
  }
  Row64 address;
  wide_addresses(warp, in, op, mask, address);
  store_global<Kind>(warp, in, mask, address, rows);
}

template <class Kind>
void exec_ld(Warp& warp, const Instr& in, u32 mask) {
  const GridSpec& spec = warp.worker->grid->spec();
  Destination<Kind> out(warp, in.operands[0].reg);
  Row64 address;
  wide_addresses(warp, in, in.operands[1], mask, address);
  const Windows windows = split_windows(warp, mask, address);
  const u32 global = mask & ~(windows.shared | windows.local);
  Row offset;
  if (windows.shared != 0) {
    window_offsets(address, spec.shared_window, windows.shared, offset);
    load_shared<Kind>(warp, in, windows.shared, offset, out.rows);
  }
  if (windows.local != 0) {
    window_offsets(address, spec.local_window, windows.local, offset);
    load_local<Kind>(warp, in, windows.local, offset, out.rows);
  }
  if (global != 0) {
    keep_lanes(global, address);
    load_global<Kind>(warp, in, global, address, out.rows);
  }
  if (in.flags & kPolls) charge_poll(*warp.worker);
}

template <class Kind>
void exec_st(Warp& warp, const Instr& in, u32 mask) {
  const GridSpec& spec = warp.worker->grid->spec();
  Row scratch[Kind::kRegisters];
  const Row* rows = store_source<Kind>(warp, in.operands[1], scratch);
  Row64 address;
  wide_addresses(warp, in, in.operands[0], mask, address);
  const Windows windows = split_windows(warp, mask, address);
  const u32 global = mask & ~(windows.shared | windows.local);
  Row offset;
  if (windows.shared != 0) {
    window_offsets(address, spec.shared_window, windows.shared, offset);
    store_shared<Kind>(warp, in, windows.shared, offset, rows);
  }
  if (windows.local != 0) {
    window_offsets(address, spec.local_window, windows.local, offset);
    store_local<Kind>(warp, in, windows.local, offset, rows);
  }
  if (global != 0) {
    keep_lanes(global, address);
    store_global<Kind>(warp, in, global, address, rows);
  }
}

// The common case of a full warp's access with a register base, checked while the addresses are made.
template <class Kind>
bool plain_shared(Warp& warp, const Operand& op, u32 mask, Row& offset) {
  if (mask != kFullMask || op.base_uniform || warp.worker->observe) return false;
  const u32 size = static_cast<u32>(warp.cta->shared.size());
  return narrow_addresses_within<Kind::kBytes>(warp, op, size, offset);
}

template <class Kind>
void exec_lds(Warp& warp, const Instr& in, u32 mask) {
  Row offset;
  if (plain_shared<Kind>(warp, in.operands[1], mask, offset)) {
    Destination<Kind> out(warp, in.operands[0].reg);
    gather<Kind>(warp.cta->shared.data(), offset.v, mask, out.rows);
    return;
  }
  narrow_addresses(warp, in.operands[1], mask, offset);
  Destination<Kind> out(warp, in.operands[0].reg);
  load_shared<Kind>(warp, in, mask, offset, out.rows);
}

template <class Kind>
void exec_sts(Warp& warp, const Instr& in, u32 mask) {
  Row offset;
  Row scratch[Kind::kRegisters];
  if (plain_shared<Kind>(warp, in.operands[0], mask, offset)) {
    warp.cta->shared_written = true;
    scatter<Kind>(warp.cta->shared.data(), offset.v, mask, store_source<Kind>(warp, in.operands[1], scratch));
    return;
  }
  narrow_addresses(warp, in.operands[0], mask, offset);
  store_shared<Kind>(warp, in, mask, offset, store_source<Kind>(warp, in.operands[1], scratch));
}

template <class Kind>
void exec_ldl(Warp& warp, const Instr& in, u32 mask) {
  Row offset;
  narrow_addresses(warp, in.operands[1], mask, offset);
  Destination<Kind> out(warp, in.operands[0].reg);
  load_local<Kind>(warp, in, mask, offset, out.rows);
}

template <class Kind>
void exec_stl(Warp& warp, const Instr& in, u32 mask) {
  Row offset;
  narrow_addresses(warp, in.operands[0], mask, offset);
  Row scratch[Kind::kRegisters];
  store_local<Kind>(warp, in, mask, offset, store_source<Kind>(warp, in.operands[1], scratch));
}

// LDGSTS: [shared], [global]. The copy is done at once; when it would have arrived is the clock's business.
template <class Kind>
void exec_ldgsts(Warp& warp, const Instr& in, u32 mask) {
  Row offset;
  Row64 address;
  narrow_addresses(warp, in.operands[0], mask, offset);
  wide_addresses(warp, in, in.operands[1], mask, address);
  Row rows[Kind::kRegisters];
  // ".ZFILL"-style predicates: a lane whose trailing predicate is false stores zeros instead of loading.
  u32 loading = mask;
  if (in.operand_count > 2) loading &= pred_mask(warp, in.operands[2]);
  for (Row& row : rows) std::fill_n(row.v, kLanes, 0u);
  if (loading != 0) {
    keep_lanes(loading, address);
    load_global<Kind>(warp, in, loading, address, rows);
  }
  // The clock is told of the access that goes out to memory.
  const Access outside = warp.worker->access;
  store_shared<Kind>(warp, in, mask, offset, rows);
  warp.worker->access = outside;
  if (loading == 0) warp.worker->access.mask = 0;
}

// LDSM: lane i of each group of 8 gives the address of a row of 16 bytes; matrix m is read through lanes
// 8m..8m+7. Without .T lane l receives word l % 4 of row l / 4; with .T it receives the two halves l / 4 of
// rows 2 (l % 4) and the next.
void exec_ldsm(Warp& warp, const Instr& in, u32 mask) {
  const u32 matrices = in.aux;
  const bool transpose = (in.flags & kTransposed) != 0;
  Row offset;
  narrow_addresses(warp, in.operands[1], mask, offset);
  const u32 lanes = matrices == 4 ? kFullMask : (1u << (8 * matrices)) - 1;
  for (u32 lane = 8 * matrices; lane < kLanes; ++lane) offset.v[lane] = offset.v[0];
  if (warp.worker->observe)
    observe_narrow(*warp.worker, in, Space::Shared, lanes, 16, AccessKind::Read, offset);
  check_shared(warp, in, lanes, 16, AccessKind::Read, offset);
  const u8* shared = warp.cta->shared.data();
  for (u32 matrix = 0; matrix < matrices; ++matrix) {
    u16 tile[8][8];
    for (u32 row = 0; row < 8; ++row) std::memcpy(tile[row], shared + offset.v[matrix * 8 + row], 16);
    Row out;
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u32 row = lane / 4, column = lane % 4 * 2;
      const u32 low = transpose ? tile[column][row] : tile[row][column];
      const u32 high = transpose ? tile[column + 1][row] : tile[row][column + 1];
      out.v[lane] = low | high << 16;
    }
    const u16 reg = in.operands[0].reg;
    write32(warp, reg == kRZ ? kRZ : static_cast<u16>(reg + matrix), out.v, mask);
  }
}

// STSM: the reverse of LDSM.
void exec_stsm(Warp& warp, const Instr& in, u32 mask) {
  const u32 matrices = in.aux;
  const bool transpose = (in.flags & kTransposed) != 0;
  Row offset;
  narrow_addresses(warp, in.operands[0], mask, offset);
  const u32 lanes = matrices == 4 ? kFullMask : (1u << (8 * matrices)) - 1;
  for (u32 lane = 8 * matrices; lane < kLanes; ++lane) offset.v[lane] = offset.v[0];
  if (warp.worker->observe)
    observe_narrow(*warp.worker, in, Space::Shared, lanes, 16, AccessKind::Write, offset);
  check_shared(warp, in, lanes, 16, AccessKind::Write, offset);
  u8* shared = warp.cta->shared.data();
  const Row* rows = source_rows(warp, in.operands[1].reg);
  for (u32 matrix = 0; matrix < matrices; ++matrix) {
    u16 tile[8][8];
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u32 row = lane / 4, column = lane % 4 * 2;
      const u32 word = rows[matrix].v[lane];
      (transpose ? tile[column][row] : tile[row][column]) = static_cast<u16>(word);
      (transpose ? tile[column + 1][row] : tile[row][column + 1]) = static_cast<u16>(word >> 16);
    }
    for (u32 row = 0; row < 8; ++row) std::memcpy(shared + offset.v[matrix * 8 + row], tile[row], 16);
  }
}

// QSPC: which space a generic address is in.
void exec_qspc(Warp& warp, const Instr& in, u32 mask) {
  Row64 address;
  wide_addresses(warp, in, in.operands[2], mask, address);
  const Windows windows = split_windows(warp, mask, address);
  const std::array<u32, 3> answers = {~(windows.shared | windows.local), windows.shared, windows.local};
  write_pred(warp, in.operands[0], answers[in.aux], mask);
}

// Everything is visible to everyone at once in functional mode: order is what the interpreter does anyway.
void exec_nothing(Warp&, const Instr&, u32) {}

// ---- bind ----

template <template <class> class Op>
ExecFn by_width(const InstrText& text) {
  if (text.has("U8")) return Op<U8>::run;
  if (text.has("S8")) return Op<S8>::run;
  if (text.has("U16")) return Op<U16>::run;
  if (text.has("S16")) return Op<S16>::run;
  if (text.has("64")) return Op<B64>::run;
  if (text.has("128")) return Op<B128>::run;
  return Op<B32>::run;
}

#define WARPATH_WIDTHS(name, function)                                                         \
  template <class Kind>                                                                        \
  struct name {                                                                                \
    static void run(Warp& warp, const Instr& in, u32 mask) { function<Kind>(warp, in, mask); } \
  }
WARPATH_WIDTHS(Ldg, exec_ldg);
WARPATH_WIDTHS(Stg, exec_stg);
WARPATH_WIDTHS(Ld, exec_ld);
WARPATH_WIDTHS(St, exec_st);
WARPATH_WIDTHS(Lds, exec_lds);
WARPATH_WIDTHS(Sts, exec_sts);
WARPATH_WIDTHS(Ldl, exec_ldl);
WARPATH_WIDTHS(Stl, exec_stl);
WARPATH_WIDTHS(Ldgsts, exec_ldgsts);
#undef WARPATH_WIDTHS

u32 address_flags(const InstrText& text) {
  const bool strong = text.has("STRONG") && (text.has("GPU") || text.has("SYS"));
  return (text.has("E") ? kWideAddress : 0) | (strong ? kPolls : 0);
}

template <template <class> class Op>
std::string bind_load(const InstrText& text, Instr& out) {
  if (!has_shape(text, {OperandKind::Reg, OperandKind::Mem})) return "expected a register and an address";
  out.flags = address_flags(text);
  out.exec = by_width<Op>(text);
  return "";
}

template <template <class> class Op>
std::string bind_store(const InstrText& text, Instr& out) {
  const bool good = has_shape(text, {OperandKind::Mem, OperandKind::Reg}) ||
                    has_shape(text, {OperandKind::Mem, OperandKind::UReg});
  if (!good) return "expected an address and a register";
  out.flags = address_flags(text);
  out.exec = by_width<Op>(text);
  return "";
}

std::string bind_ldgsts(const InstrText& text, Instr& out) {
  const bool good = has_shape(text, {OperandKind::Mem, OperandKind::Mem}) ||
                    has_shape(text, {OperandKind::Mem, OperandKind::Mem, OperandKind::Pred});
  if (!good) return "expected two addresses";
  out.flags = address_flags(text);
  out.exec = by_width<Ldgsts>(text);
  return "";
}

std::string bind_matrix(const InstrText& text, Instr& out, ExecFn exec) {
  if (!text.has("16") || !(text.has("M88") || text.has("MT88")))
    return "only 8x8 matrices of 16-bit elements";
  out.aux = text.has("4") ? 4 : text.has("2") ? 2 : 1;
  out.flags = text.has("MT88") ? kTransposed : 0;
  out.exec = exec;
  return "";
}

std::string bind_ldsm(const InstrText& text, Instr& out) {
  if (!has_shape(text, {OperandKind::Reg, OperandKind::Mem})) return "expected a register and an address";
  return bind_matrix(text, out, exec_ldsm);
}

std::string bind_stsm(const InstrText& text, Instr& out) {
  if (!has_shape(text, {OperandKind::Mem, OperandKind::Reg})) return "expected an address and a register";
  return bind_matrix(text, out, exec_stsm);
}

std::string bind_qspc(const InstrText& text, Instr& out) {
  if (!has_shape(text, {OperandKind::Pred, OperandKind::Reg, OperandKind::Mem}) ||
      out.operands[1].reg != kRZ) {
    return "expected a predicate, RZ and an address";
  }
  out.flags = address_flags(text);
  out.aux = text.has("S") || text.has("D") ? 1
            : text.has("L")                ? 2
                                           : 0;  // .D: shared of any CTA of the cluster
  out.exec = exec_qspc;
  return "";
}

std::string bind_nothing(const InstrText&, Instr& out) {
  out.exec = exec_nothing;
  return "";
}

#define GLOBAL_MODIFIERS                                                                              \
  "E U8 S8 U16 S16 64 128 SYS GPU SM CTA VC STRONG WEAK CONSTANT PRIVATE MMIO EF EL LU EU NA LTC64B " \
  "LTC128B LTC256B"

constexpr std::array kOps = {
    OpDecl{"LDG", GLOBAL_MODIFIERS, Pipe::Lsu, Latency::Variable, bind_load<Ldg>},
    OpDecl{"STG", GLOBAL_MODIFIERS, Pipe::Lsu, Latency::Variable, bind_store<Stg>},
    OpDecl{"LD", GLOBAL_MODIFIERS, Pipe::Lsu, Latency::Variable, bind_load<Ld>},
    OpDecl{"ST", GLOBAL_MODIFIERS, Pipe::Lsu, Latency::Variable, bind_store<St>},
    OpDecl{"LDS", "U U8 S8 U16 S16 64 128", Pipe::Lsu, Latency::Variable, bind_load<Lds>},
    OpDecl{"STS", "U8 S8 U16 S16 64 128", Pipe::Lsu, Latency::Variable, bind_store<Sts>},
    OpDecl{"LDL", "U8 S8 U16 S16 64 128 LU EF EL", Pipe::Lsu, Latency::Variable, bind_load<Ldl>},
    OpDecl{"STL", "U8 S8 U16 S16 64 128 LU EF EL", Pipe::Lsu, Latency::Variable, bind_store<Stl>},
    OpDecl{"LDGSTS", "E 64 128 BYPASS ACCESS LTC64B LTC128B LTC256B ZFILL EF EL", Pipe::Lsu,
           Latency::Variable, bind_ldgsts},
    OpDecl{"LDSM", "16 M88 MT88 2 4", Pipe::Lsu, Latency::Variable, bind_ldsm},
    OpDecl{"STSM", "16 M88 MT88 2 4", Pipe::Lsu, Latency::Variable, bind_stsm},
    OpDecl{"QSPC", "E G S D L", Pipe::Lsu, Latency::Variable, bind_qspc},
    OpDecl{"LDC", "U8 S8 U16 S16 64", Pipe::Lsu, Latency::Variable, bind_ldc},
    OpDecl{"LDCU", "U8 S8 U16 S16 64 128", Pipe::Uniform, Latency::Variable, bind_ldcu},
    OpDecl{"ULDC", "U8 S8 U16 S16 64 128", Pipe::Uniform, Latency::Fixed, bind_ldcu},
    OpDecl{"LDGDEPBAR", "", Pipe::Lsu, Latency::Variable, bind_nothing},
    OpDecl{"DEPBAR", "LE", Pipe::Cbu, Latency::Fixed, bind_nothing},
    OpDecl{"MEMBAR", "SC ALL CTA GPU SYS VC", Pipe::Lsu, Latency::Variable, bind_nothing},
    OpDecl{"FENCE", "VIEW ASYNC S G T", Pipe::Lsu, Latency::Variable, bind_nothing},
    OpDecl{"CCTL", "E U C I D IVALL IVALLP PF1 PF1.5 PF2 WB IV RS RSLB RML2 WBALL WBALLP DML2 PML2 QRY1",
           Pipe::Lsu, Latency::Variable, bind_nothing},
    OpDecl{"CCTLL", "IVALL IV WB PF1 PF2 RS", Pipe::Lsu, Latency::Variable, bind_nothing},
    OpDecl{"ERRBAR", "", Pipe::Lsu, Latency::Variable, bind_nothing},
    OpDecl{"CGAERRBAR", "", Pipe::Lsu, Latency::Variable, bind_nothing},
};

}  // namespace

const Family& memory_family() {
  static const Family family{"memory", kOps};
  return family;
}

}  // namespace warpath
