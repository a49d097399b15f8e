// The X-macros behind exports_*.def: each line there becomes one exported function that only marshals.
#pragma once

#include <string.h>

#include "wire.h"

#define EXPORT __attribute__((visibility("default")))

// Words of a structure argument; a trailing odd 32-bit member fills half a word.
#define WP_HALVES(s, i) ((u64)(s).w[i] | (u64)(s).w[(i) + 1] << 32)
#define W12(s) WP_HALVES(s, 0), (u64)(s).w[2]
#define W20(s) WP_HALVES(s, 0), WP_HALVES(s, 2), (u64)(s).w[4]
#define W24(s) (s).w[0], (s).w[1], (s).w[2]
#define W32(s) (s).w[0], (s).w[1], (s).w[2], (s).w[3]
#define W64(s) (s).w[0], (s).w[1], (s).w[2], (s).w[3], (s).w[4], (s).w[5], (s).w[6], (s).w[7]
#define WF(f) wp_float(f)

#define WP_WORDS(...) ((const u64[]){__VA_ARGS__ __VA_OPT__(, ) 0})
#define WP_COUNT(...) (sizeof WP_WORDS(__VA_ARGS__) / sizeof(u64) - 1)

#define WP(name, prototype, ...) \
  EXPORT u64 name prototype;     \
  EXPORT u64 name prototype { return wp_call(#name, WP_WORDS(__VA_ARGS__), WP_COUNT(__VA_ARGS__)); }

#define WP_TEXT(name, prototype, ...) \
  EXPORT const char* name prototype;  \
  EXPORT const char* name prototype { return wp_text(#name, WP_WORDS(__VA_ARGS__), WP_COUNT(__VA_ARGS__)); }

// A function that returns a channel descriptor: the server writes it through a leading pointer word.
#define WP_STRUCT(name, prototype, ...)                                                    \
  EXPORT s20 name prototype;                                                               \
  EXPORT s20 name prototype {                                                              \
    s20 out = {{0}};                                                                       \
    wp_call(#name, WP_WORDS((u64)(uintptr_t)&out, __VA_ARGS__), WP_COUNT(0, __VA_ARGS__)); \
    return out;                                                                            \
  }

static inline u64 wp_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
