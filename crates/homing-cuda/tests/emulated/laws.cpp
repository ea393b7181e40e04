// Laws of the kernels, on the CPU. Each is stated without the kernel's own way to compute.
#include "shim.h"
#include "kernels.cu"

#include <algorithm>
#include <set>

static unsigned long long seed = 1;
static double random_number() {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static double tolerance() { return sizeof(real) == 4 ? 2e-5 : 1e-12; }

// The best open rows are listed, once each, whatever the keys.
static void rows_with_the_best_keys(int all, int open_share, bool copies) {
    Law law = {JOINT, INFORMATION_RATIO, 0.3, 2};
    std::vector<real> vars(2 * all), seconds(2 * all);
    std::vector<u8> until(all), marks(all);
    for (int i = 0; i < 2 * all; ++i) {
        vars[i] = (real)(copies && i % 3 ? 0.7 : random_number());
        seconds[i] = copies && i % 3 ? (real)0.2 : (real)(vars[i] * random_number());
    }
    for (int i = 0; i < all; ++i) until[i] = i % 100 < open_share;
    launch(open_rows, 2, 64, until.data(), (i64)all);
    for (int i = 0; i < all; ++i) CHECK(until[i] == (i % 100 < open_share ? 255 : 0));

    int counts[] = {90, 40};
    unsigned most = min(2 * (counts[0] + counts[1]), all), room = 0;
    std::vector<u32> bins(4096), names(most);
    Bar bar = {};
    std::vector<std::set<u32>> wanted;
    for (int slot = 0; slot < 2; ++slot) {
        const real *v = &vars[slot * all], *u = &seconds[slot * all];
        for (int digit = 0; digit < 2; ++digit) {
            launch(histogram, 3, 64, law, v, u, until.data(), (i64)all, digit, &bar, bins.data());
            launch(reach, 1, 256, bins.data(), (u32)counts[slot], digit, room, &bar);
            for (u32 bin : bins) CHECK(bin == 0);
        }
        room = min(room + 2 * counts[slot], most);
        launch(choose, 3, 64, law, v, u, until.data(), (i64)all, &bar, marks.data(), room, names.data());
        std::vector<std::pair<u32, u32>> order;
        for (int i = 0; i < all; ++i) {
            if (until[i]) order.push_back({~(ordered(key_of(law, v[i], u[i])) >> 8), (u32)i});
        }
        std::sort(order.begin(), order.end());
        std::set<u32> best;
        for (int i = 0; i < min(counts[slot], (int)order.size()); ++i) best.insert(order[i].second);
        wanted.push_back(best);
    }
    u32 listed = min(bar.listed, room);
    std::set<u32> found(names.begin(), names.begin() + listed);
    CHECK(found.size() == listed);
    for (u32 row : found) CHECK(row < (u32)all && until[row] && marks[row]);
    for (int i = 0; i < all; ++i) CHECK(!marks[i] || found.count(i));
    if (!copies) {
        for (const std::set<u32>& best : wanted) {
            for (u32 row : best) CHECK(found.count(row));
        }
    } else {
        CHECK(listed >= (u32)min(counts[0], (int)wanted[0].size()));
    }

    // The best of these, from their keys.
    std::vector<float> keys(listed);
    for (u32 i = 0; i < listed; ++i) keys[i] = (float)key_of(law, vars[names[i]], seconds[names[i]]);
    u32 count = 25;
    std::vector<u32> out(2 * listed);
    Bar among = {};
    for (int digit = 0; digit < 2; ++digit) {
        launch(histogram_of_keys, 2, 64, keys.data(), (int)listed, digit, &among, bins.data());
        launch(reach, 1, 256, bins.data(), count, digit, 0u, &among);
    }
    launch(list_best, 2, 64, keys.data(), names.data(), (int)listed, &among, listed, out.data());
    CHECK(among.listed >= min(count, listed) && among.listed <= listed);
    float least = 1e30f;
    for (u32 i = 0; i < among.listed; ++i) least = min(least, __uint_as_float(out[2 * i + 1]));
    u32 larger = 0;
    for (float key : keys) larger += key > least;
    CHECK(larger < among.listed);
}

// A pass lists exactly the rows that it names, and every row that beats a bar is named.
static void a_pass_names_every_row_that_matters(int form, int kind, u32 room) {
    const int rows = 300, count = 4, made = 1, stride = 320;
    Law law = {kind, form, 0.5, kind == NONE ? 1 : 2};
    std::vector<real> products(stride * (2 * count + 1)), norms(rows), vars(5 * rows), seconds(5 * rows), errors(rows);
    for (real& x : products) x = (real)(0.4 * random_number() - 0.2);
    for (int i = 0; i < rows; ++i) {
        norms[i] = (real)(0.5 + random_number());
        vars[i] = norms[i];
        seconds[i] = (real)(kind == JOINT ? 0.8 * norms[i] : 0.3 * random_number());
    }
    std::vector<u8> until(rows, 255), named(rows);
    u32 closed[] = {3, 7};
    u8 from[] = {0, 1};
    launch(set_until, 1, 32, until.data(), closed, from, 2);
    Step steps[count];
    for (Step& step : steps) step = {(real)1.25, (real)0.9, (real)0, (real)0, 0.0};
    std::vector<real> before = vars, others = seconds;
    std::vector<Decision> decisions(count - made);
    std::vector<std::vector<double>> keys(rows);
    for (int i = 0; i < rows; ++i) {
        double v = vars[i], q = seconds[i];
        for (int j = 0; j <= count; ++j) {
            if (kind == STANDARDISED) q = products[(2 * j + (j < count)) * stride + i];
            if (j >= made && j < count) keys[i].push_back((double)key_of(law, (real)v, kind == NONE ? (real)0 : (real)q));
            if (j == count) break;
            double g = products[law.wide * j * stride + i], h = kind == NONE ? 0.0 : products[(2 * j + 1) * stride + i];
            if (kind == JOINT) q -= h * h * 0.9;
            if (kind == SQUARES) q += g * 1.25 * (g * 1.25 * 0.9 - 2 * h);
            v -= g * g * 1.25;
        }
    }
    for (int t = 0; t < count - made; ++t) {
        std::vector<double> all;
        for (auto& of_row : keys) all.push_back(of_row[t]);
        std::nth_element(all.begin(), all.begin() + 20, all.end(), std::greater<double>());
        decisions[t] = {(real)(all[20] - tolerance() * fabs(all[20])), (real)tolerance(), (real)tolerance(), (real)tolerance()};
    }
    Checkpoints checkpoints = {{0, 1, 2, 3, 4}, {0, 1, 2, 3, 3}};
    std::vector<u32> counts(257 + 2 * rows, 77u);
    std::fill(counts.begin(), counts.begin() + 257, 0u);
    launch(verify, 5, 64, law, products.data(), (i64)stride, rows, (i64)0, (i64)rows, norms.data(), vars.data(), seconds.data(),
           errors.data(), until.data(), steps, count, made, decisions.data(), 0, 0.0, checkpoints, named.data(), counts.data(),
           room);
    u32 sum = 0;
    for (int t = 0; t < count - made; ++t) sum += counts[t];
    CHECK(counts[256] == (room ? sum : 0u));
    std::set<u32> listed;
    for (u32 i = 0; i < min(counts[256], room); ++i) {
        CHECK(named[counts[258 + 2 * i]] == counts[257 + 2 * i]);
        CHECK(listed.insert(counts[258 + 2 * i]).second);
    }
    for (size_t i = 257 + 2 * min(counts[256], room); i < counts.size(); ++i) CHECK(counts[i] == 77u);
    CHECK(named[3] == 255 && (named[7] == 255 || named[7] == 0));
    for (int i = 0; i < rows; ++i) {
        for (int t = 0; t < count - made; ++t) {
            bool beats = keys[i][t] >= decisions[t].bar, may = t < until[i];
            CHECK(!(beats && may) || named[i] <= t);
        }
    }
    CHECK(sum > 20 && sum < 200);
    // Those of the first decision alone.
    std::vector<u32> first(1 + 2 * rows);
    launch(collect, 2, 64, named.data(), (i64)rows, 1, first.data(), (u32)rows);
    CHECK(first[0] == counts[0]);
    for (u32 i = 0; i < first[0]; ++i) CHECK(first[1 + 2 * i] == 0 && named[first[2 + 2 * i]] == 0);
}

// Sizes, means and copies of rows, as they are and prepared.
static void rows_as_they_are_read(bool centres, bool scales_rows) {
    const int rows = 130, dim = 40;
    std::vector<float> values(rows * dim);
    for (float& x : values) x = (float)(random_number() - 0.3);
    for (int j = 0; j < dim; ++j) values[5 * dim + j] = 0.0f;
    std::vector<double> offset(dim), scales(rows), sums(2 * dim), mean(dim);
    for (double& x : offset) x = random_number();
    Rows stored = {values.data(), F32, dim, centres ? offset.data() : 0, 0};
    std::vector<real> norms(rows);
    std::vector<Sizes> sizes(3);
    launch(survey, 3, 64, stored, (i64)rows, norms.data(), scales_rows ? scales.data() : 0, sizes.data());
    double sum = 0.0, most = 0.0;
    Rows prepared = stored;
    prepared.scales = scales_rows ? scales.data() : 0;
    std::vector<real> copies(rows * dim), measured(rows), one(dim);
    launch(convert, 2, 64, prepared, (i64)0, rows, copies.data());
    for (int i = 0; i < rows; ++i) {
        std::vector<double> row(dim);
        double size = 0.0;
        for (int j = 0; j < dim; ++j) {
            row[j] = values[i * dim + j] - (centres ? offset[j] : 0.0);
            size += row[j] * row[j];
        }
        double scale = scales_rows ? (size > 0.0 ? 1.0 / sqrt(size) : 0.0) : 1.0;
        size *= scale * scale;
        CHECK(fabs(norms[i] - size) <= tolerance() * (size + 1e-30));
        for (int j = 0; j < dim; ++j) CHECK(fabs(copies[i * dim + j] - row[j] * scale) <= tolerance());
        sum += size;
        most = max(most, size);
    }
    double found = 0.0, largest = 0.0;
    for (const Sizes& part : sizes) {
        found += part.sum;
        largest = max(largest, part.most);
        CHECK(!part.bad);
    }
    CHECK(fabs(found - sum) <= 1e-9 * sum && fabs(largest - most) <= 1e-9 * most);
    launch(measure, 5, 1024, (const real*)copies.data(), dim, rows, measured.data());
    for (int i = 0; i < rows; ++i) CHECK(fabs(measured[i] - norms[i]) <= tolerance() * (norms[i] + 1e-30));
    u32 name = 77;
    launch(gather, 1, 32, prepared, &name, one.data());
    for (int j = 0; j < dim; ++j) CHECK(one[j] == copies[77 * dim + j]);
    // Scattered rows, some of them twice, are the numbers that are stored.
    std::vector<u32> names = {129, 5, 0, 77, 129, 64, 5};
    std::vector<real> scattered(names.size() * dim);
    Rows as_stored = {values.data(), F32, dim, 0, 0};
    launch(gather, (unsigned)names.size(), 32, as_stored, names.data(), scattered.data());
    for (size_t i = 0; i < names.size(); ++i) {
        for (int j = 0; j < dim; ++j) CHECK(scattered[i * dim + j] == (real)values[names[i] * dim + j]);
    }
    launch(sum_blocks, 2, 32, stored, (i64)0, (i64)rows, 100, sums.data());
    launch(add_sums, 1, 64, sums.data(), 2, dim, mean.data());
    for (int j = 0; j < dim; ++j) {
        double direct = 0.0;
        for (int i = 0; i < rows; ++i) direct += values[i * dim + j];
        CHECK(fabs(mean[j] - direct) <= 1e-12 * rows);
    }
}

// A trial names the rows that beat a step, and remembers the numbers before each.
static void a_trial_names_rivals() {
    const int rows = 100, count = 3;
    Law law = {JOINT, INFORMATION_RATIO, 0.5, 2};
    std::vector<real> products(rows * 2 * count), vars(rows), seconds(rows), history(2 * rows * count);
    std::vector<u32> names(rows), rivals(3 * rows);
    for (real& x : products) x = (real)(0.4 * random_number() - 0.2);
    for (int i = 0; i < rows; ++i) {
        vars[i] = (real)(0.5 + random_number());
        seconds[i] = (real)(0.5 * vars[i]);
        names[i] = 1000 + i;
    }
    std::vector<real> start = vars;
    Step steps[count];
    for (Step& step : steps) step = {(real)1.25, (real)0.9, (real)0, (real)0, 0.6};
    u32 excluded[] = {1003, 1010}, found = 0;
    std::vector<float> keys(rows);
    launch(try_steps, 2, 64, law, products.data(), (i64)rows, rows, names.data(), steps, count, vars.data(), seconds.data(),
           history.data(), excluded, 2, keys.data(), &found, (Rival*)rivals.data());
    CHECK(found > 0 && found < (u32)rows);
    for (u32 i = 0; i < found; ++i) {
        u32 at = rivals[3 * i], row = rivals[3 * i + 1] - 1000;
        CHECK(row != 3 && row != 10 && at < (u32)count && __uint_as_float(rivals[3 * i + 2]) > 0.6f);
        double key = key_of(law, history[2 * at * rows + row], history[(2 * at + 1) * rows + row]);
        CHECK(fabs(key - __uint_as_float(rivals[3 * i + 2])) <= 1e-6);
    }
    for (int i = 0; i < rows; ++i) {
        CHECK(history[i] == start[i] && vars[i] <= start[i]);
        CHECK(fabs(keys[i] - (double)key_of(law, vars[i], seconds[i])) <= 1e-6);
    }
}

int main() {
    rows_with_the_best_keys(3000, 90, false);
    rows_with_the_best_keys(3000, 90, true);
    rows_with_the_best_keys(300, 10, false);
    for (u32 room : {0u, 5u, 300u}) {
        a_pass_names_every_row_that_matters(VARIANCE, NONE, room);
        a_pass_names_every_row_that_matters(SIGNAL_RATIO, NONE, room);
        a_pass_names_every_row_that_matters(INFORMATION_RATIO, JOINT, room);
        a_pass_names_every_row_that_matters(VALUE_RATIO, JOINT, room);
        a_pass_names_every_row_that_matters(SQUARES_RATIO, SQUARES, room);
        a_pass_names_every_row_that_matters(CORRELATION, STANDARDISED, room);
    }
    for (int i = 0; i < 4; ++i) rows_as_they_are_read(i & 1, i & 2);
    a_trial_names_rivals();
    return 0;
}
