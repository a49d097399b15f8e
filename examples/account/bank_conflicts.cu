// Each warp reads a column of a 32 x 32 tile in shared memory. Teaches why tiles are padded to 33 words a row.
#include <cstdio>

#include <cuda_runtime.h>

constexpr int kTile = 32, kTimes = 8;
__device__ int out[kTile * kTile];

__global__ void columns() {
  __shared__ int tile[kTile][kTile];
  tile[threadIdx.y][threadIdx.x] = threadIdx.y * kTile + threadIdx.x;
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < kTimes; i++) sum += tile[threadIdx.x][(threadIdx.y + i) % kTile];  // 32 lanes, one bank
  out[threadIdx.y * kTile + threadIdx.x] = sum;
}

int main() {
  columns<<<1, dim3(kTile, kTile)>>>();
  int got[kTile * kTile], bad = 0;
  cudaMemcpyFromSymbol(got, out, sizeof got);
  for (int y = 0; y < kTile; y++)
    for (int x = 0; x < kTile; x++) {
      int want = 0;
      for (int i = 0; i < kTimes; i++) want += x * kTile + (y + i) % kTile;
      bad += got[y * kTile + x] != want;
    }
  printf("bad=%d %s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
