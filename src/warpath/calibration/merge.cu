// Whose reads meet on the way to L2, and what L2 looks up: 128 lines that are all at home on the
// side of SM 0, each touched in slots of the global timer by one SM or several. Sectors and
// look-ups come from the profiler, and the names of the kernels tell the case. Only what is
// profiled cold begins with lines that L2 does not hold. Which lines is a parameter, so that
// nothing else is read.
#include <algorithm>
#include <vector>

#include "common.cuh"

constexpr int kSms = 132, kLines = 128, kCandidates = 512;
constexpr int kLineInts = 32, kGranuleLines = 4;
constexpr int kAlone = 200000;  // bytes of shared memory: one CTA an SM
constexpr int kSlotBits = 12, kSteps = 4;  // a slot is 4.096 us, a line has four

struct Lines {
  int number[kLines];
};

// Who acts: SM 0, on the side of the lines; another SM of that side; two of the other side.
struct Actors {
  unsigned near, near2, far, far2;
};

__device__ inline unsigned long long now() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
}

__device__ inline void wait_for(unsigned long long slot) {
  while ((now() >> kSlotBits) < slot) {
  }
}

__device__ inline int read(const int *from) {
  int value;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

// Calls `touch(slot, word of the lane)` for each line with the first of the line's slots. The line
// follows from the time: SMs that begin in different slots still meet at the same line.
template <class Touch>
__device__ inline void each_line(const Lines &lines, int *data, Touch touch) {
  extern __shared__ int numbers[];
  for (int i = threadIdx.x; i < kLines; i += 32) numbers[i] = lines.number[i];
  __syncwarp();
  unsigned long long turn = now() / (kSteps << kSlotBits) + 1;
  for (int i = 0; i < kLines; i++, turn++)
    touch(turn * kSteps, data + numbers[turn % kLines] * kLineInts + threadIdx.x);
}

// The two SMs of a TPC read the same line, the second `Delay` cycles later.
template <int Delay>
__global__ void pair(__grid_constant__ const Lines lines, int *data, int *keep) {
  const unsigned sm = sm_id();
  if (sm > 1) return;
  int sum = 0;
  each_line(lines, data, [&](unsigned long long slot, const int *word) {
    wait_for(slot);
    long long start = clock64();
    while (sm == 1 && clock64() - start < Delay) {
    }
    sum += read(word);
  });
  sink(sum, keep);
}

// The first `Sms` SMs read the same line at once.
template <int Sms>
__global__ void crowd(__grid_constant__ const Lines lines, int *data, int *keep) {
  if (sm_id() >= Sms) return;
  int sum = 0;
  each_line(lines, data, [&](unsigned long long slot, const int *word) {
    wait_for(slot);
    sum += read(word);
  });
  sink(sum, keep);
}

// Who, from 1 on, in the upper bits; in the lower two what: 0 reads, 1 writes, 2 adds.
enum Act {
  kNothing = 0,
  kNearReads = 4,
  kNearWrites,
  kNearAdds,
  kNear2Reads = 8,
  kFarReads = 12,
  kFarWrites,
  kFarAdds,
  kFar2Reads = 16,
};

// Up to three acts, each in a slot of its own: the one before is long over.
template <Act First, Act Second = kNothing, Act Third = kNothing>
struct Steps {
  static constexpr Act first = First, second = Second, third = Third;
};

// No access at all: what a kernel costs beside its accesses.
struct nothing : Steps<kNothing> {};
// Cold reads.
struct near_reads : Steps<kNearReads> {};
struct far_reads : Steps<kFarReads> {};
// The same SM once more: does a far line stay on the reader's side?
struct near_reads_twice : Steps<kNearReads, kNearReads> {};
struct far_reads_twice : Steps<kFarReads, kFarReads> {};
// Another SM of the same side: is what stays shared by the side?
struct near_reads_near2_reads : Steps<kNearReads, kNear2Reads> {};
struct far_reads_far2_reads : Steps<kFarReads, kFar2Reads> {};
// One side, then the other: does the far read find the home's line, and does a far read fill it?
struct near_reads_far_reads : Steps<kNearReads, kFarReads> {};
struct far_reads_near_reads : Steps<kFarReads, kNearReads> {};
// There and back: does the read of the other side take the line away?
struct near_reads_far_reads_near_reads : Steps<kNearReads, kFarReads, kNearReads> {};
struct far_reads_near_reads_far_reads : Steps<kFarReads, kNearReads, kFarReads> {};
// Write alone, then read by itself.
struct near_writes : Steps<kNearWrites> {};
struct far_writes : Steps<kFarWrites> {};
struct near_writes_near_reads : Steps<kNearWrites, kNearReads> {};
struct far_writes_far_reads : Steps<kFarWrites, kFarReads> {};
// Write, then read by another SM of the same side and by one of the other.
struct near_writes_near2_reads : Steps<kNearWrites, kNear2Reads> {};
struct far_writes_far2_reads : Steps<kFarWrites, kFar2Reads> {};
struct near_writes_far_reads : Steps<kNearWrites, kFarReads> {};
struct far_writes_near_reads : Steps<kFarWrites, kNearReads> {};
// A copy on the reader's side, then a write: what becomes of the copy?
struct far_reads_near_writes_far_reads : Steps<kFarReads, kNearWrites, kFarReads> {};
struct far_reads_far_writes_far_reads : Steps<kFarReads, kFarWrites, kFarReads> {};
struct near_reads_far_writes_near_reads : Steps<kNearReads, kFarWrites, kNearReads> {};
// Atomics are done at home: what does the far side know afterwards?
struct far_adds : Steps<kFarAdds> {};
struct far_adds_far_reads : Steps<kFarAdds, kFarReads> {};
struct far_adds_near_reads : Steps<kFarAdds, kNearReads> {};
struct near_adds_near_reads : Steps<kNearAdds, kNearReads> {};
struct near_adds_far_reads : Steps<kNearAdds, kFarReads> {};

template <Act What>
__device__ inline int act(int who, unsigned long long slot, int *word) {
  if (What == kNothing || who != What >> 2) return 0;
  wait_for(slot);
  if ((What & 3) == 0) return read(word);
  if ((What & 3) == 2) return atomicAdd(word, 1);
  asm volatile("st.global.u32 [%0], %1;" ::"l"(word), "r"(3) : "memory");
  return 0;
}

template <class Case>
__global__ void looked(__grid_constant__ const Lines lines, Actors actors, int *data, int *keep) {
  const unsigned sm = sm_id();
  const int who = sm == actors.near    ? 1
                  : sm == actors.near2 ? 2
                  : sm == actors.far   ? 3
                  : sm == actors.far2  ? 4
                                       : 0;
  if (who == 0) return;
  int sum = 0;
  each_line(lines, data, [&](unsigned long long slot, int *word) {
    wait_for(slot);
    sum += act<Case::first>(who, slot, word);
    sum += act<Case::second>(who, slot + 1, word);
    sum += act<Case::third>(who, slot + 2, word);
  });
  sink(sum, keep);
}

// The least latency of atomics from each SM to each candidate; neighbours begin at other lines.
__global__ void latencies(int *data, int *out) {
  if (threadIdx.x != 0) return;
  const int sm = int(sm_id());
  for (int i = 0; i < kCandidates; i++) {
    int candidate = (i + 4 * sm) % kCandidates, least = 1 << 30;
    int *word = data + (candidate * kGranuleLines + candidate % kGranuleLines) * kLineInts;
    for (int k = 0; k < 12; k++) {
      long long start = clock64();
      int value = atomicAdd(word, 0);
      if (value != 0) return;  // never: has the clock wait for the value
      long long end = clock64();
      least = min(least, int(end - start));
    }
    out[sm * kCandidates + candidate] = least;
  }
}

// With a CTA on every SM, which no other shares.
template <class... Parameters>
void run_alone(void (*kernel)(Parameters...), Parameters... with) {
  CK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kAlone));
  kernel<<<kSms, 32, kAlone>>>(with...);
  CK(cudaDeviceSynchronize());
}

Lines lines;
Actors actors;
int *data, *keep;

// SM 0 is near by definition; SMs that find the same candidates near are of its side.
bool find_sides() {
  int *out;
  std::vector<int> cycles(kSms * kCandidates);
  CK(cudaMalloc(&out, cycles.size() * sizeof(int)));
  run_alone(latencies, data, out);
  CK(cudaMemcpy(cycles.data(), out, cycles.size() * sizeof(int), cudaMemcpyDeviceToHost));
  CK(cudaFree(out));
  auto far_from = [&](int sm) {
    const int *of = cycles.data() + sm * kCandidates;
    std::vector<int> sorted(of, of + kCandidates);
    std::sort(sorted.begin(), sorted.end());
    const int middle = (sorted[kCandidates / 8] + sorted[kCandidates * 7 / 8]) / 2;
    std::vector<bool> far(kCandidates);
    for (int i = 0; i < kCandidates; i++) far[i] = of[i] > middle;
    return far;
  };
  const std::vector<bool> home = far_from(0);
  int found = 0;
  for (int i = 0; i < kCandidates && found < kLines; i++)
    if (!home[i]) lines.number[found++] = i * kGranuleLines + i % kGranuleLines;
  std::vector<int> near, far;  // not the other SM of SM 0's TPC
  for (int sm = 2; sm < kSms; sm++) {
    const std::vector<bool> seen = far_from(sm);
    int same = 0;
    for (int i = 0; i < kCandidates; i++) same += seen[i] == home[i];
    (same > kCandidates / 2 ? near : far).push_back(sm);
  }
  if (found < kLines || near.empty() || far.size() < 2) return false;
  // The last of the far ones is not of the first one's TPC.
  actors = {0, unsigned(near.front()), unsigned(far.front()), unsigned(far.back())};
  return true;
}

template <int... Delays>
void run_pairs() {
  (run_alone(pair<Delays>, lines, data, keep), ...);
}

template <int... Counts>
void run_crowds() {
  (run_alone(crowd<Counts>, lines, data, keep), ...);
}

template <class... Cases>
void run_all_looked() {
  (run_alone(looked<Cases>, lines, actors, data, keep), ...);
}

int main() {
  const size_t bytes = size_t(kCandidates) * kGranuleLines * kLineInts * sizeof(int);
  CK(cudaMalloc(&data, bytes));
  CK(cudaMemset(data, 0, bytes));
  CK(cudaMalloc(&keep, 256));
  if (!find_sides()) {
    fprintf(stderr, "the latencies do not show two sides of L2\n");
    return 1;
  }
  run_pairs<0, 20, 50, 100, 300>();
  run_crowds<2, 4, 8, 16, 32, 64, 132>();
  run_all_looked<nothing, near_reads, far_reads, near_reads_twice, far_reads_twice,
                 near_reads_near2_reads, far_reads_far2_reads, near_reads_far_reads,
                 far_reads_near_reads, near_reads_far_reads_near_reads,
                 far_reads_near_reads_far_reads, near_writes, far_writes, near_writes_near_reads,
                 far_writes_far_reads, near_writes_near2_reads, far_writes_far2_reads,
                 near_writes_far_reads, far_writes_near_reads, far_reads_near_writes_far_reads,
                 far_reads_far_writes_far_reads, near_reads_far_writes_near_reads, far_adds,
                 far_adds_far_reads, far_adds_near_reads, near_adds_near_reads,
                 near_adds_far_reads>();
  return 0;
}
