/*
 * build.c - source to PTX and CUBIN: asks the cache, else NVRTC
 * SPDX-License-Identifier: MIT
 *
 * An entry holds PTX, CUBIN and the facts (facts.h). Who finds none becomes, or waits for, the one thread that makes
 * the binary: a `build` in the builder's list. It stays there for the threads that wait for it, and longer if the store
 * did not keep it.
 */
#include "build.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "compile.h"
#include "key.h"
#include "spec/arch.h"

enum { PTX, CUBIN, FACTS, PARTS };
_Static_assert((int)PARTS <= (int)RS_STORE_PARTS, "the store takes all parts");

enum { ALIGNMENT = 16 };

/* What the builder keeps if the store doesn't: a few megabytes at most, for entries of 12 KB to 100 KB. */
enum { MOST_KEPT = 64 };

/* For another process that compiles: a cold one takes half a second, and a machine may be busy with many. */
enum { WAIT_MILLISECONDS = 3000 };

typedef struct build {
  struct build *next; /* older */
  char *key;
  bool fresh, done;
  int users; /* threads that hold a pointer to it; nobody frees it before they are gone */

  /* The maker's alone, until `done` is set. */
  bool kept; /* here, because the store did not */
  rowscan_status status;
  char *message; /* of a failure; NULL: out of memory for it */
  rs_binary binary;
} build;

struct rs_builder {
  rs_store *store;
  rs_nvrtc *nvrtc;
  rs_log log;
  const char *forbidden_by; /* NULL: compiling is allowed */
  int tuned_for;            /* 0: for whichever it builds */
  int served;               /* for which PTX will do; 0: none */
  atomic_bool trying;       /* what is compiled is not put into the store */
  pthread_mutex_t lock;     /* of all that follows */
  pthread_cond_t done;
  build *builds; /* newest first */
};

/* ---- binaries ---------------------------------------------------------------------------------------------------- */

/* False: it is not an entry of ours, whatever its checksum says. */
static bool read_entry(rs_binary *binary, const rs_entry *entry, bool ptx_will_do) {
  rs_facts facts;
  const rs_part *part = entry->part;
  if ((!part[CUBIN].bytes && (!ptx_will_do || !part[PTX].bytes)) || !part[FACTS].bytes ||
      !rs_facts_parse(&facts, part[FACTS].data))
    return false;
  *binary = (rs_binary){.entry = *entry,
                        .ptx = part[PTX].bytes ? part[PTX].data : NULL,
                        .cubin = part[CUBIN].bytes ? part[CUBIN].data : NULL,
                        .ptx_bytes = part[PTX].bytes,
                        .cubin_bytes = part[CUBIN].bytes,
                        .facts = facts};
  return true;
}

/* A copy in one piece of memory, as the store hands entries out. */
static bool copy_binary(rs_binary *copy, const rs_part parts[RS_STORE_PARTS]) {
  size_t room = 0;
  for (int i = 0; i < RS_STORE_PARTS; i++)
    room += (parts[i].bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
  rs_entry entry = {.memory = calloc(1, room)};
  if (!entry.memory)
    return false;
  char *to = entry.memory;
  for (int i = 0; i < RS_STORE_PARTS; i++) {
    entry.part[i] = (rs_part){to, parts[i].bytes};
    if (parts[i].bytes)
      memcpy(to, parts[i].data, parts[i].bytes);
    to += (parts[i].bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
  }
  if (read_entry(copy, &entry, true))
    return true;
  rs_entry_free(&entry);
  return false;
}

/* What is no binary is left as it is. */
bool rs_binary_pack(rs_part part[RS_STORE_PARTS], bool without_ptx, rs_text *text) {
  rs_facts facts;
  if (without_ptx)
    part[PTX] = (rs_part){0};
  if (!part[FACTS].bytes || !rs_facts_parse(&facts, part[FACTS].data))
    return true;
  facts.compile_us = 0;
  text->length = 0;
  rs_facts_print(&facts, text);
  part[FACTS] = (rs_part){text->data, text->length};
  return !text->failed;
}

void rs_binary_free(rs_binary *binary) {
  rs_entry_free(&binary->entry);
  *binary = (rs_binary){0};
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

rs_builder *rs_builder_open(rs_store *store, rs_nvrtc *nvrtc, const rs_log *log) {
  rs_builder *builder = calloc(1, sizeof *builder);
  bool lock = builder && pthread_mutex_init(&builder->lock, NULL) == 0;
  if (!lock || pthread_cond_init(&builder->done, NULL) != 0) {
    if (lock)
      pthread_mutex_destroy(&builder->lock);
    free(builder);
    rs_nvrtc_close(nvrtc);
    rs_store_close(store);
    return NULL;
  }
  builder->store = store;
  builder->nvrtc = nvrtc;
  if (log)
    builder->log = *log;
  return builder;
}

void rs_builder_forbid(rs_builder *builder, const char *by) {
  builder->forbidden_by = by;
}

void rs_builder_try(rs_builder *builder, bool trying) {
  atomic_store(&builder->trying, trying);
}

void rs_builder_serve(rs_builder *builder, int arch) {
  builder->served = arch;
}

/* PTX for it will do. */
static bool serves(const rs_builder *builder, int arch) {
  return builder->served && (arch == builder->served || arch == rs_arch_generation(builder->served));
}

void rs_builder_tune_for(rs_builder *builder, int arch) {
  builder->tuned_for = arch;
}

int rs_builder_tuned_for(const rs_builder *builder) {
  return builder->tuned_for;
}

static void free_build(build *one) {
  rs_binary_free(&one->binary);
  free(one->message);
  free(one->key);
  free(one);
}

void rs_builder_close(rs_builder *builder) {
  if (!builder)
    return;
  while (builder->builds) {
    build *one = builder->builds;
    builder->builds = one->next;
    free_build(one);
  }
  pthread_cond_destroy(&builder->done);
  pthread_mutex_destroy(&builder->lock);
  rs_nvrtc_close(builder->nvrtc);
  rs_store_close(builder->store);
  free(builder);
}

rs_store *rs_builder_store(rs_builder *builder) {
  rs_store_need(builder->store);
  return builder->store;
}

rs_nvrtc *rs_builder_nvrtc(rs_builder *builder) {
  return builder->nvrtc;
}

rs_makes rs_builder_makes(rs_builder *builder, int arch) {
  if (builder->forbidden_by || !*rs_nvrtc_path(builder->nvrtc))
    return RS_MAKES_NOTHING;
  int major = rs_nvrtc_major(builder->nvrtc); /* 0: not known */
  if (!major || major >= 12)
    return RS_MAKES_ALL;
  if (arch <= 90)
    return RS_MAKES_NO_BULK_COPIES;
  return serves(builder, arch) ? RS_MAKES_OLD_PTX : RS_MAKES_NOTHING;
}

static void count(const rs_builder *builder, rs_store_event event) {
  rs_store_add(builder->store, event, 1);
}

static void count_hit(const rs_builder *builder, const rs_binary *binary) {
  count(builder, RS_COUNT_hits);
  rs_store_add(builder->store, RS_COUNT_saved_us, binary->facts.compile_us);
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

typedef struct request {
  const char *canonical, *source;
  int arch;
  bool fresh;
  bool to_load; /* without PTX, if that saves time */
} request;

/* A decision, how long it took, and what it was about. */
static void log_decision(const rs_builder *builder, const request *asked, double start, const char *decision) {
  rs_text line = {0};
  if (!builder->log.call)
    return;
  double milliseconds = rs_now_ms() - start;
  rs_text_add(&line, "%s", asked->canonical);
  rs_text_join(&line, 0);
  rs_log_write(&builder->log, ROWSCAN_LOG_DEBUG, "sm_%d: %s in %.2f ms: %s", asked->arch, decision, milliseconds,
               line.failed ? "(out of memory)" : line.data);
  rs_text_free(&line);
}

static rowscan_status out_of_memory(void) {
  return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for a build");
}

rowscan_status rs_builder_key(rs_builder *builder, const char *canonical, const char *source, int arch, rs_text *text) {
  rs_key key = {canonical, source, arch, rs_compile_options, NULL};
  rowscan_status status = rs_nvrtc_id(builder->nvrtc, &key.nvrtc);
  if (status != ROWSCAN_OK)
    return status;
  rs_key_print(&key, text);
  return text->failed ? out_of_memory() : ROWSCAN_OK;
}

rowscan_status rs_builder_stem(const char *canonical, const char *source, int arch, rs_text *stem) {
  rs_key key = {canonical, source, arch, rs_compile_options, NULL};
  rs_key_print(&key, stem);
  return stem->failed ? out_of_memory() : ROWSCAN_OK;
}

static bool compiles(rs_builder *builder, int arch) {
  int archs[RS_MOST_ARCHS], count = RS_MOST_ARCHS;
  if (builder->forbidden_by || rs_nvrtc_archs(builder->nvrtc, archs, &count))
    return false;
  while (count > 0 && archs[count - 1] != arch)
    count--;
  return count > 0;
}

bool rs_builder_serves_any(rs_builder *builder, int arch) {
  return !compiles(builder, arch);
}

char *rs_builder_served(rs_builder *builder, const char *stem, int arch) {
  return rs_store_key_of_stem(rs_builder_store(builder), stem, !rs_builder_serves_any(builder, arch));
}

/* The entry, of a key that may be NULL, is the binary's now, or freed. */
static bool take_entry(const rs_builder *builder, rs_binary *binary, rs_entry *entry, const char *key, int arch) {
  if (!read_entry(binary, entry, serves(builder, arch))) {
    rs_entry_free(entry);
    return false;
  }
  binary->cached = binary->stored = true;
  if (key)
    rs_store_name(key, binary->name);
  return true;
}

/* Where nothing can be compiled, it does not matter which compiler made an entry. */
static bool from_any_compiler(rs_builder *builder, const request *asked, const char *missed, rs_binary *binary) {
  rs_text stem = {0};
  rs_entry entry;
  bool found = rs_builder_stem(asked->canonical, asked->source, asked->arch, &stem) == ROWSCAN_OK &&
               rs_store_get_stem(rs_builder_store(builder), stem.data, missed, &entry);
  rs_text_free(&stem);
  if (!found)
    return false;
  if (take_entry(builder, binary, &entry, NULL, asked->arch))
    return true;
  count(builder, RS_COUNT_damaged);
  return false;
}

static rowscan_status make_key(rs_builder *builder, const request *asked, rs_text *text) {
  return rs_builder_key(builder, asked->canonical, asked->source, asked->arch, text);
}

/* Frees an entry of a pack that was made without PTX, for who asks for it. */
static bool is_enough(rs_entry *entry, bool to_load) {
  bool enough = to_load || entry->part[PTX].bytes || !entry->part[CUBIN].bytes;
  if (!enough)
    rs_entry_free(entry);
  return enough;
}

static bool from_store(rs_builder *builder, const char *key, int arch, bool to_load, rs_binary *binary) {
  rs_entry entry;
  if (!rs_store_get(rs_builder_store(builder), key, to_load ? PTX : PARTS, &entry))
    return false;
  if (!is_enough(&entry, to_load))
    return false;
  if (take_entry(builder, binary, &entry, key, arch))
    return true;
  count(builder, RS_COUNT_damaged);
  rs_log_write(&builder->log, ROWSCAN_LOG_WARNING,
               "an entry of the cache does not hold the kernel that its key names; compiling again");
  return false;
}

/* After from_store had none. What it found damaged is not told again. */
static bool made_meanwhile(rs_builder *builder, const request *asked, const char *key, rs_binary *binary) {
  rs_entry entry;
  return rs_store_get_again(rs_builder_store(builder), key, &entry) && is_enough(&entry, asked->to_load) &&
         take_entry(builder, binary, &entry, key, asked->arch);
}

/* The key is made again: NVRTC is another one now if the one that was found did not load. */
static void publish(rs_builder *builder, const request *asked, build *one) {
  rs_text key = {0};
  double start = rs_now_ms();
  bool named = make_key(builder, asked, &key) == ROWSCAN_OK;
  one->kept = !named || atomic_load(&builder->trying) ||
              !rs_store_put(rs_builder_store(builder), key.data, one->binary.entry.part);
  if (!one->kept)
    rs_store_name(key.data, one->binary.name);
  log_decision(builder, asked, start, one->kept ? "not kept on disk" : "kept on disk");
  if (one->kept && asked->fresh && named)
    rs_store_remove(rs_builder_store(builder), key.data); /* the one that was rejected */
  rs_text_free(&key);
}

/* way: how; and which other way there is, if it fails. */
static rowscan_status compile_build(rs_builder *builder, const request *asked, build *one, rs_way_out *way) {
  rs_compiled compiled;
  rs_text facts = {0};
  double start = rs_now_ms();
  bool as_ptx = *way == RS_WAY_PTX;
  rowscan_status status = as_ptx ? rs_compile_ptx(builder->nvrtc, asked->source, asked->arch, &compiled)
                                 : rs_compile(builder->nvrtc, asked->source, asked->arch, &compiled);
  if (status != ROWSCAN_NO_COMPILER) { /* else an entry of another compiler may serve: rs_build counts */
    if (!asked->fresh)
      count(builder, RS_COUNT_misses);
    count(builder, RS_COUNT_compiles);
  }
  log_decision(builder, asked, start,
               status   ? "failed to compile"
               : as_ptx ? "compiled as PTX of an older architecture"
                        : "compiled");
  if (status == ROWSCAN_OK) {
    rs_facts_print(&compiled.facts, &facts);
    const rs_part parts[RS_STORE_PARTS] = {[PTX] = {compiled.ptx, compiled.ptx_bytes},
                                           [CUBIN] = {compiled.cubin, compiled.cubin_bytes},
                                           [FACTS] = {facts.data, facts.length}};
    if (facts.failed || !copy_binary(&one->binary, parts))
      status = out_of_memory();
    if (compiled.warnings.data)
      rs_log_write(&builder->log, ROWSCAN_LOG_DEBUG, "NVRTC reports:\n%s", compiled.warnings.data);
  }
  *way = compiled.way_out;
  rs_text_free(&facts);
  rs_compiled_free(&compiled);
  return status;
}

/* The NVRTC that was found may not load, and another one serve: that one's entry is under another key. */
static bool from_another_that_loads(rs_builder *builder, const request *asked, build *one) {
  const rs_nvrtc_calls *calls;
  rs_text key = {0};
  bool found = rs_nvrtc_load(builder->nvrtc, &calls) == ROWSCAN_OK && make_key(builder, asked, &key) == ROWSCAN_OK &&
               strcmp(key.data, one->key) != 0 && from_store(builder, key.data, asked->arch, false, &one->binary);
  rs_text_free(&key);
  return found;
}

/* What saves a compile after all, or a better one. */
static bool from_others(rs_builder *builder, const request *asked, rs_way_out way, build *one) {
  double start = rs_now_ms();
  const char *decision = NULL;
  if (asked->fresh)
    return false;
  if (from_another_that_loads(builder, asked, one))
    decision = "read from the cache, compiled by the NVRTC that loads";
  else if (way == RS_WAY_PTX && from_any_compiler(builder, asked, NULL, &one->binary))
    decision = "read from the cache, compiled by an NVRTC that supports the architecture";
  if (decision)
    log_decision(builder, asked, start, decision);
  return decision != NULL;
}

/* By the first NVRTC that can. */
static void make_new(rs_builder *builder, const request *asked, build *one) {
  rs_way_out way = RS_WAY_NONE;
  do {
    if (from_others(builder, asked, way, one)) {
      one->status = ROWSCAN_OK;
      return;
    }
    one->status = compile_build(builder, asked, one, &way);
  } while (way == RS_WAY_NEXT || (way == RS_WAY_PTX && serves(builder, asked->arch)));
  if (one->status == ROWSCAN_OK)
    publish(builder, asked, one);
}

/* Called without the builder's lock. */
static void make(rs_builder *builder, const request *asked, build *one) {
  rs_store_lock lock = {-1};
  double start = rs_now_ms();
  if (!asked->fresh)
    lock = rs_store_acquire(rs_builder_store(builder), one->key, WAIT_MILLISECONDS);
  if (!asked->fresh && made_meanwhile(builder, asked, one->key, &one->binary)) {
    one->status = ROWSCAN_OK;
    log_decision(builder, asked, start, "compiled by another process meanwhile");
  } else {
    make_new(builder, asked, one);
  }
  rs_store_release(lock);
  if (one->status != ROWSCAN_OK)
    one->message = strdup(rowscan_last_error());
}

/* ---- sharing it -------------------------------------------------------------------------------------------------- */

/* Who wants a fresh one joins only those who are making a fresh one. */
static build *find_build(const rs_builder *builder, const char *key, bool fresh) {
  for (build *one = builder->builds; one; one = one->next)
    if (strcmp(one->key, key) == 0 && (!fresh || (one->fresh && !one->done)))
      return one;
  return NULL;
}

static build *begin(rs_builder *builder, const char *key, bool fresh) {
  build *one = calloc(1, sizeof *one);
  if (!one)
    return NULL;
  one->key = strdup(key);
  if (!one->key) {
    free(one);
    return NULL;
  }
  one->fresh = fresh;
  one->next = builder->builds;
  builder->builds = one;
  return one;
}

/* Frees what nobody needs: builds that the store has, that failed, that a newer one replaces, or that are too many. */
static void sweep(rs_builder *builder) {
  int kept = 0;
  for (build **at = &builder->builds; *at;) {
    build *one = *at;
    if (one->users || (one->kept && find_build(builder, one->key, false) == one && ++kept <= MOST_KEPT)) {
      at = &one->next;
    } else {
      *at = one->next;
      free_build(one);
    }
  }
}

static rowscan_status take_binary(const build *one, rs_binary *binary) {
  if (one->status != ROWSCAN_OK)
    return one->message ? rs_fail_lines(one->status, "%s", one->message) : out_of_memory();
  if (!copy_binary(binary, one->binary.entry.part))
    return out_of_memory();
  binary->cached = one->binary.cached;
  binary->stored = !one->kept;
  memcpy(binary->name, one->binary.name, sizeof binary->name);
  return ROWSCAN_OK;
}

/* `maker`: this thread makes it; the others have it from memory. */
static rowscan_status share(rs_builder *builder, const char *key, const request *asked, rs_binary *binary) {
  double start = rs_now_ms();
  pthread_mutex_lock(&builder->lock);
  build *one = find_build(builder, key, asked->fresh);
  bool maker = !one;
  if (maker && !(one = begin(builder, key, asked->fresh))) {
    pthread_mutex_unlock(&builder->lock);
    return out_of_memory();
  }
  one->users++;
  if (maker) {
    pthread_mutex_unlock(&builder->lock);
    make(builder, asked, one);
    pthread_mutex_lock(&builder->lock);
    one->done = true;
    pthread_cond_broadcast(&builder->done);
  }
  while (!one->done)
    pthread_cond_wait(&builder->done, &builder->lock);
  rowscan_status status = take_binary(one, binary);
  if (status == ROWSCAN_OK && !asked->fresh) {
    binary->cached = binary->cached || !maker;
    if (binary->cached)
      count_hit(builder, binary);
  }
  one->users--;
  sweep(builder);
  pthread_mutex_unlock(&builder->lock);
  if (!maker)
    log_decision(builder, asked, start, "compiled by another thread");
  return status;
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

void rs_builder_where(rs_builder *builder, rs_text *text) {
  rs_store *store = rs_builder_store(builder);
  const char *path = rs_store_path(store), *unused = rs_store_unused(store);
  int packs = rs_store_packs(store, NULL);
  rs_text_add(text, "the cache (%s)", *path ? path : rs_store_why(store));
  if (packs)
    rs_text_add(text, " nor in %d pack%s", packs, packs == 1 ? "" : "s");
  rs_text_add(text, "%s%s", !packs && *unused ? " nor in any pack" : "", unused);
}

static rowscan_status refuse(rs_builder *builder, const request *asked) {
  if (asked->fresh) {
    const char *path = rs_store_path(rs_builder_store(builder));
    return rs_fail(ROWSCAN_NOT_CACHED,
                   "the driver rejected an entry of the cache (%s), and %s disables compilation: sm_%d",
                   *path ? path : "a pack", builder->forbidden_by, asked->arch);
  }
  count(builder, RS_COUNT_misses);
  rs_text where = {0};
  rs_builder_where(builder, &where);
  rs_fail(ROWSCAN_NOT_CACHED, "the kernel is not in %s, and %s disables compilation: sm_%d",
          where.failed ? "the cache" : where.data, builder->forbidden_by, asked->arch);
  rs_text_free(&where);
  return ROWSCAN_NOT_CACHED;
}

/* What replaces an entry that was rejected, and could not be kept: it goes before the entry, which a pack still has. */
static bool has_replacement(rs_builder *builder, const char *key) {
  pthread_mutex_lock(&builder->lock);
  const build *one = find_build(builder, key, false);
  bool has = one && one->fresh && one->done && one->status == ROWSCAN_OK;
  pthread_mutex_unlock(&builder->lock);
  return has;
}

/* Where no compiler is found: an entry that any compiler made may serve. */
static rowscan_status answer_without_compiler(rs_builder *builder, const request *asked, double start,
                                              rs_binary *built) {
  if (!asked->fresh && from_any_compiler(builder, asked, NULL, built)) {
    log_decision(builder, asked, start, "read from the cache, without a compiler");
    count_hit(builder, built);
    return ROWSCAN_OK;
  }
  if (builder->forbidden_by) /* a compiler would make no difference */
    return refuse(builder, asked);
  rs_fail_more(ROWSCAN_NO_COMPILER, "%s", rs_store_unused(rs_builder_store(builder)));
  if (!asked->fresh)
    count(builder, RS_COUNT_misses);
  return ROWSCAN_NO_COMPILER;
}

static rowscan_status answer(rs_builder *builder, const request *asked, rs_binary *binary) {
  double start = rs_now_ms();
  rs_binary built;
  rs_text key = {0};
  rowscan_status status = make_key(builder, asked, &key);
  if (asked->fresh)
    count(builder, RS_COUNT_rejected);
  if (status == ROWSCAN_OK) {
    bool hit = !asked->fresh && !has_replacement(builder, key.data) &&
               from_store(builder, key.data, asked->arch, asked->to_load, &built);
    if (!hit && !asked->fresh && builder->forbidden_by)
      hit = from_any_compiler(builder, asked, key.data, &built);
    if (!asked->fresh)
      log_decision(builder, asked, start, hit ? "read from the cache" : "not found in the cache");
    if (hit)
      count_hit(builder, &built);
    else if (builder->forbidden_by)
      status = refuse(builder, asked);
    else
      status = share(builder, key.data, asked, &built);
  }
  if (status == ROWSCAN_NO_COMPILER)
    status = answer_without_compiler(builder, asked, start, &built);
  rs_text_free(&key);
  if (status != ROWSCAN_OK)
    return status;
  built.milliseconds = rs_now_ms() - start;
  *binary = built;
  return ROWSCAN_OK;
}

rowscan_status rs_build(rs_builder *builder, rs_binary *binary, const char *canonical, const char *source, int arch,
                        bool fresh) {
  return answer(builder, &(request){canonical, source, arch, fresh, false}, binary);
}

rowscan_status rs_build_to_load(rs_builder *builder, rs_binary *binary, const char *canonical, const char *source,
                                int arch) {
  return answer(builder, &(request){canonical, source, arch, false, true}, binary);
}

bool rs_build_if_cached(rs_builder *builder, rs_binary *binary, const char *canonical, const char *source, int arch) {
  const request asked = {canonical, source, arch, false, true};
  double start = rs_now_ms();
  rs_text key = {0};
  rs_binary found;
  rowscan_status status = make_key(builder, &asked, &key);
  bool hit =
      status == ROWSCAN_OK && !has_replacement(builder, key.data) && from_store(builder, key.data, arch, true, &found);
  if (!hit && (status == ROWSCAN_NO_COMPILER || (status == ROWSCAN_OK && builder->forbidden_by)))
    hit = from_any_compiler(builder, &asked, key.data, &found);
  rs_text_free(&key);
  if (!hit)
    return false;
  count_hit(builder, &found);
  found.milliseconds = rs_now_ms() - start;
  *binary = found;
  return true;
}

bool rs_builder_whole(rs_builder *builder, rs_binary *binary, const char *canonical, const char *source, int arch) {
  rs_text key = {0};
  bool found = rs_builder_key(builder, canonical, source, arch, &key) == ROWSCAN_OK &&
               from_store(builder, key.data, arch, false, binary);
  rs_text_free(&key);
  return found;
}
