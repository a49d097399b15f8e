// Hopper's and Blackwell's asynchronous instructions, so that the coverage report knows their names.
#include <cstdint>

__device__ inline uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__global__ void mbarrier(int *out) {
  __shared__ alignas(8) uint64_t bar;
  uint32_t at = shared_address(&bar), done;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at));
  __syncthreads();
  asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at));
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at));
  out[threadIdx.x] = done;
}

__global__ void bulk(const char *in, char *out, const __grid_constant__ int4 map) {
  __shared__ alignas(128) char tile[1024];
  __shared__ alignas(8) uint64_t bar;
  uint32_t at = shared_address(tile), b = shared_address(&bar);
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(b));
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(at), "l"(in), "r"(b));
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2}], [%3];" ::"r"(at), "l"(&map), "r"(0), "r"(b));
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(out), "r"(at));
  asm volatile("cp.async.bulk.commit_group;");
  asm volatile("cp.async.bulk.wait_group 0;");
  asm volatile("fence.proxy.async;");
}

__global__ void __cluster_dims__(2, 1, 1) cluster(int *out) {
  __shared__ int word;
  uint32_t at = shared_address(&word), remote, value;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(remote) : "r"(at));
  asm volatile("barrier.cluster.arrive;");
  asm volatile("barrier.cluster.wait;");
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(remote));
  out[threadIdx.x] = value;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__global__ void wgmma(float *out, uint64_t a, uint64_t b) {
  float d[4] = {0, 0, 0, 0};
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "l"(a), "l"(b));
  asm volatile("wgmma.commit_group.sync.aligned;");
  asm volatile("wgmma.wait_group.sync.aligned 0;");
  asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  out[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
#endif

#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
__global__ void tcgen05(float *out, uint64_t a, uint64_t b, uint32_t idesc) {
  __shared__ uint32_t slot;
  __shared__ alignas(8) uint64_t bar;
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(shared_address(&slot)));
  uint32_t tmem = slot, v;
  asm volatile("{ .reg .pred p; setp.ne.u32 p, 1, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }" ::"r"(tmem), "l"(a), "l"(b), "r"(idesc));
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%0];" ::"l"((uint64_t)shared_address(&bar)));
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(v) : "r"(tmem));
  asm volatile("tcgen05.wait::ld.sync.aligned;");
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(tmem));
  out[threadIdx.x] = v;
}
#endif
