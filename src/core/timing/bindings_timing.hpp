// The timing model's part of the Python module.
#pragma once

#include <nanobind/nanobind.h>

namespace warpath {
void bind_timing(nanobind::module_& m);
}
