/*
 * sizes.c - a program as it was built with a header of another version: its structs are shorter, or longer
 * SPDX-License-Identifier: MIT
 *
 * tests/system/sizes.py makes such headers of rowscan.h and builds this against each. LATER: structs have a field
 * `later`, which the library does not know.
 */
#include "rowscan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(condition)                                                                                                \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, rowscan_last_error());                                \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

/* A struct to be filled, and what lies behind it. */
#define GUARDED(type, name)                                                                                            \
  struct {                                                                                                             \
    type info;                                                                                                         \
    unsigned char guard[256];                                                                                          \
  } name;                                                                                                              \
  memset(&name, 0x5a, sizeof name);                                                                                    \
  name.info.size = sizeof name.info

static void is_whole(const unsigned char *guard, size_t size, size_t should) {
  MUST(size == should);
  for (int i = 0; i < 256; i++)
    MUST(guard[i] == 0x5a);
}

#ifdef LATER
#define IS_WHOLE(name) (is_whole((name).guard, (name).info.size, sizeof(name).info), MUST_BE_CLEAR((name).info.later))
#define MUST_BE_CLEAR(field)                                                                                           \
  (void)((field) == 0 ? 0 : (fprintf(stderr, "line %d: not cleared\n", __LINE__), exit(1), 0))
#define REFUSED(call)                                                                                                  \
  MUST((call) == ROWSCAN_BAD_ARGUMENT && strstr(rowscan_last_error(), "'size'") &&                                     \
       strstr(rowscan_last_error(), "must be 0"))
#else
#define IS_WHOLE(name) is_whole((name).guard, (name).info.size, sizeof(name).info)
#endif

static const float x[] = {1, 2, 3, 4};
static float y[4];
static const int64_t shape[] = {4};

static void is_scanned(void) {
  MUST(y[0] == 1 && y[1] == 3 && y[2] == 6 && y[3] == 10);
  memset(y, 0, sizeof y);
}

static void scan(rowscan_context *context) {
  rowscan_problem problem = {.size = sizeof problem,
                             .rank = 1,
                             .shape = shape,
                             .input = {.data = x, .type = ROWSCAN_F32},
                             .output = {.data = y, .type = ROWSCAN_F32}};
  MUST(rowscan_scan(context, &problem, NULL) == ROWSCAN_OK);
  is_scanned();
  MUST(rowscan_scan_host(context, &problem) == ROWSCAN_OK);
  is_scanned();
#ifdef LATER
  problem.later = 1;
  REFUSED(rowscan_scan(context, &problem, NULL));
#endif
}

static void plan(rowscan_context *context) {
  rowscan_plan *made;
  rowscan_spec spec = {.size = sizeof spec, .length = 4};
  rowscan_args args = {.size = sizeof args, .input = x, .output = y, .rows = 1};
  MUST(rowscan_plan_create(&made, context, &spec) == ROWSCAN_OK);
  MUST(rowscan_plan_run(made, &args, NULL) == ROWSCAN_OK);
  is_scanned();
  MUST(rowscan_plan_prepare(made, &args) == ROWSCAN_OK);
  GUARDED(rowscan_plan_info, info);
  MUST(rowscan_plan_info_get(made, &info.info) == ROWSCAN_OK);
  MUST(info.info.modules == 0);
  IS_WHOLE(info);
  GUARDED(rowscan_spec, of_plan);
  MUST(rowscan_plan_spec(made, &of_plan.info) == ROWSCAN_OK);
  MUST(of_plan.info.length == 4 && of_plan.info.in_type == ROWSCAN_F32);
  IS_WHOLE(of_plan);
#ifdef LATER
  args.later = 1;
  REFUSED(rowscan_plan_run(made, &args, NULL));
  spec.later = 1;
  REFUSED(rowscan_plan_create(&made, context, &spec));
#endif
  rowscan_plan_destroy(made);
}

static int count(void *user, const rowscan_cache_entry *entry) {
  ++*(int *)user;
  return entry->size == 0;
}

/* A pack of one entry, in the format of cache/README.md: a cache that has none exports nothing. */
static const unsigned char one_entry[] = {
    0x89, 0x72, 0x73, 0x70, 0x0d, 0x0a, 0x1a, 0x0a, 0x01, 0,    0,    0,    0x01, 0,    0,    0,    0x89, 0x72, 0x73,
    0x63, 0x0d, 0x0a, 0x1a, 0x0a, 0x01, 0,    0,    0,    0x08, 0,    0,    0,    0x03, 0,    0,    0,    0,    0,
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0x61, 0x3d, 0x31, 0x0a, 0x62, 0x3d, 0x32, 0x0a, 0,
    0,    0,    0,    0,    0,    0,    0,    0x70, 0x74, 0x78, 0,    0,    0,    0,    0,    0,    0,    0,    0,
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0x9b, 0x81, 0x8f, 0xc5, 0x75,
    0xf1, 0xa0, 0xaa, 0x62, 0xea, 0x2e, 0x0d, 0xe6, 0x8b, 0x27, 0x64, 0x39, 0x6f, 0xfd, 0x30, 0x8c, 0xd5, 0xd8, 0x96,
    0xe8, 0xee, 0xf2, 0x0e, 0xcf, 0x3d, 0x31, 0x7c, 0x4b, 0xad, 0x4f, 0x18, 0xd6, 0x75, 0xd9, 0xd9, 0x73, 0x0d, 0x27,
    0x94, 0xcb, 0xf3, 0x7f, 0x48, 0x10, 0,    0,    0,    0,    0,    0,    0,    0x80, 0,    0,    0,    0,    0,
    0,    0,    0xb4, 0xc0, 0x0f, 0x22, 0xf4, 0x04, 0x84, 0x70, 0xea, 0x1a, 0xd8, 0xc9, 0,    0x65, 0x5f, 0x3f};

static void cache(rowscan_context *context) {
  GUARDED(rowscan_cache_info, info);
  MUST(rowscan_cache_info_get(context, &info.info) == ROWSCAN_OK);
  MUST(info.info.limit_bytes > 0);
  IS_WHOLE(info);
  GUARDED(rowscan_cache_imported, imported);
  MUST(rowscan_cache_import_memory(context, one_entry, sizeof one_entry, &imported.info) == ROWSCAN_OK);
  MUST(imported.info.entries == 1);
  IS_WHOLE(imported);
  rowscan_cache_filter filter = {.size = sizeof filter};
  void *pack;
  size_t bytes;
  GUARDED(rowscan_cache_exported, exported);
  MUST(rowscan_cache_export_memory(context, &filter, &pack, &bytes, &exported.info) == ROWSCAN_OK);
  MUST(exported.info.entries == 1);
  IS_WHOLE(exported);
  rowscan_free(pack);
  GUARDED(rowscan_cache_pruned, pruned);
  MUST(rowscan_cache_prune(context, &pruned.info) == ROWSCAN_OK);
  IS_WHOLE(pruned);
  MUST(rowscan_cache_clear(context, NULL, NULL) == ROWSCAN_OK);
  int entries = 0;
  MUST(rowscan_cache_visit(context, count, &entries) == ROWSCAN_OK);
  MUST(entries == 0);
  rowscan_warming list = {.size = sizeof list, .archs = (const char *const[]){"sm_90"}, .arch_count = 1};
  MUST(rowscan_warm(context, &list) == ROWSCAN_OK);
#ifdef LATER
  filter.later = 1;
  REFUSED(rowscan_cache_export_memory(context, &filter, &pack, &bytes, &exported.info));
  list.later = 1;
  REFUSED(rowscan_warm(context, &list));
#endif
}

int main(void) {
  rowscan_context *context;
  rowscan_options options = {.size = sizeof options, .engine = ROWSCAN_ENGINE_HOST, .threads = 1};
  MUST(rowscan_open(&context, &options) == ROWSCAN_OK);
  GUARDED(rowscan_context_info, info);
  MUST(rowscan_context_info_get(context, &info.info) == ROWSCAN_OK);
  MUST(info.info.engine == ROWSCAN_ENGINE_HOST);
  IS_WHOLE(info);
  scan(context);
  plan(context);
  cache(context);
  rowscan_close(context);
#ifdef LATER
  options.later = 1;
  REFUSED(rowscan_open(&context, &options));
#endif
  options.size = 3;
  MUST(rowscan_open(&context, &options) == ROWSCAN_BAD_ARGUMENT && strstr(rowscan_last_error(), "3"));
  printf("problem %zu, args %zu, spec %zu, options %zu bytes: as it should be\n", sizeof(rowscan_problem),
         sizeof(rowscan_args), sizeof(rowscan_spec), sizeof(rowscan_options));
  return 0;
}
