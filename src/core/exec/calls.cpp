#include "exec/calls.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "check/checker.hpp"
#include "exec/operand.hpp"
#include "exec/run.hpp"
#include "memory/memory.hpp"
#include "sm/grid.hpp"

namespace warpath {
namespace {

constexpr u16 kFirstArgument = 4;  // R4
constexpr u64 kWindowSize = u64{1} << 24;
constexpr u32 kMaxString = 1u << 20;
constexpr u64 kSlotBytes = 128;
constexpr char kCallMark[17] = "warpath syscall";  // 16 bytes with its zero
enum class Record : u32 { Assert = 1, Text = 2 };

u32 argument32(const Warp& warp, u32 word, u32 lane) {
  return warp.read_row(static_cast<u16>(kFirstArgument + word))[lane];
}
u64 argument64(const Warp& warp, u32 word, u32 lane) {
  return static_cast<u64>(argument32(warp, word + 1, lane)) << 32 | argument32(warp, word, lane);
}

void set_result32(Warp& warp, u32 lane, u32 value) { warp.write_row(kFirstArgument)[lane] = value; }
void set_result64(Warp& warp, u32 lane, u64 value) {
  set_result32(warp, lane, static_cast<u32>(value));
  warp.write_row(kFirstArgument + 1)[lane] = static_cast<u32>(value >> 32);
}

// One byte at a generic address as the lane sees it.
u8 read_generic(const Warp& warp, const Instr& in, u32 lane, u64 address) {
  const GridSpec& spec = warp.worker->grid->spec();
  if (address - spec.local_window < kWindowSize) {
    const u64 offset = address - spec.local_window - (kWindowSize - spec.local_bytes);
    if (offset < spec.local_bytes) return warp.local[(offset / 4 * kLanes + lane) * 4 + offset % 4];
  } else if (address - spec.shared_window < warp.cta->shared.size()) {
    return warp.cta->shared[address - spec.shared_window];
  } else if (const u8* host = warp.worker->memory->mapped(address, 1)) {
    return *host;
  }
  raise_fault(FaultKind::IllegalAddress, in, lane, address, 1, AccessKind::Read,
              "a system call read an illegal address");
}

template <class T>
T read_value(const Warp& warp, const Instr& in, u32 lane, u64 address) {
  u8 bytes[sizeof(T)];
  for (u32 i = 0; i < sizeof(T); ++i) bytes[i] = read_generic(warp, in, lane, address + i);
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

std::string read_string(const Warp& warp, const Instr& in, u32 lane, u64 address) {
  std::string text;
  while (text.size() < kMaxString) {
    const u8 c = read_generic(warp, in, lane, address + text.size());
    if (c == 0) break;
    text += static_cast<char>(c);
  }
  return text;
}

template <class T>
std::string format_one(const std::string& directive, T value) {
  char small[256];
  const int length = std::snprintf(small, sizeof small, directive.c_str(), value);
  if (length < static_cast<int>(sizeof small))
    return std::string(small, static_cast<std::size_t>(length < 0 ? 0 : length));
  std::string large(static_cast<std::size_t>(length) + 1, '\0');
  std::snprintf(large.data(), large.size(), directive.c_str(), value);
  large.pop_back();
  return large;
}

// printf's directives, each taking its argument from the packed list: 4 or 8 bytes at its natural alignment.
class Formatter {
 public:
  Formatter(const Warp& warp, const Instr& in, u32 lane, u64 arguments)
      : warp_(warp), in_(in), lane_(lane), next_(arguments) {}

  std::string format(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
      if (text[i] != '%') {
        out += text[i++];
        continue;
      }
      std::size_t end = i + 1;
      while (end < text.size() && std::strchr("-+ #0123456789.*hlLqjzt", text[end]) != nullptr) ++end;
      if (end == text.size()) break;
      out += directive(text.substr(i, end - i), text[end]);
      i = end + 1;
    }
    return out;
  }
  u32 taken() const { return taken_; }

 private:
  template <class T>
  T take() {
    next_ = (next_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const T value = read_value<T>(warp_, in_, lane_, next_);
    next_ += sizeof(T);
    ++taken_;
    return value;
  }

  std::string directive(std::string flags, char kind) {
    for (std::size_t star = flags.find('*'); star != flags.npos; star = flags.find('*')) {
      flags.replace(star, 1, std::to_string(take<i32>()));
    }
    std::string bare;
    u32 longs = 0;
    for (char c : flags) {
      if (std::strchr("hlLqjzt", c) == nullptr) bare += c;
      longs += c == 'l' || c == 'q' || c == 'j' || c == 'z' || c == 't' ? 1 : 0;
    }
    const bool wide = longs != 0;
    const std::string shorts = flags.find("hh") != flags.npos  ? "hh"
                               : flags.find('h') != flags.npos ? "h"
                                                               : "";
    switch (kind) {
      case '%':
        return "%";
      case 'd':
      case 'i':
        return wide ? format_one(bare + "lld", static_cast<long long>(take<i64>()))
                    : format_one(bare + shorts + "d", take<i32>());
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return wide ? format_one(bare + "ll" + kind, static_cast<unsigned long long>(take<u64>()))
                    : format_one(bare + shorts + kind, take<u32>());
      case 'c':
        return format_one(bare + kind, take<i32>());
      case 'p':
        return format_one(bare + kind, reinterpret_cast<void*>(take<u64>()));
      case 's': {
        const u64 address = take<u64>();
        return format_one(bare + kind,
                          address == 0 ? "(null)" : read_string(warp_, in_, lane_, address).c_str());
      }
      case 'a':
      case 'A':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        return format_one(bare + kind, take<double>());
      default:
        return flags + kind;
    }
  }

  const Warp& warp_;
  const Instr& in_;
  u32 lane_;
  u64 next_;
  u32 taken_ = 0;
};

// Appends a record to the output buffer; a full buffer drops it and counts that.
void append(const SystemCall& call, Warp& warp, Record kind, const void* body, std::size_t size) {
  if (call.buffer == 0) return;
  u8* base = warp.worker->memory->checked(call.buffer, call.size);
  u64 header[2];
  std::memcpy(header, base, sizeof header);
  const u64 start = (header[0] + 7) & ~u64{7};
  const u64 total = 8 + size;
  if (start + total > call.size) {
    ++header[1];
  } else {
    const u32 head[2] = {static_cast<u32>(total), static_cast<u32>(kind)};
    std::memcpy(base + start, head, sizeof head);
    std::memcpy(base + start + 8, body, size);
    header[0] = start + total;
  }
  std::memcpy(base, header, sizeof header);
}

void call_vprintf(const SystemCall& call, Warp& warp, const Instr& in, u32 mask) {
  for_lanes(mask, [&](u32 lane) {
    const u64 text = argument64(warp, 0, lane);
    if (text == 0) {
      set_result32(warp, lane, ~0u);
      return;
    }
    Formatter formatter(warp, in, lane, argument64(warp, 2, lane));
    const std::string out = formatter.format(read_string(warp, in, lane, text));
    append(call, warp, Record::Text, out.data(), out.size());
    set_result32(warp, lane, formatter.taken());
  });
}

// __assertfail(message, file, line, function): one record per thread, then the grid ends.
void call_assertfail(const SystemCall& call, Warp& warp, const Instr& in, u32 mask) {
  const Row* ids = warp.worker->grid->thread_ids(warp.id);
  for_lanes(mask, [&](u32 lane) {
    struct {
      u64 message, file, function;
      u32 line, block[3], thread[3], padding;
    } body = {argument64(warp, 0, lane),
              argument64(warp, 2, lane),
              argument64(warp, 6, lane),
              argument32(warp, 4, lane),
              {warp.cta->id[0], warp.cta->id[1], warp.cta->id[2]},
              {ids[0].v[lane], ids[1].v[lane], ids[2].v[lane]},
              0};
    append(call, warp, Record::Assert, &body, sizeof body - sizeof body.padding);
  });
  const u32 lane = lowest_lane(mask);
  raise_fault(FaultKind::DeviceAssert, in, lane,
              "Assertion `" + read_string(warp, in, lane, argument64(warp, 0, lane)) + "` failed");
}

void call_malloc(Warp& warp, const Instr& in, u32 mask) {
  Checker* checker = warp.worker->checker;
  for_lanes(mask, [&](u32 lane) {
    const u64 size = argument64(warp, 0, lane);
    set_result64(warp, lane,
                 checker != nullptr ? checker->heap_alloc(warp, in, lane, size)
                                    : warp.worker->memory->heap_alloc(size));
  });
}

// free() of what is no live block is undefined; the model stops there.
void call_free(Warp& warp, const Instr& in, u32 mask) {
  Checker* checker = warp.worker->checker;
  for_lanes(mask, [&](u32 lane) {
    const u64 address = argument64(warp, 0, lane);
    if (address == 0) return;
    HeapFree freed = HeapFree::Done;
    if (checker != nullptr) {
      freed = checker->heap_free(warp, in, lane, address);
    } else if (!warp.worker->memory->heap_free(address)) {
      freed = HeapFree::NotABlock;
    }
    if (freed == HeapFree::Done) return;
    const bool twice = freed == HeapFree::Twice;
    raise_fault(twice ? FaultKind::DoubleFree : FaultKind::InvalidFree, in, lane, address, 0,
                AccessKind::None,
                twice ? "free() of a block that was freed before"
                      : "free() of an address that malloc() did not return, or that was freed before");
  });
}

}  // namespace

std::optional<SystemCall> find_system_call(const Memory& memory, u64 address) {
  const u8* slot = memory.mapped(address, kSlotBytes);
  if (slot == nullptr || std::memcmp(slot, kCallMark, 16) != 0) return std::nullopt;
  SystemCall call;
  const char* name = reinterpret_cast<const char*>(slot) + 0x10;
  call.name.assign(name, strnlen(name, 48));
  std::memcpy(&call.buffer, slot + 0x40, 8);
  std::memcpy(&call.size, slot + 0x48, 8);
  return call;
}

void perform(const SystemCall& call, Warp& warp, const Instr& in, u32 mask) {
  const std::string& name = call.name;
  if (warp.worker->probe != nullptr)  // what is only tried must not be seen outside
    raise_fault(FaultKind::Trap, in, lowest_lane(mask), "a system call");
  if (name == "vprintf") return call_vprintf(call, warp, in, mask);
  if (name == "__assertfail" || name == "__assert_fail") return call_assertfail(call, warp, in, mask);
  if (name == "malloc") return call_malloc(warp, in, mask);
  if (name == "free") return call_free(warp, in, mask);
  if (name == "abort") raise_fault(FaultKind::Trap, in, lowest_lane(mask), "abort() was called");
  raise_fault(FaultKind::UnsupportedInstruction, in, lowest_lane(mask),
              "device code calls " + name + ", which is not modelled");
}

}  // namespace warpath
