#include "timing/decode.hpp"

#include <algorithm>
#include <string_view>

#include "timing/resource.hpp"

namespace warpath {
namespace {

bool any_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::string_view kMemory[] = {"LDG",  "STG",  "LD",     "ST",   "LDL",   "STL",   "LDS", "STS",
                                        "LDSM", "STSM", "LDGSTS", "ATOM", "ATOMG", "ATOMS", "RED", "REDG"};

bool is_memory_name(std::string_view name) {
  return std::find(std::begin(kMemory), std::end(kMemory), name) != std::end(kMemory);
}

// "@P0 LDG.E.64 R4, [R2]" -> "LDG.E.64"
std::string opcode_of(const Program& program, u32 index) {
  std::string text = program.text(index);
  if (!text.empty() && text[0] == '@') text.erase(0, text.find(' ') + 1);
  return text.substr(0, text.find(' '));
}

bool has_part(const std::string& opcode, std::string_view part) {
  std::size_t at = 0;
  while ((at = opcode.find('.', at)) != std::string::npos) {
    const std::size_t end = opcode.find('.', ++at);
    if (std::string_view(opcode).substr(at, end == std::string::npos ? end : end - at) == part) return true;
  }
  return false;
}

u32 registers_of_width(const std::string& opcode) {
  return has_part(opcode, "128") ? 4 : has_part(opcode, "64") ? 2 : 1;
}

// Comparisons go to the ALU, what widens to FP32 to the heavy half of the FMA pipe, what is packed to both
// halves, measured beside FADD, IADD3 and IMAD.
IssueClass half_class(std::string_view name, const std::string& opcode) {
  if (has_part(opcode, "MMA")) return IssueClass::HalfMma;
  if (has_part(opcode, "F32")) return IssueClass::Imad;
  return any_of(name, {"HSET2", "HSETP2"}) ? IssueClass::Int : IssueClass::Half;
}

IssueClass class_of_pipe(Pipe pipe, std::string_view name, const std::string& opcode) {
  switch (pipe) {
    case Pipe::Alu:
      return IssueClass::Int;
    case Pipe::Fma:
      return IssueClass::Fp32;
    case Pipe::FmaHeavy:
      return has_part(opcode, "WIDE") || has_part(opcode, "HI") ? IssueClass::ImadWide : IssueClass::Imad;
    case Pipe::Fp16:
      return half_class(name, opcode);
    case Pipe::Fp64:
      return IssueClass::Fp64;
    case Pipe::Xu:
      return IssueClass::Xu;
    case Pipe::Uniform:
      return IssueClass::Uniform;
    case Pipe::Tensor:
      return IssueClass::Tensor;
    case Pipe::Cbu:
      return name == "BRA" || name == "EXIT" ? IssueClass::Branch : IssueClass::Free;
    case Pipe::Tex:
      return IssueClass::Tex;
    case Pipe::Lsu:
      return IssueClass::Lg;
    case Pipe::Adu:
      return IssueClass::Mio;
    case Pipe::None:
      break;
  }
  return IssueClass::Free;
}

void set_memory(std::string_view name, const std::string& opcode, const Instr& in, TimedOp& op) {
  const bool shared = any_of(name, {"LDS", "STS", "ATOMS", "LDSM", "STSM"});
  op.kind = TimedKind::Memory;
  op.issue = shared ? IssueClass::Mio : IssueClass::Lg;
  op.answers_long = !shared;
  op.is_load = name.starts_with("LD") || name.starts_with("ATOM");
  op.merges = has_part(opcode, "POPC");
  op.reduces = name == "RED" || name == "REDG";
  op.floating = has_part(opcode, "F32") || has_part(opcode, "F64") || has_part(opcode, "F16x2") ||
                has_part(opcode, "BF16x2");
  op.copies = name == "LDGSTS";
  const bool strong = has_part(opcode, "STRONG") || has_part(opcode, "MMIO");
  op.bypass = op.reduces || name.starts_with("ATOMG") || name == "ATOM" ||
              (strong && !has_part(opcode, "SM") && !has_part(opcode, "CTA")) || has_part(opcode, "BYPASS");
  u32 operands = 0;
  for (u32 i = 0; i < in.operand_count; ++i) {
    const Operand& source = in.operands[i];
    if (source.kind == OperandKind::Mem && source.reg != kRZ && !source.base_uniform) {
      operands += has_part(opcode, "E") && !source.addr_u32 ? 2 : 1;
    }
    const bool data = source.kind == OperandKind::Reg && (!op.is_load || i > 1) && source.reg != kRZ;
    if (data) operands += registers_of_width(opcode);
  }
  op.late_operands = static_cast<u8>(operands);
}

bool indexes_constants(const Instr& in) {
  if (in.op == nullptr || std::string_view(in.op->mnemonic) != "LDC" || in.operand_count < 2) return false;
  const Operand& source = in.operands[1];
  return !source.generic_uniform64 && !source.base_uniform && source.reg != kRZ;
}

void set_kind(std::string_view name, Pipe pipe, const std::string& opcode, const Instr& in,
              const TimingParams& params, TimedOp& op) {
  op.issue = class_of_pipe(pipe, name, opcode);
  if (is_memory_name(name)) {
    set_memory(name, opcode, in, op);
  } else if (name == "LDC" || name == "LDCU") {
    op.kind = TimedKind::Constant;
    op.issue = IssueClass::Mio;
    op.latency =
        static_cast<u16>(indexes_constants(in) ? params.constant_latency : params.fixed_constant_latency);
  } else if (name == "R2UR") {
    op.kind = TimedKind::Unit;
    op.issue = IssueClass::Int;
    op.latency = static_cast<u16>(params.uniform_latency);
  } else if (any_of(name, {"S2R", "S2UR", "B2R", "MATCH", "REDUX", "CREDUX"})) {
    op.kind = TimedKind::Special;
    op.issue = IssueClass::Mio;
    op.latency = static_cast<u16>(name == "S2UR" ? params.uniform_special_latency : params.special_latency);
    op.reads_special = any_of(name, {"S2R", "S2UR"});
    op.groups = name == "MATCH" && has_part(opcode, "ANY");
  } else if (name == "SHFL") {
    op.kind = TimedKind::Shuffle;
    op.issue = IssueClass::Mio;
    op.latency = static_cast<u16>(params.shuffle_latency);
  } else if (name == "BAR") {
    op.kind = TimedKind::Barrier;
    op.issue = IssueClass::Free;
  } else if (any_of(name,
                    {"BRA", "BRX", "BRXU", "CALL", "RET", "BSYNC", "BREAK", "WARPSYNC", "YIELD", "JMP"})) {
    op.kind = TimedKind::Branch;
    op.far_jump = any_of(name, {"BRX", "BRXU", "CALL", "RET", "JMP"});
    op.reconverges = name == "BSYNC";
  } else if (name == "EXIT") {
    op.kind = TimedKind::Exit;
  } else if (name == "MEMBAR" && has_part(opcode, "CTA")) {  // the SM's own order is enough
    op.kind = TimedKind::Special;
    op.issue = IssueClass::Mio;
    op.latency = static_cast<u16>(params.source_release);
  } else if (any_of(name, {"MEMBAR", "FENCE", "ERRBAR", "CGAERRBAR", "CCTL", "CCTLL"})) {
    op.kind = name == "MEMBAR" ? TimedKind::Fence : TimedKind::Fixed;
    op.issue = IssueClass::Free;
  } else if (name == "DEPBAR" || name == "LDGDEPBAR") {
    op.kind = name == "DEPBAR" ? TimedKind::Depbar : TimedKind::CommitCopies;
    op.issue = IssueClass::Free;
    for (u32 i = 0; i < in.operand_count; ++i) {
      if (in.operands[i].kind == OperandKind::Scoreboard) op.depbar_sb = static_cast<u8>(in.operands[i].reg);
      if (in.operands[i].kind == OperandKind::Imm) op.depbar_count = static_cast<u8>(in.operands[i].value);
    }
  } else if (name == "NANOSLEEP") {
    op.kind = TimedKind::Sleep;
  } else if (op.issue == IssueClass::Xu || op.issue == IssueClass::Fp64 || op.issue == IssueClass::Tensor) {
    op.kind = TimedKind::Unit;
    op.latency = static_cast<u16>(op.issue == IssueClass::Xu     ? params.xu_latency
                                  : op.issue == IssueClass::Fp64 ? params.fp64_latency
                                                                 : params.tensor_latency);
  } else if (op.issue == IssueClass::Lg) {
    op.issue = IssueClass::Free;  // QSPC and other address arithmetic
  }
}

bool is_arithmetic(const TimedOp& op) {
  switch (op.issue) {
    case IssueClass::Fp32:
    case IssueClass::Int:
    case IssueClass::Imad:
    case IssueClass::ImadWide:
    case IssueClass::Half:
    case IssueClass::HalfMma:
    case IssueClass::Uniform:
      return op.kind == TimedKind::Fixed;
    case IssueClass::Fp64:
      return true;
    default:
      return false;
  }
}

// Registers in the operand slots that the collector fetches at issue, and the constant operand's cache line.
void set_operands(const Instr& in, TimedOp& op) {
  const bool collected = op.kind == TimedKind::Fixed || op.kind == TimedKind::Unit;
  u32 slot = 0;
  bool destination = true;
  for (u32 i = 0; i < in.operand_count; ++i) {
    const Operand& source = in.operands[i];
    if (source.kind == OperandKind::Const && !source.generic_uniform64 && op.kind != TimedKind::Constant) {
      op.const_line = const_line(source.bank, static_cast<u64>(source.value));
    }
    const bool any_source = source.kind == OperandKind::Reg || source.kind == OperandKind::UReg ||
                            source.kind == OperandKind::Imm || source.kind == OperandKind::Const;
    if (!any_source) continue;
    if (destination && source.kind != OperandKind::Imm && source.kind != OperandKind::Const) {
      destination = false;
      continue;
    }
    destination = false;
    if (collected && slot < 3) {
      op.sources[slot] =
          source.kind == OperandKind::Reg && source.reg != kRZ ? static_cast<u8>(source.reg) : 255;
      ++slot;
    }
  }
}

}  // namespace

bool touches_memory(const Program& program, u32 index) {
  const Instr& in = program.instructions()[index];
  return in.op != nullptr && (is_memory_name(in.op->mnemonic) || indexes_constants(in));
}

std::vector<TimedOp> decode_timing(const Program& program, const TimingParams& params) {
  std::vector<TimedOp> ops(program.size() + 1);
  for (u32 index = 0; index < program.size(); ++index) {
    const Instr& in = program.instructions()[index];
    TimedOp& op = ops[index];
    op.stall = std::max<u8>(in.control.stall, 1);
    op.yield = in.control.yield;
    op.wait_mask = in.control.wait_mask;
    op.write_sb = in.control.write_barrier;
    op.read_sb = in.control.read_barrier;
    op.reuse = in.control.reuse;
    if (in.op == nullptr) continue;
    set_kind(in.op->mnemonic, in.op->pipe, opcode_of(program, index), in, params, op);
    set_operands(in, op);
    if (op.issue == IssueClass::ImadWide)
      op.again = static_cast<u8>(less(params.classes[static_cast<u32>(op.issue)].interval, 2));
    op.held = !is_arithmetic(op);
    op.touches = op.kind == TimedKind::Memory || indexes_constants(in);
    if (op.kind == TimedKind::Constant && !op.touches && in.operand_count > 1 &&
        !in.operands[1].generic_uniform64) {
      const Operand& source = in.operands[1];
      op.const_line = const_line(source.bank, static_cast<u64>(source.value));
    }
  }
  return ops;
}

}  // namespace warpath
