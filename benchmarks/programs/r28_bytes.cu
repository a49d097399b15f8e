// Hash tables, a Bloom filter, strings, checksums: dependent integer chains, compare-and-swap, bytes through tables.
#include "expect.cuh"
#include <string>

__host__ __device__ inline unsigned mix(unsigned v) {
  v ^= v >> 16, v *= 0x85ebca6bu, v ^= v >> 13, v *= 0xc2b2ae35u;
  return v ^ v >> 16;
}

// Open addressing, a slot of 64 bits: the key above, its value below.
__global__ void insert(unsigned long long *table, unsigned mask, const unsigned *keys, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long pair = (unsigned long long)keys[i] << 32 | unsigned(i);
  for (unsigned slot = mix(keys[i]) & mask;; slot = (slot + 1) & mask)
    if (atomicCAS(&table[slot], ~0ull, pair) == ~0ull) break;
}

__global__ void probe(const unsigned long long *table, unsigned mask, const unsigned *keys, int *found, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned key = keys[i], slot = mix(key) & mask;
  unsigned long long pair;
  while ((pair = table[slot]) != ~0ull && pair >> 32 != key) slot = (slot + 1) & mask;
  found[i] = pair == ~0ull ? -1 : int(pair);
}

__global__ void bloom(const unsigned *filter, unsigned mask, const unsigned *keys, unsigned *passed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  bool all = true;
  unsigned h = mix(keys[i]), step = mix(h) | 1;
  for (int k = 0; k < 4 && all; k++, h += step) all = filter[(h & mask) >> 5] >> (h & 31) & 1;
  unsigned votes = __ballot_sync(__activemask(), all);
  if (threadIdx.x % 32 == 0) passed[i / 32] = votes;
}

__constant__ char needle[16];

// How many times the word stands in the text; each thread 16 places, the block's piece in shared memory.
__global__ void find(const uint4 *text, int *count, int length) {
  __shared__ char piece[128 * 16 + 16];
  int i = blockIdx.x * 128 + threadIdx.x, hits = 0;
  ((uint4 *)piece)[threadIdx.x] = text[i];
  if (threadIdx.x == 0) ((uint4 *)piece)[128] = text[i + 128];
  __syncthreads();
  for (int k = 0; k < 16; k++) {
    int at = k * 128 + threadIdx.x, same = 0;
    while (same < length && piece[at + same] == needle[same]) same++;
    hits += same == length;
  }
  hits = __reduce_add_sync(~0u, hits);
  if (threadIdx.x % 32 == 0 && hits) atomicAdd(count, hits);
}

// A record of 128 bytes a thread, its words strided as rows are; the table in shared memory.
__global__ void crc32(const unsigned *words, const unsigned *table, unsigned *out) {
  __shared__ unsigned t[256];
  t[threadIdx.x] = table[threadIdx.x];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned crc = ~0u;
  for (int k = 0; k < 32; k++) {
    unsigned w = words[i * 32 + k];
#pragma unroll
    for (int b = 0; b < 4; b++, w >>= 8) crc = t[(crc ^ w) & 255] ^ crc >> 8;
  }
  out[i] = ~crc;
}

// ChaCha's blocks: sixteen words, twenty rounds, additions and rotations only.
__host__ __device__ inline unsigned left(unsigned v, int n) { return v << n | v >> (32 - n); }
__host__ __device__ inline void quarter(unsigned &a, unsigned &b, unsigned &c, unsigned &d) {
  a += b, d = left(d ^ a, 16), c += d, b = left(b ^ c, 12), a += b, d = left(d ^ a, 8), c += d, b = left(b ^ c, 7);
}
__host__ __device__ inline void rounds(const unsigned *key, unsigned counter, unsigned *out) {
  unsigned s[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, key[0], key[1], key[2], key[3],
                    key[4], key[5], key[6], key[7], counter, 0, 7, 9}, v[16];
#pragma unroll
  for (int k = 0; k < 16; k++) v[k] = s[k];
  for (int k = 0; k < 10; k++) {
    quarter(v[0], v[4], v[8], v[12]), quarter(v[1], v[5], v[9], v[13]), quarter(v[2], v[6], v[10], v[14]);
    quarter(v[3], v[7], v[11], v[15]), quarter(v[0], v[5], v[10], v[15]), quarter(v[1], v[6], v[11], v[12]);
    quarter(v[2], v[7], v[8], v[13]), quarter(v[3], v[4], v[9], v[14]);
  }
#pragma unroll
  for (int k = 0; k < 16; k++) out[k] = v[k] + s[k];
}

__global__ void chacha(const unsigned *key, uint4 *text) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned stream[16];
  rounds(key, i, stream);
#pragma unroll
  for (int k = 0; k < 4; k++) {
    uint4 v = text[i * 4 + k];
    v.x ^= stream[4 * k], v.y ^= stream[4 * k + 1], v.z ^= stream[4 * k + 2], v.w ^= stream[4 * k + 3];
    text[i * 4 + k] = v;
  }
}

int main() {
  const int n = 1 << 17, slots = 1 << 18, bytes = 1 << 21;
  std::vector<unsigned> keys(n), asked = random_host<unsigned>(n, 2 * n), filter(1 << 15), votes(n / 32);
  std::vector<unsigned> words = random_host<unsigned>(n * 8, 1 << 24);
  std::vector<int> want(n);
  for (int i = 0; i < n; i++) keys[i] = (i * 40503u) % n * 2;  // every even number once
  std::vector<int> where(2 * n, -1);
  for (int i = 0; i < n; i++) where[keys[i]] = i;
  for (int i = 0; i < n; i++) want[i] = where[asked[i]];
  unsigned long long *table = zeros<unsigned long long>(slots);
  CHECK(cudaMemset(table, 0xff, slots * 8));
  unsigned *k = upload(keys), *a = upload(asked), *out = zeros<unsigned>(n);
  insert<<<n / 256, 256>>>(table, slots - 1, k, n);
  probe<<<n / 256, 256>>>(table, slots - 1, a, (int *)out, n);
  expect("probe", (int *)out, want);
  const unsigned mask = (1u << 20) - 1;
  for (unsigned key : keys)
    for (unsigned h = mix(key), step = mix(h) | 1, j = 0; j < 4; j++, h += step) filter[(h & mask) >> 5] |= 1u << (h & 31);
  for (int i = 0; i < n; i++) {
    unsigned all = 1;
    for (unsigned h = mix(asked[i]), step = mix(h) | 1, j = 0; j < 4; j++, h += step) all &= filter[(h & mask) >> 5] >> (h & 31);
    votes[i / 32] |= all << i % 32;
  }
  bloom<<<n / 256, 256>>>(upload(filter), mask, a, out, n);
  expect("bloom", out, votes);
  std::vector<char> text(bytes + 16);
  Random random;
  for (auto &c : text) c = "acgt"[random.next() >> 20 & 3];
  std::string all(text.begin(), text.begin() + bytes + 6), word = "gattaca";
  int *count = zeros<int>(1), hits = 0;
  for (size_t at = all.find(word); at != std::string::npos; at = all.find(word, at + 1)) hits++;
  CHECK(cudaMemcpyToSymbol(needle, word.data(), word.size()));
  find<<<bytes / 2048, 128>>>((uint4 *)upload(text), count, int(word.size()));
  expect("find", count, std::vector<int>{hits});
  std::vector<unsigned> crcs(256), sums(n / 4);
  for (unsigned i = 0; i < 256; i++) {
    crcs[i] = i;
    for (int b = 0; b < 8; b++) crcs[i] = crcs[i] >> 1 ^ (crcs[i] & 1 ? 0xedb88320u : 0);
  }
  for (int i = 0; i < n / 4; i++) {
    unsigned crc = ~0u;
    for (int b = 0; b < 128; b++) crc = crcs[(crc ^ words[i * 32 + b / 4] >> b % 4 * 8) & 255] ^ crc >> 8;
    sums[i] = ~crc;
  }
  unsigned *w = upload(words);
  crc32<<<n / 4 / 256, 256>>>(w, upload(crcs), out);
  expect("crc32", out, sums);
  for (int i = 0; i < n / 2; i++) {
    unsigned stream[16];
    rounds(keys.data(), i, stream);
    for (int j = 0; j < 16; j++) words[i * 16 + j] ^= stream[j];
  }
  chacha<<<n / 2 / 128, 128>>>(k, (uint4 *)w);
  expect("chacha", w, words);
}
