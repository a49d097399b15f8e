#include "timing/params.hpp"

#include <array>
#include <stdexcept>
#include <utility>

namespace warpath {
namespace {

using Field = std::pair<const char*, u32 TimingParams::*>;

#define FIELD(name) \
  Field { #name, &TimingParams::name }
constexpr std::array kFields = {
    FIELD(sm_clock_khz),
    FIELD(sms),
    FIELD(gpcs),
    FIELD(gpc_partitions),
    FIELD(lead_sms),
    FIELD(max_warps),
    FIELD(sub_partitions),
    FIELD(greedy_window),
    FIELD(youngest_first),
    FIELD(half_takes_both),
    FIELD(register_banks),
    FIELD(register_reads),
    FIELD(register_ahead),
    FIELD(branch_redirect),
    FIELD(call_redirect),
    FIELD(reconvergence),
    FIELD(divergence_taken),
    FIELD(divergence_passed),
    FIELD(divergence_deeper),
    FIELD(divergence_interval),
    FIELD(exit_resolve),
    FIELD(exit_drain),
    FIELD(xu_ahead),
    FIELD(l0i_lines),
    FIELD(l1i_lines),
    FIELD(l1i_latency),
    FIELD(l2i_latency),
    FIELD(dram_i_latency),
    FIELD(prefetch_lines),
    FIELD(prefetch_interval),
    FIELD(prefetch_shared_interval),
    FIELD(imc_lines),
    FIELD(imc_latency),
    FIELD(imc_refetch),
    FIELD(imc_again),
    FIELD(idc_latency),
    FIELD(idc_ways),
    FIELD(idc_miss_latency),
    FIELD(idc_interval),
    FIELD(constant_line_256),
    FIELD(constant_launch_latency),
    FIELD(constant_l2_latency),
    FIELD(constant_dram_latency),
    FIELD(constant_pass_latency),
    FIELD(mio_credits),
    FIELD(lg_credits),
    FIELD(lsu_credits),
    FIELD(mio_latency),
    FIELD(mio_interval),
    FIELD(operand_interval_256),
    FIELD(misc_interval),
    FIELD(special_interval),
    FIELD(match_interval_256),
    FIELD(match_latency_256),
    FIELD(uniform_special_latency),
    FIELD(data_interval),
    FIELD(lsu_interval),
    FIELD(special_latency),
    FIELD(constant_latency),
    FIELD(fixed_constant_latency),
    FIELD(shuffle_latency),
    FIELD(shared_latency),
    FIELD(shared_atomic_latency),
    FIELD(xu_latency),
    FIELD(l1_latency),
    FIELD(source_release),
    FIELD(tensor_latency),
    FIELD(fp64_latency),
    FIELD(uniform_latency),
    FIELD(barrier_interval),
    FIELD(barrier_latency),
    FIELD(membar_latency),
    FIELD(l1_bytes),
    FIELD(l1_ways),
    FIELD(l1_miss_latency),
    FIELD(miss_interval_256),
    FIELD(store_sector_256),
    FIELD(store_partial_256),
    FIELD(store_line_256),
    FIELD(store_hold_256),
    FIELD(store_lines),
    FIELD(store_visible),
    FIELD(store_late_visible),
    FIELD(store_buffer_cycles),
    FIELD(store_credits),
    FIELD(merging_cycles),
    FIELD(merging_reads),
    FIELD(merging_depth),
    FIELD(request_latency),
    FIELD(reply_latency),
    FIELD(distance_spread),
    FIELD(reply_port_bytes),
    FIELD(gpc_port_bytes),
    FIELD(l2_partitions),
    FIELD(l2_slices),
    FIELD(l2_bytes),
    FIELD(l2_ways),
    FIELD(l2_usable_percent),
    FIELD(l2_granule_bits),
    FIELD(l2_partition_bits),
    FIELD(l2_read_256),
    FIELD(l2_sector_256),
    FIELD(l2_fill_256),
    FIELD(l2_fabric_write_bytes),
    FIELD(l2_write_sector_256),
    FIELD(l2_partial_256),
    FIELD(l2_merging_256),
    FIELD(l2_merge_cycles),
    FIELD(l2_fabric_latency),
    FIELD(l2_dirty_percent),
    FIELD(atomic_base_256),
    FIELD(atomic_again_256),
    FIELD(atomic_sector_256),
    FIELD(atomic_pass_256),
    FIELD(atomic_float_256),
    FIELD(atomic_return_256),
    FIELD(atomic_latency),
    FIELD(dram_channels),
    FIELD(dram_latency),
    FIELD(dram_spread),
    FIELD(dram_access_256),
    FIELD(dram_write_256),
    FIELD(dram_turnaround_256),
    FIELD(dram_write_batch),
    FIELD(dram_refresh_percent),
    FIELD(dram_refresh_cycles),
    FIELD(dram_access_bytes),
    FIELD(dram_reorder_percent),
    FIELD(dram_reorder_cycles),
    FIELD(dram_banks),
    FIELD(dram_row_bits),
    FIELD(dram_row_256),
    FIELD(front_end),
    FIELD(back_end),
    FIELD(launch_interval_256),
    FIELD(complete_interval_256),
    FIELD(complete_latency),
    FIELD(dispatch_latency),
    FIELD(warp_launch_interval),
    FIELD(launch_bytes),
    FIELD(quantum),
};
#undef FIELD

constexpr std::array<const char*, kIssueClasses> kClassNames = {
    "fp32",    "int",    "imad",   "imad_wide", "half", "half_mma", "fp64", "xu",
    "uniform", "branch", "tensor", "mio",       "lg",   "tex",      "free"};

u32 take(const std::map<std::string, u64>& values, const std::string& name, std::size_t& used) {
  const auto found = values.find(name);
  if (found == values.end()) throw std::invalid_argument("timing parameter " + name + " is missing");
  if (found->second > 0xffffffffu) throw std::invalid_argument("timing parameter " + name + " is too large");
  ++used;
  return static_cast<u32>(found->second);
}

}  // namespace

TimingParams TimingParams::from(const std::map<std::string, u64>& values) {
  TimingParams out;
  std::size_t used = 0;
  for (const auto& [name, member] : kFields) out.*member = take(values, name, used);
  for (u32 i = 0; i < kIssueClasses; ++i) {
    const std::string prefix = std::string("class_") + kClassNames[i];
    out.classes[i].server = take(values, prefix + "_server", used);
    out.classes[i].other = take(values, prefix + "_other", used);
    out.classes[i].interval = take(values, prefix + "_interval", used);
    if (out.classes[i].server >= kServers || out.classes[i].other >= kServers) {
      throw std::invalid_argument("timing parameter " + prefix + " names a unit above 9");
    }
  }
  out.classes[static_cast<u32>(IssueClass::Half)].both = out.half_takes_both != 0;
  for (ClassParams& own : out.classes) {
    for (u32 c = 0; c < kIssueClasses; ++c) {
      const ClassParams& other = out.classes[c];
      const bool shares = own.server == other.server || own.server == other.other ||
                          own.other == other.server || own.other == other.other;
      own.rivals |= u32{shares} << c;
    }
  }
  if (used != values.size())
    throw std::invalid_argument("timing parameters hold a name that the model does not know");
  return out;
}

}  // namespace warpath
