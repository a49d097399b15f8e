// The Python module `_core`: memory, programs and grids. src/warpath/_core.pyi documents it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "check/bindings_check.hpp"
#include "check/checker.hpp"
#include "exec/fault.hpp"
#include "exec/program.hpp"
#include "memory/memory.hpp"
#include "ops/decl.hpp"
#include "sm/grid.hpp"
#include "timing/bindings_timing.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace warpath {
namespace {

using Dim3 = std::array<u32, 3>;

const char* pipe_name(Pipe pipe) {
  static const char* const names[] = {"alu",     "fma",    "fma_heavy", "fp16", "fp64", "xu",  "lsu",
                                      "uniform", "tensor", "cbu",       "adu",  "tex",  "none"};
  return names[static_cast<int>(pipe)];
}

const char* latency_name(Latency latency) {
  static const char* const names[] = {"fixed", "variable", "none"};
  return names[static_cast<int>(latency)];
}

const char* kind_name(OperandKind kind) {
  static const char* const names[] = {"none",  "reg", "ureg", "pred",    "upred",       "predset",    "imm",
                                      "const", "mem", "desc", "special", "convergence", "scoreboard", "text"};
  return names[static_cast<int>(kind)];
}

std::span<const u8> bytes_view(const nb::bytes& bytes) {
  return {reinterpret_cast<const u8*>(bytes.c_str()), bytes.size()};
}

nb::list op_table() {
  nb::list rows;
  for (const Family& family : families()) {
    for (const OpDecl& op : family.ops) {
      nb::dict row;
      row["mnemonic"] = nb::str(op.mnemonic.data(), op.mnemonic.size());
      row["modifiers"] = nb::str(op.modifiers.data(), op.modifiers.size()).attr("split")();
      row["pipe"] = pipe_name(op.pipe);
      row["latency"] = latency_name(op.latency);
      row["family"] = nb::str(family.name.data(), family.name.size());
      rows.append(row);
    }
  }
  return rows;
}

const Family* family_of(const OpDecl* op) {
  for (const Family& family : families()) {
    if (op >= family.ops.data() && op < family.ops.data() + family.ops.size()) return &family;
  }
  return nullptr;
}

nb::dict describe_operand(const Operand& op, const std::string& text) {
  nb::dict row;
  row["text"] = text;
  row["kind"] = kind_name(op.kind);
  row["reg"] = op.reg == kRZ ? nb::object(nb::none()) : nb::object(nb::int_(op.reg));
  row["ureg"] = op.ureg == kRZ ? nb::object(nb::none()) : nb::object(nb::int_(op.ureg));
  row["bank"] = op.bank;
  row["value"] = op.value;
  row["neg"] = op.neg;
  row["abs"] = op.abs;
  row["inv"] = op.inv;
  row["is_float"] = op.is_float;
  row["base_uniform"] = op.base_uniform;
  row["scale"] = op.scale;
  return row;
}

nb::dict parse(const std::string& opcode, const std::string& operands) {
  InstrText text;
  Instr instr;
  std::string error;
  const bool good = parse_text("", opcode, operands, 0, 0, text, instr, error);
  nb::dict result;
  result["mnemonic"] = text.mnemonic;
  result["modifiers"] = text.modifiers;
  nb::list rows;
  for (std::size_t i = 0; i < text.operands.size(); ++i)
    rows.append(describe_operand(text.operands[i], text.operand_texts[i]));
  result["operands"] = rows;
  result["error"] = good ? nb::object(nb::none()) : nb::object(nb::str(error.c_str()));
  const OpDecl* op = find_op(text.mnemonic);
  const Family* family = family_of(op);
  result["family"] =
      family ? nb::object(nb::str(family->name.data(), family->name.size())) : nb::object(nb::none());
  result["pipe"] = op ? nb::object(nb::str(pipe_name(op->pipe))) : nb::object(nb::none());
  result["latency"] = op ? nb::object(nb::str(latency_name(op->latency))) : nb::object(nb::none());
  return result;
}

// ---- Program ----

nb::list instructions(const Program& program) {
  nb::list rows;
  for (u32 index = 0; index < program.size(); ++index) {
    const Instr& in = program.instructions()[index];
    const Family* family = family_of(in.op);
    nb::dict row;
    row["pc"] = u64{index} * 16;
    row["text"] = program.text(index);
    row["family"] =
        family ? nb::object(nb::str(family->name.data(), family->name.size())) : nb::object(nb::none());
    row["pipe"] = in.op ? nb::object(nb::str(pipe_name(in.op->pipe))) : nb::object(nb::none());
    row["latency"] = in.op ? nb::object(nb::str(latency_name(in.op->latency))) : nb::object(nb::none());
    rows.append(row);
  }
  return rows;
}

nb::list undeclared(const Program& program) {
  nb::list rows;
  for (const Undeclared& entry : program.undeclared()) {
    nb::dict row;
    row["pc"] = u64{entry.index} * 16;
    row["text"] = program.text(entry.index);
    row["bytes"] = program.raw_hex(entry.index);
    row["reason"] = entry.reason;
    rows.append(row);
  }
  return rows;
}

// ---- Grid ----

Dim3 block_of(const Grid& grid, u64 cta) {
  const u32* shape = grid.spec().grid;
  return {static_cast<u32>(cta % shape[0]), static_cast<u32>(cta / shape[0] % shape[1]),
          static_cast<u32>(cta / shape[0] / shape[1])};
}

Dim3 thread_of(const Grid& grid, u32 warp, u32 lane) {
  const Row* ids = grid.thread_ids(warp);
  return {ids[0].v[lane], ids[1].v[lane], ids[2].v[lane]};
}

nb::tuple to_tuple(const Dim3& d) { return nb::make_tuple(d[0], d[1], d[2]); }

nb::list groups(const Grid& grid) {
  nb::list rows;
  for (const GroupState& group : grid.groups()) {
    nb::dict row;
    row["block"] = to_tuple(block_of(grid, group.cta));
    row["warp"] = group.warp;
    row["mask"] = group.mask;
    row["pc"] = u64{group.index} * 16;
    row["text"] = grid.program().text(group.index);
    row["state"] = group.state;
    rows.append(row);
  }
  return rows;
}

nb::object fault(const Grid& grid) {
  if (!grid.fault()) return nb::none();
  const Fault& f = *grid.fault();
  nb::dict row;
  row["kind"] = fault_name(f.kind);
  row["pc"] = u64{f.index} * 16;
  row["text"] = grid.program().text(f.index);
  row["bytes"] = grid.program().raw_hex(f.index);
  row["block"] = to_tuple(block_of(grid, f.cta));
  row["thread"] = to_tuple(thread_of(grid, f.warp, f.lane));
  row["warp"] = f.warp;
  row["lane"] = f.lane;
  row["address"] = f.address;
  row["size"] = f.size;
  row["access"] = access_name(f.access);
  row["message"] = f.message;
  return row;
}

nb::list notes(const Grid& grid) {
  nb::list rows;
  for (const Note& note : grid.notes()) {
    nb::dict row;
    row["kind"] = "out_of_bounds";
    row["pc"] = u64{note.index} * 16;
    row["text"] = grid.program().text(note.index);
    row["block"] = to_tuple(block_of(grid, note.cta));
    row["thread"] = to_tuple(thread_of(grid, note.warp, note.lane));
    row["address"] = note.address;
    row["size"] = note.size;
    row["access"] = access_name(note.access);
    row["count"] = note.count;
    rows.append(row);
  }
  return rows;
}

// Columns by instruction index, as packed little-endian u64 in bytes objects.
template <class Item, class Field>
nb::bytes column(const std::vector<Item>& items, Field field) {
  std::vector<u64> values;
  values.reserve(items.size());
  for (const Item& item : items) values.push_back(item.*field);
  return nb::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(u64));
}

// How many blocks each SM was given.
std::vector<u64> sm_blocks(const Grid& grid) {
  std::vector<u64> blocks(grid.spec().sms);
  for (std::size_t sm = 0; sm < blocks.size(); ++sm)
    blocks[sm] = (grid.blocks() + blocks.size() - 1 - sm) / blocks.size();
  return blocks;
}

// Touched global memory: distinct sectors and bytes, and [start, end) pairs as packed u64, rounded to
// `granule`.
nb::dict footprint(const Footprint& touched) {
  constexpr std::size_t kMostRanges = 8192;
  nb::dict row;
  u64 granule = 0;
  const std::vector<Footprint::Range> ranges = touched.ranges(kMostRanges, granule);
  std::vector<u64> bounds;
  bounds.reserve(2 * ranges.size());
  for (const auto& [start, end] : ranges) bounds.insert(bounds.end(), {start, end});
  row["sectors"] = touched.sectors();
  row["bytes"] = touched.bytes();
  row["granule"] = granule;
  row["ranges"] = nb::bytes(reinterpret_cast<const char*>(bounds.data()), bounds.size() * sizeof(u64));
  return row;
}

nb::dict counters(const Grid& grid) {
  const auto counts = grid.counts();
  nb::dict row;
  u64 executed = 0, threads = 0, threads_on = 0;
  for (const InstrCount& count : counts) {
    executed += count.executed;
    threads += count.threads;
    threads_on += count.threads_on;
  }
  row["inst_executed"] = executed;
  row["thread_inst_executed"] = threads;
  row["thread_inst_executed_pred_on"] = threads_on;
  row["sm_blocks"] = sm_blocks(grid);
  row["executed"] = column(counts, &InstrCount::executed);
  row["threads"] = column(counts, &InstrCount::threads);
  row["threads_on"] = column(counts, &InstrCount::threads_on);
  const auto memory = grid.memory_counts();
  if (memory.empty()) return row;
  nb::dict loads = footprint(grid.footprint(&Worker::loaded));
  row["load_footprint_sectors"] = loads["sectors"];
  row["loads"] = loads;
  row["stores"] = footprint(grid.footprint(&Worker::stored));
  row["requests"] = column(memory, &MemoryCount::requests);
  row["sectors"] = column(memory, &MemoryCount::sectors);
  row["lines"] = column(memory, &MemoryCount::lines);
  row["wavefronts"] = column(memory, &MemoryCount::wavefronts);
  row["conflicts"] = column(memory, &MemoryCount::conflicts);
  row["words"] = column(counts, &InstrCount::words);
  return row;
}

void init_grid(Grid* self, Memory& memory, const Program& program, u64 entry_va, Dim3 grid, Dim3 block,
               u32 registers, u32 shared_bytes, u32 local_bytes, std::vector<std::pair<u64, u64>> const_banks,
               u64 shared_window, u64 local_window, u32 sms, u32 blocks_per_sm, bool count, u32 warps_per_sm,
               u32 shared_reserved) {
  if (entry_va < program.base() || (entry_va - program.base()) % 16 != 0 ||
      entry_va - program.base() >= u64{program.size()} * 16) {
    throw std::invalid_argument("the entry address lies outside the program");
  }
  GridSpec spec;
  std::copy(grid.begin(), grid.end(), spec.grid);
  std::copy(block.begin(), block.end(), spec.block);
  spec.entry = static_cast<u32>((entry_va - program.base()) / 16);
  spec.registers = registers;
  spec.shared_bytes = shared_bytes;
  spec.local_bytes = local_bytes;
  spec.banks = std::move(const_banks);
  spec.shared_window = shared_window;
  spec.local_window = local_window;
  spec.sms = sms;
  spec.blocks_per_sm = blocks_per_sm;
  spec.warps_per_sm = warps_per_sm;
  spec.shared_reserved = shared_reserved;
  spec.count = count;
  new (self) Grid(memory, program, std::move(spec));
}

const char* step(Grid& grid, u64 budget, u32 threads) {
  GridState state;
  {
    nb::gil_scoped_release release;
    state = grid.step(budget, threads);
  }
  static const char* const names[] = {"running", "done", "fault"};
  return names[static_cast<int>(state)];
}

void bind_memory(nb::module_& m) {
  nb::class_<Memory>(m, "Memory")
      .def(nb::init<>())
      .def("reserve", &Memory::reserve, "base"_a, "size"_a, "fd"_a = -1)
      .def(
          "alloc",
          [](Memory& memory, u64 va, u64 size, u32 kind) {
            memory.alloc(va, size, static_cast<MemoryKind>(kind));
          },
          "va"_a, "size"_a, "kind"_a)
      .def("free", &Memory::free, "va"_a)
      .def(
          "read",
          [](const Memory& memory, u64 va, u64 size) {
            return nb::bytes(reinterpret_cast<const char*>(memory.checked(va, size)), size);
          },
          "va"_a, "size"_a)
      .def(
          "write",
          [](Memory& memory, u64 va, nb::object data) {
            Py_buffer view;
            if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
            try {
              memory.write(va, {static_cast<const u8*>(view.buf), static_cast<std::size_t>(view.len)});
            } catch (...) {
              PyBuffer_Release(&view);
              throw;
            }
            PyBuffer_Release(&view);
          },
          "va"_a, "data"_a)
      .def("fill", &Memory::fill, "va"_a, "value"_a, "size"_a, "width"_a)
      .def("copy", &Memory::copy, "dst"_a, "src"_a, "size"_a, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "view",
          [](Memory& memory, u64 va, u64 size) {
            char* host = reinterpret_cast<char*>(memory.checked(va, size));
            return nb::steal(PyMemoryView_FromMemory(host, static_cast<Py_ssize_t>(size), PyBUF_WRITE));
          },
          "va"_a, "size"_a, nb::keep_alive<0, 1>())
      .def(
          "extent",
          [](const Memory& memory, u64 va) -> nb::object {
            const Allocation* found = memory.find(va);
            if (found == nullptr) return nb::none();
            return nb::make_tuple(found->base, found->size);
          },
          "va"_a)
      .def(
          "nearest",
          [](const Memory& memory, u64 va) -> nb::list {
            nb::list rows;
            const auto [below, above] = memory.neighbours(va);
            for (const Allocation* a : {below, above}) {
              if (a != nullptr) rows.append(nb::make_tuple(a->base, a->size, static_cast<u32>(a->kind)));
            }
            return rows;
          },
          "va"_a)
      .def("allocations",
           [](const Memory& memory) {
             nb::list rows;
             for (const Allocation& a : memory.allocations())
               rows.append(nb::make_tuple(a.base, a.size, static_cast<u32>(a.kind)));
             return rows;
           })
      .def("set_heap", &Memory::set_heap, "va"_a, "size"_a);
}

}  // namespace
}  // namespace warpath

NB_MODULE(_core, m) {
  using namespace warpath;
  static nb::exception<AccessError> access_error(m, "AccessError", PyExc_ValueError);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const AccessError& error) {
      nb::object instance = nb::borrow(access_error.ptr())(error.what());
      instance.attr("address") = error.address;
      instance.attr("size") = error.size;
      PyErr_SetObject(access_error.ptr(), instance.ptr());
    }
  });
  bind_memory(m);
  nb::class_<Program>(m, "Program")
      .def(
          "__init__",
          [](Program* self, u32 sm, u64 base_va, const nb::bytes& code, const std::vector<TextLine>& text) {
            new (self) Program(sm, base_va, bytes_view(code), text);
          },
          "sm"_a, "base_va"_a, "code"_a, "text"_a)
      .def("undeclared", undeclared)
      .def("instructions", instructions)
      .def_prop_ro("sm", &Program::sm)
      .def_prop_ro("base_va", &Program::base)
      .def_prop_ro("order_visible", &Program::order_visible)
      .def("__len__", &Program::size);
  nb::class_<Grid>(m, "Grid")
      .def("__init__", init_grid, "memory"_a, "program"_a, "entry_va"_a, "grid"_a, "block"_a, "registers"_a,
           "shared_bytes"_a, "local_bytes"_a, "const_banks"_a, "shared_window"_a, "local_window"_a, "sms"_a,
           "blocks_per_sm"_a, "count"_a = false, "warps_per_sm"_a = 64, "shared_reserved"_a = 0,
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def("step", step, "budget"_a, "threads"_a = 1)
      .def("watch", &Grid::watch, "checker"_a, nb::keep_alive<1, 2>())
      .def_prop_ro("fault", fault)
      .def_prop_ro("notes", notes)
      .def_prop_ro("counters", counters)
      .def("groups", groups)
      .def(
          "text", [](const Grid& grid, u32 index) { return grid.program().text(index); }, "index"_a)
      .def_prop_ro("started", &Grid::started)
      .def_prop_ro("blocks", &Grid::blocks)
      .def("placement", [](const Grid& grid) {
        std::vector<u32> sms(grid.blocks());
        for (u64 i = 0; i < sms.size(); ++i) sms[i] = static_cast<u32>(i % grid.spec().sms);
        return nb::bytes(reinterpret_cast<const char*>(sms.data()), sms.size() * sizeof(u32));
      });
  bind_check(m);
  bind_timing(m);
  m.def("op_table", op_table);
  m.def("parse", parse, "opcode"_a, "operands"_a);
}
