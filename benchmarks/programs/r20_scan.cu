// Prefix sums: in three launches, in one with look-back, by segment, by rows of an image both ways.
#include "expect.cuh"

__device__ int warp_scan(int v) {
  for (int d = 1; d < 32; d <<= 1) {
    int other = __shfl_up_sync(~0u, v, d);
    if (threadIdx.x % 32 >= d) v += other;
  }
  return v;
}

// The inclusive sum over a block of 256 threads.
__device__ int block_scan(int v) {
  __shared__ int warps[8];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = warp_scan(v);
  if (lane == 31) warps[warp] = v;
  __syncthreads();
  for (int w = 0; w < warp; w++) v += warps[w];
  __syncthreads();
  return v;
}

__global__ void sums(const int4 *in, int *sum) {
  int4 v = in[blockIdx.x * 256 + threadIdx.x];
  int total = block_scan(v.x + v.y + v.z + v.w);
  if (threadIdx.x == 255) sum[blockIdx.x] = total;
}

__global__ void scan_sums(int *sum, int n) {
  int before = 0;
  __shared__ int last;
  for (int start = 0; start < n; start += 256) {
    int v = sum[start + threadIdx.x], s = block_scan(v);
    sum[start + threadIdx.x] = before + s - v;
    if (threadIdx.x == 255) last = before + s;
    __syncthreads();
    before = last;
  }
}

__global__ void apply(const int4 *in, const int *sum, int4 *out) {
  int4 v = in[blockIdx.x * 256 + threadIdx.x];
  v.y += v.x, v.z += v.y, v.w += v.z;
  int before = block_scan(v.w) - v.w + sum[blockIdx.x];
  out[blockIdx.x * 256 + threadIdx.x] = make_int4(v.x + before, v.y + before, v.z + before, v.w + before);
}

// state: the block's own sum with flag 1 in the upper half, later the sum up to it with flag 2.
__global__ void look_back(const int4 *in, int4 *out, unsigned long long *state, int *ticket) {
  __shared__ int block, before;
  if (threadIdx.x == 0) block = atomicAdd(ticket, 1);
  __syncthreads();
  int4 v = in[block * 256 + threadIdx.x];
  v.y += v.x, v.z += v.y, v.w += v.z;
  int upto = block_scan(v.w);
  if (threadIdx.x == 255) {
    atomicExch(&state[block], (block ? 1ull << 32 : 2ull << 32) | unsigned(upto));
    int sum = 0;
    for (int b = block - 1; b >= 0;) {
      unsigned long long s = *(volatile unsigned long long *)&state[b];
      if (!(s >> 32)) continue;
      sum += int(unsigned(s));
      if (s >> 32 == 2) break;
      b--;
    }
    if (block) atomicExch(&state[block], (2ull << 32) | unsigned(sum + upto));
    before = sum;
  }
  __syncthreads();
  int add = before + upto - v.w;
  out[block * 256 + threadIdx.x] = make_int4(v.x + add, v.y + add, v.z + add, v.w + add);
}

// Within each warp, sums that begin anew at every flag.
__global__ void segmented(const int *in, const int *flag, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, v = in[i];
  unsigned heads = __ballot_sync(~0u, flag[i] == 0) | 1;
  int first = 31 - __clz(heads & (~0u >> (31 - lane)));
  for (int d = 1; d < 32; d <<= 1) {
    int other = __shfl_up_sync(~0u, v, d);
    if (lane - d >= first) v += other;
  }
  out[i] = v;
}

// An image's sums to the right, a warp a row, and downwards, a thread a column.
__global__ void along_rows(const int *in, int *out, int w) {
  int y = blockIdx.x * blockDim.x / 32 + threadIdx.x / 32, before = 0;
  for (int x = threadIdx.x % 32; x < w; x += 32) {
    int v = warp_scan(in[y * w + x]) + before;
    out[y * w + x] = v;
    before = __shfl_sync(~0u, v, 31);
  }
}

__global__ void down_columns(int *image, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
  for (int y = 0; y < h; y++) image[y * w + x] = sum += image[y * w + x];
}

int main() {
  const int n = 1 << 20, w = 1024, h = 256;
  std::vector<int> host = random_host<int>(n), flags = random_host<int>(n, 10), want(n);
  int *in = upload(host), *flag = upload(flags), *out = zeros<int>(n), *sum = zeros<int>(n / 1024), *ticket = zeros<int>(1);
  auto *state = zeros<unsigned long long>(n / 1024);
  sums<<<n / 1024, 256>>>((int4 *)in, sum);
  scan_sums<<<1, 256>>>(sum, n / 1024);
  apply<<<n / 1024, 256>>>((int4 *)in, sum, (int4 *)out);
  for (int i = 0; i < n; i++) want[i] = host[i] + (i ? want[i - 1] : 0);
  expect("scan", out, want);
  CHECK(cudaMemset(out, 0, n * sizeof(int)));
  look_back<<<n / 1024, 256>>>((int4 *)in, (int4 *)out, state, ticket);
  expect("look_back", out, want);
  segmented<<<n / 256, 256>>>(in, flag, out);
  for (int i = 0; i < n; i++) want[i] = host[i] + (i % 32 && flags[i] ? want[i - 1] : 0);
  expect("segmented", out, want);
  along_rows<<<h / 4, 128>>>(in, out, w);
  down_columns<<<w / 64, 64>>>(out, w, h);
  want.resize(w * h);
  for (int y = 0; y < h; y++)
    for (int x = 0, row = 0; x < w; x++) row += host[y * w + x], want[y * w + x] = row + (y ? want[(y - 1) * w + x] : 0);
  expect("image", out, want);
}
