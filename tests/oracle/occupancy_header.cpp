// Prints what NVIDIA's occupancy calculator answers over a swept grid of requests.
// Arguments: ten integers per generation, see `read_device`. Two kinds of line:
//   L sm threads registers static dynamic barriers carveout max_dynamic | blocks regs smem warps slots
//   barriers
//     limiting-bits registers-per-block smem-per-block dynamic-room-for-1 -for-2 -for-4   (-1: out of reach)
//   P sm registers static smem-per-thread max_threads | block-size blocks
#include <cuda_occupancy.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace {

struct Request {
  int threads, registers, fixed, dynamic, barriers, carveout, max_dynamic;
};

constexpr int kThreads[] = {1,   31,  32,  64,  96,  128, 160,  224,  256,
                            288, 384, 512, 640, 768, 992, 1000, 1024, 1025};
constexpr int kRegisters[] = {0,  1,  8,  16, 17,  24,  32,  33,  40,  48, 63,
                              64, 65, 72, 96, 128, 168, 200, 255, 256, 257};
constexpr int kStatic[] = {0, 1, 1024, 4224, 16384, 47104, 49152};
constexpr int kDynamic[] = {0, 100, 8192, 32768, 49152, 50000, 65536, 101376, 166912, 232448};
constexpr int kMaxDynamic[] = {0, 49152, 65536, 101376, 166912, 232448};
constexpr int kBarriers[] = {0, 1, 2, 3, 5, 16};
constexpr int kCarveout[] = {-1, 0, 1, 3, 25, 50, 71, 100};  // percent; -1: no preference

cudaOccDeviceProp read_device(char** argument) {
  auto value = [&](int index) { return std::atoi(argument[index]); };
  cudaOccDeviceProp prop;
  prop.computeMajor = value(0) / 10;
  prop.computeMinor = value(0) % 10;
  prop.warpSize = value(1);
  prop.maxThreadsPerBlock = value(2);
  prop.maxThreadsPerMultiprocessor = value(3);
  prop.regsPerMultiprocessor = value(4);
  prop.regsPerBlock = value(5);
  prop.sharedMemPerMultiprocessor = value(6);
  prop.sharedMemPerBlock = value(7);
  prop.sharedMemPerBlockOptin = value(8);
  prop.reservedSharedMemPerBlock = value(9);
  prop.numSms = 1;
  return prop;
}

int number(const cudaOccDeviceProp& prop) { return prop.computeMajor * 10 + prop.computeMinor; }

cudaOccFuncAttributes function_of(const Request& r) {
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = 1024;
  attributes.numRegs = r.registers;
  attributes.sharedSizeBytes = r.fixed;
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = r.max_dynamic;
  attributes.numBlockBarriers = r.barriers;
  return attributes;
}

void print_limits(const cudaOccDeviceProp& prop, const Request& r) {
  cudaOccFuncAttributes attributes = function_of(r);
  cudaOccDeviceState state;
  state.carveoutConfig = r.carveout;
  cudaOccResult out;
  if (cudaOccMaxActiveBlocksPerMultiprocessor(&out, &prop, &attributes, &state, r.threads, r.dynamic) !=
      CUDA_OCC_SUCCESS) {
    std::fprintf(stderr, "the calculator refused a request for sm_%d\n", number(prop));
    std::exit(1);
  }
  std::printf("L %d %d %d %d %d %d %d %d %d %d %d %d %d %d %u %d %zu", number(prop), r.threads, r.registers,
              r.fixed, r.dynamic, r.barriers, r.carveout, r.max_dynamic, out.activeBlocksPerMultiprocessor,
              out.blockLimitRegs, out.blockLimitSharedMem, out.blockLimitWarps, out.blockLimitBlocks,
              out.blockLimitBarriers, out.limitingFactors, out.allocatedRegistersPerBlock,
              out.allocatedSharedMemPerBlock);
  for (int blocks : {1, 2, 4}) {
    size_t room = 0;
    bool fits = cudaOccAvailableDynamicSMemPerBlock(&room, &prop, &attributes, &state, blocks, r.threads) ==
                CUDA_OCC_SUCCESS;
    std::printf(" %ld", fits ? static_cast<long>(room) : -1L);
  }
  std::printf("\n");
}

void print_potential(const cudaOccDeviceProp& prop, int registers, int fixed, int per_thread,
                     int max_threads) {
  cudaOccFuncAttributes attributes = function_of({0, registers, fixed, 0, 1, -1, 232448});
  attributes.maxThreadsPerBlock = max_threads;
  cudaOccDeviceState state;
  int grid = 0, block = 0;
  auto shared = [per_thread](int threads) { return static_cast<size_t>(per_thread) * threads; };
  if (cudaOccMaxPotentialOccupancyBlockSizeVariableSMem(&grid, &block, &prop, &attributes, &state, shared) !=
      CUDA_OCC_SUCCESS) {
    std::exit(1);
  }
  std::printf("P %d %d %d %d %d %d %d\n", number(prop), registers, fixed, per_thread, max_threads, block,
              grid);
}

void sweep(const cudaOccDeviceProp& prop) {
  for (int threads : kThreads)
    for (int registers : kRegisters) print_limits(prop, {threads, registers, 0, 0, 1, -1, 0});
  for (int fixed : kStatic)
    for (int dynamic : kDynamic)
      for (int carveout : kCarveout) print_limits(prop, {128, 32, fixed, dynamic, 1, carveout, dynamic});
  for (int threads : kThreads)
    for (int barriers : kBarriers) print_limits(prop, {threads, 16, 0, 0, barriers, -1, 0});

  uint64_t seed = 12345;  // the rest of the grid is sampled: everything varies together
  auto pick = [&seed](const auto& values) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return values[(seed >> 33) % (sizeof(values) / sizeof(values[0]))];
  };
  for (int i = 0; i < 1500; ++i)
    print_limits(prop, {pick(kThreads), pick(kRegisters), pick(kStatic), pick(kDynamic), pick(kBarriers),
                        pick(kCarveout), pick(kMaxDynamic)});
  for (int registers : {16, 40, 64, 128, 255})
    for (int fixed : {0, 8192})
      for (int per_thread : {0, 16, 64})
        for (int max_threads : {1024, 200}) print_potential(prop, registers, fixed, per_thread, max_threads);
}

}  // namespace

int main(int count, char** argument) {
  for (int first = 1; first + 9 < count; first += 10) sweep(read_device(argument + first));
}
