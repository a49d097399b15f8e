#include "check/checker.hpp"

#include <algorithm>

#include "exec/operand.hpp"
#include "exec/run.hpp"
#include "memory/memory.hpp"
#include "sm/grid.hpp"

namespace warpath {

Checker::Checker(Memory& memory, u32 tools) : memory_(memory), tools_(tools), heap_(memory) {}

void Checker::begin(const Grid& grid) {
  grid_ = &grid;
  findings_.clear();
  cells_.begin_grid();
  points_.clear();
  ctas_.clear();
  overwrites_.clear();
  last_cta_ = nullptr;
  roles_.assign(grid.program().size() + 1, Role::Plain);
  strong_.assign(grid.program().size() + 1, false);
  collective_.assign(grid.program().size() + 1, false);
  mask_register_.assign(grid.program().size() + 1, 0);
  for (u32 index = 0; index < grid.program().size(); ++index) classify(grid.program().instructions()[index]);
  for (const auto& [index, reg] : masks_) {
    if (index >= grid.program().size() || reg >= kRZ) continue;
    mask_register_[index] = reg + 1;
    if (roles_[index] == Role::Plain || roles_[index] == Role::WarpSync) roles_[index] = Role::WarpMask;
  }
}

void Checker::classify(const Instr& in) {
  if (in.op == nullptr) return;
  const std::string_view name = in.op->mnemonic;
  const std::string text = grid_->program().text(in.index);
  const bool atomic = name.starts_with("ATOM") || name.starts_with("RED");
  strong_[in.index] = (atomic && name != "REDUX") || text.find(".STRONG.") != text.npos;
  Role& role = roles_[in.index];
  if (atomic && text.find(".CAST") != text.npos) note_loop_loads(in);
  if (name == "LOP3") note_phase_test(in);
  if (name == "ENDCOLLECTIVE") note_collective(in);
  if (name == "EXIT") role = Role::Exit;
  if (name == "NOP")
    role = Role::WarpSync;  // what __syncwarp() leaves where the warp is known to be together
  if (name == "WARPSYNC") role = text.find(".ALL") == text.npos ? Role::WarpMask : Role::WarpSync;
  if (name == "MEMBAR") role = Role::Fence;
  if (name == "BAR") role = Role::Barrier;
  if (name == "LDC" && (tools_ & kCheckMemory) != 0) role = Role::Constant;
}

// Atomics that shared memory does not have are loops that the compiler makes: a load, then compare-and-swap.
// The load is part of the atomic.
void Checker::note_loop_loads(const Instr& swap) {
  constexpr u32 kReach = 64;
  const std::string text = grid_->program().text(swap.index);
  const std::size_t open = text.find('['), close = text.find(']');
  if (open == text.npos || close == text.npos) return;
  const std::string place = text.substr(open, close + 1 - open);
  for (u32 index = swap.index; index > 0 && swap.index - index < kReach; --index) {
    const Instr& in = grid_->program().instructions()[index - 1];
    if (in.op == nullptr || !in.op->mnemonic.starts_with("LD")) continue;
    if (grid_->program().text(in.index).find(place) == std::string::npos) continue;
    strong_[in.index] = true;
    return;
  }
}

// Before sm_90 the test of an mbarrier's phase is a plain load of its high word and a look at bit 31 of what
// differs from the state that is waited for: LOP3.LUT P, RZ, word, 0x80000000, state, 0x48, !PT.
void Checker::note_phase_test(const Instr& test) {
  constexpr u32 kReach = 16, kPhase = 0x80000000, kDiffers = 0x48;
  const auto& ops = test.operands;
  if (test.operand_count != 7 || ops[2].kind != OperandKind::Reg) return;
  if (static_cast<u32>(ops[3].value) != kPhase || ops[5].value != kDiffers) return;
  const u16 word = ops[2].reg;
  for (u32 index = test.index; index > 0 && test.index - index < kReach; --index) {
    const Instr& in = grid_->program().instructions()[index - 1];
    if (in.op == nullptr || in.op->mnemonic != "LDS" || in.operands[0].reg != word) continue;
    strong_[in.index] = true;
    return;
  }
}

// Where a warp may have come apart (BRA.DIV), ptxas writes what follows a second time, with the barrier
// between WARPSYNC.COLLECTIVE and ENDCOLLECTIVE: another instruction, but the same barrier of the source.
void Checker::note_collective(const Instr& end) {
  for (u32 index = end.index; index > 0; --index) {
    const Instr& in = grid_->program().instructions()[index - 1];
    if (in.op == nullptr || in.op->mnemonic == "WARPSYNC") return;
    if (in.op->mnemonic == "BAR") collective_[in.index] = true;
  }
}

HeapSite Checker::heap_site(const Warp& warp, const Instr& in, u32 lane) const {
  const Row* ids = grid_->thread_ids(warp.id);
  const u32* block = warp.cta->id;
  return {
      launch_, in.index, {block[0], block[1], block[2]}, {ids[0].v[lane], ids[1].v[lane], ids[2].v[lane]}};
}

// Who had the block before does not matter.
u64 Checker::heap_alloc(const Warp& warp, const Instr& in, u32 lane, u64 size) {
  const bool watch = (tools_ & kCheckMemory) != 0;
  const u64 address = watch ? heap_.allocate(size, heap_site(warp, in, lane)) : memory_.heap_alloc(size);
  if (address == 0) return 0;
  cells_.clear(address, size);
  if ((tools_ & kCheckInitialized) != 0) written_.unmark(address, size);
  return address;
}

HeapFree Checker::heap_free(const Warp& warp, const Instr& in, u32 lane, u64 address) {
  if ((tools_ & kCheckMemory) != 0) return heap_.release(address, heap_site(warp, in, lane));
  return memory_.heap_free(address) ? HeapFree::Done : HeapFree::NotABlock;
}

Checker::CtaState& Checker::state_of(const Cta& cta) {
  if (&cta != last_cta_) {
    last_cta_ = &cta;
    last_state_ = &ctas_[&cta];
  }
  CtaState& state = *last_state_;
  if (state.block == cta.index) return state;
  state.block = cta.index;
  state.order.start(static_cast<u32>(cta.warps.size()));
  const u32 shared = static_cast<u32>(cta.shared.size());
  if (state.cells.bytes() != (shared + 3) / 4 * 4) state.cells = CellBlock(shared);
  state.cells.clear();
  state.written.reset(shared);
  state.points.clear();
  for (Meeting& meeting : state.meetings) meeting = {};
  state.exits.assign(cta.warps.size(), Row{});
  return state;
}

u32 Checker::launched(const Warp& warp) const {
  const u32(&block)[3] = grid_->spec().block;
  const u32 threads = block[0] * block[1] * block[2] - warp.id * kLanes;
  return threads >= kLanes ? kFullMask : (1u << threads) - 1;
}

Site Checker::site(const Instr& in, u32 lane, AccessKind kind) const {
  return {warp_->cta->index, warp_->id, lane, in.index, kind};
}

void Checker::add(FindingKind kind, Space space, const Site& site, const Site& other, u64 address, u32 size,
                  u32 mask) {
  Finding finding;
  finding.kind = kind;
  finding.space = space;
  finding.site = site;
  finding.other = other;
  finding.address = address;
  finding.size = size;
  finding.mask = mask;
  findings_.add(finding);
}

namespace {

// Exchanges of values between lanes, which order no memory.
bool is_shuffle(const Instr& in) {
  const std::string_view name = in.op->mnemonic;
  return name != "WARPSYNC" && name != "NOP";
}

}  // namespace

void Checker::step(Warp& warp, const Instr* code, InstrCount* counts) {
  warp_ = &warp;
  const Instr& in = code[warp.pc];
  const Role role = roles_[in.index];
  if (role == Role::Plain) {
    execute(warp, code, counts);
    if (!overwrites_.empty()) settle_overwrites();
    return;
  }
  CtaState& state = state_of(*warp.cta);
  const u32 mask = guard_mask(warp, in);
  if (mask != 0) {
    if (role == Role::Barrier) arrive(state, in, mask);
    if (role == Role::Fence) state.order.fence(warp.id);
    if (role == Role::WarpMask) warp_mask(state, in, mask);
    if (role == Role::WarpSync || (role == Role::WarpMask && !is_shuffle(in))) state.order.sync(warp.id);
    if (role == Role::Constant) constant(in, mask);
  }
  execute(warp, code, counts);
  if (role == Role::Exit && mask != 0) after_exit(state, in, mask);
  if (role == Role::Exit || role == Role::Barrier) after_barriers(state);
}

void Checker::constant(const Instr& in, u32 mask) {
  const Operand& op = in.operands[1];
  if (op.reg == kRZ || op.base_uniform) return;
  const u32* index = warp_->read_row(op.reg);
  const u32 size = warp_->banks[op.bank].size;
  for_lanes(mask, [&](u32 lane) {
    const u32 offset = index[lane] + static_cast<u32>(op.value);
    if (u64{offset} + in.aux <= size) return;
    add(FindingKind::ConstantOutOfRange, Space::Constant, site(in, lane, AccessKind::Read), {}, offset,
        in.aux, 0);
  });
}

u64 run_warp_checked(Checker& checker, Worker& worker, Warp& warp, const Instr* code) {
  InstrCount* counts = worker.counts.data();
  u64 executed = 0;
  while (worker.left > 0) {
    if (warp.active == 0 && !select_group(warp)) break;
    checker.step(warp, code, counts);
    --worker.left;
    ++executed;
  }
  return executed;
}

}  // namespace warpath
