#include "ops/special.hpp"

#include <array>
#include <cstring>

#include "exec/operand.hpp"
#include "exec/run.hpp"
#include "ops/bind.hpp"
#include "sm/grid.hpp"

namespace warpath {
namespace {

enum class Special : u8 {
  Zero,
  TidX,
  TidY,
  TidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  LaneId,
  VirtId,
  VirtCfg,
  VirtualSmId,
  ClockLo,
  ClockHi,
  TimerLo,
  TimerHi,
  CgaCtaId,
  CgaSize,
  EqMask,
  LtMask,
  LeMask,
  GtMask,
  GeMask,
  SharedSize,
  SharedWindowHi,
};

struct SpecialName {
  std::string_view name;
  Special id;
};
constexpr std::array kNames = {
    SpecialName{"SRZ", Special::Zero},
    SpecialName{"SR_TID.X", Special::TidX},
    SpecialName{"SR_TID.Y", Special::TidY},
    SpecialName{"SR_TID.Z", Special::TidZ},
    SpecialName{"SR_CTAID.X", Special::CtaidX},
    SpecialName{"SR_CTAID.Y", Special::CtaidY},
    SpecialName{"SR_CTAID.Z", Special::CtaidZ},
    SpecialName{"SR_LANEID", Special::LaneId},
    SpecialName{"SR_VIRTID", Special::VirtId},
    SpecialName{"SR_VIRTCFG", Special::VirtCfg},
    SpecialName{"SR_VIRTUALSMID", Special::VirtualSmId},
    SpecialName{"SR_CLOCKLO", Special::ClockLo},
    SpecialName{"SR_CLOCKHI", Special::ClockHi},
    SpecialName{"SR_GLOBALTIMERLO", Special::TimerLo},
    SpecialName{"SR_GLOBALTIMERHI", Special::TimerHi},
    SpecialName{"SR_CgaCtaId", Special::CgaCtaId},
    SpecialName{"SR_CgaSize", Special::CgaSize},
    SpecialName{"SR_EQMASK", Special::EqMask},
    SpecialName{"SR_LTMASK", Special::LtMask},
    SpecialName{"SR_LEMASK", Special::LeMask},
    SpecialName{"SR_GTMASK", Special::GtMask},
    SpecialName{"SR_GEMASK", Special::GeMask},
    SpecialName{"SR_SMEMSZ", Special::SharedSize},
    SpecialName{"SR_SWINHI", Special::SharedWindowHi},
};

// Functional time: what the CTA has run so far, one unit per warp instruction; a timing model brings its own
// clock.
u64 clock_now(const Warp& warp) {
  const Worker& worker = *warp.worker;
  return warp.cta->clock + static_cast<u64>(worker.slice - worker.left);
}

// Registers with one value for all lanes, 64 bits wide where the pair is read at once.
u64 uniform_value(const Warp& warp, Special id) {
  const Cta& cta = *warp.cta;
  const GridSpec& spec = warp.worker->grid->spec();
  switch (id) {
    case Special::CtaidX:
      return cta.id[0];
    case Special::CtaidY:
      return cta.id[1];
    case Special::CtaidZ:
      return cta.id[2];
    // Warp slot in bits 14:8, as %warpid is read from it.
    case Special::VirtId:
      return u64{(cta.slot * static_cast<u32>(cta.warps.size()) + warp.id) & 0x7f} << 8;
    case Special::VirtCfg:
      return u64{spec.warps_per_sm} << 8;
    case Special::VirtualSmId:
      return cta.sm;
    case Special::ClockLo:
    case Special::TimerLo:
      return clock_now(warp);
    case Special::ClockHi:
    case Special::TimerHi:
      return clock_now(warp) >> 32;
    case Special::SharedSize:
      return spec.shared_bytes + spec.shared_reserved;
    case Special::SharedWindowHi:
      return spec.shared_window >> 32;
    default:
      return 0;  // SRZ; rank and size of a grid without clusters
  }
}

u32 lane_value(Special id, u32 lane) {
  const u32 bit = 1u << lane;
  switch (id) {
    case Special::LaneId:
      return lane;
    case Special::EqMask:
      return bit;
    case Special::LtMask:
      return bit - 1;
    case Special::LeMask:
      return bit | (bit - 1);
    case Special::GtMask:
      return ~(bit | (bit - 1));
    default:
      return ~(bit - 1);
  }
}

bool is_thread_id(Special id) { return id >= Special::TidX && id <= Special::TidZ; }
bool is_lane_value(Special id) {
  return id == Special::LaneId || (id >= Special::EqMask && id <= Special::GeMask);
}

void exec_s2r_thread(Warp& warp, const Instr& in, u32 mask) {
  write32(warp, in.operands[0].reg, warp.worker->grid->thread_ids(warp.id)[in.aux].v, mask);
}

void exec_s2r_lane(Warp& warp, const Instr& in, u32 mask) {
  Row row;
  for (u32 lane = 0; lane < kLanes; ++lane) row.v[lane] = lane_value(static_cast<Special>(in.aux), lane);
  write32(warp, in.operands[0].reg, row.v, mask);
}

void exec_s2r_uniform(Warp& warp, const Instr& in, u32 mask) {
  Row row;
  const u32 value = static_cast<u32>(uniform_value(warp, static_cast<Special>(in.aux)));
  for (u32& word : row.v) word = value;
  write32(warp, in.operands[0].reg, row.v, mask);
}

void exec_cs2r_pair(Warp& warp, const Instr& in, u32 mask) {
  Row64 row;
  const u64 value = uniform_value(warp, static_cast<Special>(in.aux));
  for (u64& word : row.v) word = value;
  write64(warp, in.operands[0].reg, row, mask);
}

// The uniform datapath reads the special registers of the first running lane.
void exec_s2ur(Warp& warp, const Instr& in, u32 mask) {
  const Special id = static_cast<Special>(in.aux);
  const u32 lane = lowest_lane(mask);
  u32 value;
  if (is_thread_id(id)) {
    value = warp.worker->grid->thread_ids(warp.id)[in.aux - static_cast<u32>(Special::TidX)].v[lane];
  } else if (is_lane_value(id)) {
    value = lane_value(id, lane);
  } else {
    value = static_cast<u32>(uniform_value(warp, id));
  }
  write_uniform(warp, in.operands[0].reg, value);
}

void exec_cs2ur_pair(Warp& warp, const Instr& in, u32) {
  write_uniform64(warp, in.operands[0].reg, uniform_value(warp, static_cast<Special>(in.aux)));
}

std::string find_special(const InstrText& text, OperandKind destination, Special& id) {
  if (!has_shape(text, {destination, OperandKind::Special}))
    return "expected a register and a special register";
  for (const SpecialName& entry : kNames) {
    if (entry.name != text.operand_texts[1]) continue;
    id = entry.id;
    return "";
  }
  return "special register " + text.operand_texts[1] + " is not modelled";
}

}  // namespace

std::string bind_s2r(const InstrText& text, Instr& out) {
  Special id = Special::Zero;
  const std::string error = find_special(text, OperandKind::Reg, id);
  const bool thread = is_thread_id(id);
  out.aux = static_cast<u32>(id) - (thread ? static_cast<u32>(Special::TidX) : 0);
  out.exec = thread ? exec_s2r_thread : is_lane_value(id) ? exec_s2r_lane : exec_s2r_uniform;
  return error;
}

std::string bind_s2ur(const InstrText& text, Instr& out) {
  Special id = Special::Zero;
  const std::string error = find_special(text, OperandKind::UReg, id);
  out.aux = static_cast<u32>(id);
  out.exec = exec_s2ur;
  return error;
}

std::string bind_cs2r(const InstrText& text, Instr& out) {
  Special id = Special::Zero;
  const std::string error = find_special(text, OperandKind::Reg, id);
  if (is_thread_id(id) || is_lane_value(id)) return "CS2R reads registers that are equal in all lanes";
  out.aux = static_cast<u32>(id);
  out.exec = text.has("32") ? exec_s2r_uniform : exec_cs2r_pair;
  return error;
}

std::string bind_cs2ur(const InstrText& text, Instr& out) {
  Special id = Special::Zero;
  const std::string error = find_special(text, OperandKind::UReg, id);
  out.aux = static_cast<u32>(id);
  out.exec = text.has("32") ? exec_s2ur : exec_cs2ur_pair;
  return error;
}

}  // namespace warpath
