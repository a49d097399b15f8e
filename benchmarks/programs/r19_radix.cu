// Two passes of a radix sort (counts by block, a scan of them, a stable scatter), then merges of sorted runs.
#include "expect.cuh"
#include <algorithm>

// counts[digit * blocks + block]: how many of the block's 1024 keys have each of 16 digits.
__global__ void count(const unsigned *keys, unsigned *counts, int shift) {
  __shared__ unsigned bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int k = 0; k < 4; k++) atomicAdd(&bins[(keys[blockIdx.x * 1024 + k * 256 + threadIdx.x] >> shift) & 15], 1u);
  __syncthreads();
  if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}

// One block of 1024 threads turns n counts into the sums of those before each.
__global__ void scan_counts(unsigned *counts, int n) {
  __shared__ unsigned warps[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, per = n / 1024;
  unsigned total = 0;
  for (int k = 0; k < per; k++) total += counts[threadIdx.x * per + k];
  unsigned sum = total;
  for (int d = 1; d < 32; d <<= 1) {
    unsigned other = __shfl_up_sync(~0u, sum, d);
    if (lane >= d) sum += other;
  }
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    unsigned w = warps[lane];
    for (int d = 1; d < 32; d <<= 1) {
      unsigned other = __shfl_up_sync(~0u, w, d);
      if (lane >= d) w += other;
    }
    warps[lane] = w;
  }
  __syncthreads();
  unsigned before = sum - total + (warp ? warps[warp - 1] : 0);
  for (int k = 0; k < per; k++) {
    unsigned c = counts[threadIdx.x * per + k];
    counts[threadIdx.x * per + k] = before;
    before += c;
  }
}

// Each of 8 warps ranks its 128 consecutive keys by matching digits; ranks keep the order of equal digits.
__global__ void scatter(const unsigned *keys, unsigned *out, const unsigned *counts, int shift) {
  __shared__ unsigned bins[8][16];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (threadIdx.x < 128) bins[threadIdx.x / 16][threadIdx.x % 16] = 0;
  __syncthreads();
  unsigned key[4], rank[4];
  for (int k = 0; k < 4; k++) {
    key[k] = keys[blockIdx.x * 1024 + warp * 128 + k * 32 + lane];
    unsigned digit = (key[k] >> shift) & 15, peers = __match_any_sync(~0u, digit);
    rank[k] = bins[warp][digit] + __popc(peers & ((1u << lane) - 1));
    __syncwarp();
    if (lane == 31 - __clz(peers)) bins[warp][digit] += __popc(peers);
    __syncwarp();
  }
  __syncthreads();
  if (threadIdx.x < 16) {
    unsigned before = counts[threadIdx.x * gridDim.x + blockIdx.x];
    for (int w = 0; w < 8; w++) {
      unsigned c = bins[w][threadIdx.x];
      bins[w][threadIdx.x] = before;
      before += c;
    }
  }
  __syncthreads();
  for (int k = 0; k < 4; k++) out[bins[warp][(key[k] >> shift) & 15] + rank[k]] = key[k];
}

// Pairs of sorted runs merged, 8 results a thread: where its diagonal crosses the path, then a serial merge.
__global__ void merge(const unsigned *in, unsigned *out, int run) {
  int at = (blockIdx.x * blockDim.x + threadIdx.x) * 8, pair = at / (2 * run) * 2 * run, diagonal = at - pair;
  const unsigned *a = in + pair, *b = a + run;
  int low = max(0, diagonal - run), high = min(diagonal, run);
  while (low < high) {
    int middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle]) low = middle + 1;
    else high = middle;
  }
  int i = low, j = diagonal - low;
  for (int k = 0; k < 8; k++) out[at + k] = j >= run || (i < run && a[i] <= b[j]) ? a[i++] : b[j++];
}

int main() {
  const int n = 1 << 18, blocks = n / 1024;
  std::vector<unsigned> host = random_host<unsigned>(n, 1 << 20), wanted(host);
  unsigned *keys = upload(host), *other = zeros<unsigned>(n), *counts = zeros<unsigned>(blocks * 16);
  count<<<blocks, 256>>>(keys, counts, 0);
  scan_counts<<<1, 1024>>>(counts, blocks * 16);
  scatter<<<blocks, 256>>>(keys, other, counts, 0);
  std::stable_sort(wanted.begin(), wanted.end(), [](unsigned a, unsigned b) { return (a & 15) < (b & 15); });
  expect("radix 0", other, wanted);
  count<<<blocks, 256>>>(other, counts, 4);
  scan_counts<<<1, 1024>>>(counts, blocks * 16);
  scatter<<<blocks, 256>>>(other, keys, counts, 4);
  std::stable_sort(wanted.begin(), wanted.end(), [](unsigned a, unsigned b) { return (a & 255) < (b & 255); });
  expect("radix 4", keys, wanted);
  for (int i = 0; i < n; i += 1024) std::sort(host.begin() + i, host.begin() + i + 1024);
  keys = upload(host);
  merge<<<n / 8 / 128, 128>>>(keys, other, 1024);
  for (int i = 0; i < n; i += 2048) std::sort(host.begin() + i, host.begin() + i + 2048);
  expect("merge 1024", other, host);
  merge<<<n / 8 / 128, 128>>>(other, keys, 2048);
  for (int i = 0; i < n; i += 4096) std::sort(host.begin() + i, host.begin() + i + 4096);
  expect("merge 2048", keys, host);
}
