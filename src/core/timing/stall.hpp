// Why a warp did not issue in a cycle: the closed list, in Nsight Compute's words.
#pragma once

#include <array>
#include <string_view>

#include "types.hpp"

namespace warpath {

enum class Stall : u8 {
  Selected,
  NotSelected,
  NoInstruction,
  Wait,
  BranchResolving,
  LongScoreboard,
  ShortScoreboard,
  MathPipeThrottle,
  MioThrottle,
  LgThrottle,
  TexThrottle,
  ImcMiss,
  Barrier,
  Membar,
  Drain,
  DispatchStall,
  Sleeping,
  Misc,
};
inline constexpr std::size_t kStalls = 18;

inline constexpr std::array<std::string_view, kStalls> kStallNames = {
    "selected",
    "not_selected",
    "no_instruction",
    "wait",
    "branch_resolving",
    "long_scoreboard",
    "short_scoreboard",
    "math_pipe_throttle",
    "mio_throttle",
    "lg_throttle",
    "tex_throttle",
    "imc_miss",
    "barrier",
    "membar",
    "drain",
    "dispatch_stall",
    "sleeping",
    "misc",
};

}  // namespace warpath
