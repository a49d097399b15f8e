// Which stores go together to L2 and which find their line in L1, by the time between them, their lines and other
// stores that come between. The profiler counts; nine rounds, each on lines of its own.
#include "common.cuh"

constexpr int kRounds = 9;
constexpr int kRoundBytes = 1 << 17;

// Lanes of a store and bytes from one to the next: by the number of CTAs, of which only the first works.
struct Kind {
  int lanes, stride;
};
__constant__ Kind kinds[] = {{1, 0}, {32, 4}, {2, 128}, {4, 128}, {8, 128}, {16, 128}, {24, 128}, {28, 128}, {32, 128},
                             {32, 32}, {32, 64}};
constexpr int kKinds = 11;

template <int At>
__device__ inline void store(char *p, unsigned v) {
  asm volatile("st.global.u32 [%0], %1;" ::"l"(p + At), "r"(v) : "memory");
}

template <class What>
__device__ void rounds(char *p, What what) {
  const Kind kind = kinds[gridDim.x - 1];
  const int lane = threadIdx.x % 32;
  p += lane * kind.stride;
#pragma unroll 1
  for (int r = 0; r < kRounds; r++, p += kRoundBytes) {
    __syncwarp();
    __nanosleep(2000);
    __syncthreads();
    if (lane < kind.lanes) what(p);
  }
}

// Two stores to the same lines, the second `Steps` times four cycles and twelve later, or next when below 0.
template <int Steps>
__global__ void pair(char *p) {
  if (blockIdx.x != 0) return;
  unsigned v = threadIdx.x;
  rounds(p, [&](char *q) {
    store<0>(q, v);
    if (Steps >= 0) {
      unsigned t;
      asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
#pragma unroll
      for (int i = 0; i < Steps; i++) asm volatile("prmt.b32 %0, %0, %1, 0x2143;" : "+r"(t) : "r"(v));
      v = t;
    }
    store<4>(q, v);
  });
}

// Eight stores to the same lines, one after another.
__global__ void burst(char *p) {
  if (blockIdx.x != 0) return;
  rounds(p, [](char *q) {
    store<0>(q, 1), store<4>(q, 2), store<8>(q, 3), store<12>(q, 4);
    store<16>(q, 5), store<20>(q, 6), store<24>(q, 7), store<28>(q, 8);
  });
}

// Four stores of each warp to lines of its own.
__global__ void own_lines(char *p) {
  if (blockIdx.x != 0) return;
  rounds(p + threadIdx.x / 32 * 8192, [](char *q) { store<0>(q, 1), store<4>(q, 2), store<8>(q, 3), store<12>(q, 4); });
}

// Two, and four, lines in turn, each twice.
__global__ void two_in_turn(char *p) {
  if (blockIdx.x != 0) return;
  rounds(p, [](char *q) { store<0>(q, 1), store<128>(q, 2), store<4>(q, 3), store<132>(q, 4); });
}
__global__ void four_in_turn(char *p) {
  if (blockIdx.x != 0) return;
  rounds(p, [](char *q) {
    store<0>(q, 1), store<128>(q, 2), store<256>(q, 3), store<384>(q, 4);
    store<4>(q, 5), store<132>(q, 6), store<260>(q, 7), store<388>(q, 8);
  });
}

char *p;

template <int Steps>
void pairs() {
  for (int kind = 1; kind <= kKinds; kind++) pair<Steps><<<kind, 32>>>(p);
}

int main() {
  CK(cudaMalloc(&p, 4 << 20));
  CK(cudaMemset(p, 0, 4 << 20));
  pairs<-1>(), pairs<0>(), pairs<1>(), pairs<2>(), pairs<3>(), pairs<4>(), pairs<6>(), pairs<8>(), pairs<10>();
  pairs<12>(), pairs<14>(), pairs<17>(), pairs<20>(), pairs<24>(), pairs<28>(), pairs<32>(), pairs<40>();
  for (int kind = 1; kind <= kKinds; kind++) {
    burst<<<kind, 32>>>(p);
    burst<<<kind, 256>>>(p);
    own_lines<<<kind, 256>>>(p);
  }
  two_in_turn<<<1, 32>>>(p);
  four_in_turn<<<1, 32>>>(p);
  CK(cudaDeviceSynchronize());
}
