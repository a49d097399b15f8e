// Decoded code: one Instr per 16 bytes of a code segment, bound to its lane semantics.
#pragma once

#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "ops/decl.hpp"

namespace warpath {

// nvdisasm's line: predicate, opcode, operands. An empty opcode stands for bytes that are no instruction.
using TextLine = std::tuple<std::string, std::string, std::string>;

// An instruction that no declaration covers, and why.
struct Undeclared {
  u32 index;
  std::string reason;
};

class Program {
 public:
  // `code` holds 16 bytes per text line. Throws std::invalid_argument when it does not.
  Program(u32 sm, u64 base, std::span<const u8> code, const std::vector<TextLine>& text);

  u32 sm() const { return sm_; }
  u64 base() const { return base_; }
  u32 size() const { return static_cast<u32>(instructions_.size() - 1); }
  // `size() + 1` instructions: the last one stands behind the end and faults.
  const Instr* instructions() const { return instructions_.data(); }
  const std::vector<Undeclared>& undeclared() const { return undeclared_; }
  // "@!P0 LDG.E R4, [R2.64]" as one line.
  std::string text(u32 index) const;
  std::string raw_hex(u32 index) const;
  std::string reason(u32 index) const;
  u64 address(u32 index) const { return base_ + u64{index} * 16; }
  // Registers that any instruction names, wide operands included.
  u32 registers() const { return registers_; }
  // Whether results can depend on the order in which CTAs run: value-returning atomics, fences between CTAs,
  // calls.
  bool order_visible() const { return order_visible_; }

 private:
  void decode(u32 index);
  void note_order(const InstrText& text);

  u32 sm_;
  u64 base_;
  std::vector<u8> code_;
  std::vector<TextLine> lines_;
  std::vector<Instr> instructions_;
  std::vector<Undeclared> undeclared_;
  u32 registers_ = 0;
  bool order_visible_ = false;
};

}  // namespace warpath
