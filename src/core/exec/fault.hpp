// What stops a grid. Thrown by exec functions, caught once in the run loop, reported to Python as a dict.
#pragma once

#include <string>

#include "exec/state.hpp"
#include "types.hpp"

namespace warpath {

enum class FaultKind : u8 {
  IllegalAddress,  // outside every mapped page
  MisalignedAddress,
  IllegalAddressSpace,  // local or shared memory, and the instruction is for global memory alone
  SharedOutOfRange,     // beyond the CTA's shared allocation, or another CTA's window
  LocalOutOfRange,
  StackOverflow,           // below the backed part of local memory
  IllegalInstruction,      // the pc left the program, or its bytes are no instruction
  UnsupportedInstruction,  // an opcode or modifier that is not declared
  DeviceAssert,
  Trap,
  DoubleFree,   // device-side free() of a block that was freed before
  InvalidFree,  // of anything else that malloc() has not returned
  Hang,         // every lane waits and nothing can release them
};

const char* fault_name(FaultKind kind);

enum class AccessKind : u8 { None, Read, Write, Atomic, Execute };
const char* access_name(AccessKind kind);

struct Fault {
  FaultKind kind = FaultKind::Trap;
  u32 index = 0;  // instruction index
  u32 lane = 0;
  u64 address = 0;
  u32 size = 0;
  AccessKind access = AccessKind::None;
  std::string message;  // one line for people
  // Filled in by the run loop.
  u64 cta = 0;
  u32 warp = 0;
};

}  // namespace warpath
