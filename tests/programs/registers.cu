// Special registers and single instructions by inline PTX.
#include <cstdio>

__device__ unsigned int lane_id(void) {
  unsigned int lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
__global__ void where(unsigned int *out, long long *times) {
  unsigned int warp;
  long long before, after;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(before));
  asm volatile("mov.u32 %0, %warpid;" : "=r"(warp));
  unsigned int less, more;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(less));
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(more));
  out[threadIdx.x] = 100 * warp + lane_id() + (less != ~more || __popc(less) != lane_id() ? 1000 : 0);
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
  times[threadIdx.x] = after - before;
}
__global__ void instructions(unsigned int *out, const unsigned int *in, float *real) {
  unsigned int a = in[0], b = in[1], c = in[2], r, s, t, u;
  asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); // the majority
  out[0] = r;
  asm volatile("bfind.u32 %0, %1;" : "=r"(r) : "r"(a));
  out[1] = r;
  asm("{ prmt.b32 %0, %1, %2, 0x3210; }" : "=r"(out[2]) : "r"(a), "r"(b));
  asm volatile("shl.b32 %0, %1, %2;\n" : "=r"(out[3]) : "r"(a), "r"(40));
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(out[4]) : "r"(a), "r"(b), "r"(c));
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r), "=r"(s), "=r"(t), "=r"(u) : "l"(in));
  out[5] = r + s + t + u;
  asm volatile("st.volatile.global.u32 [%0], %1;" ::"l"(out + 6), "r"(b) : "memory");
  asm("bfe.s32 %0, %1, 4, 8;" : "=r"(out[7]) : "r"(a));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(real[0]) : "f"(real[1]));
  asm volatile("membar.gl;");
}

// Halves and bytes of a word, each by itself.
__global__ void parts(unsigned int *out, unsigned int a, unsigned int b) {
  bool high = false, low = false;
  int i = 0;
  out[i++] = __vadd4(a, b);
  out[i++] = __vaddss2(a, b);
  out[i++] = __vsubus4(a, b);
  out[i++] = __vavgs4(a, b);
  out[i++] = __vabsdiffu4(a, b);
  out[i++] = __vsadu4(a, b);
  out[i++] = __vcmpgts2(a, b);
  out[i++] = __vsetgtu4(a, b);
  out[i++] = __vneg2(a);
  out[i++] = __viaddmax_s16x2_relu(a, b, 5);
  out[i++] = (unsigned int)__vimin3_s32(-3, 4, 2);
  out[i] = __vibmax_s16x2(a, b, &high, &low);
  out[i++] += high * 2u + low;
  asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(out[i++]) : "r"(a), "r"(b), "r"(7));
}

int main() {
  unsigned int *out;
  long long *times;
  cudaMallocManaged(&out, 64 * sizeof *out);
  cudaMallocManaged(&times, 64 * sizeof *times);
  where<<<1, 64>>>(out, times);
  bool good = cudaDeviceSynchronize() == cudaSuccess;
  for (unsigned int i = 0; i < 64; i++)
    good = good && out[i] == 100 * (i / 32) + i % 32 && times[i] >= 0;
  const unsigned int a = 0x12345f81, b = 0x0ff00ff0, c = 0xffff0000;
  float *real;
  cudaMallocManaged(&real, 2 * sizeof *real);
  real[1] = 3;
  unsigned int *in = out + 32;
  in[0] = a;
  in[1] = b;
  in[2] = c;
  in[3] = 5;
  instructions<<<1, 1>>>(out, in, real);
  good = good && cudaDeviceSynchronize() == cudaSuccess && real[0] == 8;
  const unsigned int expected[] = {(a & b) | (a & c) | (b & c), 28, a, 0, a * b + c, a + b + c + 5, b, 0xfffffff8};
  for (int i = 0; i < 8; i++) {
    if (out[i] != expected[i])
      printf("instruction %d: %x, expected %x\n", i, out[i], expected[i]);
    good = good && out[i] == expected[i];
  }
  parts<<<1, 1>>>(out, 0x7fff01f0, 0x00020420);
  good = good && cudaDeviceSynchronize() == cudaSuccess;
  const unsigned int of_parts[] = {0x7f010510,
                                   0x7fff0610,
                                   0x7ffd00d0,
                                   0x40010308,
                                   0x7ffd03d0,
                                   0x7f + 0xfd + 3 + 0xd0,
                                   0xffff0000,
                                   0x01000001 | 0x00010000,
                                   0x8001fe10,
                                   0x00000610,
                                   0xfffffffd,
                                   0x7fff0420 + 2,
                                   0x7f + 0xfd + 3 + 0xd0 + 7};
  for (int i = 0; i < 13; i++) {
    if (out[i] != of_parts[i])
      printf("parts %d: %x, expected %x\n", i, out[i], of_parts[i]);
    good = good && out[i] == of_parts[i];
  }
  puts(good ? "PASS" : "FAIL");
  return !good;
}
