// libcuda.so.1: the driver API.
#include "exports.h"

const uint32_t wp_library = 0;

#include "exports_driver.def"
