/*
 * warm.c - kernels compiled before they are needed: a list of specs for a list of architectures, on all cores
 * SPDX-License-Identifier: MIT
 *
 * Each pair of a spec and an architecture is a plan to look at, made and thrown away: what is left is in the cache.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/pool.h"
#include "base/sized.h"
#include "base/status.h"
#include "family/universal.h"
#include "run/plan.h"
#include "spec/arch.h"

typedef struct warming {
  rowscan_context *context;
  const rowscan_warming *list;
  rowscan_spec *specs; /* complete */
  int64_t spec_count;
  int archs[RS_MOST_ARCHS], arch_count;
  int threads; /* that compile the kernels of a pair */
  atomic_bool stopped;
  pthread_mutex_t lock; /* of all that follows, and held while visit is called */
  int64_t done, total, failed;
  rowscan_status status; /* of the first that failed */
  rs_text message;
  char (*entries)[RS_STORE_NAME]; /* that the cache's directory has, or had */
  size_t entry_count, entry_room;
} warming;

/* ---- one pair ---------------------------------------------------------------------------------------------------- */

/* What was compiled and is not in the cache now was compiled in vain. */
static rowscan_status count_kept(const rowscan_plan *plan, rowscan_warmed *one) {
  const rs_geometry *geometry = &plan->program.kernels.geometry;
  rowscan_status status = ROWSCAN_OK;
  one->modules = rs_geometry_kernels(geometry);
  for (int i = 0; i < one->modules; i++) {
    rs_kernel kernel = rs_geometry_kernel(geometry, i);
    const rs_binary *binary = &plan->program.modules.of[kernel].binary;
    one->compiled += !binary->cached;
    if (!binary->stored && !status)
      status = rs_fail(ROWSCAN_CACHE_FAILED, "kernel %s: compiled, but the cache (%s) did not keep it",
                       rs_kernel_name(kernel), rs_store_path(rs_builder_store(plan->context->gpu.builder)));
  }
  return status;
}

/* What came from a pack is in no danger. */
static rowscan_status note_entries(warming *all, const rowscan_plan *plan) {
  const rs_geometry *geometry = &plan->program.kernels.geometry;
  rs_store *store = rs_builder_store(plan->context->gpu.builder);
  bool enough = true;
  pthread_mutex_lock(&all->lock);
  for (int i = 0; i < rs_geometry_kernels(geometry) && enough; i++) {
    const rs_binary *binary = &plan->program.modules.of[rs_geometry_kernel(geometry, i)].binary;
    if (*binary->name && (!binary->cached || rs_store_has(store, binary->name))) {
      void *more = rs_list_room(all->entries, all->entry_count, &all->entry_room, sizeof *all->entries);
      enough = more != NULL;
      if (enough) {
        all->entries = more;
        memcpy(all->entries[all->entry_count++], binary->name, sizeof *all->entries);
      }
    }
  }
  pthread_mutex_unlock(&all->lock);
  return enough ? ROWSCAN_OK : rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for a list of entries");
}

/* Where there is no directory to keep them in no kernels are compiled: packs have what is asked for, or it fails. */
static rowscan_status look_at_plan(rowscan_plan **plan, const warming *all, const rowscan_spec *spec, int arch) {
  rs_builder *builder = all->context->gpu.builder;
  if (*rs_store_path(rs_builder_store(builder)) || rs_builder_makes(builder, arch) == RS_MAKES_NOTHING)
    return rs_plan_look(plan, all->context, spec, arch, all->threads);
  rowscan_status status = rs_plan_find(plan, all->context, spec, arch);
  return status == ROWSCAN_NOT_CACHED ? rs_fail_more(ROWSCAN_CACHE_FAILED, ", and there is no cache on disk to fill")
                                      : status;
}

static void make(warming *all, int64_t spec, int arch, rowscan_warmed *one) {
  double start = rs_now_ms();
  rowscan_plan *plan;
  one->status = look_at_plan(&plan, all, &all->specs[spec], arch);
  if (one->status == ROWSCAN_OK) {
    one->status = count_kept(plan, one);
    if (one->status == ROWSCAN_OK)
      one->status = note_entries(all, plan);
    rs_plan_destroy(plan);
  }
  one->message = one->status ? rowscan_last_error() : "";
  one->ms = rs_now_ms() - start;
}

static void tell_warmed(warming *all, rowscan_warmed *one) {
  const rowscan_warming *list = all->list;
  pthread_mutex_lock(&all->lock);
  one->done = ++all->done;
  one->total = all->total;
  if (one->status && !all->failed++) {
    all->status = one->status;
    rs_text_add(&all->message, "%s: %s", one->arch, one->message);
  }
  if (list->visit && !all->stopped && list->visit(list->user, one))
    all->stopped = true;
  pthread_mutex_unlock(&all->lock);
}

static void work(void *what, int64_t pair, void *seat) {
  (void)seat;
  warming *all = what;
  if (all->stopped)
    return;
  char arch[32];
  int number = all->archs[pair % all->arch_count];
  snprintf(arch, sizeof arch, "sm_%d", number);
  rowscan_warmed one = {.size = sizeof one, .spec = pair / all->arch_count, .arch = arch};
  make(all, one.spec, number, &one);
  tell_warmed(all, &one);
}

/* ---- the lists --------------------------------------------------------------------------------------------------- */

static rowscan_status read_warming_archs(warming *all) {
  const rowscan_warming *list = all->list;
  all->arch_count = list->archs ? list->arch_count : RS_MOST_ARCHS;
  if (!list->archs)
    return rs_nvrtc_archs(rs_builder_nvrtc(all->context->gpu.builder), all->archs, &all->arch_count);
  if (list->arch_count > RS_MOST_ARCHS)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "warming: field 'arch_count': %d exceeds %d", list->arch_count, RS_MOST_ARCHS);
  rowscan_status status = ROWSCAN_OK;
  for (int i = 0; i < list->arch_count && !status; i++)
    status = rs_arch_read(list->archs[i], &all->archs[i]);
  return status;
}

/* The caller's specs may be of another size than the library's. */
static rowscan_status read_specs(warming *all) {
  const rowscan_warming *list = all->list;
  all->spec_count = list->spec_count;
  all->specs = calloc((size_t)list->spec_count + RS_MOST_UNIVERSAL, sizeof *all->specs);
  if (!all->specs)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for %lld specs", (long long)list->spec_count);
  for (int64_t i = 0; i < list->spec_count; i++) {
    const rowscan_spec *from = (const rowscan_spec *)((const char *)list->specs + (size_t)i * list->specs->size);
    if (from->size != list->specs->size)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "warming: specs[%lld]: field 'size': %zu, but the first spec's is %zu",
                     (long long)i, from->size, list->specs->size);
    rowscan_status status = rs_spec_read(&all->specs[i], from);
    if (status)
      return rs_fail_more(status, " (warming: specs[%lld])", (long long)i);
  }
  if (list->universal)
    all->spec_count += rs_universal_all(all->specs + list->spec_count);
  return ROWSCAN_OK;
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

static int by_name(const void *left, const void *right) {
  return memcmp(left, right, RS_STORE_NAME);
}

/* Making the last ones may have evicted the first. */
static rowscan_status check_entries(const warming *all) {
  rs_store *store = rs_builder_store(all->context->gpu.builder);
  size_t count = 0, gone = 0;
  if (all->entry_count)
    qsort(all->entries, all->entry_count, sizeof *all->entries, by_name);
  for (size_t i = 0; i < all->entry_count; i++)
    if (!i || memcmp(all->entries[i], all->entries[i - 1], sizeof *all->entries) != 0) {
      count++;
      gone += !rs_store_has(store, all->entries[i]);
    }
  if (!gone)
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_CACHE_FAILED, "%zu of %zu entries were evicted again: the cache (%s) keeps at most %lld bytes",
                 gone, count, rs_store_path(store), (long long)rs_store_limit(store));
}

static rowscan_status run(warming *all) {
  int threads = all->list->threads ? all->list->threads : rs_host_threads(all->context->host);
  all->threads = all->total > 0 && all->total < threads ? (int)((threads + all->total - 1) / all->total) : 1;
  pthread_mutex_init(&all->lock, NULL); /* which cannot fail with no attributes */
  bool worked = rs_pool_once(threads, all->total, work, all);
  pthread_mutex_destroy(&all->lock);
  if (!worked)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for threads that compile");
  if (!all->failed)
    return check_entries(all);
  return rs_fail_lines(all->status, "%lld of %lld pairs of a spec and an architecture failed; the first: %s",
                       (long long)all->failed, (long long)all->total,
                       all->message.data ? all->message.data : rowscan_status_name(all->status));
}

static rowscan_status warm(rowscan_context *context, const rowscan_warming *list) {
  warming all = {.context = context, .list = list};
  rowscan_status status = read_specs(&all);
  if (!status)
    status = read_warming_archs(&all);
  if (!status) {
    all.total = all.spec_count * all.arch_count; /* of specs that memory holds, and RS_MOST_ARCHS at most */
    status = run(&all);
  }
  free(all.specs);
  rs_text_free(&all.message);
  free(all.entries);
  return status;
}

rowscan_status rowscan_warm(rowscan_context *context, const rowscan_warming *given) {
  RS_UNCANCELLED;
  rowscan_warming read, *list = &read;
  rowscan_status status = rs_sized_read(list, sizeof *list, given, "warming", "ROWSCAN_WARMING");
  if (status)
    return status;
  if (list->spec_count < 0 || (list->spec_count && !list->specs))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "warming: field 'spec_count': %lld%s", (long long)list->spec_count,
                   list->specs ? " is negative" : ", but 'specs' is NULL");
  if (list->arch_count < 0 || (list->arch_count && !list->archs))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "warming: field 'arch_count': %d%s", list->arch_count,
                   list->archs ? " is negative" : ", but 'archs' is NULL");
  if (list->threads < 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "warming: field 'threads': %d is negative", list->threads);
  if (list->reserved)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "warming: field 'reserved': %d is not 0", list->reserved);
  return warm(context, list);
}
