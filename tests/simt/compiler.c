/*
 * compiler.c - CUDA source to a shared object for the CPU, by g++
 * SPDX-License-Identifier: MIT
 *
 * Source and headers are written to a directory, with this simulator's device.cuh and fetches.cuh in place of theirs.
 * SIMT_KEEP=1 leaves the directory. SIMT_CXX (g++) compiles, with SIMT_CXXFLAGS after the options below.
 */
#include "compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image.h"
#include "report.h"

extern char **environ;

enum { MAX_ENTRIES = 64, MAX_WORDS = 96, PATH_ROOM = 4096 };

/* ---- bytes ---------------------------------------------------------------------------------------------------------
 */

/* What is allocated for so many bytes and the 0 behind them: a power of two, so that adding piece by piece is linear.
 */
static size_t room_for(size_t count) {
  size_t room = 64;
  while (room <= count)
    room *= 2;
  return room;
}

void simt_bytes_add(simt_bytes *bytes, const void *data, size_t count) {
  bool fits = bytes->data && room_for(bytes->count) == room_for(bytes->count + count);
  char *more = fits ? bytes->data : realloc(bytes->data, room_for(bytes->count + count));
  if (!more)
    simt_die("no memory");
  if (count)
    memcpy(more + bytes->count, data, count);
  bytes->data = more;
  bytes->count += count;
  more[bytes->count] = 0;
}

void simt_bytes_print(simt_bytes *bytes, const char *format, ...) {
  char *text;
  va_list list;
  va_start(list, format);
  int count = vasprintf(&text, format, list);
  va_end(list);
  if (count < 0)
    simt_die("no memory");
  simt_bytes_add(bytes, text, (size_t)count);
  free(text);
}

bool simt_bytes_read(simt_bytes *bytes, const char *path) {
  char piece[65536];
  FILE *file = fopen(path, "rb");
  if (!file)
    return false;
  simt_bytes_add(bytes, "", 0);
  for (size_t count; (count = fread(piece, 1, sizeof piece, file)) > 0;)
    simt_bytes_add(bytes, piece, count);
  bool good = !ferror(file);
  fclose(file);
  return good;
}

void simt_bytes_free(simt_bytes *bytes) {
  free(bytes->data);
  *bytes = (simt_bytes){0};
}

static bool write_file(const char *path, const void *data, size_t count) {
  FILE *file = fopen(path, "wb");
  bool good = file && fwrite(data, 1, count, file) == count;
  return file && fclose(file) == 0 && good;
}

/* ---- kernels in a source -------------------------------------------------------------------------------------------
 */

static const char *copy_until(char *to, size_t room, const char *from, const char *end) {
  size_t count = (size_t)(end - from);
  if (count >= room)
    simt_die("a kernel's name or bounds are longer than %zu", room);
  memcpy(to, from, count);
  to[count] = 0;
  return end;
}

static const char *closing(const char *at) {
  int open = 1;
  while (*at && (open += (*at == '(') - (*at == ')')) > 0)
    at++;
  return at;
}

static bool in_comment(const char *text, const char *at) {
  while (at > text && at[-1] != '\n')
    at--;
  at += strspn(at, " \t");
  return at[0] == '/' || at[0] == '*' || at[0] == '#';
}

int simt_find_entries(const char *text, simt_entry *entries, int room) {
  static const char word[] = "RS_KERNEL(";
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  int count = 0;
  for (const char *at = text; count < room && (at = strstr(at, word)); at++) {
    if (in_comment(text, at))
      continue;
    const char *bounds = at + sizeof word - 1, *end = closing(bounds);
    if (!*end)
      break;
    copy_until(entries[count].bounds, sizeof entries->bounds, bounds, end);
    const char *name = end + 1 + strspn(end + 1, " \t\n");
    copy_until(entries[count].name, sizeof entries->name, name, name + strspn(name, letters));
    count++;
  }
  return count;
}

/* ---- g++ -----------------------------------------------------------------------------------------------------------
 */

static void path_in(char path[PATH_ROOM], const char *dir, const char *name) {
  if (snprintf(path, PATH_ROOM, "%s/%s", dir, name) >= PATH_ROOM)
    simt_die("%s/%s: too long", dir, name);
}

static void write_in(const char *dir, const char *name, const simt_bytes *bytes) {
  char path[PATH_ROOM];
  path_in(path, dir, name);
  if (!write_file(path, bytes->data, bytes->count))
    simt_die("%s: %s", path, strerror(errno));
}

/* What kernels ask of the hardware: this simulator has its own. */
static bool is_own(const char *header) {
  return strcmp(header, "device.cuh") == 0 || strcmp(header, "fetches.cuh") == 0;
}

static void write_headers(const char *dir, const simt_source *source) {
  for (int i = 0; i < source->headers; i++) {
    simt_bytes text = {0};
    if (is_own(source->header_name[i]))
      simt_bytes_print(&text, "#pragma once\n#include \"%s/%s\"\n", simt_dir(), source->header_name[i]);
    else
      simt_bytes_print(&text, "%s", source->header_text[i]);
    write_in(dir, source->header_name[i], &text);
    simt_bytes_free(&text);
  }
}

static void write_source(const char *dir, const simt_source *source) {
  simt_entry entries[MAX_ENTRIES];
  int count = simt_find_entries(source->text, entries, MAX_ENTRIES);
  simt_bytes text = {0};
  simt_bytes_print(&text, "%s\n", source->text);
  for (int i = 0; i < count; i++)
    simt_bytes_print(&text, "SIMT_FACTS(%s, %s)\n", entries[i].name, entries[i].bounds);
  write_in(dir, source->name, &text);
  simt_bytes_free(&text);
}

static const char *setting(const char *name, const char *otherwise) {
  const char *value = getenv(name);
  return value && *value ? value : otherwise;
}

/* A command and its arguments, ended by NULL; owned. */
typedef struct command {
  char *word[MAX_WORDS + 1];
  int count;
} command;

__attribute__((format(printf, 2, 3))) static void add(command *c, const char *format, ...) {
  va_list list;
  va_start(list, format);
  if (c->count == MAX_WORDS || vasprintf(&c->word[c->count++], format, list) < 0)
    simt_die("more than %d arguments, or no memory", MAX_WORDS);
  va_end(list);
}

static void add_words(command *c, const char *words) {
  for (size_t length; *words; words += length) {
    words += strspn(words, " ");
    length = strcspn(words, " ");
    if (length)
      add(c, "%.*s", (int)length, words);
  }
}

static void free_command(command *c) {
  for (int i = 0; i < c->count; i++)
    free(c->word[i]);
}

/* Runs it with its output in dir/log. Returns its exit status, -1 if it can't be run. */
static int run(const char *dir, command *c) {
  char path[PATH_ROOM];
  path_in(path, dir, "log");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child;
  int status, error = posix_spawnp(&child, c->word[0], &actions, NULL, c->word, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    return -1;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* g++ would make variables of equal names one in the process; clang has checks whose runtime a program in C lacks. Of
 * UBSan's checks those are left out that tell what AddressSanitizer tells too, or of what no kernel has; and calls
 * check an access, not code in its place: compiling, most of what a checked run takes, is 30% faster for both. */
static void add_flags(command *c, const char *compiler, const char *flags) {
  bool races = simt_races_wanted(); /* no other sanitizer goes with that */
  bool clang = strstr(compiler, "clang"), checks = strstr(flags, "-fsanitize");
  add_words(c, flags);
  if (!clang)
    add(c, "-fno-gnu-unique");
  if (checks)
    add_words(c, "-fno-sanitize-recover=all -fno-sanitize=null,object-size,pointer-overflow,return,vptr");
  if (checks && clang)
    add(c, "-fno-sanitize=function");
  if (checks && !clang)
    add_words(c, "--param asan-instrumentation-with-call-threshold=0");
  if (races) /* calls at each access, but to races.cuh */
    add_words(c, "-fsanitize=thread -DSIMT_RACES -fno-exceptions -nostdlib");
}

static bool run_compiler(const char *dir, const simt_source *source, const char *flags) {
  const char *compiler = setting("SIMT_CXX", "g++");
  command c = {0};
  add_words(&c, compiler);
  add_words(&c, "-std=c++17 -shared -fPIC -Og -g1 -w -fvisibility=hidden");
  add_words(&c, "-fno-strict-aliasing"); /* a kernel's words alias its elements */
  add(&c, "-ffp-contract=%s", source->fused ? "fast" : "off");
#ifdef __x86_64__
  if (source->fused)
    add(&c, "-mfma");
#endif
  add(&c, "-D__CUDA_ARCH__=%d0", source->arch);
  add(&c, "-I%s", dir);
  add(&c, "-I%s", simt_dir());
  for (int i = 0; i < source->defines; i++)
    add(&c, "%s", source->define[i]);
  add_flags(&c, compiler, flags);
  add_words(&c, "-x c++");
  add(&c, "%s/%s", dir, source->name);
  add(&c, "-o%s/object.so", dir);
  int status = run(dir, &c);
  if (status < 0)
    simt_die("%s can't be run", compiler);
  free_command(&c);
  return status == 0;
}

/* What g++ said, with no names of directories. */
static void read_log(const char *dir, simt_bytes *log) {
  char path[PATH_ROOM];
  simt_bytes all = {0};
  path_in(path, dir, "log");
  simt_bytes_read(&all, path);
  size_t skip = strlen(dir);
  for (const char *at = all.data; at && *at;) {
    const char *next = strstr(at, dir);
    size_t count = next ? (size_t)(next - at) : strlen(at);
    simt_bytes_add(log, at, count);
    at = next ? next + skip + (next[skip] == '/') : NULL;
  }
  simt_bytes_free(&all);
}

static void remove_in(const char *dir, const char *name) {
  char path[PATH_ROOM];
  path_in(path, dir, name);
  unlink(path);
}

static void remove_dir(const char *dir, const simt_source *source) {
  if (simt_setting("SIMT_KEEP", 0))
    return;
  for (int i = 0; i < source->headers; i++)
    remove_in(dir, source->header_name[i]);
  remove_in(dir, source->name);
  remove_in(dir, "object.so");
  remove_in(dir, "log");
  rmdir(dir);
}

static bool compile(const simt_source *source, const char *flags, simt_bytes *object, simt_bytes *log) {
  char dir[PATH_ROOM], path[PATH_ROOM];
  snprintf(dir, sizeof dir, "%.4000s/simt-nvrtc-XXXXXX", setting("TMPDIR", "/tmp"));
  if (!mkdtemp(dir))
    simt_die("%s: %s", dir, strerror(errno));
  write_headers(dir, source);
  write_source(dir, source);
  path_in(path, dir, "object.so");
  bool good = run_compiler(dir, source, flags);
  read_log(dir, log);
  if (good && !simt_bytes_read(object, path))
    simt_die("%s: %s", path, strerror(errno));
  remove_dir(dir, source);
  return good;
}

/* ---- results that are kept -----------------------------------------------------------------------------------------
 */

static uint64_t add_text(uint64_t sum, const char *text) {
  return simt_sum(sum, text, strlen(text) + 1);
}

static uint64_t source_sum(const simt_source *source, uint64_t sum) {
  uint64_t numbers[] = {(uint64_t)source->arch, source->fused};
  sum = simt_sum(sum, numbers, sizeof numbers);
  sum = add_text(add_text(sum, source->name), source->text);
  for (int i = 0; i < source->headers; i++)
    sum = add_text(add_text(sum, source->header_name[i]), source->header_text[i]);
  for (int i = 0; i < source->defines; i++)
    sum = add_text(sum, source->define[i]);
  return sum;
}

static bool kept_path(const simt_source *source, const char *flags, char path[PATH_ROOM]) {
  const char *dir = setting("SIMT_CACHE_DIR", NULL);
  char name[64];
  if (!dir)
    return false;
  mkdir(dir, 0700);
  uint64_t twin = simt_twin_sum(flags);
  snprintf(name, sizeof name, "%016llx%016llx.so", (unsigned long long)source_sum(source, twin),
           (unsigned long long)source_sum(source, ~twin));
  path_in(path, dir, name);
  return true;
}

/* Nothing is lost if it can't be kept. */
static void keep(const char *path, const simt_bytes *object) {
  char temporary[PATH_ROOM];
  if (snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid()) >= PATH_ROOM)
    return;
  if (!write_file(temporary, object->data, object->count) || rename(temporary, path) != 0)
    unlink(temporary);
}

bool simt_compile(const simt_source *source, simt_bytes *object, simt_bytes *log, bool *cached) {
  char path[PATH_ROOM];
  const char *flags = simt_races_wanted() ? "" : simt_flags();
  bool keeps = kept_path(source, flags, path);
  *cached = keeps && simt_bytes_read(object, path);
  if (*cached)
    return true;
  bool good = compile(source, flags, object, log);
  if (good && keeps)
    keep(path, object);
  return good;
}
