/*
 * columns.c - integrals over the columns of a simulation: arrays of Fortran, f64, in the program's OpenMP threads
 * SPDX-License-Identifier: MIT
 *
 * A model has densities rho(ld, columns) of Fortran: the levels of a column are adjacent, the first dimension is padded
 * from `levels` to `ld`, and level 1 is the top. The pressure at the levels + 1 interfaces is that of the top and the
 * weight of all levels above; the mass flux is a sum over the columns at each level. Build it with CMake:
 *
 *     cmake -S . -B build && cmake --build build && build/columns
 */
#include <math.h>
#include <omp.h>
#include <rowscan.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEVELS = 61, LD = 64, COLUMNS = 3000 };
static const double gravity = 9.80665, thickness = 200, top_pressure = 10;

/* What rowscan calls instead of starting threads of its own: the parts of a scan run in the OpenMP team. */
static void parallel_for(void *user, int64_t count, void (*body)(void *data, int64_t index), void *data) {
  (void)user;
#pragma omp parallel for schedule(dynamic)
  for (int64_t i = 0; i < count; i++)
    body(data, i);
}

static void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static double *allocate(size_t count) {
  double *array = malloc(count * sizeof *array);
  if (!array)
    fail("out of memory");
  return array;
}

/*
 * In C order the arrays are [COLUMNS][LD]: shape and strides name the dimensions of Fortran from the last to the first,
 * and the padding is in the strides alone. INCLUDE_INITIAL writes the initial value before the sums, LEVELS + 1 in all;
 * `top` is one number for all columns, so that its stride is 0.
 */
static rowscan_status integrate_down(rowscan_context *context, const double *weight, double *pressure) {
  return rowscan_scan_host(
      context,
      ROWSCAN_PROBLEM(.op = ROWSCAN_SUM, .flags = ROWSCAN_INCLUDE_INITIAL, .rank = 2, .dim = 1,
                      .shape = (const int64_t[]){COLUMNS, LEVELS},
                      .input = {.data = weight, .type = ROWSCAN_F64, .strides = (const int64_t[]){LD, 1}},
                      .output = {.data = pressure, .type = ROWSCAN_F64, .strides = (const int64_t[]){LD, 1}},
                      .init = {.data = &top_pressure, .type = ROWSCAN_F64, .strides = (const int64_t[]){0, 0}}));
}

/* Along the other dimension, in place. No array is copied or transposed. */
static rowscan_status integrate_across(rowscan_context *context, double *flux) {
  return rowscan_scan_host(
      context, ROWSCAN_PROBLEM(.op = ROWSCAN_SUM, .rank = 2, .dim = 0, .shape = (const int64_t[]){COLUMNS, LEVELS},
                               .input = {.data = flux, .type = ROWSCAN_F64, .strides = (const int64_t[]){LD, 1}},
                               .output = {.data = flux, .type = ROWSCAN_F64, .strides = (const int64_t[]){LD, 1}}));
}

static double density(int column, int level) {
  return 0.01 * (level + 1) + 0.001 * (column % 7);
}

/* Both against plain loops, which round in another order: 1e-13 is far more than that can differ by. */
static void check(const double *pressure, const double *flux) {
  for (int c = 0; c < COLUMNS; c++) {
    double down = top_pressure;
    for (int k = 0; k <= LEVELS; k++) {
      if (fabs(pressure[c * LD + k] - down) > 1e-13 * down)
        fail("a pressure is wrong");
      down += gravity * thickness * density(c, k);
    }
  }
  for (int k = 0; k < LEVELS; k++) {
    double across = 0;
    for (int c = 0; c < COLUMNS; c++) {
      across += density(c, k);
      if (fabs(flux[c * LD + k] - across) > 1e-13 * across)
        fail("a flux is wrong");
    }
  }
}

int main(void) {
  double *weight = allocate(LD * COLUMNS), *pressure = allocate(LD * COLUMNS), *flux = allocate(LD * COLUMNS);
#pragma omp parallel for
  for (int c = 0; c < COLUMNS; c++)
    for (int k = 0; k < LEVELS; k++) {
      flux[c * LD + k] = density(c, k);
      weight[c * LD + k] = gravity * thickness * flux[c * LD + k];
    }

  rowscan_context *context;
  if (rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = omp_get_max_threads(),
                                             .parallel_for = parallel_for)) ||
      integrate_down(context, weight, pressure) || integrate_across(context, flux))
    fail(rowscan_last_error());
  check(pressure, flux);
  printf("pressure at the bottom of the first column: %.3f Pa; flux through the top level: %.3f\n", pressure[LEVELS],
         flux[(COLUMNS - 1) * LD]);

  rowscan_close(context);
  free(flux);
  free(pressure);
  free(weight);
  return 0;
}
