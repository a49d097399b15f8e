// Double precision: chains, division and roots, exponentials, a small n-body step.
#include "common.cuh"

__global__ void chain(const double *in, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double v = in[i];
  for (int k = 0; k < 64; k++) v = v * 1.0000001 + 0.25;
  out[i] = v;
}

__global__ void roots(const double *in, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double v = in[i] + 1.0;
  for (int k = 0; k < 4; k++) v = sqrt(v) / (v + 0.5) + exp(-v);
  out[i] = v;
}

__global__ void bodies(const double4 *p, double4 *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double4 me = p[i];
  double ax = 0, ay = 0, az = 0;
  for (int j = 0; j < n; j++) {
    double4 o = p[j];
    double dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
    double inverse = rsqrt(dx * dx + dy * dy + dz * dz + 1e-3), s = o.w * inverse * inverse * inverse;
    ax += dx * s, ay += dy * s, az += dz * s;
  }
  a[i] = make_double4(ax, ay, az, 0);
}

__global__ void mixed(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = in[i];
  for (int k = 0; k < 16; k++) v = v * 1.5 + 0.1;
  out[i] = v;
}

int main() {
  const int n = 1 << 17;
  double *in = randoms<double>(n), *out = zeros<double>(n);
  chain<<<n / 256, 256>>>(in, out);
  done("chain", out, n);
  roots<<<n / 256, 256>>>(in, out);
  done("roots", out, n);
  bodies<<<4096 / 128, 128>>>((double4 *)in, (double4 *)out, 512);
  done("bodies", out, 4096);
  mixed<<<n / 256, 256>>>((float *)in, (float *)out);
  done("mixed", (float *)out, n);
}
