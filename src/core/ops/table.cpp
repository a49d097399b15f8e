// The list of families and the look-up of a mnemonic.
#include <array>
#include <unordered_map>

#include "ops/decl.hpp"
#include "ops/families.hpp"

namespace warpath {

std::span<const Family> families() {
  static const std::array<Family, 13> all = {
      integer_family(), floating_family(), double_precision_family(), half_family(),   convert_family(),
      uniform_family(), mufu_family(),     predicate_family(),        tensor_family(), memory_family(),
      atomic_family(),  warp_family(),     control_family(),
  };
  return all;
}

const OpDecl* find_op(std::string_view mnemonic) {
  static const std::unordered_map<std::string_view, const OpDecl*> index = [] {
    std::unordered_map<std::string_view, const OpDecl*> map;
    for (const Family& family : families()) {
      for (const OpDecl& op : family.ops) map.emplace(op.mnemonic, &op);
    }
    return map;
  }();
  const auto found = index.find(mnemonic);
  return found == index.end() ? nullptr : found->second;
}

}  // namespace warpath
