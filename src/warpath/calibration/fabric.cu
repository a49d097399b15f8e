// The two halves of L2: which granules and which SMs are on which side, by the latency of atomics
// (they are done at home), and the rates of stores, reads and copies to the near side, the far
// side and both.
#include <algorithm>
#include <vector>

#include "common.cuh"

constexpr int kSms = 132, kWarps = 32;
constexpr int kGranuleBytes = 512;
constexpr int kGranuleInts = kGranuleBytes / 4, kGranuleVectors = kGranuleBytes / 16;
constexpr int kGranules = 32768;  // 16 MB: sources in the first half, destinations in the second
constexpr int kHalf = kGranules / 2;
constexpr int kListed = kHalf / 2;  // a list per half and side: about half of the granules each
constexpr int kProbes = 32;         // granules of each side by which an SM finds its own
constexpr int kPageGranules = 4096 / kGranuleBytes, kPages = 64;

enum Side { kNear, kFar, kMixed };
enum Work { kWrite, kRead, kCopy };

// What an SM knows of itself: its side, its number among the SMs of that side, how many they are.
struct Place {
  int side, rank, peers;
};

// Granules by side, of the sources and of the destinations.
struct Lists {
  const int *source[2], *destination[2];
};

// The least of some atomics in a row: the first may miss in L2 or in the TLBs.
__device__ inline int least_cycles(int *word, int times) {
  int least = 1 << 30;
  for (int i = 0; i < times; i++) {
    long long start = clock64();
    int value = atomicAdd(word, 0);
    if (value != 0) return -1;  // never: has the clock wait for the value
    long long end = clock64();
    least = min(least, int(end - start));
  }
  return least;
}

// One thread of one SM.
__global__ void latencies(int *data, int *out) {
  for (int i = 0; i < kGranules; i++) out[i] = least_cycles(data + i * kGranuleInts, 4);
}

// Each SM: how long atomics to known granules of each side take. It begins elsewhere than its
// neighbours, so that few meet at one granule.
__global__ __launch_bounds__(1024) void find_sides(int *data, const int *probes, int *sides) {
  if (threadIdx.x != 0) return;
  int sums[2] = {0, 0};
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < kProbes; i++) {
      int granule = probes[side * kProbes + (i + sm_id()) % kProbes];
      sums[side] += least_cycles(data + granule * kGranuleInts, 6);
    }
  sides[sm_id()] = sums[0] < sums[1] ? 0 : 1;
}

// Every warp moves one granule at a time. The SMs of a side share out the lists, so that with four
// granules a warp each is touched about once, with 16 four times. Stores are not waited for: what
// is still on its way at the end is little beside what an SM has stored.
__global__ __launch_bounds__(1024) void move(Work work, Side from, Side to, float4 *data,
                                             Lists lists, int count, const Place *places,
                                             long long *out, float *keep) {
  const Place place = places[sm_id()];
  const int *near_source = lists.source[place.side], *far_source = lists.source[1 - place.side];
  const int *near_destination = lists.destination[place.side];
  const int *far_destination = lists.destination[1 - place.side];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0;
  __syncthreads();
  long long start = clock64();
#pragma unroll 4
  for (int i = 0; i < count; i++) {
    int at = (i * place.peers + place.rank) * kWarps + warp;
    // The two choices of a mixed copy are independent: all four ways occur.
    bool read_near = from == kNear || (from == kMixed && (at & 1));
    bool write_near = to == kNear || (to == kMixed && (at & 2));
    at &= kListed - 1;
    float4 value = make_float4(1, 2, 3, 4);
    if (work != kWrite) {
      int granule = read_near ? near_source[at] : far_source[at];
      const float4 *source = data + granule * kGranuleVectors + lane;
      asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
                   : "l"(source));
    }
    if (work != kRead) {
      int granule = write_near ? near_destination[at] : far_destination[at];
      data[granule * kGranuleVectors + lane] = value;
    }
    sum += value.x;
  }
  sink(sum, keep);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = clock64() - start;
}

int one_side() {
  fprintf(stderr, "the latencies do not show two sides of L2\n");
  return 1;
}

double quantile(std::vector<int> values, double part) {
  std::sort(values.begin(), values.end());
  return values[size_t(part * double(values.size() - 1))];
}

int main() {
  int *data, *cycles, *probes, *sides, *lists;
  long long *out;
  Place *places;
  CK(cudaMalloc(&data, size_t(kGranules) * kGranuleBytes));
  CK(cudaMemset(data, 0, size_t(kGranules) * kGranuleBytes));
  CK(cudaMalloc(&cycles, kGranules * sizeof(int)));
  CK(cudaMalloc(&probes, 2 * kProbes * sizeof(int)));
  CK(cudaMalloc(&sides, kSms * sizeof(int)));
  CK(cudaMalloc(&lists, 4 * kListed * sizeof(int)));
  CK(cudaMalloc(&out, 8192));
  CK(cudaMalloc(&places, kSms * sizeof(Place)));

  // Side 0 is that of the SM which measures. About half of the granules are on each side: the
  // eighths from both ends are safely of one.
  std::vector<int> measured(kGranules);
  latencies<<<1, 1>>>(data, cycles);
  CK(cudaMemcpy(measured.data(), cycles, kGranules * sizeof(int), cudaMemcpyDeviceToHost));
  const double middle = (quantile(measured, 0.125) + quantile(measured, 0.875)) / 2;
  std::vector<int> listed[4], taken[2];  // sources of both sides, destinations of both; cycles
  for (int i = 0; i < kGranules; i++) {
    int side = measured[i] > middle;
    listed[i / kHalf * 2 + side].push_back(i);
    taken[side].push_back(measured[i]);
  }
  for (const auto &list : listed)
    if (list.size() < kListed / 2) return one_side();
  for (double part : {0.05, 0.25, 0.5, 0.75, 0.95}) {
    report("fabric", "near_cycles", part, quantile(taken[0], part));
    report("fabric", "far_cycles", part, quantile(taken[1], part));
  }
  int split = 0;  // pages whose granules are not all on one side
  for (int page = 0; page < kGranules / kPageGranules; page++) {
    int far = 0;
    for (int i = 0; i < kPageGranules; i++) far += measured[page * kPageGranules + i] > middle;
    split += far != 0 && far != kPageGranules;
    if (page < kPages) report("fabric", "side_of_page", page, 2 * far > kPageGranules);
  }
  report("fabric", "pages_split", kGranules / kPageGranules, split);

  std::vector<int> host(2 * kProbes);
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < kProbes; i++) {
      const auto &list = listed[side];
      host[side * kProbes + i] = list[list.size() / kProbes * i];
    }
  CK(cudaMemcpy(probes, host.data(), host.size() * sizeof(int), cudaMemcpyHostToDevice));
  find_sides<<<kSms, 1024>>>(data, probes, sides);
  std::vector<int> side_of(kSms);
  CK(cudaMemcpy(side_of.data(), sides, kSms * sizeof(int), cudaMemcpyDeviceToHost));
  std::vector<Place> placed(kSms);
  int peers[2] = {0, 0};
  for (int sm = 0; sm < kSms; sm++) {
    report("fabric", "side_of_sm", sm, side_of[sm]);
    placed[sm].side = side_of[sm];
    placed[sm].rank = peers[side_of[sm]]++;
  }
  if (peers[0] == 0 || peers[1] == 0) return one_side();
  for (Place &place : placed) place.peers = peers[place.side];
  CK(cudaMemcpy(places, placed.data(), kSms * sizeof(Place), cudaMemcpyHostToDevice));

  // Lists of equal length: a short one begins again.
  for (int k = 0; k < 4; k++) {
    std::vector<int> filled(kListed);
    for (int i = 0; i < kListed; i++) filled[i] = listed[k][i % listed[k].size()];
    const size_t bytes = kListed * sizeof(int);
    CK(cudaMemcpy(lists + k * kListed, filled.data(), bytes, cudaMemcpyHostToDevice));
  }
  const Lists both = {{lists, lists + kListed}, {lists + 2 * kListed, lists + 3 * kListed}};
  // For stores alone: to the sources.
  const Lists sources = {{lists, lists + kListed}, {lists, lists + kListed}};

  bool reported = false;
  auto run = [&](const char *what, Work work, Side from, Side to, const Lists &where, int count) {
    float *keep = (float *)(out + 512);
    move<<<kSms, 1024>>>(work, from, to, (float4 *)data, where, count, places, out, keep);
    long long by_sm[kSms];
    CK(cudaMemcpy(by_sm, out, sizeof by_sm, cudaMemcpyDeviceToHost));
    const double longest = double(*std::max_element(by_sm, by_sm + kSms));
    const double bytes = double(kSms) * kWarps * count * kGranuleBytes;
    if (what && reported) report("fabric", what, count, bytes / longest);
  };
  // Near stores to all sources (one more a warp, should a side have few SMs): what the far side
  // kept of them is gone, the next read is the first.
  auto renew = [&] { run(nullptr, kWrite, kNear, kNear, sources, 5); };
  auto read_twice = [&](const char *first, const char *again, Side from, int count) {
    renew();
    run(first, kRead, from, kNear, both, count);
    run(again, kRead, from, kNear, both, count);
  };
  auto copy = [&](const char *what, Side from, Side to, int count) {
    renew();
    run(what, kCopy, from, to, both, count);
  };
  // The first round loads code and translations.
  for (int round = 0; round < 2; round++) {
    reported = round == 1;
    for (int count : {4, 8, 16}) {
      run("write_near", kWrite, kNear, kNear, sources, count);
      run("write_far", kWrite, kNear, kFar, sources, count);
      run("write_mixed", kWrite, kNear, kMixed, sources, count);
      read_twice("read_near", "read_near_again", kNear, count);
      read_twice("read_far_first", "read_far_again", kFar, count);
      read_twice("read_mixed_first", "read_mixed_again", kMixed, count);
      copy("copy_near_near", kNear, kNear, count);
      copy("copy_near_far", kNear, kFar, count);
      copy("copy_far_near", kFar, kNear, count);
      copy("copy_far_far", kFar, kFar, count);
      copy("copy_mixed", kMixed, kMixed, count);
    }
  }
  return 0;
}
