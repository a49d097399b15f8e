// Adds the checks to the Python module.
#pragma once

#include <nanobind/nanobind.h>

namespace warpath {

void bind_check(nanobind::module_& m);

}  // namespace warpath
