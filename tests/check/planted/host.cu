// What the host does wrong with memory: freed twice, never allocated, never freed.
#include "common.h"

int main(int argc, char** argv) {
  const bool bad = argc == 1;
  int *twice = device<int>(100), *kept = device<int>(25);
  check(cudaFree(twice), "free");
  if (bad) {
    check(cudaFree(twice), "second free");
    check(cudaFree(reinterpret_cast<char*>(kept) + 4), "free inside");
  } else {
    check(cudaFree(kept), "free");
  }
  printf("end\n");
}
