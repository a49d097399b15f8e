#include "timing/bindings_timing.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "timing/timed_grid.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace warpath {
namespace {

nb::bytes pack(const std::vector<u64>& values) {
  return nb::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(u64));
}

nb::dict l1_dict(const SmCounters& counters) {
  static constexpr const char* kNames[kL1Ops] = {"global_ld",  "global_st", "global_atom",
                                                 "global_red", "local_ld",  "local_st"};
  nb::dict out;
  for (u32 i = 0; i < kL1Ops; ++i) {
    const L1Counts& own = counters.l1[i];
    nb::dict row;
    row["requests"] = own.requests;
    row["sectors"] = own.sectors;
    row["hits"] = own.sector_hits;
    row["wavefronts"] = own.wavefronts;
    row["lines"] = own.lines;
    out[kNames[i]] = row;
  }
  return out;
}

nb::dict shared_dict(const SmCounters& counters) {
  static constexpr const char* kNames[kSharedOps] = {"ld", "st", "atom"};
  nb::dict out;
  for (u32 i = 0; i < kSharedOps; ++i) {
    nb::dict row;
    row["requests"] = counters.shared[i].requests;
    row["wavefronts"] = counters.shared[i].wavefronts;
    row["conflicts"] = counters.shared[i].conflicts;
    out[kNames[i]] = row;
  }
  return out;
}

nb::dict memory_dict(const MemoryCounts& counts) {
  nb::dict out;
  out["dram_read_bytes"] = counts.dram_read_bytes;
  out["dram_write_bytes"] = counts.dram_write_bytes;
  out["l2_sectors"] = counts.l2_sectors;
  out["read_sectors"] = counts.read_sectors;
  out["read_hits"] = counts.read_hits;
  out["read_misses"] = counts.read_misses;
  out["write_sectors"] = counts.write_sectors;
  out["write_hits"] = counts.write_hits;
  out["other_sectors"] = counts.other_sectors;
  out["other_hits"] = counts.other_hits;
  out["read_requests"] = counts.read_requests;
  out["write_requests"] = counts.write_requests;
  out["reduce_requests"] = counts.reduce_requests;
  out["atomic_requests"] = counts.atomic_requests;
  out["cas_requests"] = counts.cas_requests;
  out["slice_cycles"] = std::max(counts.slice_read_cycles, counts.slice_write_cycles) / 256;
  out["reply_bytes"] = counts.reply_bytes;
  return out;
}

// Per instruction: a row of kStalls counts each, packed; and columns of memory counts.
nb::dict instruction_dict(const SmCounters& counters) {
  nb::dict out;
  std::vector<u64> stalls;
  for (const auto& row : counters.stalls) stalls.insert(stalls.end(), row.begin(), row.end());
  out["stalls"] = pack(stalls);
  const std::pair<const char*, u64 MemoryInstrCount::*> columns[] = {
      {"requests", &MemoryInstrCount::requests},
      {"sectors", &MemoryInstrCount::sectors},
      {"lines", &MemoryInstrCount::lines},
      {"wavefronts", &MemoryInstrCount::wavefronts},
      {"conflicts", &MemoryInstrCount::conflicts}};
  for (const auto& [name, member] : columns) {
    std::vector<u64> values;
    for (const MemoryInstrCount& row : counters.memory) values.push_back(row.*member);
    out[name] = pack(values);
  }
  return out;
}

nb::dict result(const TimedGrid& grid) {
  const TimedResult own = grid.result();
  nb::dict out;
  out["cycles"] = own.cycles;
  out["front_cycles"] = own.front_cycles;
  out["drain_cycles"] = own.drain_cycles;
  out["active_cycles"] = own.active_cycles;
  out["warp_cycles"] = own.sm.warp_cycles;
  out["issued"] = own.sm.issued;
  out["excess_sectors"] = own.sm.excess_sectors;
  out["unit_cycles"] = std::vector<u64>(own.sm.unit_cycles.begin(), own.sm.unit_cycles.end());
  out["lsu_cycles"] = own.sm.lsu_cycles;
  out["instruction_fetches"] = own.instruction_fetches;
  out["l1"] = l1_dict(own.sm);
  out["shared"] = shared_dict(own.sm);
  out["memory"] = memory_dict(own.memory);
  out["instructions"] = instruction_dict(own.sm);
  out["sm_active"] = pack(own.sm_active);
  nb::dict stalls;
  for (std::size_t s = 0; s < kStalls; ++s) {
    u64 sum = 0;
    for (const auto& row : own.sm.stalls) sum += row[s];
    stalls[nb::str(kStallNames[s].data(), kStallNames[s].size())] = sum;
  }
  out["stalls"] = stalls;
  return out;
}

// Columns by bin, rows of blocks and stretches (all packed u64), and lane addresses by instruction index.
nb::object timeline(const TimedGrid& grid) {
  const auto own = grid.timeline();
  if (!own) return nb::none();
  nb::dict out;
  out["bin_cycles"] = u64{1} << own->bits;
  out["watched_sm"] = own->watched_sm;
  out["warp_cycles"] = pack(own->warp_cycles);
  out["issued"] = pack(own->issued);
  out["dram_bytes"] = pack(own->dram_bytes);
  out["l2_sectors"] = pack(own->l2_sectors);
  std::vector<u64> rows;
  for (const CtaSpan& cta : own->ctas) rows.insert(rows.end(), {cta.block, cta.sm, cta.start, cta.end});
  out["ctas"] = pack(rows);
  rows.clear();
  for (const Stretch& s : own->stretches)
    rows.insert(rows.end(), {s.block, s.warp, s.part, s.index, s.state, s.start, s.end});
  out["stretches"] = pack(rows);
  out["dropped"] = own->dropped;
  nb::dict samples;
  for (std::size_t i = 0; i < own->samples.size(); ++i) {
    if (own->samples[i].at == kNever) continue;
    nb::list lanes;
    for (i64 address : own->samples[i].address) lanes.append(address);
    samples[nb::int_(i)] = lanes;
  }
  out["samples"] = samples;
  return out;
}

const char* step(TimedGrid& grid, u64 budget, u32 threads) {
  GridState state;
  {
    nb::gil_scoped_release release;
    state = grid.step(budget, threads);
  }
  static const char* const names[] = {"running", "done", "fault"};
  return names[static_cast<int>(state)];
}

// The stream again under other parameters, on one host thread: the same result as of a timed grid.
nb::dict replay(const Stream& stream, const std::map<std::string, u64>& params, bool stalls, bool banks,
                bool sectors, u32 blocks_per_sm) {
  std::optional<MemorySystem> memory;
  std::optional<TimedGrid> grid;
  try {
    nb::gil_scoped_release release;
    memory.emplace(*stream.before, TimingParams::from(params));
    grid.emplace(stream, *memory, Idealised{stalls, banks, sectors},
                 blocks_per_sm != 0 ? blocks_per_sm : stream.blocks_per_sm);
    while (grid->step(~u64{0} >> 1, 1) == GridState::Running) {
    }
  } catch (const Fault&) {
    throw std::runtime_error("the replay stands still: its warps wait for each other");
  }
  return result(*grid);
}

}  // namespace

void bind_timing(nb::module_& m) {
  nb::class_<MemorySystem>(m, "MemorySystem")
      .def(
          "__init__",
          [](MemorySystem* self, const std::map<std::string, u64>& params) {
            new (self) MemorySystem(TimingParams::from(params));
          },
          "params"_a)
      .def("flush", &MemorySystem::flush)
      .def("put_back", &MemorySystem::put_back)
      .def("copied", &MemorySystem::copied, "va"_a, "size"_a);
  nb::class_<TimedGrid>(m, "TimedGrid")
      .def(nb::init<Grid&, MemorySystem&, u64, u64, u64, bool>(), "grid"_a, "memory"_a, "l1_bytes"_a,
           "code_id"_a, "record"_a = 0, "timeline"_a = false, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def("step", step, "budget"_a, "threads"_a = 1)
      .def("pause_at", &TimedGrid::pause_at, "cycle"_a)
      .def_prop_ro("now", &TimedGrid::now)
      .def("result", result)
      .def("timeline", timeline)
      .def("stream", &TimedGrid::stream, nb::keep_alive<0, 1>());
  nb::class_<Stream>(m, "Stream")
      .def_prop_ro("blocks", [](const Stream& stream) { return stream.blocks; })
      .def_prop_ro("recorded", [](const Stream& stream) { return stream.ctas.size(); })
      .def_prop_ro("steps", &Stream::steps)
      .def_prop_ro("whole", &Stream::whole)
      .def("replay", replay, "params"_a, "stalls"_a = false, "banks"_a = false, "sectors"_a = false,
           "blocks_per_sm"_a = 0)
      .def("regroup", regroup, "warps"_a, nb::keep_alive<0, 1>(), nb::call_guard<nb::gil_scoped_release>())
      .def("widen", widen, "ways"_a, nb::keep_alive<0, 1>(), nb::call_guard<nb::gil_scoped_release>());
  nb::list names;
  for (std::string_view name : kStallNames) names.append(nb::str(name.data(), name.size()));
  m.attr("STALLS") = nb::tuple(names);
}

}  // namespace warpath
