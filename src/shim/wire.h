// The wire between a CUDA program and the warpath server. The shim decides nothing: it sends each API call as
// a name and 64-bit words, carries out the memory accesses the server asks for, and returns the server's
// result. The frame layouts are those of src/warpath/host/protocol.py.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define WP_PROTOCOL 2u
#define WP_NOT_INITIALIZED 3u  // cudaErrorInitializationError and CUDA_ERROR_NOT_INITIALIZED

typedef uint64_t u64;

// Structures passed by value, by size. The C ABI places a structure by its size and by the class of its
// members, and all of these hold integers, so the field names do not matter.
typedef struct {
  uint32_t w[3];
} s12;
typedef struct {
  uint32_t w[5];
} s20;
typedef struct {
  u64 w[3];
} s24;
typedef struct {
  u64 w[4];
} s32;
typedef struct {
  u64 w[8];
} s64;

// The library this object became: 13 or 12 for the runtime of that major version, 0 for the driver API.
extern const uint32_t wp_library __attribute__((visibility("hidden")));

// Sends one call and serves the server's requests until it answers. Returns the result word, or
// WP_NOT_INITIALIZED when no server can be reached.
u64 wp_call(const char* name, const u64* words, size_t count) __attribute__((visibility("hidden")));

// The same for functions that return a C string: never a null or invalid pointer.
const char* wp_text(const char* name, const u64* words, size_t count) __attribute__((visibility("hidden")));
