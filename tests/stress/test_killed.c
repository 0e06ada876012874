/*
 * test_killed.c - processes that are killed at any moment, and what they leave to others
 * SPDX-License-Identifier: MIT
 *
 * A child builds, exports or imports over and over, and is killed after a random part of what one time takes. What it
 * last asked of the file system says in which phase that was; each phase must have its share, and more are killed until
 * it has. After each kill every entry and the pack are sound, and serve. KILLED_COUNT says how many are killed at
 * least: by default 500, with RS_QUICK=1 100; KILLED_SEED, when.
 */
#include "../support/file_faults.h"

#include "../support/cache_help.h"

#include <signal.h>
#include <sys/wait.h>

#include "../support/fake_nvrtc.h"
#include "base/whole.h"
#include "pack.h"

/* Entries of some 3 KB: the store holds 40, and every put surveys. */
enum { SPECS = 200, PACKS = 20, PACKED = SPECS / PACKS, SOURCE_BYTES = 2000, LIMIT = 128 << 10 };

/* ---- phases ------------------------------------------------------------------------------------------------------ */

/* X(name, to what it belongs) */
#define PHASES(X)                                                                                                      \
  X(lookup, 0)                                                                                                         \
  X(compile, IN_COMPILE)                                                                                               \
  X(publish, IN_PUBLISH)                                                                                               \
  X(evict, IN_EVICT)                                                                                                   \
  X(export_reads, IN_EXPORT)                                                                                           \
  X(export_writes, IN_EXPORT)                                                                                          \
  X(import_reads, IN_IMPORT)                                                                                           \
  X(import_publishes, IN_IMPORT | IN_PUBLISH)                                                                          \
  X(import_evicts, IN_IMPORT | IN_EVICT)

enum { IN_COMPILE = 1, IN_PUBLISH = 2, IN_EVICT = 4, IN_EXPORT = 8, IN_IMPORT = 16, IN_END = 32 };

typedef enum phase {
#define X(name, in) PHASE_##name,
  PHASES(X)
#undef X
      PHASE_COUNT
} phase;

static const struct {
  const char *name;
  int in;
} phases[PHASE_COUNT] = {
#define X(name, in) {#name, in},
    PHASES(X)
#undef X
};

typedef enum job { BUILD, EXPORT, IMPORT, JOBS } job;

/* What the child tells the test. */
typedef struct report {
  atomic_int begun;  /* at work */
  atomic_int cycles; /* times that it has done its job */
  atomic_int now;    /* the phase it is in */
} report;
static report *child_says;

static struct {
  job job;
  bool publishing, surveying;
} doing; /* the child's own */

static void wait_ms(double milliseconds) {
  nanosleep(
      &(struct timespec){.tv_sec = (time_t)(milliseconds / 1e3), .tv_nsec = (long)(milliseconds * 1e6) % 1000000000},
      NULL);
}

static bool is_fan(const char *name) {
  return name && strlen(name) == 2 && strspn(name, "0123456789abcdef") == 2;
}

static bool is_temporary(const char *name) {
  return strncmp(name, RS_TEMPORARY, strlen(RS_TEMPORARY)) == 0 || rs_beside_process(name);
}

static void follow(file_call call, const char *name, int flags) {
  bool begins = call == CALL_openat && flags & O_CREAT && is_temporary(name);
  bool goes_on = call == CALL_write || call == CALL_fsync || call == CALL_close || call == CALL_renameat;
  doing.publishing = begins || (doing.publishing && goes_on);
  bool walks = call == CALL_readdir || call == CALL_fstatat || call == CALL_unlinkat;
  bool between = (call == CALL_openat && is_fan(name)) || call == CALL_fstat || call == CALL_close;
  doing.surveying = walks || (doing.surveying && between);
}

static int watch(file_call call, int dir, const char *name, int flags) {
  static const phase publishes[JOBS] = {PHASE_publish, PHASE_export_writes, PHASE_import_publishes},
                     surveys[JOBS] = {PHASE_evict, PHASE_export_reads, PHASE_import_evicts},
                     rest[JOBS] = {PHASE_lookup, PHASE_export_reads, PHASE_import_reads};
  (void)dir;
  follow(call, name, flags);
  child_says->now = doing.publishing ? publishes[doing.job] : doing.surveying ? surveys[doing.job] : rest[doing.job];
  if (call == CALL_fsync)
    wait_ms(0.3); /* as long as a good disk */
  return 0;
}

/* ---- what a child does ------------------------------------------------------------------------------------------- */

/*
 * It asserts nothing: each assertion writes to the one file that Check reads, and who is killed in the midst of it
 * leaves half a message. It ends instead, and the test sees that nobody killed it.
 */

typedef struct place {
  char *dir, *made, *packs[PACKS]; /* the store; a pack that is written; those that are imported, of SPECS together */
} place;

static rs_builder *open_builder(const char *dir) {
  rs_store *store = rs_store_open(&(rs_store_options){.dir = dir, .limit_bytes = LIMIT});
  return rs_builder_open(store, make_compiler(13000), NULL);
}

/* There, or compiled, and right. */
static bool is_built(rs_builder *builder, int spec) {
  char canonical[64], source[SOURCE_BYTES];
  rs_binary binary;
  snprintf(canonical, sizeof canonical, "op=sum\nlength=%d\n", spec);
  snprintf(source, sizeof source, "int x%0*d;\n", SOURCE_BYTES - 16, spec);
  if (rs_build(builder, &binary, canonical, source, 90, false) != ROWSCAN_OK)
    return false;
  bool right = is_made_from(&binary, source, 90);
  rs_binary_free(&binary);
  return right;
}

static void export_all(rs_store *store, const char *file) {
  rs_store_exported sum;
  const char *wrong;
  size_t bytes;
  void *pack = rs_store_export(store, NULL, NULL, &bytes, &sum, &wrong);
  if (pack)
    rs_store_write_pack(file, pack, bytes, NULL);
  free(pack);
}

static void work_while_right(const place *at, job what, unsigned seed) {
  rs_builder *builder = open_builder(at->dir);
  rs_store_imported sum;
  doing.job = what;
  file_hook = watch;
  child_says->begun = 1;
  for (bool right = builder != NULL; right; child_says->cycles++)
    if (what == BUILD)
      right = is_built(builder, rand_r(&seed) % SPECS);
    else if (what == EXPORT)
      export_all(rs_builder_store(builder), at->made);
    else
      rs_store_import_file(rs_builder_store(builder), at->packs[rand_r(&seed) % PACKS], &sum);
}

/* ---- killing it -------------------------------------------------------------------------------------------------- */

static pid_t begin(const place *at, job what, unsigned seed) {
  child_says->begun = child_says->cycles = child_says->now = 0;
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    work_while_right(at, what, seed);
    _exit(1);
  }
  while (!child_says->begun)
    wait_ms(0.05);
  return child;
}

static void end(pid_t child) {
  int status;
  kill(child, SIGKILL);
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "it ended by itself: %#x", (unsigned)status);
}

/* How long one time takes. */
static double measure(const place *at, job what) {
  pid_t child = begin(at, what, 1);
  double start = monotonic_ms();
  wait_ms(100);
  end(child);
  told->busy = 0;
  return (monotonic_ms() - start) / (child_says->cycles + 1);
}

static phase kill_one(const place *at, job what, unsigned seed, double after_ms) {
  pid_t child = begin(at, what, seed);
  wait_ms(after_ms);
  end(child);
  phase when = told->busy ? PHASE_compile : (phase)child_says->now;
  told->busy = 0;
  return when;
}

/* ---- what is left ------------------------------------------------------------------------------------------------ */

typedef struct inspection {
  rs_builder *builder; /* that compiles nothing */
  int entries;
} inspection;

static int inspect(void *user, const rs_store_item *item) {
  inspection *all = user;
  int spec;
  ck_assert_msg(item->key != NULL, "%s: %s", item->name, item->damage);
  ck_assert_int_eq(sscanf(item->key, "op=sum length=%d", &spec), 1);
  ck_assert_msg(is_built(all->builder, spec), "spec %d: %s", spec, rowscan_last_error());
  all->entries++;
  return 0;
}

static int inspect_store(const char *dir) {
  rs_store_counts counts;
  inspection all = {.builder = open_builder(dir)};
  rs_builder_forbid(all.builder, "the test");
  rs_store *store = rs_builder_store(all.builder);
  ck_assert(rs_store_visit(store, inspect, &all));
  ck_assert_int_le(bytes_in(store), LIMIT);
  rs_store_counted(store, NULL, &counts);
  for (int i = 0; i < RS_COUNTS; i++)
    ck_assert(counts.of[i] >= 0 && counts.of[i] < 1000000000);
  rs_builder_close(all.builder);
  return all.entries;
}

static int inspect_pack(const char *file) {
  rs_pack pack;
  if (!exists(file))
    return 0;
  ck_assert_ptr_null(rs_pack_open_path(&pack, AT_FDCWD, file));
  int count = (int)pack.count;
  for (uint32_t i = 0; i < pack.count; i++) {
    rs_loaded loaded;
    const char *damage;
    ck_assert_msg(rs_pack_load(&pack, i, &loaded, &damage), "%s", damage);
    free(loaded.memory);
  }
  rs_pack_close(&pack);
  return count;
}

/* Nothing that the dead held keeps others waiting. */
static void build_at_once(const char *dir, int spec) {
  enum { WAIT_MILLISECONDS = 3000 }; /* of build.c */
  double start = monotonic_ms();
  rs_builder *builder = open_builder(dir);
  ck_assert(is_built(builder, spec));
  rs_builder_close(builder);
  ck_assert(monotonic_ms() - start < WAIT_MILLISECONDS);
}

static int make_old(const char *path, const struct stat *status, int type, struct FTW *ftw) {
  (void)status;
  if (type == FTW_F && is_temporary(path + ftw->base))
    age(path, 2 * HOUR);
  return 0;
}

/* Those of the last hour may be someone's who is alive. */
static int sweep(const char *dir) {
  rs_store *store = open_at(dir);
  int young = temporaries_in(dir);
  ck_assert(rs_store_prune(store, NULL));
  ck_assert_int_eq(temporaries_in(dir), young);
  ck_assert_int_eq(nftw(dir, make_old, 16, FTW_PHYS), 0);
  ck_assert(rs_store_prune(store, NULL));
  ck_assert_int_eq(temporaries_in(dir), 0);
  rs_store_close(store);
  return young;
}

/* Beside the pack: the next export removes them. */
static int sweep_beside(const place *at) {
  char *dir = parent_of(at->made);
  rs_store *store = open_at(at->dir);
  int young = names_in(dir, RS_BESIDE_BEGIN), names = names_in(dir, "");
  export_all(store, at->made);
  ck_assert_int_eq(names_in(dir, ""), names);
  ck_assert_int_eq(nftw(dir, make_old, 16, FTW_PHYS), 0);
  export_all(store, at->made);
  ck_assert_int_eq(names_in(dir, RS_BESIDE_BEGIN), 0);
  ck_assert_int_eq(names_in(dir, ""), 1); /* the pack, and nothing that has another name */
  rs_store_close(store);
  return young;
}

static place begin_places(void) {
  place at = {.dir = fresh(), .made = fresh()};
  for (int i = 0; i < PACKS; i++) {
    rs_builder *builder = open_builder(fresh());
    for (int k = 0; k < PACKED; k++)
      ck_assert(is_built(builder, i * PACKED + k));
    export_all(rs_builder_store(builder), at.packs[i] = fresh());
    rs_builder_close(builder);
    ck_assert_int_eq(inspect_pack(at.packs[i]), PACKED);
  }
  build_at_once(at.dir, 0);
  return at;
}

static int count_in(const int killed[PHASE_COUNT], int in) {
  int count = 0;
  for (int i = 0; i < PHASE_COUNT; i++)
    count += phases[i].in & in ? killed[i] : 0;
  return count;
}

/* What of the five has not had its share yet; 0: all have. */
static int lacking(const int killed[PHASE_COUNT], int times) {
  for (int in = IN_COMPILE; in < IN_END; in *= 2)
    if (count_in(killed, in) < 1 + times / 100)
      return in;
  return 0;
}

START_TEST(who_is_killed_leaves_no_damage) {
  static const job order[] = {BUILD, EXPORT, BUILD, IMPORT};
  int times = asked_for("KILLED_COUNT", is_quick() ? 100 : 500), seed = asked_for("KILLED_SEED", (int)getpid());
  int killed[PHASE_COUNT] = {0}, entries = 0, packed = 0;
  unsigned random = (unsigned)seed;
  double cycle_ms[JOBS], start = monotonic_ms();
  place at = begin_places();
  for (job what = BUILD; what < JOBS; what++)
    cycle_ms[what] = measure(&at, what);
  int i = 0;
  for (; i < times || (i < 10 * times && lacking(killed, times)); i++) { /* more, where chance kept off a phase */
    job what = order[i % 4];
    double part = (double)rand_r(&random) / RAND_MAX;
    killed[kill_one(&at, what, (unsigned)rand_r(&random), 1.5 * part * cycle_ms[what])]++;
    entries += inspect_store(at.dir);
    packed += inspect_pack(at.made);
    build_at_once(at.dir, rand_r(&random) % SPECS);
  }
  int young = sweep(at.dir), beside = sweep_beside(&at);
  printf("KILLED_SEED=%d: %d killed in %.0f ms; one build took %.2f ms, an export %.2f, an import %.2f; killed in",
         seed, i, monotonic_ms() - start, cycle_ms[BUILD], cycle_ms[EXPORT], cycle_ms[IMPORT]);
  for (int k = 0; k < PHASE_COUNT; k++)
    printf(" %s %d", phases[k].name, killed[k]);
  printf("; looked at %d entries and %d in packs, none damaged; %d temporaries left and swept, and %d beside the "
         "pack\n",
         entries, packed, young, beside);
  int in = lacking(killed, times);
  ck_assert_msg(!in, "%d killed in phase %d", count_in(killed, in), in);
  ck_assert(entries > times && packed > times && (young > 0 || times < 50) &&
            (beside > 0 || killed[PHASE_export_writes] < 3));
}
END_TEST

static void share_memory(void) {
  child_says = mmap(NULL, sizeof *child_says, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert(child_says != MAP_FAILED);
}

int main(void) {
  Suite *suite = suite_create("killed");
  TCase *cases = add_case(suite, "killed");
  tcase_set_timeout(cases, 600);
  tcase_add_checked_fixture(cases, fresh_tally, NULL);
  tcase_add_checked_fixture(cases, share_memory, NULL);
  tcase_add_test(cases, who_is_killed_leaves_no_damage);
  return run_suite(suite);
}
