/*
 * processors.c - how many processors this process may use, and how large their last cache is
 * SPDX-License-Identifier: MIT
 *
 * A container is given a share of the machine's processors by a quota: so many microseconds of processor time in each
 * period. Threads beyond it are stopped in the middle of their work for the rest of the period. The quota of each
 * control group that the process is in counts, up to the root. In version 2 a group has both numbers in cpu.max; in
 * version 1 the groups of the controller `cpu` are a tree of their own, with a file for each number. Within a namespace
 * or a container /proc/self/cgroup may name a group that can't be seen; what can be is looked at all the same.
 */
#include "processors.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, LIST_BYTES = 4096, NUMBERS_BYTES = 64 };

/* The beginning of a file as text. False: it is not there, or can't be read. */
static bool read_file(const char *path, char *text, size_t room) {
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0)
    return false;
  ssize_t bytes = read(file, text, room - 1);
  close(file);
  text[bytes > 0 ? bytes : 0] = 0;
  return bytes > 0;
}

/* ---- quotas ------------------------------------------------------------------------------------------------------ */

static int least(int a, int b) {
  return a < b ? a : b;
}

static int worth(long long quota, long long period) {
  if (quota <= 0 || period <= 0)
    return INT_MAX;
  long long processors = quota / period + (quota % period != 0);
  return processors < INT_MAX ? (int)processors : INT_MAX;
}

/* "200000 100000", or "max 100000". */
static int quota_of_2(const char *group) {
  char path[PATH_BYTES], text[NUMBERS_BYTES];
  long long quota, period;
  if (snprintf(path, sizeof path, "%s/cpu.max", group) >= (int)sizeof path || !read_file(path, text, sizeof text) ||
      sscanf(text, "%lld %lld", &quota, &period) != 2)
    return INT_MAX;
  return worth(quota, period);
}

static long long number_in(const char *group, const char *name) {
  char path[PATH_BYTES], text[NUMBERS_BYTES];
  if (snprintf(path, sizeof path, "%s/%s", group, name) >= (int)sizeof path || !read_file(path, text, sizeof text))
    return -1;
  return strtoll(text, NULL, 10);
}

static int quota_of_1(const char *group) {
  long long quota = number_in(group, "cpu.cfs_quota_us"); /* -1: none */
  return quota > 0 ? worth(quota, number_in(group, "cpu.cfs_period_us")) : INT_MAX;
}

/* Of a group below the place where its tree is mounted, and of all above it. */
static int quota_upwards(const char *mount, const char *group, int (*quota_of)(const char *group)) {
  char path[PATH_BYTES];
  size_t end = strlen(mount);
  if (strstr(group, "/..") || snprintf(path, sizeof path, "%s%s", mount, group) >= (int)sizeof path)
    snprintf(path, sizeof path, "%s", mount); /* outside of what can be seen */
  int quota = quota_of(path);
  for (size_t i = strlen(path); i-- > end;)
    if (path[i] == '/') {
      path[i] = 0;
      quota = least(quota, quota_of(path));
    }
  return quota;
}

static bool lists(const char *controllers, const char *name) {
  size_t length = strlen(name);
  for (const char *at = controllers; *at; at += *at == ',') {
    size_t here = strcspn(at, ",");
    if (here == length && !strncmp(at, name, length))
      return true;
    at += here;
  }
  return false;
}

/* A line of /proc/self/cgroup: number:controllers:group, the controllers of version 2 left out. */
static int quota_of_line(const char *root, char *line) {
  char mount[PATH_BYTES], *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!group)
    return INT_MAX;
  *group++ = 0;
  controllers++;
  if (!*controllers) {
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
    int quota = quota_upwards(mount, group, quota_of_2);
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/unified", root); /* beside trees of version 1 */
    return least(quota, quota_upwards(mount, group, quota_of_2));
  }
  if (!lists(controllers, "cpu"))
    return INT_MAX;
  snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpu", root); /* a link, if others are mounted with it */
  if (access(mount, F_OK) != 0)
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%s", root, controllers);
  return quota_upwards(mount, group, quota_of_1);
}

int rs_processors_quota(const char *root) {
  char path[PATH_BYTES], text[LIST_BYTES], *rest;
  int quota = INT_MAX;
  if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= (int)sizeof path ||
      !read_file(path, text, sizeof text))
    return quota;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
    quota = least(quota, quota_of_line(root, line));
  return quota;
}

/* ---- processors -------------------------------------------------------------------------------------------------- */

static int processors_to_run_on(void) {
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set))
    return CPU_COUNT(&set);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

int rs_processors(void) {
  return least(processors_to_run_on(), rs_processors_quota(""));
}

/* ---- their last cache -------------------------------------------------------------------------------------------- */

/*
 * Linux tells what the cores of one cluster share. sysconf() of glibc counts the caches of all clusters of a socket
 * (256 MB where eight cores share 32), says 0 on other processors than x86, and other C libraries have no such
 * question.
 */

/* "32768K"; 0 for what is no size. */
static int64_t read_size(const char *path) {
  char text[32], *unit;
  if (!read_file(path, text, sizeof text))
    return 0;
  long long number = strtoll(text, &unit, 10);
  int shift = *unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0;
  return number > 0 && number < 1 << 30 ? (int64_t)number << shift : 0;
}

int64_t rs_last_cache_told(const char *root) {
  enum { CACHES = 8 };
  int64_t most = 0;
  char path[1024];
  for (int i = 0; i < CACHES; i++) {
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu0/cache/index%d/size", root, i);
    int64_t bytes = read_size(path);
    most = bytes > most ? bytes : most;
  }
  return most;
}

int64_t rs_last_cache_bytes(void) {
  int64_t bytes = rs_last_cache_told("");
#ifdef _SC_LEVEL3_CACHE_SIZE
  if (!bytes)
    bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
  return bytes > 0 ? bytes : 0;
}
