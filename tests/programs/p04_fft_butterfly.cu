// A 1024-point radix-2 FFT in shared memory, one block per signal; checked by Parseval and by the inverse.
#include <cmath>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

constexpr int kPoints = 1024, kLog = 10;

__global__ void fft(float2 *data, float sign) {
  __shared__ float2 s[kPoints];
  float2 *x = data + blockIdx.x * kPoints;
  for (int i = threadIdx.x; i < kPoints; i += blockDim.x) s[__brev(i) >> (32 - kLog)] = x[i];
  __syncthreads();
  for (int half = 1; half < kPoints; half *= 2) {
    for (int b = threadIdx.x; b < kPoints / 2; b += blockDim.x) {
      int k = b % half, lo = (b / half) * 2 * half + k, hi = lo + half;
      float si, co;
      sincosf(sign * 3.14159265358979f * float(k) / float(half), &si, &co);
      float2 a = s[lo], c = s[hi];
      float2 t = make_float2(c.x * co - c.y * si, c.x * si + c.y * co);
      s[lo] = make_float2(a.x + t.x, a.y + t.y);
      s[hi] = make_float2(a.x - t.x, a.y - t.y);
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < kPoints; i += blockDim.x) x[i] = s[i];
}

int main() {
  const int signals = 4, total = signals * kPoints;
  std::vector<float2> in(total), spectrum(total), back(total);
  for (int i = 0; i < total; i++) in[i] = make_float2(float((i * 37) % 64) / 64 - 0.5f, float((i * 11) % 32) / 32);
  float2 *d;
  cudaMalloc(&d, total * sizeof(float2));
  cudaMemcpy(d, in.data(), total * sizeof(float2), cudaMemcpyHostToDevice);
  fft<<<signals, 128>>>(d, -1.0f);
  cudaMemcpy(spectrum.data(), d, total * sizeof(float2), cudaMemcpyDeviceToHost);
  fft<<<signals, 128>>>(d, 1.0f);
  cudaMemcpy(back.data(), d, total * sizeof(float2), cudaMemcpyDeviceToHost);

  double energy = 0, power = 0, worst = 0;
  for (int i = 0; i < total; i++) {
    energy += double(in[i].x) * in[i].x + double(in[i].y) * in[i].y;
    power += (double(spectrum[i].x) * spectrum[i].x + double(spectrum[i].y) * spectrum[i].y) / kPoints;
    worst = fmax(worst, fabs(back[i].x / kPoints - in[i].x) + fabs(back[i].y / kPoints - in[i].y));
  }
  bool good = fabs(energy - power) < 1e-4 * energy && worst < 1e-4;
  printf("energy=%.3f power=%.3f inverse %s %s\n", energy, power, worst < 1e-4 ? "ok" : "off", good ? "PASS" : "FAIL");
  return !good;
}
