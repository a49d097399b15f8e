// What a grid that does not end waits for. Copies of its warps are run on for a while, apart from the grid:
// as they stand, to see which words the spinning ones read over and over; and as if they had not to wait, to
// see who would write those words. Global memory is put back each time.
#pragma once

#include <array>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "exec/fault.hpp"
#include "exec/worker.hpp"
#include "memory/memory.hpp"
#include "sm/cta.hpp"
#include "sm/grid.hpp"

namespace warpath {

// A word: an offset in the shared memory of CTA `home`, or an address of global memory (Swap::kGlobal).
struct Word {
  u64 home = Swap::kGlobal;
  u64 address = 0;
  auto operator<=>(const Word&) const = default;
};

// A word that lanes of a spinning group read again and again.
struct Poll {
  Word word;
  u32 index = 0;  // the instruction that reads it
  u32 lanes = 0;
  u32 size = 0;
  u64 value = 0;  // at the last look; up to eight bytes
  u64 looks = 0;
};

struct Spin {
  GroupState group;
  std::vector<u32> loop;     // instructions that the group's lanes ran, in order of pc
  u64 trips = 0;             // seen by the probe
  bool constant = false;     // no register and no predicate of theirs differed between two trips
  std::vector<u16> changes;  // registers that did
  std::vector<Poll> polls;
};

// A thread that stored to a polled word, or would if it could go on.
struct Writer {
  Word word;
  u64 cta = 0;
  u32 warp = 0;
  u32 lane = 0;
  u32 index = 0;  // the storing instruction
  u64 value = 0;  // what a swap stored
  bool swapped = false;
  bool started = true;  // false: its CTA is still waiting for an SM
};

class HangProbe {
 public:
  static constexpr i64 kBudget = 20'000'000;  // instructions of all looks, and of all trials: a second each

  explicit HangProbe(Grid& grid);
  HangProbe(const HangProbe&) = delete;
  HangProbe& operator=(const HangProbe&) = delete;

  void run();
  const std::vector<Spin>& spins() const { return spins_; }
  const std::vector<Writer>& writers() const { return writers_; }

  // A memory instruction of the warp that is tried, before it is carried out.
  template <class Address>
  void access(const Instr& in, Space space, u32 mask, u32 bytes, AccessKind kind, const Address& address);

 private:
  struct Undo {
    u64 address;
    std::vector<u8> bytes;
  };
  struct Trip {  // the state of a group at the head of a loop
    u32 lanes = 0;
    std::vector<Row> rows;
    std::array<u32, 8> pred{};
    u64 count = 0;
    bool constant = true;
    std::vector<u16> changes;
  };
  using PollKey = std::tuple<u32, Word>;

  void spin(const Cta& cta, const Warp& original);
  void note_trip(const Warp& warp, u32 head);
  void collect(const Warp& original, const Cta& cta);
  void want(const Word& word);
  void go_on(const Cta& cta, const GroupState& group);
  std::vector<u32> exits(const Spin& spin) const;
  void run_free(const Cta& cta, const GroupState& group, u32 pc);
  void run_unstarted();
  bool advance(Warp& warp);
  void put_back();
  void looked(const Instr& in, u32 lane, u32 bytes, const Word& word);
  void would_write(const Instr& in, u32 lane, const Word& word);
  Warp& adopt(Cta& cta, u32 id);

  Grid& grid_;
  Memory& memory_;
  Worker worker_;
  Warp* warp_ = nullptr;  // whose instruction is tried
  bool looking_ = true;   // which words are read; else, who writes them
  bool started_ = true;
  i64 budget_ = kBudget;                // instructions left
  std::set<std::pair<u64, u32>> seen_;  // (CTA, warp) that were looked at
  std::vector<GroupState> groups_;      // of the grid, by CTA
  std::vector<Undo> undo_;
  std::map<PollKey, Poll> polls_;  // of the warp that is looked at
  std::map<u32, Trip> trips_;      // by loop head
  std::map<u32, u32> ran_;         // by instruction: lanes
  std::map<Word, u32> wanted_;     // polled words, and how many would write them
  std::vector<Spin> spins_;
  std::vector<Writer> writers_;
};

}  // namespace warpath
