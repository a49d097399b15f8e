#include "check/bindings_check.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "check/checker.hpp"
#include "check/hang_probe.hpp"
#include "memory/memory.hpp"
#include "sm/grid.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace warpath {
namespace {

const char* space_name(Space space) {
  static const char* const names[] = {"global", "shared", "local", "generic", "constant"};
  return names[static_cast<int>(space)];
}

nb::tuple block_of(const Grid& grid, u64 cta) {
  const u32* shape = grid.spec().grid;
  return nb::make_tuple(cta % shape[0], cta / shape[0] % shape[1], cta / shape[0] / shape[1]);
}

nb::dict describe_site(const Grid& grid, const Site& site) {
  const Row* ids = grid.thread_ids(site.warp);
  nb::dict row;
  row["pc"] = u64{site.index} * 16;
  row["text"] = grid.program().text(site.index);
  row["block"] = block_of(grid, site.cta);
  row["thread"] = nb::make_tuple(ids[0].v[site.lane], ids[1].v[site.lane], ids[2].v[site.lane]);
  row["warp"] = site.warp;
  row["lane"] = site.lane;
  row["access"] = access_name(site.access);
  return row;
}

nb::dict describe_heap_site(const HeapSite& site) {
  nb::dict row;
  row["launch"] = site.launch;
  row["pc"] = u64{site.index} * 16;
  row["block"] = nb::make_tuple(site.block[0], site.block[1], site.block[2]);
  row["thread"] = nb::make_tuple(site.thread[0], site.thread[1], site.thread[2]);
  return row;
}

nb::dict describe_block(const HeapBlock& block) {
  nb::dict row;
  row["address"] = block.base;
  row["size"] = block.size;
  row["made"] = describe_heap_site(block.made);
  row["freed"] = block.freed ? nb::object(describe_heap_site(*block.freed)) : nb::object(nb::none());
  return row;
}

nb::object heap_block(const Checker& checker, u64 address) {
  const HeapBlock* block = checker.heap().nearest(address);
  return block == nullptr ? nb::object(nb::none()) : nb::object(describe_block(*block));
}

nb::list heap_leaks(const Checker& checker) {
  nb::list rows;
  for (const HeapBlock& block : checker.heap().live()) rows.append(describe_block(block));
  return rows;
}

nb::list findings(const Checker& checker, const Grid& grid) {
  nb::list rows;
  for (const Finding& finding : checker.findings()) {
    nb::dict row;
    row["kind"] = finding_name(finding.kind);
    row["space"] = space_name(finding.space);
    row["site"] = describe_site(grid, finding.site);
    row["other"] = describe_site(grid, finding.other);
    row["address"] = finding.address;
    row["size"] = finding.size;
    row["count"] = finding.count;
    row["mask"] = finding.mask;
    nb::list pairs;
    for (const auto& [first, second] : finding.warps) pairs.append(nb::make_tuple(first, second));
    row["warps"] = pairs;
    if (finding.kind == FindingKind::HeapOutOfBounds || finding.kind == FindingKind::HeapUseAfterFree)
      row["heap"] = heap_block(checker, finding.address);
    rows.append(row);
  }
  return rows;
}

nb::dict describe_word(const Grid& grid, const Word& word) {
  nb::dict row;
  const bool shared = word.home != Swap::kGlobal;
  row["space"] = space_name(shared ? Space::Shared : Space::Global);
  row["home"] = shared ? nb::object(block_of(grid, word.home)) : nb::object(nb::none());
  row["address"] = word.address;
  return row;
}

nb::dict describe_spin(const Grid& grid, const Spin& spin) {
  nb::dict row;
  row["block"] = block_of(grid, spin.group.cta);
  row["warp"] = spin.group.warp;
  row["mask"] = spin.group.mask;
  nb::list loop, polls;
  for (u32 index : spin.loop) loop.append(u64{index} * 16);
  for (const Poll& poll : spin.polls) {
    nb::dict one = describe_word(grid, poll.word);
    one["pc"] = u64{poll.index} * 16;
    one["mask"] = poll.lanes;
    one["size"] = poll.size;
    one["value"] = poll.value;
    polls.append(one);
  }
  row["loop"] = loop;
  row["trips"] = spin.trips;
  row["constant"] = spin.constant;
  row["changes"] = spin.changes;
  row["polls"] = polls;
  return row;
}

nb::dict describe_writer(const Grid& grid, const Writer& writer) {
  nb::dict row = describe_word(grid, writer.word);
  const Row* ids = grid.thread_ids(writer.warp);
  row["block"] = block_of(grid, writer.cta);
  row["warp"] = writer.warp;
  row["lane"] = writer.lane;
  row["thread"] = nb::make_tuple(ids[0].v[writer.lane], ids[1].v[writer.lane], ids[2].v[writer.lane]);
  row["pc"] = u64{writer.index} * 16;
  row["value"] = writer.value;
  row["swapped"] = writer.swapped;
  row["started"] = writer.started;
  return row;
}

nb::dict probe_hang(Grid& grid) {
  HangProbe probe(grid);
  {
    nb::gil_scoped_release release;
    probe.run();
  }
  nb::list spins, writers;
  for (const Spin& spin : probe.spins()) spins.append(describe_spin(grid, spin));
  for (const Writer& writer : probe.writers()) writers.append(describe_writer(grid, writer));
  nb::dict out;
  out["spins"] = spins;
  out["writers"] = writers;
  return out;
}

}  // namespace

void bind_check(nb::module_& m) {
  nb::class_<Checker>(m, "Checker")
      .def(
          "__init__",
          [](Checker* self, Memory& memory, bool races, bool sync, bool initialized, bool memcheck) {
            const u32 tools = (races ? kCheckRaces : 0) | (sync ? kCheckSync : 0) |
                              (initialized ? kCheckInitialized : 0) | (memcheck ? kCheckMemory : 0);
            new (self) Checker(memory, tools);
            if (initialized) memory.track_writes(&self->written());
          },
          "memory"_a, "races"_a = false, "sync"_a = false, "initialized"_a = false, "memcheck"_a = false,
          nb::keep_alive<2, 1>())
      .def("findings", findings, "grid"_a)
      .def("name_masks", &Checker::name_masks, "masks"_a)
      .def("name_launch", &Checker::name_launch, "number"_a)
      .def("heap_block", heap_block, "address"_a)
      .def("heap_leaks", heap_leaks)
      .def_prop_ro("complete", &Checker::complete);
  m.def("probe_hang", probe_hang, "grid"_a);
}

}  // namespace warpath
