// What SMs and the memory system say to each other, and what is counted on the way.
#pragma once

#include <vector>

#include "timing/resource.hpp"
#include "types.hpp"

namespace warpath {

inline constexpr u32 kLineBytes = 128;
inline constexpr u32 kSectorBytes = 32;
inline constexpr u32 kSectorsPerLine = 4;

enum class RequestKind : u8 { Read, Write, Reduce, Atomic, CompareSwap };

// One line's share of a memory instruction, on its way to L2.
struct Request {
  Cycle time = 0;  // when it leaves the SM
  u64 line = 0;    // address / 128
  u32 token = 0;   // the SM's name for it
  u16 sm = 0;
  u8 sectors = 0;  // mask of the line's four
  RequestKind kind = RequestKind::Read;
  u8 passes = 1;          // atomics: the most lanes on one word
  u8 sector_passes = 0;   // atomics: over its sectors, the most lanes on one word of each
  bool floating = false;  // an atomic that adds floating-point numbers
  u8 bytes = 0;           // writes: bytes of the line that are written, at most
  u64 behind = 0;         // reads: lines that the SM had stored before
};

// The answer: when a read's data is back in the SM, or when a write was taken by L2.
struct Reply {
  Cycle time = 0;
  u32 token = 0;
  Cycle done = 0;  // of a write: when the SM knows that it is done
};

// Accesses of one kind at L1: ncu's l1tex__t_* by memory and operation.
struct L1Counts {
  u64 requests = 0;
  u64 sectors = 0;
  u64 sector_hits = 0;
  u64 wavefronts = 0;
  u64 lines = 0;
};

enum class L1Op : u8 { GlobalLoad, GlobalStore, GlobalAtomic, GlobalReduce, LocalLoad, LocalStore };
inline constexpr u32 kL1Ops = 6;

struct SharedCounts {
  u64 requests = 0;
  u64 wavefronts = 0;
  u64 conflicts = 0;
};
enum class SharedOp : u8 { Load, Store, Atomic };
inline constexpr u32 kSharedOps = 3;

struct MemoryInstrCount {  // by instruction
  u64 requests = 0;
  u64 sectors = 0;
  u64 lines = 0;
  u64 wavefronts = 0;
  u64 conflicts = 0;
};

}  // namespace warpath
