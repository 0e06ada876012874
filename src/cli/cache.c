/*
 * cache.c - rowscan cache: the kernels kept on disk
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <time.h>

#include "commands.h"
#include "json.h"
#include "options.h"
#include "output.h"
#include "say.h"
#include "session.h"

typedef struct checked {
  int64_t entries, bytes, damaged, damaged_bytes;
} checked;

typedef struct cache_job {
  rowscan_context *context;
  rowscan_cache_info info;
  bool as_json;
  json_writer json;
  const char *operand;   /* the scan of why; the file of export and import */
  const char *arch_list; /* --arch, of why and export */
  const char *fields;    /* --spec, of export */
  bool without_ptx;      /* --no-ptx, of export */
  const char *arch;      /* the one that is looked at */
  cli_archs archs;
  int64_t limit;       /* --limit; 0: not given */
  checked own, packed; /* entries of the directory, and of packs */
} cache_job;

static int print_path(cache_job *job) {
  if (job->as_json) {
    json_object(&job->json, NULL);
    json_text(&job->json, "path", job->info.path);
    json_end(&job->json);
  } else {
    say_exactly(job->info.path, false);
    printf("\n");
  }
  return EXIT_OK;
}

static void print_counts_json(json_writer *json, const rowscan_cache_counts *counts) {
  json_integer(json, "hits", counts->hits);
  json_integer(json, "misses", counts->misses);
  json_integer(json, "compiles", counts->compiles);
  json_number(json, "saved_ms", counts->saved_ms);
  json_integer(json, "evictions", counts->evictions);
  json_integer(json, "damaged", counts->damaged);
  json_integer(json, "rejected", counts->rejected);
}

static void print_counts(const rowscan_cache_counts *counts) {
  printf("hits       %lld, which saved %.1f s\nmisses     %lld\ncompiles   %lld\nevictions  %lld\ndamaged    %lld\n"
         "rejected   %lld\n",
         (long long)counts->hits, 1e-3 * counts->saved_ms, (long long)counts->misses, (long long)counts->compiles,
         (long long)counts->evictions, (long long)counts->damaged, (long long)counts->rejected);
}

/* Counts are those of all processes: this one has just begun. */
static int print_info(cache_job *job) {
  const rowscan_cache_info *info = &job->info;
  if (job->as_json) {
    json_object(&job->json, NULL);
    json_text(&job->json, "path", *info->path ? info->path : NULL);
    json_text(&job->json, "why", *info->path ? NULL : info->why);
    json_integer(&job->json, "entries", info->entries);
    json_integer(&job->json, "bytes", info->bytes);
    json_integer(&job->json, "limit_bytes", info->limit_bytes);
    json_integer(&job->json, "packs", info->packs);
    json_integer(&job->json, "pack_entries", info->pack_entries);
    print_counts_json(&job->json, &info->all);
    json_end(&job->json);
  } else if (*info->path) {
    say_line("path       %s", info->path);
    printf("entries    %lld\nbytes      %lld\nlimit      %lld\n", (long long)info->entries, (long long)info->bytes,
           (long long)info->limit_bytes);
    print_counts(&info->all);
  } else
    say_line("There is no cache on disk: %s", info->why);
  if (!job->as_json)
    printf("packs      %d with %lld entries\n", info->packs, (long long)info->pack_entries);
  return EXIT_OK;
}

/* An entry, with the pack that has it, behind one text and before two, which end the line. */
static void print_found(const char *before, const char *name, const char *pack, const char *after, const char *more) {
  say_line("%s%s%s%s%s%s", before, name, pack ? " in pack " : "", pack ? pack : "", after, more);
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

static void print_entry_json(json_writer *json, const rowscan_cache_entry *entry, bool with_pack) {
  json_object(json, NULL);
  json_text(json, "name", entry->name);
  json_integer(json, "bytes", entry->bytes);
  json_integer(json, "used", entry->used);
  json_text(json, "key", entry->key);
  json_text(json, "damage", entry->damage);
  if (with_pack)
    json_text(json, "pack", entry->pack);
  json_end(json);
}

static void print_entry(const rowscan_cache_entry *entry) {
  char day[32] = "";
  time_t used = (time_t)entry->used;
  struct tm parts;
  if (localtime_r(&used, &parts))
    strftime(day, sizeof day, "%Y-%m-%d %H:%M", &parts);
  say_line("%s  %9lld  %s%s%s", day, (long long)entry->bytes, entry->name, entry->damage ? "  damaged: " : "",
           entry->damage ? entry->damage : "");
}

static int list_one(void *user, const rowscan_cache_entry *entry) {
  cache_job *job = user;
  if (job->as_json)
    print_entry_json(&job->json, entry, false);
  else
    print_entry(entry);
  return 0;
}

static int list_entries(cache_job *job) {
  if (job->as_json)
    json_array(&job->json, NULL);
  rowscan_status status = rowscan_cache_visit(job->context, list_one, job);
  if (job->as_json)
    json_end(&job->json);
  return status == ROWSCAN_OK ? EXIT_OK : say_library(NULL, status);
}

/* ---- verify ------------------------------------------------------------------------------------------------------ */

static int verify_one(void *user, const rowscan_cache_entry *entry) {
  cache_job *job = user;
  checked *sum = entry->pack ? &job->packed : &job->own;
  sum->entries++;
  sum->bytes += entry->bytes;
  if (!entry->damage)
    return 0;
  sum->damaged++;
  sum->damaged_bytes += entry->bytes;
  if (job->as_json)
    print_entry_json(&job->json, entry, true);
  else
    print_found("", entry->name, entry->pack, ": ", entry->damage);
  return 0;
}

static void print_checked(const checked *sum) {
  printf("%lld entries (%lld bytes), %lld damaged (%lld bytes)\n", (long long)sum->entries, (long long)sum->bytes,
         (long long)sum->damaged, (long long)sum->damaged_bytes);
}

static void print_sums(const cache_job *job) {
  print_checked(&job->own);
  if (job->info.packs) {
    printf("%d pack%s with ", job->info.packs, job->info.packs == 1 ? "" : "s");
    print_checked(&job->packed);
  }
}

static void print_sums_json(cache_job *job) {
  json_integer(&job->json, "entries", job->own.entries);
  json_integer(&job->json, "bytes", job->own.bytes);
  json_integer(&job->json, "damaged_bytes", job->own.damaged_bytes);
  json_integer(&job->json, "packs", job->info.packs);
  json_integer(&job->json, "pack_entries", job->packed.entries);
  json_integer(&job->json, "pack_bytes", job->packed.bytes);
  json_integer(&job->json, "pack_damaged_bytes", job->packed.damaged_bytes);
}

static int verify(cache_job *job) {
  if (job->as_json) {
    json_object(&job->json, NULL);
    json_array(&job->json, "damaged");
  }
  rowscan_status status = rowscan_cache_visit(job->context, verify_one, job),
                 packed = rowscan_cache_visit_packs(job->context, verify_one, job);
  if (job->as_json) {
    json_end(&job->json);
    print_sums_json(job);
    json_end(&job->json);
  } else
    print_sums(job);
  if (status != ROWSCAN_OK || packed != ROWSCAN_OK)
    return say_library(NULL, status != ROWSCAN_OK ? status : packed);
  return job->own.damaged || job->packed.damaged ? EXIT_FAILED : EXIT_OK;
}

/* ---- why --------------------------------------------------------------------------------------------------------- */

static void print_reason_json(json_writer *json, const char *arch, const rowscan_cache_reason *reason) {
  json_object(json, NULL);
  json_text(json, "arch", arch);
  json_text(json, "regime", rowscan_regime_name(reason->regime));
  json_text(json, "kernel", reason->kernel);
  json_text(json, "cache", reason->hit ? "hit" : reason->damage ? "damaged" : "miss");
  json_text(json, "name", *reason->name ? reason->name : NULL);
  json_text(json, "damage", reason->damage);
  json_text(json, "pack", reason->pack);
  json_text(json, "nearest", reason->nearest);
  json_array(json, "differences");
  for (int i = 0; i < reason->difference_count; i++) {
    json_object(json, NULL);
    json_text(json, "field", reason->differences[i].field);
    json_text(json, "asked", reason->differences[i].asked);
    json_text(json, "found", reason->differences[i].found);
    json_end(json);
  }
  json_end(json);
  json_end(json);
}

static void print_reason(const cache_job *job, const rowscan_cache_reason *reason) {
  say_part("%s %s, %s: ", job->arch, rowscan_regime_name(reason->regime), reason->kernel);
  if (reason->hit)
    print_found("hit: ", reason->name, reason->pack, "", "");
  else if (reason->damage)
    print_found("damaged: ", reason->name, reason->pack, ": ", reason->damage);
  else if (reason->nearest)
    print_found("miss: the nearest entry, ", reason->nearest, reason->pack, ", differs in:", "");
  else
    printf("miss: the cache has no kernel of one scan%s\n", job->info.packs ? ", nor has any pack a sound one" : "");
  for (int i = 0; i < reason->difference_count; i++) {
    const rowscan_cache_difference *one = &reason->differences[i];
    say_line("  %-10s %s, not %s", one->field, one->found ? one->found : "(none)", one->asked ? one->asked : "(none)");
  }
}

static int why_one(void *user, const rowscan_cache_reason *reason) {
  cache_job *job = user;
  if (job->as_json)
    print_reason_json(&job->json, job->arch, reason);
  else
    print_reason(job, reason);
  return 0;
}

static int why(cache_job *job) {
  rowscan_spec spec = {.size = sizeof spec};
  rowscan_status status = rowscan_spec_parse(&spec, job->operand);
  if (status != ROWSCAN_OK)
    return say_library(NULL, status);
  int result = archs_find(&job->archs, job->context);
  if (result != EXIT_OK)
    return result;
  if (job->as_json)
    json_array(&job->json, NULL);
  for (int i = 0; i < job->archs.count && status == ROWSCAN_OK; i++) {
    job->arch = job->archs.name[i];
    status = rowscan_cache_why(job->context, &spec, job->arch, why_one, job);
  }
  if (job->as_json)
    json_end(&job->json);
  return status == ROWSCAN_OK ? EXIT_OK : say_library(job->arch, status);
}

/* ---- prune ------------------------------------------------------------------------------------------------------- */

static int prune(cache_job *job) {
  rowscan_cache_pruned pruned = ROWSCAN_INFO(pruned);
  rowscan_status status = rowscan_cache_prune(job->context, &pruned);
  if (status != ROWSCAN_OK)
    return say_library(NULL, status);
  if (job->as_json) {
    json_object(&job->json, NULL);
    json_integer(&job->json, "removed", pruned.removed);
    json_integer(&job->json, "removed_bytes", pruned.removed_bytes);
    json_integer(&job->json, "swept", pruned.swept);
    json_integer(&job->json, "swept_bytes", pruned.swept_bytes);
    json_integer(&job->json, "left", pruned.left);
    json_integer(&job->json, "left_bytes", pruned.left_bytes);
    json_end(&job->json);
  } else
    printf(
        "removed %lld entries (%lld bytes) and %lld stale temporaries (%lld bytes); left %lld entries (%lld bytes)\n",
        (long long)pruned.removed, (long long)pruned.removed_bytes, (long long)pruned.swept,
        (long long)pruned.swept_bytes, (long long)pruned.left, (long long)pruned.left_bytes);
  return EXIT_OK;
}

/* ---- clear ------------------------------------------------------------------------------------------------------- */

static int clear(cache_job *job) {
  int64_t removed = 0, bytes = 0;
  rowscan_status status = rowscan_cache_clear(job->context, &removed, &bytes);
  if (job->as_json) {
    json_object(&job->json, NULL);
    json_integer(&job->json, "removed", removed);
    json_integer(&job->json, "bytes", bytes);
    json_end(&job->json);
  } else
    printf("removed %lld entries, %lld bytes\n", (long long)removed, (long long)bytes);
  return status == ROWSCAN_OK ? EXIT_OK : say_library(NULL, status);
}

/* ---- packs ------------------------------------------------------------------------------------------------------- */

static int write_pack(const char *file, const void *pack, size_t bytes) {
  cli_output output;
  output_prints();
  int result = output_open(&output, file);
  if (result == EXIT_OK)
    result = output_private(&output);
  if (result == EXIT_OK)
    result = output_write(&output, pack, bytes);
  return result == EXIT_OK ? output_commit(&output) : result;
}

static void print_exported(cache_job *job, const rowscan_cache_exported *exported) {
  if (job->as_json) {
    json_object(&job->json, NULL);
    json_text(&job->json, "file", job->operand);
    json_integer(&job->json, "entries", exported->entries);
    json_integer(&job->json, "bytes", exported->bytes);
    json_integer(&job->json, "damaged", exported->damaged);
    json_end(&job->json);
  } else
    say_line("%s: %lld entries, %lld bytes; %lld damaged entries left out", job->operand, (long long)exported->entries,
             (long long)exported->bytes, (long long)exported->damaged);
}

/* By memory, so that the file is written as all others are: an interrupt leaves nothing behind. */
static int export(cache_job *job) {
  const char *archs[ARCHS_MAX];
  for (int i = 0; i < job->archs.count; i++)
    archs[i] = job->archs.name[i];
  rowscan_cache_exported exported = ROWSCAN_INFO(exported);
  void *pack;
  size_t bytes;
  rowscan_status status =
      rowscan_cache_export_memory(job->context,
                                  ROWSCAN_CACHE_FILTER(.archs = archs, .arch_count = job->archs.count,
                                                       .spec = job->fields, .without_ptx = job->without_ptx),
                                  &pack, &bytes, &exported);
  if (status == ROWSCAN_BAD_ARGUMENT)
    return say_usage("--spec: %s", rowscan_last_error());
  if (status != ROWSCAN_OK)
    return say_failed("%s: not written: %s", job->operand, rowscan_last_error());
  int result = write_pack(job->operand, pack, bytes);
  rowscan_free(pack);
  if (result == EXIT_OK)
    print_exported(job, &exported);
  return result;
}

static int import(cache_job *job) {
  rowscan_cache_imported imported = ROWSCAN_INFO(imported);
  rowscan_status status = rowscan_cache_import(job->context, job->operand, &imported);
  if (status != ROWSCAN_OK)
    return say_library(NULL, status);
  if (job->as_json) {
    json_object(&job->json, NULL);
    json_text(&job->json, "file", job->operand);
    json_integer(&job->json, "entries", imported.entries);
    json_integer(&job->json, "added", imported.added);
    json_integer(&job->json, "present", imported.present);
    json_integer(&job->json, "damaged", imported.damaged);
    json_integer(&job->json, "failed", imported.failed);
    json_end(&job->json);
  } else
    say_line("%s: %lld entries: %lld added, %lld in the cache before, %lld damaged, %lld not kept", job->operand,
             (long long)imported.entries, (long long)imported.added, (long long)imported.present,
             (long long)imported.damaged, (long long)imported.failed);
  return imported.damaged || imported.failed ? EXIT_FAILED : EXIT_OK;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

typedef struct action {
  const char *name;
  int (*run)(cache_job *job);
  const char *operand; /* what it is told to be if it is missing; NULL: there is none */
  bool file;           /* is the operand */
  bool limit, archs, needs_archs, fields;
  bool needs; /* the directory of the cache */
  bool packs; /* do as well */
} action;

static const action actions[] = {
    {.name = "path", .run = print_path, .needs = true},
    {.name = "info", .run = print_info},
    {.name = "list", .run = list_entries, .needs = true},
    {.name = "verify", .run = verify, .needs = true, .packs = true},
    {.name = "why",
     .run = why,
     .operand = "why requires a scan, such as 'in=f32 length=1000'",
     .archs = true,
     .needs_archs = true},
    {.name = "prune", .run = prune, .limit = true, .needs = true},
    {.name = "clear", .run = clear, .needs = true},
    {.name = "export",
     .run = export,
     .operand = "export requires a FILE",
     .file = true,
     .archs = true,
     .fields = true,
     .needs = true,
     .packs = true},
    {.name = "import", .run = import, .operand = "import requires a FILE", .file = true, .limit = true, .needs = true},
};

static bool has_needed(const cache_job *job, const action *to) {
  return !to->needs || *job->info.path || (to->packs && job->info.packs);
}

static int run_action(cache_job *job, const action *to) {
  cli_session host = SESSION_KERNELS;
  host.cache_limit = job->limit;
  int result = session_open(&job->context, &host);
  if (result != EXIT_OK)
    return result;
  rowscan_status status = rowscan_cache_info_get(job->context, &job->info);
  result = status != ROWSCAN_OK   ? say_library(NULL, status)
           : !has_needed(job, to) ? say_failed("there is no cache on disk: %s", job->info.why)
                                  : EXIT_OK;
  if (result == EXIT_OK)
    result = to->run(job);
  rowscan_close(job->context);
  return result;
}

/* Options and operands that are another action's are mistakes. */
static int check_job(cache_job *job, const action *to) {
  if (job->limit >= 0 && !to->limit)
    return say_usage("--limit: only 'cache prune' and 'cache import' accept it");
  if (!job->limit)
    return say_usage("--limit: 0 bytes cannot hold a kernel; 'rowscan cache clear' removes all entries");
  if (job->limit < 0)
    job->limit = 0;
  if (job->operand && !to->operand)
    return say_usage("extra operand '%s'", job->operand);
  if (job->arch_list && !to->archs)
    return say_usage("--arch: only 'cache why' and 'cache export' accept it");
  if (job->fields && !to->fields)
    return say_usage("--spec: only 'cache export' accepts it");
  if (job->without_ptx && !to->fields)
    return say_usage("--no-ptx: only 'cache export' accepts it");
  if (to->operand && (!job->operand || !*job->operand))
    return say_usage("missing operand: %s", to->operand);
  if (to->file && !kind_file.read(&kind_file, job->operand, &job->operand))
    return say_usage("FILE: '%s' is not %s", job->operand, kind_file.expected);
  return job->arch_list || to->needs_archs ? archs_read(&job->archs, job->arch_list) : OPTIONS_READ;
}

int command_cache(int argc, char **argv) {
  cache_job job = {.info = ROWSCAN_INFO(job.info), .limit = -1, .json = {.file = stdout}};
  const cli_option options[] = {
      {"json", 0, &kind_switch, &job.as_json, "print JSON"},
      {"limit", 0, &kind_count, &job.limit, "prune, import: bytes that the cache may hold (268435456)"},
      {"arch", 0, &kind_list, &job.arch_list, "why, export: sm_75,sm_90,... or all (those that NVRTC knows)"},
      {"spec", 0, &kind_text, &job.fields, "export: only kernels of scans with these fields: 'in=f32 reverse=1'"},
      {"no-ptx", 0, &kind_switch, &job.without_ptx,
       "export: leave out PTX, which only GPUs of other architectures need"}};
  const cli_syntax syntax = {
      .name = "cache",
      .operands = "path|info|list|verify|why SPEC|prune|clear|export FILE|import FILE",
      .operand_count = 1,
      .operand_more = 1,
      .about =
          "Manages the compiled kernels on disk; each is an entry of the cache.\n"
          "  path     print the cache's directory ($ROWSCAN_CACHE_DIR, $XDG_CACHE_HOME/rowscan, ~/.cache/rowscan)\n"
          "  info     print entries, bytes, limit and packs, and the hits and misses of all processes\n"
          "  list     print every entry: last use, bytes, name\n"
          "  verify   read and check every entry, in packs too; exit status 1 if one is damaged\n"
          "  why      explain why the kernels of a scan, such as 'in=f32 length=1000', are present or missing: in\n"
          "           which fields of the key the nearest entry, in the cache or a pack, differs\n"
          "  prune    remove temporary files that dead processes left and, if the cache is close to its limit, the\n"
          "           least recently used entries\n"
          "  clear    remove all entries\n"
          "  export   write entries, also those of packs, into one file, a pack; exit status 1 if there is none for\n"
          "           an architecture of --arch\n"
          "  import   copy the entries of a pack into the cache; exit status 1 if one is damaged",
      .options = options,
      .option_count = COUNT_OF(options),
  };
  const char *operands[2] = {NULL, NULL};
  int status = options_read(&syntax, argc, argv, operands);
  if (status != OPTIONS_READ)
    return status;
  job.operand = operands[1];
  for (int i = 0; i < COUNT_OF(actions); i++)
    if (!strcmp(operands[0], actions[i].name)) {
      status = check_job(&job, &actions[i]);
      return status == OPTIONS_READ ? run_action(&job, &actions[i]) : status;
    }
  return say_usage("unknown cache command '%s'", operands[0]);
}
