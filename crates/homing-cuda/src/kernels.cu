// What a shard computes on the device. tests/it/shard_model.rs of the core states the same in Rust, row by row.
//
// Matrix products come from `tensor.cu` or cuBLAS: `products` holds one column of `stride` entries per functional, and the entry of a row
// of the block at its position there. One thread works on one row, unless noted otherwise. The kernels are compiled twice,
// for numbers in f32 and in f64.

#ifndef REAL
#define REAL float
#endif

typedef REAL real;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;

enum Kind { NONE, JOINT, SQUARES, STANDARDISED };
enum Form { VARIANCE, SIGNAL_RATIO, INFORMATION_RATIO, VALUE_RATIO, SQUARES_RATIO, CORRELATION };
enum Format { F32, F16, BF16 };

// What all kernels of a selection share.
struct Law {
    int kind;
    int form;
    double noise_var;
    i64 wide;  // functionals per step
};

struct Step {
    real inverse;  // 1/p
    real second;   // 1/p of the law given the targets as well, or the squared norm of the covariances
    real of_g;     // how |g| and |h| enlarge the error of a sum of squares
    real of_h;
    double key;
};

// Errors are already wider than the rounding of what follows.
struct Decision {
    real bar;
    real var_error;
    real second_error;
    real std_cov_error;
};

struct Checkpoints {
    int slot[5];
    int at[5];
};

__device__ float as_float(const void* values, int format, i64 at) {
    if (format == F32) return ((const float*)values)[at];
    u16 bits = ((const u16*)values)[at];
    if (format == BF16) return __uint_as_float((u32)bits << 16);
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

// The rows of a part as they are stored, and how a selection reads them.
struct Rows {
    const void* values;
    int format;
    int dim;
    const double* offset;  // what is subtracted from each row, or null
    const double* scales;  // with what each row is multiplied then, or null
};

// An entry, rounded once.
__device__ double exact_entry(const Rows& rows, i64 row, int j) {
    double x = as_float(rows.values, rows.format, row * rows.dim + j);
    if (rows.offset) x -= rows.offset[j];
    return rows.scales ? x * rows.scales[row] : x;
}

__device__ real entry(const Rows& rows, i64 row, int j) {
    if (rows.offset || rows.scales) return (real)exact_entry(rows, row, j);
    return as_float(rows.values, rows.format, row * rows.dim + j);
}

__device__ bool is_below(const Law& law, real bar, real low, real high, real second) {
    real noise_var = (real)law.noise_var, given = fmax(second, (real)0);
    switch (law.form) {
        case VARIANCE: return high < bar;
        case SIGNAL_RATIO: return high < bar * noise_var;
        case INFORMATION_RATIO: return high - given < bar * (given + noise_var);
        case VALUE_RATIO: return high - given < bar * given;
        case SQUARES_RATIO: return second < bar * (low + noise_var);
        default: return second < bar * sqrt(low) && second < bar * sqrt(high);
    }
}

__device__ real key_of(const Law& law, real var, real second) {
    real noise_var = (real)law.noise_var;
    var = fmax(var, (real)0);
    real given = fmin(fmax(second, (real)0), var);
    switch (law.form) {
        case VARIANCE: return var;
        case SIGNAL_RATIO: return var / noise_var;
        case INFORMATION_RATIO: return (var - given) / (given + noise_var);
        case VALUE_RATIO: return var > 0 ? (var - given) / fmax(given, (real)1.42e-14 * var) : (real)0;
        case SQUARES_RATIO: return fmax(second, (real)0) / (var + noise_var);
        default: return var > 0 ? second / sqrt(var) : (real)0;
    }
}

__device__ void apply(const Law& law, const Step& step, real g, real h, real& var, real& second, real& error) {
    if (law.kind == JOINT) {
        second -= (h * step.second) * h;
    } else if (law.kind == SQUARES) {
        real share = g * step.inverse;
        second += share * (share * step.second - 2 * h);
        error += step.of_g * fabs(g) + step.of_h * fabs(h);
    }
    var -= (g * step.inverse) * g;
}

__device__ double squares(const real* products, i64 stride, int from, int count, const double* weights) {
    double sum = 0.0;
    for (int j = 0; j < count; ++j) {
        double c = products[(from + j) * stride];
        sum += (weights ? weights[j] : 1.0) * c * c;
    }
    return sum;
}

// Sizes of some rows, per block of threads.
struct Sizes {
    double sum;
    double least;
    double most;
    i64 row;
    i64 bad;
};

// Squared norms, with one warp per row. If `scales` is given, rows are to be scaled to unit length.
extern "C" __global__ void survey(Rows rows, i64 count, real* norms, double* scales, Sizes* out) {
    __shared__ Sizes parts[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    Sizes own = {0.0, 1e308, -1.0, 0, 0};
    for (i64 row = (i64)blockIdx.x * warps + warp; row < count; row += (i64)gridDim.x * warps) {
        double sum = 0.0;
        for (int j = lane; j < rows.dim; j += 32) {
            double x = exact_entry(rows, row, j);
            sum += x * x;
        }
        for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        if (!(sum <= 1e300)) own.bad = 1;
        if (scales) {
            if (lane == 0) scales[row] = sum > 0.0 ? 1.0 / sqrt(sum) : 0.0;
            sum = sum > 0.0 ? 1.0 : 0.0;
        }
        own.sum += sum;
        if (sum > 0.0 && sum < own.least) own.least = sum;
        if (sum > own.most) {
            own.most = sum;
            own.row = row;
        }
        // A norm that underflows must not become zero.
        if (lane == 0) norms[row] = sum > 0.0 ? fmax((real)sum, (real)1.17549435e-38) : (real)0;
    }
    if (lane == 0) parts[warp] = own;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < warps; ++i) {
            Sizes other = parts[i];
            own.sum += other.sum;
            own.bad |= other.bad;
            own.least = fmin(own.least, other.least);
            if (other.most > own.most || (other.most == own.most && other.row < own.row)) {
                own.most = other.most;
                own.row = other.row;
            }
        }
        out[blockIdx.x] = own;
    }
}

// Sums of blocks of `size` rows as they are stored, with one thread per column and one block of threads per block of rows.
extern "C" __global__ void sum_blocks(Rows rows, i64 first, i64 count, int size, double* sums) {
    i64 start = (i64)blockIdx.x * size, end = min(start + size, count);
    for (int j = threadIdx.x; j < rows.dim; j += blockDim.x) {
        double sum = 0.0;
        for (i64 row = start; row < end; ++row) sum += as_float(rows.values, rows.format, (first + row) * rows.dim + j);
        sums[(i64)blockIdx.x * rows.dim + j] = sum;
    }
}

// Adds the sums of blocks in their order, with one thread per column.
extern "C" __global__ void add_sums(const double* sums, int blocks, int dim, double* total) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= dim) return;
    double sum = total[j];
    for (int block = 0; block < blocks; ++block) sum += sums[(i64)block * dim + j];
    total[j] = sum;
}

// Converts rows, with one warp per row.
extern "C" __global__ void convert(Rows rows, i64 first, int count, real* out) {
    int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
    for (int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; row < count; row += warps) {
        for (int j = lane; j < rows.dim; j += 32) out[(i64)row * rows.dim + j] = entry(rows, first + row, j);
    }
}

// Copies scattered rows, with one block of threads per row.
extern "C" __global__ void gather(Rows rows, const u32* names, real* out) {
    i64 row = names[blockIdx.x], to = (i64)blockIdx.x * rows.dim;
    for (int j = threadIdx.x; j < rows.dim; j += blockDim.x) out[to + j] = entry(rows, row, j);
}

// Squared norms of copied rows, with one warp per row.
extern "C" __global__ void measure(const real* points, int dim, int rows, real* norms) {
    int lane = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;
    double sum = 0.0;
    for (int j = lane; j < dim; j += 32) {
        double x = points[(i64)row * dim + j];
        sum += x * x;
    }
    for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (lane == 0) norms[row] = (real)sum;
}

// Computes the numbers of a block of rows from scratch.
extern "C" __global__ void start(Law law, const real* products, i64 stride, int rows, const real* norms, const double* weights,
                                 int data, int data_is_whole, int others, int others_are_whole, double error_per_root,
                                 real* vars, real* seconds, real* errors) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    products += i;
    double part = squares(products, stride, 0, data, weights);
    vars[i] = (real)(data_is_whole ? part : (double)norms[i] - part);
    if (law.kind == JOINT) {
        double part = squares(products, stride, data, others, weights + data);
        seconds[i] = (real)(others_are_whole ? part : (double)norms[i] - part);
    } else if (law.kind == SQUARES) {
        double sum = squares(products, stride, data, others, 0);
        seconds[i] = (real)sum;
        errors[i] = (real)(error_per_root * sqrt(sum));
    } else if (law.kind == STANDARDISED) {
        seconds[i] = products[data * stride];
    }
}

// Turns whether rows are open into the decision from which on they are not to be named: never, or the first.
extern "C" __global__ void open_rows(u8* until, i64 rows) {
    i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += stride) until[row] = until[row] ? 255 : 0;
}

// Marks rows that are not to be named from a decision on.
extern "C" __global__ void set_until(u8* until, const u32* rows, const u8* values, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) until[rows[i]] = values[i];
}

// Adds a named row to a list, which starts with its length and has room for so many rows.
__device__ void list_named(u32* list, u32 room, int hit, i64 row) {
    u32 at = atomicAdd(list, 1u);
    if (at < room) {
        list[1 + 2 * at] = (u32)hit;
        list[2 + 2 * at] = (u32)row;
    }
}

// Applies steps to a block of rows, whose first is `first`, stores their numbers at the checkpoints, and notes the first
// decision that each row may matter to, or 255. `counts` holds the number of rows per decision, then their list.
extern "C" __global__ void verify(Law law, const real* products, i64 stride, int rows, i64 first, i64 all,
                                  const real* norms, real* vars, real* seconds, real* errors, const u8* until,
                                  const Step* steps, int count, int made, const Decision* decisions, int roots,
                                  double error_per_root, Checkpoints checkpoints, u8* named, u32* counts, u32 room) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    products += i;
    i64 row = first + i;
    bool has_second = law.kind != NONE;
    real var = vars[checkpoints.slot[0] * all + row];
    real second = has_second ? seconds[checkpoints.slot[0] * all + row] : (real)0;
    real error = law.kind == SQUARES ? errors[row] : (real)0;
    real norm_sq = norms[row], norm = sqrt(norm_sq);
    int last = until[row], hit = 255, checkpoint = 0, decided = count - made;
    for (int j = 0; j <= count; ++j) {
        if (law.kind == STANDARDISED) second = products[(law.wide * j + (j < count)) * stride];
        if (roots && j == made) {
            double sum = squares(products, stride, law.wide * count, roots, 0);
            second = (real)sum;
            error = (real)(error_per_root * sqrt(sum));
        }
        int t = j - made;
        if (t >= 0) {
            if (checkpoint < 5 && t == checkpoints.at[checkpoint]) {
                i64 at = checkpoints.slot[checkpoint] * all + row;
                vars[at] = var;
                if (has_second) seconds[at] = second;
                ++checkpoint;
            }
            if (t < decided && hit == 255 && t < last) {
                Decision decision = decisions[t];
                real slack = decision.var_error * norm_sq, most;
                if (law.form == SQUARES_RATIO) {
                    most = second + (decision.second_error * norm_sq + (real)1.001 * error * norm);
                } else if (law.form == CORRELATION) {
                    most = second + fabs(second) * (sizeof(real) == 4 ? (real)1e-6 : (real)1e-14) + decision.std_cov_error * norm;
                } else {
                    most = second - decision.second_error * norm_sq;
                }
                bool sound = isfinite(var) && isfinite(second);
                if (!(sound && is_below(law, decision.bar, fmax(var - slack, (real)0), var + slack, most))) hit = t;
            }
        }
        if (j < count) {
            real g = products[law.wide * j * stride];
            real h = law.wide > 1 ? products[(law.wide * j + 1) * stride] : (real)0;
            apply(law, steps[j], g, h, var, second, error);
        }
    }
    if (law.kind == SQUARES) errors[row] = error;
    named[row] = (u8)hit;
    if (hit != 255) {
        atomicAdd(&counts[hit], 1u);
        if (room) list_named(counts + 256, room, hit, row);
    }
}

// Lists the rows that were named at a decision before `complete`.
extern "C" __global__ void collect(const u8* named, i64 rows, int complete, u32* list, u32 room) {
    i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += stride) {
        if (named[row] < complete) list_named(list, room, named[row], row);
    }
}

// A key as an unsigned number in the same order; NaN comes last.
__device__ u32 ordered(real exact) {
    u32 bits = __float_as_uint((float)exact);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// The least key of the best rows, found digit by digit, and how many rows are listed.
struct Bar {
    u32 prefix;  // the leading 12 bits, then 24
    u32 above;   // rows with larger digits
    u32 listed;
};

__device__ void count_key(u32* own, u32 bits, int digit, const Bar* bar) {
    if (digit == 0) {
        atomicAdd(&own[bits >> 20], 1u);
    } else if (bits >> 20 == bar->prefix) {
        atomicAdd(&own[bits >> 8 & 0xfff], 1u);
    }
}

// Counts open rows by the 12 leading bits of their keys, or by the 12 bits after the bar's.
extern "C" __global__ void histogram(Law law, const real* vars, const real* seconds, const u8* until, i64 rows,
                                     int digit, const Bar* bar, u32* bins) {
    __shared__ u32 own[4096];
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) own[i] = 0;
    __syncthreads();
    i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += stride) {
        if (until[row]) count_key(own, ordered(key_of(law, vars[row], law.kind == NONE ? (real)0 : seconds[row])), digit, bar);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) {
        if (own[i]) atomicAdd(&bins[i], own[i]);
    }
}

// The same for keys that are there.
extern "C" __global__ void histogram_of_keys(const float* keys, int rows, int digit, const Bar* bar, u32* bins) {
    __shared__ u32 own[4096];
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) own[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += gridDim.x * blockDim.x) {
        count_key(own, ordered((real)keys[i]), digit, bar);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) {
        if (own[i]) atomicAdd(&bins[i], own[i]);
    }
}

// Finds the digit that `count` rows reach, and clears the bins. One block of 256 threads. At most `room` rows are listed so
// far.
extern "C" __global__ void reach(u32* bins, u32 count, int digit, u32 room, Bar* bar) {
    __shared__ u32 sums[256];
    int first = threadIdx.x * 16;
    u32 own[16], sum = 0;
    for (int i = 0; i < 16; ++i) {
        own[i] = bins[first + i];
        bins[first + i] = 0;
        sum += own[i];
    }
    u32 above = digit ? bar->above : 0, prefix = digit ? bar->prefix : 0;
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int i = threadIdx.x + 1; i < 256; ++i) above += sums[i];
    // If there are fewer rows, the digit is zero.
    if (above < count && (above + sum >= count || threadIdx.x == 0)) {
        int bin = 15;
        for (; bin > 0 && above + own[bin] < count; --bin) above += own[bin];
        bar->prefix = prefix << 12 | (u32)(first + bin);
        bar->above = above;
    }
    if (threadIdx.x == 0 && bar->listed > room) bar->listed = room;
}

// Lists open rows whose keys' leading 24 bits reach the bar and that are not marked yet, and marks them. At most `room` rows
// are listed in all.
extern "C" __global__ void choose(Law law, const real* vars, const real* seconds, const u8* until, i64 rows, Bar* bar,
                                  u8* marks, u32 room, u32* out) {
    u32 least = bar->prefix;
    i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += stride) {
        if (!until[row] || marks[row]) continue;
        u32 bits = ordered(key_of(law, vars[row], law.kind == NONE ? (real)0 : seconds[row]));
        if (bits >> 8 < least) continue;
        u32 at = atomicAdd(&bar->listed, 1u);
        if (at < room) {
            out[at] = (u32)row;
            marks[row] = 1;
        }
    }
}

// Lists rows whose keys reach the bar, each with its key.
extern "C" __global__ void list_best(const float* keys, const u32* names, int rows, Bar* bar, u32 room, u32* out) {
    u32 least = bar->prefix;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += gridDim.x * blockDim.x) {
        if (ordered((real)keys[i]) >> 8 < least) continue;
        u32 at = atomicAdd(&bar->listed, 1u);
        if (at < room) {
            out[2 * at] = names[i];
            out[2 * at + 1] = __float_as_uint(keys[i]);
        }
    }
}

// Copies the numbers of the chosen rows, and removes their marks.
extern "C" __global__ void copy_numbers(const real* vars, const real* seconds, int has_second, const u32* rows, int count,
                                        real* warm_vars, real* warm_seconds, u8* marks) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    u32 row = rows[i];
    warm_vars[i] = vars[row];
    if (has_second) warm_seconds[i] = seconds[row];
    marks[row] = 0;
}

struct Rival {
    u32 at;
    u32 row;
    float key;
};

__device__ bool is_listed(const u32* list, int count, u32 row) {
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (list[middle] < row) low = middle + 1; else high = middle;
    }
    return low < count && list[low] == row;
}

// Applies steps to the warm rows. Stores their numbers before each step and their keys after the last; lists the rows that
// would be picked before a step. `found` starts with the length of that list.
extern "C" __global__ void try_steps(Law law, const real* products, i64 stride, int rows, const u32* names,
                                     const Step* steps, int count, real* vars, real* seconds, real* history,
                                     const u32* excluded, int excluded_count, float* keys, u32* found, Rival* rivals) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    products += i;
    bool has_second = law.kind != NONE;
    real var = vars[i], second = has_second ? seconds[i] : (real)0, error = (real)0;
    bool named = false;
    for (int j = 0; j <= count; ++j) {
        if (law.kind == STANDARDISED) second = products[(law.wide * j + (j < count)) * stride];
        real key = key_of(law, var, second);
        if (j == count) {
            keys[i] = (float)key;
            break;
        }
        if (history) {
            history[(i64)(2 * j) * rows + i] = var;
            history[(i64)(2 * j + 1) * rows + i] = second;
            if (!named && (double)key > steps[j].key) {
                named = true;
                if (!is_listed(excluded, excluded_count, names[i])) {
                    u32 at = atomicAdd(found, 1u);
                    Rival rival = {(u32)j, names[i], (float)key};
                    rivals[at] = rival;
                }
            }
        }
        real g = products[law.wide * j * stride];
        real h = law.wide > 1 ? products[(law.wide * j + 1) * stride] : (real)0;
        apply(law, steps[j], g, h, var, second, error);
    }
    vars[i] = var;
    if (has_second) seconds[i] = second;
}

// Fills a pool with rows of unit length that are near one of several centres; an entry's scale falls with its position.
// For benchmarks and tests on the device, with one warp per row.
extern "C" __global__ void generate(void* values, int format, int dim, i64 rows, i64 clusters, float spread, u32 seed) {
    int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (i64 row = (i64)blockIdx.x * warps + threadIdx.x / 32; row < rows; row += (i64)gridDim.x * warps) {
        float x[64], sum = 0.0f;
        i64 centre = clusters ? (row * 7919) % clusters : 0;
        for (int k = 0; k * 32 + lane < dim && k < 64; ++k) {
            int j = k * 32 + lane;
            float entry = 0.0f;
            for (int part = 0; part < 2; ++part) {
                unsigned long long state = ((unsigned long long)(part ? row + 1000003 : centre) << 20) + j + ((unsigned long long)seed << 52) + (part ? 0x5bf03635ull : 0);
                float normal = 0.0f;
                for (int n = 0; n < 4; ++n) {
                    state += 0x9e3779b97f4a7c15ull;
                    unsigned long long z = state;
                    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
                    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
                    z ^= z >> 31;
                    normal += (float)(u32)(z >> 40) * (2.0f / 16777216.0f) - 1.0f;
                }
                if (part || clusters) entry += normal * (part && clusters ? spread : 1.0f);
            }
            x[k] = entry * (clusters ? powf((float)(j + 1), -0.7f) : 1.0f);
            sum += x[k] * x[k];
        }
        for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        float scale = rsqrtf(sum);
        for (int k = 0; k * 32 + lane < dim && k < 64; ++k) {
            i64 at = row * dim + k * 32 + lane;
            float value = x[k] * scale;
            if (format == F32) {
                ((float*)values)[at] = value;
            } else if (format == BF16) {
                u32 bits = __float_as_uint(value);
                ((u16*)values)[at] = (u16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
            } else {
                u16 half;
                asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
                ((u16*)values)[at] = half;
            }
        }
    }
}
