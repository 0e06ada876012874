/*
 * walk.c - goes through the directories of a store
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "inside.h"

void rs_fan_name(int fan, char name[3]) {
  snprintf(name, 3, "%02x", (unsigned)fan & 0xff);
}

int rs_fan_open(const rs_store *store, const char *name) {
  errno = ENOENT;
  if (store->dir < 0)
    return -1;
  char fan[3] = {name[0], name[1], 0};
  const char *wrong;
  int fd = rs_dir_open(store->dir, fan, false, &wrong);
  if (fd >= 0 || errno == ENOENT)
    return fd;
  int error = errno;
  if (wrong)
    rs_store_say(store, RS_WARNING, "%s/%s is not used: %s", store->path, fan, wrong);
  else
    rs_store_say(store, RS_WARNING, "%s/%s is not used: %m", store->path, fan);
  errno = error;
  return -1;
}

/* What does not look like a name of ours is not ours, and is left alone. */
static bool is_ours(const char *file, bool *temporary) {
  size_t length = strlen(file);
  *temporary = strncmp(file, RS_TEMPORARY, strlen(RS_TEMPORARY)) == 0;
  return *temporary ? length < RS_TEMPORARY_NAME
                    : length == RS_ENTRY_NAME - 4 && strspn(file, "0123456789abcdef") == length;
}

/* What a walk could not read. */
typedef struct unread {
  bool any;
  int error; /* of the first that was not at fault itself; 0: each was */
} unread;

static void note_unread(unread *all, int error) {
  all->any = true;
  if (!all->error && !rs_file_is_at_fault(error))
    all->error = error;
}

static void tell_unread(const rs_store *store, const char *name, unread *all) {
  note_unread(all, errno);
  rs_store_say(store, RS_WARNING, "%s/%s can't be read: %m", store->path, name);
}

/* The next name; NULL: there is none, or (which is noted) it can't be read. */
static const struct dirent *next_name(const rs_store *store, const char *fan, DIR *list, unread *all) {
  errno = 0;
  const struct dirent *at = readdir(list);
  if (!at && errno)
    tell_unread(store, fan, all);
  return at;
}

static int walk_fan(const rs_store *store, DIR *list, const char *fan, int (*each)(void *user, const rs_found *found),
                    void *user, unread *all) {
  rs_found found = {.fan = dirfd(list)};
  int end = 0;
  for (const struct dirent *at; !end && (at = next_name(store, fan, list, all)) != NULL;) {
    if (!is_ours(at->d_name, &found.temporary))
      continue;
    snprintf(found.name, sizeof found.name, "%.2s/%.*s", fan, RS_TEMPORARY_NAME - 1, at->d_name);
    found.file = found.name + 3;
    if (fstatat(found.fan, at->d_name, &found.status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) /* it vanished */
        tell_unread(store, found.name, all);
      continue;
    }
    found.bytes = rs_countable((uint64_t)found.status.st_size);
    end = each(user, &found);
  }
  return end;
}

bool rs_walk(const rs_store *store, int (*each)(void *user, const rs_found *found), void *user) {
  unread all = {false, 0};
  for (int i = 0, end = 0; i < RS_FANS && !end; i++) {
    char fan[3];
    rs_fan_name(i, fan);
    int fd = rs_fan_open(store, fan);
    if (fd < 0) {
      if (errno != ENOENT && errno != ENOTDIR) /* a file or link of that name has no entries */
        note_unread(&all, errno);
      continue;
    }
    DIR *list = fdopendir(fd);
    if (list) {
      end = walk_fan(store, list, fan, each, user, &all);
      closedir(list);
    } else {
      tell_unread(store, fan, &all);
      close(fd);
    }
  }
  errno = all.error ? all.error : EACCES;
  return !all.any;
}

rs_removal rs_remove(const rs_store *store, const char *name, bool tell) {
  if (unlinkat(store->dir, name, 0) == 0)
    return RS_REMOVED;
  if (errno == ENOENT)
    return RS_GONE;
  if (tell)
    rs_store_say(store, RS_WARNING, "%s/%s can't be removed: %m", store->path, name);
  return RS_STAYS;
}
