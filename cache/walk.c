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

static void tell_unread(const rs_store *store, const char *name, bool *complete) {
  rs_store_say(store, RS_WARNING, "%s/%s can't be read: %m", store->path, name);
  *complete = false;
}

/* The next name; NULL: there is none, or (*complete is false then) it can't be read. */
static const struct dirent *next_name(const rs_store *store, const char *fan, DIR *list, bool *complete) {
  errno = 0;
  const struct dirent *at = readdir(list);
  if (!at && errno)
    tell_unread(store, fan, complete);
  return at;
}

static int walk_fan(const rs_store *store, DIR *list, const char *fan, int (*each)(void *user, const rs_found *found),
                    void *user, bool *complete) {
  rs_found found = {.fan = dirfd(list)};
  int end = 0;
  for (const struct dirent *at; !end && (at = next_name(store, fan, list, complete)) != NULL;) {
    if (!is_ours(at->d_name, &found.temporary))
      continue;
    snprintf(found.name, sizeof found.name, "%.2s/%.*s", fan, RS_TEMPORARY_NAME - 1, at->d_name);
    found.file = found.name + 3;
    if (fstatat(found.fan, at->d_name, &found.status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) /* it vanished */
        tell_unread(store, found.name, complete);
      continue;
    }
    end = each(user, &found);
  }
  return end;
}

bool rs_walk(const rs_store *store, int (*each)(void *user, const rs_found *found), void *user) {
  bool complete = true;
  for (int i = 0, end = 0; i < RS_FANS && !end; i++) {
    char fan[3];
    rs_fan_name(i, fan);
    int fd = rs_fan_open(store, fan);
    if (fd < 0) {
      complete = complete && (errno == ENOENT || errno == ENOTDIR); /* a file or link of that name has no entries */
      continue;
    }
    DIR *list = fdopendir(fd);
    if (list) {
      end = walk_fan(store, list, fan, each, user, &complete);
      closedir(list);
    } else {
      tell_unread(store, fan, &complete);
      close(fd);
    }
  }
  return complete;
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
