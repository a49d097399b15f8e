// What a board's timing is made of: plain integers, resolved by Python from the data files. Cycles are SM
// clocks; names ending in _256 are 256ths of a cycle; the meaning of each is in the data file beside its
// source.
#pragma once

#include <map>
#include <string>

#include "types.hpp"

namespace warpath {

// Groups of instructions that compete for the same issue resources.
enum class IssueClass : u8 {
  Fp32,
  Int,
  Imad,
  ImadWide,
  Half,
  HalfMma,
  Fp64,
  Xu,
  Uniform,
  Branch,
  Tensor,
  Mio,
  Lg,
  Tex,
  Free
};
inline constexpr u32 kIssueClasses = 15;
inline constexpr u32 kServers =
    10;  // execution units of a sub-partition that an issue class can name; the last stands for none

struct ClassParams {
  u32 server = 0;     // the unit it occupies
  u32 other = 0;      // a second unit that can take it instead (the same number: none)
  u32 interval = 1;   // cycles the unit is taken
  bool both = false;  // it takes the two of them at once
  u32 rivals = 0;     // the classes that share a unit with it, a bit each
};

struct TimingParams {
  // chip
  u32 sm_clock_khz = 0, sms = 0, gpcs = 0, gpc_partitions = 0, lead_sms = 0, max_warps = 0,
      sub_partitions = 0;
  // issue
  ClassParams classes[kIssueClasses];
  u32 greedy_window = 0, youngest_first = 0, half_takes_both = 0, register_banks = 0, register_reads = 0,
      register_ahead = 0, branch_redirect = 0, call_redirect = 0, reconvergence = 0, divergence_taken = 0,
      divergence_passed = 0, divergence_deeper = 0, divergence_interval = 0, exit_resolve = 0, exit_drain = 0,
      xu_ahead = 0;
  // instruction and constant fetch
  u32 l0i_lines = 0, l1i_lines = 0, l1i_latency = 0, l2i_latency = 0, dram_i_latency = 0, prefetch_lines = 0,
      prefetch_interval = 0, prefetch_shared_interval = 0, imc_lines = 0, imc_latency = 0, imc_refetch = 0,
      imc_again = 0, idc_latency = 0, idc_ways = 0, idc_miss_latency = 0, idc_interval = 0,
      constant_line_256 = 0, constant_launch_latency = 0, constant_l2_latency = 0, constant_dram_latency = 0,
      constant_pass_latency = 0;
  // memory instructions inside the SM
  u32 mio_credits = 0, lg_credits = 0, lsu_credits = 0, mio_latency = 0, mio_interval = 0,
      operand_interval_256 = 0, misc_interval = 0, special_interval = 0, match_interval_256 = 0,
      match_latency_256 = 0, uniform_special_latency = 0, data_interval = 0, lsu_interval = 0,
      special_latency = 0, constant_latency = 0, fixed_constant_latency = 0, shuffle_latency = 0,
      shared_latency = 0, shared_atomic_latency = 0, xu_latency = 0, l1_latency = 0, source_release = 0,
      tensor_latency = 0, fp64_latency = 0, uniform_latency = 0, barrier_interval = 0, barrier_latency = 0,
      membar_latency = 0, l1_bytes = 0, l1_ways = 0, l1_miss_latency = 0, miss_interval_256 = 0,
      store_sector_256 = 0, store_partial_256 = 0, store_line_256 = 0, store_hold_256 = 0, store_lines = 0,
      store_visible = 0, store_late_visible = 0, store_buffer_cycles = 0, store_credits = 0;
  // between SMs and L2
  u32 merging_cycles = 0, merging_reads = 0, merging_depth = 0, request_latency = 0, reply_latency = 0,
      distance_spread = 0, reply_port_bytes = 0, gpc_port_bytes = 0;
  // L2
  u32 l2_partitions = 0, l2_slices = 0, l2_bytes = 0, l2_ways = 0, l2_usable_percent = 0, l2_granule_bits = 0,
      l2_partition_bits = 0, l2_read_256 = 0, l2_sector_256 = 0, l2_fill_256 = 0, l2_fabric_write_bytes = 0,
      l2_write_sector_256 = 0, l2_partial_256 = 0, l2_merging_256 = 0, l2_merge_cycles = 0,
      l2_fabric_latency = 0, l2_dirty_percent = 0, atomic_base_256 = 0, atomic_again_256 = 0,
      atomic_sector_256 = 0, atomic_pass_256 = 0, atomic_float_256 = 0, atomic_return_256 = 0,
      atomic_latency = 0;
  // DRAM
  u32 dram_channels = 0, dram_latency = 0, dram_spread = 0, dram_access_256 = 0, dram_write_256 = 0,
      dram_turnaround_256 = 0, dram_write_batch = 0, dram_refresh_percent = 0, dram_refresh_cycles = 0,
      dram_access_bytes = 0, dram_reorder_percent = 0, dram_reorder_cycles = 0, dram_banks = 0,
      dram_row_bits = 0, dram_row_256 = 0;
  // launch
  u32 front_end = 0, back_end = 0, launch_interval_256 = 0, complete_interval_256 = 0, complete_latency = 0,
      dispatch_latency = 0, warp_launch_interval = 0, launch_bytes = 0;
  // how far an SM runs ahead of the rest: less than every latency between SMs
  u32 quantum = 0;

  // Every name must be present and no other: throws std::invalid_argument that names the first wrong one.
  static TimingParams from(const std::map<std::string, u64>& values);
};

}  // namespace warpath
