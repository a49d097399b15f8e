// What driver API calls say of kernels: which name a function handle has, where its parameters lie, which
// function a launch names, and which images modules are loaded from. Only calls that every program makes
// through the public API are looked at, after they returned.

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "interposer.h"

enum { kMostHandles = 1 << 14, kMostParameters = 1024, kMostEnumerated = 4096, kWholeImage = 1 << 30 };

static const struct {
  const char* name;
  enum role role;
} kRoles[] = {
    {"cuModuleGetFunction", kGetsFunction},
    {"cuLibraryGetKernel", kGetsKernel},
    {"cuKernelGetFunction", kGetsSame},
    {"cuModuleEnumerateFunctions", kListsFunctions},
    {"cuLibraryEnumerateKernels", kListsKernels},
    {"cuLaunchKernel", kLaunches},
    {"cuLaunchCooperativeKernel", kLaunches},
    {"cuLaunchKernelEx", kLaunchesSecond},
    {"cuModuleLoadData", kLoadsImage},
    {"cuModuleLoadDataEx", kLoadsImage},
    {"cuModuleLoadFatBinary", kLoadsImage},
    {"cuLibraryLoadData", kLoadsImage},
    {"cuModuleLoad", kLoadsFile},
    {"cuLibraryLoadFromFile", kLoadsFile},
};

enum role wpt_role_of(const char* name) {
  size_t length = strlen(name);
  if (length > 5 && strcmp(name + length - 5, "_ptsz") == 0) length -= 5;
  for (size_t i = 0; i < sizeof kRoles / sizeof kRoles[0]; i++) {
    if (strlen(kRoles[i].name) == length && memcmp(kRoles[i].name, name, length) == 0) return kRoles[i].role;
  }
  return kNoRole;
}

uint64_t wpt_launched(enum role role, const uint64_t* arguments) {
  if (role == kLaunches) return arguments[0];
  return role == kLaunchesSecond ? arguments[1] : 0;
}

// --- handles: whether one is a function or a kernel, and whether its parameters are in the log
// ---------------------------------------------------------------------------------

enum { kIsFunction = 1, kIsKernel = 2, kDescribed = 4 };

static _Atomic uint64_t handles[kMostHandles];
static _Atomic uint8_t states[kMostHandles];

// The handle's place, made when there is none; -1 when the table is full.
static int place_of(uint64_t handle) {
  uint64_t at = (handle >> 4) * 0x9e3779b97f4a7c15u >> 50;
  for (int tries = 0; tries < kMostHandles; tries++, at = (at + 1) % kMostHandles) {
    uint64_t known = 0;
    if (atomic_compare_exchange_strong(&handles[at], &known, handle) || known == handle) return (int)at;
  }
  return -1;
}

static void name_handle(uint64_t handle, uint64_t same, uint8_t state, const char* name) {
  if (handle == 0) return;
  int at = place_of(handle);
  if (at >= 0) atomic_store(&states[at], state);
  uint64_t body[2] = {handle, same};
  struct iovec pieces[] = {{body, sizeof body}, {(void*)name, strlen(name)}};
  wpt_write(kFunction, pieces, 2);
}

static void* driver(const char* name) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == NULL) return NULL;
  void* found = wpt_lookup(library, name);
  dlclose(library);  // the program's own handle keeps it
  return found;
}

// Asked after the first launch: before it, the question itself could load the function.
static void describe(uint64_t handle) {
  int at = place_of(handle);
  uint8_t state = at < 0 ? kDescribed : atomic_load(&states[at]);
  if (state != kIsFunction && state != kIsKernel) return;
  atomic_store(&states[at], (uint8_t)(state | kDescribed));
  const char* name = state == kIsKernel ? "cuKernelGetParamInfo" : "cuFuncGetParamInfo";
  int (*ask)(uint64_t, size_t, size_t*, size_t*) = driver(name);
  if (ask == NULL) return;  // drivers before 12.4
  struct {
    uint64_t handle;
    uint32_t places[kMostParameters][2];
  } body = {.handle = handle};
  size_t count = 0, offset, size;
  while (count < kMostParameters && ask(handle, count, &offset, &size) == 0) {
    body.places[count][0] = (uint32_t)offset;
    body.places[count++][1] = (uint32_t)size;
  }
  wpt_put(kParameters, &body, sizeof body.handle + count * sizeof body.places[0]);
}

static void list(uint64_t array, uint64_t count, uint8_t state) {
  int (*ask)(const char**, uint64_t) = driver(state == kIsKernel ? "cuKernelGetName" : "cuFuncGetName");
  if (ask == NULL || array == 0) return;
  const uint64_t* each = (const uint64_t*)(uintptr_t)array;
  for (uint64_t i = 0; i < count && i < kMostEnumerated; i++) {
    const char* name;
    if (each[i] != 0 && ask(&name, each[i]) == 0) name_handle(each[i], 0, state, name);
  }
}

// --- images
// ------------------------------------------------------------------------------------------------------

struct place {
  uintptr_t address;
  uint64_t offset;
  char path[PATH_MAX];
};

// Whether one of a loaded object's segments holds the address, and where in its file that is.
static int holds(struct dl_phdr_info* object, size_t size, void* data) {
  (void)size;
  struct place* place = data;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr)* segment = &object->dlpi_phdr[i];
    uintptr_t inside = place->address - (object->dlpi_addr + segment->p_vaddr);
    if (segment->p_type != PT_LOAD || inside >= segment->p_filesz) continue;
    place->offset = segment->p_offset + inside;
    const char* name = object->dlpi_name[0] != 0 ? object->dlpi_name : "/proc/self/exe";
    if (realpath(name, place->path) == NULL) place->path[0] = 0;
    return 1;
  }
  return 0;
}

// Bytes of the fat binary or ELF file at an address, 0 for text and what is neither.
static uint64_t image_size(uint64_t at) {
  union {
    uint8_t raw[64];
    ElfW(Ehdr) elf;
    struct {
      uint32_t magic;
      uint16_t version, header;
      uint64_t content;
    } fat;
  } start;
  if (!wpt_peek(&start, at, sizeof start)) return 0;
  if (start.fat.magic == 0xba55ed50u) return start.fat.header + start.fat.content;
  if (memcmp(start.raw, ELFMAG, SELFMAG) != 0) return 0;
  uint64_t sections = start.elf.e_shoff + (uint64_t)start.elf.e_shnum * start.elf.e_shentsize;
  uint64_t segments = start.elf.e_phoff + (uint64_t)start.elf.e_phnum * start.elf.e_phentsize;
  return sections > segments ? sections : segments;
}

static void store(uint64_t at, uint64_t size) {
  if (size > kWholeImage) return;
  for (uint64_t done = 0; done < size;) {
    uint64_t piece = size - done < kChunk ? size - done : kChunk;
    struct copy copy = wpt_copy(at + done, piece);
    struct {
      uint64_t ring;
      uint32_t why, state;
      uint64_t address, asked;
    } body = {0, kImageBytes, copy.bytes == piece ? kReadable : kUnreadable, at + done, piece};
    struct iovec parts[] = {{&body, sizeof body}, {(void*)copy.data, copy.bytes}};
    wpt_write(kMemory, parts, 2);
    wpt_release(copy);
    done += piece;
    if (copy.bytes != piece) return;
  }
}

static void note_image(uint64_t address) {
  struct {
    uint32_t magic, version;
    uint64_t data;
  } wrapper;
  if (wpt_peek(&wrapper, address, sizeof wrapper) && wrapper.magic == 0x466243b1u) address = wrapper.data;
  struct place place = {.address = address};
  dl_iterate_phdr(holds, &place);
  uint64_t body[3] = {address, image_size(address), place.offset};
  struct iovec pieces[] = {{body, sizeof body}, {place.path, strlen(place.path)}};
  wpt_write(kImage, pieces, 2);
  if (wpt_options.images) store(address, body[1]);
}

static void note_file(const char* name) {
  char path[PATH_MAX];
  if (realpath(name, path) == NULL) return;
  uint64_t body[3] = {0};
  struct iovec pieces[] = {{body, sizeof body}, {path, strlen(path)}};
  wpt_write(kImage, pieces, 2);
}

static uint64_t result_at(uint64_t address) { return *(const uint64_t*)(uintptr_t)address; }

void wpt_returned(enum role role, const uint64_t* arguments) {
  uint64_t first = arguments[0], second = arguments[1];
  switch (role) {
    case kGetsFunction:
      name_handle(result_at(first), 0, kIsFunction, (const char*)(uintptr_t)arguments[2]);
      break;
    case kGetsKernel:
      name_handle(result_at(first), 0, kIsKernel, (const char*)(uintptr_t)arguments[2]);
      break;
    case kGetsSame:
      name_handle(result_at(first), second, kIsFunction, "");
      break;
    case kListsFunctions:
      list(first, second, kIsFunction);
      break;
    case kListsKernels:
      list(first, second, kIsKernel);
      break;
    case kLaunches:
    case kLaunchesSecond:
      describe(wpt_launched(role, arguments));
      break;
    case kLoadsImage:
      note_image(second);
      break;
    case kLoadsFile:
      note_file((const char*)(uintptr_t)second);
      break;
    case kNoRole:
      break;
  }
}
