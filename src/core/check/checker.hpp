// Watches a grid while it runs, on one host thread: races, reads of what nobody wrote, misused barriers and
// masks.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "check/finding.hpp"
#include "check/heap.hpp"
#include "check/initialized.hpp"
#include "check/shadow.hpp"
#include "exec/state.hpp"
#include "ops/instr.hpp"
#include "sm/cta.hpp"

namespace warpath {

class Grid;

inline constexpr u32 kCheckRaces = 1u << 0;
inline constexpr u32 kCheckSync = 1u << 1;
inline constexpr u32 kCheckInitialized = 1u << 2;
inline constexpr u32 kCheckMemory = 1u << 3;  // constants and the device heap: the rest needs no watching

class Checker {
 public:
  // Lives as long as the program does: written memory outlasts grids.
  Checker(Memory& memory, u32 tools);
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  // A grid is about to run; what was found in the last one is forgotten.
  void begin(const Grid& grid);
  // Instructions of *_sync functions and the register that holds the mask, by instruction index; for the next
  // grid.
  void name_masks(std::vector<std::pair<u32, u32>> masks) { masks_ = std::move(masks); }
  // The launch that runs next, as findings about the device heap name it later on.
  void name_launch(u64 number) { launch_ = number; }
  // Device-side malloc() and free().
  u64 heap_alloc(const Warp& warp, const Instr& in, u32 lane, u64 size);
  HeapFree heap_free(const Warp& warp, const Instr& in, u32 lane, u64 address);
  const HeapWatch& heap() const { return heap_; }
  // One instruction of the warp's group, as execute() does it, with all that the checks need around it.
  void step(Warp& warp, const Instr* code, InstrCount* counts);
  // A memory instruction's lanes, before it is carried out. Addresses are offsets in shared memory.
  template <class Address>
  void access(const Instr& in, Space space, u32 mask, u32 bytes, AccessKind kind, const Address& address);

  std::vector<Finding> findings() const { return findings_.all(); }
  // False when a grid touched more memory than the race check can follow.
  bool complete() const { return !cells_.full(); }
  WrittenMemory& written() { return written_; }
  bool looks_at_accesses() const {
    return (tools_ & (kCheckRaces | kCheckInitialized)) != 0 || watches_heap();
  }
  bool watches_heap() const { return (tools_ & kCheckMemory) != 0 && memory_.has_heap(); }

 private:
  enum class Role : u8 { Plain, WarpSync, WarpMask, Fence, Barrier, Exit, Constant };

  // A barrier of a CTA between two completions, as it should be.
  struct Meeting {
    std::vector<u32> lanes;  // by warp: who has come
    std::vector<u32> waits;  // by warp: who of them waits
    Site first;
    u32 expected = 0;
    bool open = false;
    WarpClock brought;  // what those who do not wait knew
  };
  struct CtaState {
    u64 block = ~u64{0};
    CtaOrder order;
    CellBlock cells{0};
    WrittenBytes written;
    SyncPoints points;
    std::array<Meeting, kCtaBarriers> meetings;
    std::vector<Row> exits;  // by warp: the instruction that ended each lane
  };
  // A write over another's, to be looked at when it is done: equal values do not matter.
  struct Overwrite {
    Finding finding;
    const u8* place;
    u32 size;
    std::array<u8, 4> before;
  };

  CtaState& state_of(const Cta& cta);
  void classify(const Instr& in);
  void note_loop_loads(const Instr& swap);
  void note_phase_test(const Instr& test);
  void note_collective(const Instr& end);
  const u32* mask_of(const Instr& in, Row& scratch) const;
  // One lane's access.
  struct LaneAccess {
    const Instr& in;
    Space space;
    u32 lane;
    u32 bytes;
    AccessKind kind;
    u64 address;
  };
  void race(CtaState& state, const LaneAccess& access, const Mark& now);
  void visit_cell(const WarpClock& clock, const LaneAccess& access, Cell& cell, const Mark& now,
                  bool& reported);
  void remember_read(const WarpClock& clock, Cell& cell, const Mark& now, u32 lane);
  void synchronize(CtaState& state, const LaneAccess& access);
  void overwrite(const LaneAccess& access, const Mark& before);
  void initialized(CtaState& state, const LaneAccess& access);
  void heap_access(const LaneAccess& access);
  void settle_overwrites();
  void constant(const Instr& in, u32 mask);
  bool same_store(const Instr& in, u32 lane, u32 other) const;
  void arrive(CtaState& state, const Instr& in, u32 mask);
  void arrive_at(CtaState& state, const Instr& in, u32 id, u32 lanes, u32 expected, bool waits);
  void after_barriers(CtaState& state);
  void completed(CtaState& state, u32 id);
  void warp_mask(const CtaState& state, const Instr& in, u32 mask);
  void after_exit(CtaState& state, const Instr& in, u32 gone);
  static u32 passed_by(const CtaState& state, u32 warp, u32 lanes, u32 index);
  u32 launched(const Warp& warp) const;
  Site site(const Instr& in, u32 lane, AccessKind kind = AccessKind::None) const;
  void add(FindingKind kind, Space space, const Site& site, const Site& other, u64 address, u32 size,
           u32 mask);
  Site site_of(const Mark& mark, AccessKind kind) const;
  HeapSite heap_site(const Warp& warp, const Instr& in, u32 lane) const;

  Memory& memory_;
  const u32 tools_;
  const Grid* grid_ = nullptr;
  Warp* warp_ = nullptr;  // whose instruction is being carried out
  std::vector<Role> roles_;
  std::vector<bool> strong_;
  std::vector<bool> collective_;  // barriers that the compiler wrote once more for a warp that came apart
  std::vector<std::pair<u32, u32>> masks_;
  std::vector<u32> mask_register_;  // by instruction; 0: none is known, else the register + 1
  Findings findings_;
  GlobalCells cells_;
  SyncPoints points_;
  WrittenMemory written_;
  HeapWatch heap_;
  u64 launch_ = 0;
  std::unordered_map<const Cta*, CtaState> ctas_;
  const Cta* last_cta_ = nullptr;
  CtaState* last_state_ = nullptr;
  std::vector<Overwrite> overwrites_;
};

// As run_warp(), with the checks.
u64 run_warp_checked(Checker& checker, Worker& worker, Warp& warp, const Instr* code);

}  // namespace warpath
