// libcudart.so: compiled once per major version, with -DWP_LIBRARY=13 or 12.
#include "exports.h"

const uint32_t wp_library = WP_LIBRARY;

#pragma GCC diagnostic ignored "-Wunused-function"  // no runtime function takes a float by value

#if WP_LIBRARY == 13
#include "exports_runtime13.def"
#else
#include "exports_runtime12.def"
#endif
