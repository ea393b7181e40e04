// Enough of CUDA to run kernels on the CPU: one block after the other, each thread of it on a thread.
#include <barrier>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

using std::fabs, std::fmax, std::fmin, std::isfinite, std::max, std::min, std::sqrt;

#define __device__
#define __global__
#define __shared__ static
// The conversions of f16 are instructions of a GPU. Nothing here is in f16.
#define asm(...)

struct Index {
    unsigned x, y, z;
};
static thread_local Index threadIdx, blockIdx;
static Index blockDim, gridDim;
static std::unique_ptr<std::barrier<>> whole_block;
static std::vector<std::unique_ptr<std::barrier<>>> warps_of_block;

static void __syncthreads() { whole_block->arrive_and_wait(); }

template <typename T>
static T __shfl_xor_sync(unsigned, T value, int mask) {
    static T slots[1024];
    std::barrier<>& warp = *warps_of_block[threadIdx.x / 32];
    slots[threadIdx.x] = value;
    warp.arrive_and_wait();
    T other = slots[threadIdx.x ^ mask];
    warp.arrive_and_wait();
    return other;
}

static unsigned atomicAdd(unsigned* at, unsigned value) { return __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }

template <typename To, typename From>
static To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof(to));
    return to;
}
static float __uint_as_float(unsigned bits) { return bits_as<float>(bits); }
static unsigned __float_as_uint(float x) { return bits_as<unsigned>(x); }
static float rsqrtf(float x) { return 1.0f / std::sqrt(x); }

template <typename... Parameters, typename... Arguments>
static void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, Arguments... arguments) {
    blockDim = {threads, 1, 1};
    gridDim = {blocks, 1, 1};
    for (unsigned block = 0; block < blocks; ++block) {
        whole_block = std::make_unique<std::barrier<>>(threads);
        warps_of_block.clear();
        for (unsigned at = 0; at < threads; at += 32) {
            warps_of_block.push_back(std::make_unique<std::barrier<>>(min(32u, threads - at)));
        }
        std::vector<std::thread> all;
        for (unsigned thread = 0; thread < threads; ++thread) {
            all.emplace_back([=] {
                threadIdx = {thread, 0, 0};
                blockIdx = {block, 0, 0};
                kernel(static_cast<Parameters>(arguments)...);
            });
        }
        for (std::thread& thread : all) thread.join();
    }
}

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition); \
            exit(1);                                                          \
        }                                                                     \
    } while (0)
