// Products of rows with functionals on tensor cores.
//
// A tensor core multiplies numbers of 11 bits (tf32) and adds in f32. Every factor is therefore the sum of two such numbers,
// x = h + l and w = H + L, and three products remain: lH + hL + hH. Rows that are stored in f16 or bf16 and read as they are
// need no l. The sums of 32 columns are added in f32 with rounding. `tensor.rs` bounds the error.
//
// A block of threads has 8 warps of 32 rows each. All of them multiply with the same functionals, 8 per tile, which are
// stored in the order in which the lanes of a warp read them: `pack` in tensor.rs states it.

typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;

enum Format { F32, F16, BF16 };

struct Rows {
    const void* values;
    int format;
    int dim;
    const double* offset;
    const double* scales;
};

// Columns that are multiplied at a time, of which a thread reads eight.
#define SLAB 32
#define OWN 8
#define WARPS 8
#define TILES_OF_ROWS 2

// The leading 11 bits of a number.
__device__ __forceinline__ float leading(float x) { return __uint_as_float(__float_as_uint(x) & 0xffffe000u); }

__device__ __forceinline__ void multiply(float* sum, const float* a, float b0, float b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
          "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}

__device__ __forceinline__ void copy_async(void* to, const void* from) {
    u32 address = (u32)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from));
}

// Eight numbers of a row as they are stored.
struct Stored {
    uint4 words[2];
};

template <bool WIDE>
__device__ __forceinline__ Stored load(const Rows& rows, i64 at) {
    Stored stored;
    if (WIDE) {
        const uint4* from = (const uint4*)((const float*)rows.values + at);
        stored.words[0] = __ldg(from);
        stored.words[1] = __ldg(from + 1);
    } else {
        stored.words[0] = __ldg((const uint4*)((const u16*)rows.values + at));
    }
    return stored;
}

__device__ __forceinline__ u32 word(const uint4& words, int i) {
    return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
}

template <bool WIDE>
__device__ __forceinline__ float number(const Stored& stored, int format, int i) {
    if (WIDE) return __uint_as_float(word(stored.words[i / 4], i % 4));
    u32 pair = word(stored.words[0], i / 2);
    u16 bits = (u16)(i % 2 ? pair >> 16 : pair);
    if (format == BF16) return __uint_as_float((u32)bits << 16);
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

// One column of `stride` numbers per functional. `functionals` holds, for each block of TILES tiles, the columns of all slabs.
template <int TILES, bool WIDE, bool TRANSFORMED>
__device__ __forceinline__ void product(const Rows& rows, i64 first, int count, const float4* functionals, int number_of, float* out,
                                        i64 stride) {
    constexpr bool SPLIT = WIDE || TRANSFORMED;
    constexpr int PIECE = 4 * TILES * 32;  // float4 of one slab
    __shared__ float4 slabs[2][PIECE];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, place = lane % 4;
    int start = (blockIdx.y * WARPS + warp) * 16 * TILES_OF_ROWS;
    int steps = rows.dim / SLAB;
    functionals += (i64)blockIdx.x * steps * PIECE;

    i64 at[TILES_OF_ROWS][2];
    double scale[TILES_OF_ROWS][2];
    for (int m = 0; m < TILES_OF_ROWS; ++m) {
        for (int half = 0; half < 2; ++half) {
            i64 row = first + min(start + 16 * m + 8 * half + group, count - 1);
            at[m][half] = row * rows.dim + OWN * place;
            scale[m][half] = TRANSFORMED && rows.scales ? rows.scales[row] : 1.0;
        }
    }
    float total[TILES_OF_ROWS][TILES][4] = {};
    Stored next[TILES_OF_ROWS][2];
#pragma unroll
    for (int m = 0; m < TILES_OF_ROWS; ++m) {
        next[m][0] = load<WIDE>(rows, at[m][0]);
        next[m][1] = load<WIDE>(rows, at[m][1]);
    }
    for (int i = threadIdx.x; i < PIECE; i += 32 * WARPS) copy_async(&slabs[0][i], functionals + i);
    asm volatile("cp.async.commit_group;");

    for (int slab = 0; slab < steps; ++slab) {
        Stored now[TILES_OF_ROWS][2];
#pragma unroll
        for (int m = 0; m < TILES_OF_ROWS; ++m) {
            now[m][0] = next[m][0];
            now[m][1] = next[m][1];
        }
        asm volatile("cp.async.wait_group 0;");
        // Every warp has the functionals of this slab, and has finished with those of the last.
        __syncthreads();
        if (slab + 1 < steps) {
#pragma unroll
            for (int m = 0; m < TILES_OF_ROWS; ++m) {
                next[m][0] = load<WIDE>(rows, at[m][0] + (slab + 1) * SLAB);
                next[m][1] = load<WIDE>(rows, at[m][1] + (slab + 1) * SLAB);
            }
            const float4* from = functionals + (i64)(slab + 1) * PIECE;
            for (int i = threadIdx.x; i < PIECE; i += 32 * WARPS) copy_async(&slabs[(slab + 1) % 2][i], from + i);
        }
        asm volatile("cp.async.commit_group;");

        float sum[TILES_OF_ROWS][TILES][4] = {};
        const float4* own = &slabs[slab % 2][lane];
#pragma unroll
        for (int step = 0; step < 4; ++step) {
            float high[TILES_OF_ROWS][4], low[TILES_OF_ROWS][4];
#pragma unroll
            for (int m = 0; m < TILES_OF_ROWS; ++m) {
#pragma unroll
                for (int entry = 0; entry < 4; ++entry) {
                    int half = entry % 2, column = 2 * step + entry / 2;
                    float x = number<WIDE>(now[m][half], rows.format, column);
                    if (TRANSFORMED) {
                        double exact = x;
                        if (rows.offset) exact -= __ldg(rows.offset + slab * SLAB + OWN * place + column);
                        x = (float)(exact * scale[m][half]);
                    }
                    high[m][entry] = SPLIT ? leading(x) : x;
                    low[m][entry] = SPLIT ? leading(x - high[m][entry]) : 0.0f;
                }
            }
#pragma unroll
            for (int tile = 0; tile < TILES; ++tile) {
                float4 w = own[(step * TILES + tile) * 32];
#pragma unroll
                for (int m = 0; m < TILES_OF_ROWS; ++m) {
                    if (SPLIT) multiply(sum[m][tile], low[m], w.x, w.y);
                    multiply(sum[m][tile], high[m], w.z, w.w);
                    multiply(sum[m][tile], high[m], w.x, w.y);
                }
            }
        }
#pragma unroll
        for (int m = 0; m < TILES_OF_ROWS; ++m) {
#pragma unroll
            for (int tile = 0; tile < TILES; ++tile) {
#pragma unroll
                for (int i = 0; i < 4; ++i) total[m][tile][i] += sum[m][tile][i];
            }
        }
    }
#pragma unroll
    for (int m = 0; m < TILES_OF_ROWS; ++m) {
#pragma unroll
        for (int tile = 0; tile < TILES; ++tile) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                int row = start + 16 * m + 8 * (i / 2) + group;
                int functional = (blockIdx.x * TILES + tile) * 8 + 2 * place + i % 2;
                if (row < count && functional < number_of) out[functional * stride + row] = total[m][tile][i];
            }
        }
    }
}

#define PRODUCT(TILES, NAME, WIDE, TRANSFORMED)                                                                     \
    extern "C" __global__ void __launch_bounds__(32 * WARPS, 1)                                                   \
        NAME##_##TILES(Rows rows, i64 first, int count, const float4* functionals, int number_of, float* out, i64 stride) {   \
        product<TILES, WIDE, TRANSFORMED>(rows, first, count, functionals, number_of, out, stride);                    \
    }
#define PRODUCTS(TILES)                   \
    PRODUCT(TILES, single, true, false)       \
    PRODUCT(TILES, half, false, false)        \
    PRODUCT(TILES, transformed_single, true, true) \
    PRODUCT(TILES, transformed_half, false, true)

PRODUCTS(2)
PRODUCTS(4)
PRODUCTS(6)
PRODUCTS(8)
