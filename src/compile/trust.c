/*
 * trust.c - whether a file that nobody named can be run
 * SPDX-License-Identifier: MIT
 *
 * A path is walked from the root, a component at a time, links replaced by what they lead to: so each directory that
 * has a say in which file is opened is looked at. The rule is that of sshd's StrictModes, with two exceptions. In a
 * sticky directory nobody can replace what belongs to another. And with umask 002, as distributions with a group for
 * each user have it, all that a user makes is writable by a group of which nobody else is a member. The databases of
 * users and groups are read as files: asking the system may load modules and wait for a network, for who is no member.
 */
#include "trust.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/library.h"

enum { MOST_LINKS = 40, MOST_USERS = 4 };

/* Users whose code runs in this process. */
typedef struct users {
  uid_t id[MOST_USERS];
  int count;
} users;

static void add_owner(users *all, const char *path) {
  struct stat status;
  if (stat(path, &status) == 0)
    all->id[all->count++] = status.st_uid;
}

static users trusted_users(void) {
  users all = {.id = {0, geteuid()}, .count = 2};
  add_owner(&all, "/proc/self/exe");
  char own[PATH_MAX];
  if (rs_library_own_path(own, sizeof own))
    add_owner(&all, own);
  return all;
}

static bool is_one_of(const users *all, uid_t user) {
  for (int i = 0; i < all->count; i++)
    if (all->id[i] == user)
      return true;
  return false;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* The next line of /etc/passwd or /etc/group, cut at its colons. False: there are no more. */
enum { NAME, PASSWORD, NUMBER, MEMBERS, GROUP = MEMBERS, FIELDS };
static bool next_line(FILE *file, char **line, size_t *room, char *field[FIELDS]) {
  if (!file || getline(line, room, file) < 0)
    return false;
  char *rest = *line, *end = rest + strcspn(rest, "\n");
  *end = 0;
  for (int i = 0; i < FIELDS; i++) {
    field[i] = rest ? strsep(&rest, ":") : NULL;
    if (!field[i])
      field[i] = end;
  }
  return true;
}

static bool is_number(const char *text, unsigned long number) {
  char *end;
  return *text >= '0' && *text <= '9' && strtoul(text, &end, 10) == number && !*end;
}

/* Whether the user of this name (NULL: each whose own group this is) is one that is trusted, and exists. */
static bool are_trusted(const users *all, const char *name, gid_t group) {
  FILE *file = fopen("/etc/passwd", "re");
  char *line = NULL, *field[FIELDS];
  size_t room = 0;
  bool any = false, good = true;
  while (next_line(file, &line, &room, field)) {
    if (name ? strcmp(field[NAME], name) != 0 : !is_number(field[GROUP], group))
      continue;
    bool one = false;
    for (int i = 0; i < all->count; i++)
      one = one || is_number(field[NUMBER], all->id[i]);
    any = true;
    good = good && one;
  }
  free(line);
  if (file)
    fclose(file);
  return any && good;
}

/* "ann,bob" */
static bool list_is_trusted(const users *all, char *names) {
  for (char *name; (name = strsep(&names, ",")) != NULL;)
    if (*name && !are_trusted(all, name, 0))
      return false;
  return true;
}

/* Whether only trusted users are members. A group that is not in the file may have any. */
static bool group_is_trusted(const users *all, gid_t group) {
  if (group == 0)
    return true;
  FILE *file = fopen("/etc/group", "re");
  char *line = NULL, *field[FIELDS];
  size_t room = 0;
  bool any = false, good = true;
  while (good && next_line(file, &line, &room, field))
    if (is_number(field[NUMBER], group)) {
      any = true;
      good = list_is_trusted(all, field[MEMBERS]);
    }
  free(line);
  if (file)
    fclose(file);
  return any && good && are_trusted(all, NULL, group);
}

/* The bits of the group are then the most that any entry of the list grants. */
static bool has_list(const char *path) {
  return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

typedef struct walk {
  users trusted;
  char done[PATH_MAX]; /* looked at, without links; "": the root */
  char rest[PATH_MAX];
  int links;
} walk;

/* What `status` says of done, which is no link; `last`: nothing is looked up in it but the file itself. */
static bool check_step(const walk *at, const struct stat *status, bool last, rs_text *why) {
  const char *path = *at->done ? at->done : "/";
  bool sticky = S_ISDIR(status->st_mode) && (status->st_mode & S_ISVTX) && !last;
  if (!is_one_of(&at->trusted, status->st_uid)) {
    rs_text_add(why, "%s belongs to user %u", path, (unsigned)status->st_uid);
    return false;
  }
  if ((status->st_mode & S_IWOTH) && !sticky) {
    rs_text_add(why, "%s is writable by everybody", path);
    return false;
  }
  if ((status->st_mode & S_IWGRP) && !sticky && (has_list(path) || !group_is_trusted(&at->trusted, status->st_gid))) {
    rs_text_add(why, "%s is writable by group %u", path, (unsigned)status->st_gid);
    return false;
  }
  return true;
}

/* Puts what a link says in front of the rest, and goes back to where that starts. */
static bool follow(walk *at, size_t parent, rs_text *why) {
  char target[PATH_MAX], rest[PATH_MAX];
  ssize_t length = readlink(at->done, target, sizeof target - 1);
  bool fits = length > 0 && length < (ssize_t)sizeof target - 1 && at->links++ < MOST_LINKS;
  if (fits) {
    target[length] = 0;
    fits = (size_t)snprintf(rest, sizeof rest, "%s/%s", target, at->rest) < sizeof rest;
  }
  if (!fits) {
    rs_text_add(why, "%s cannot be followed", at->done);
    return false;
  }
  memcpy(at->rest, rest, sizeof rest);
  at->done[*target == '/' ? 0 : parent] = 0;
  return true;
}

/* Cuts a component off the rest. False: there is none. */
static bool next_component(walk *at, char name[NAME_MAX + 1]) {
  size_t start = strspn(at->rest, "/"), length = strcspn(at->rest + start, "/");
  if (!length || length > NAME_MAX)
    return false;
  memcpy(name, at->rest + start, length);
  name[length] = 0;
  memmove(at->rest, at->rest + start + length, strlen(at->rest + start + length) + 1);
  return true;
}

static bool is_at_last(const walk *at) {
  return !at->rest[strspn(at->rest, "/")];
}

/* One component further. */
static bool step(walk *at, const char *name, rs_text *why) {
  struct stat status;
  size_t parent = strlen(at->done);
  if (!strcmp(name, "."))
    return true;
  if (!strcmp(name, "..")) { /* of what was looked at */
    char *slash = strrchr(at->done, '/');
    at->done[slash ? slash - at->done : 0] = 0;
    return true;
  }
  if (parent + 1 + strlen(name) >= sizeof at->done) {
    rs_text_add(why, "%s/%s is too long", at->done, name);
    return false;
  }
  /* The directory that has the file, or the link to it: a library has companions, which are looked up beside it. */
  if (is_at_last(at) && (lstat(*at->done ? at->done : "/", &status) != 0 || !check_step(at, &status, true, why)))
    return false;
  snprintf(at->done + parent, sizeof at->done - parent, "/%s", name);
  if (lstat(at->done, &status) != 0) {
    rs_text_add(why, "%s: %s", at->done, strerror(errno));
    return false;
  }
  if (!S_ISLNK(status.st_mode))
    return check_step(at, &status, false, why);
  if (!is_one_of(&at->trusted, status.st_uid)) {
    rs_text_add(why, "%s belongs to user %u", at->done, (unsigned)status.st_uid);
    return false;
  }
  return follow(at, parent, why);
}

bool rs_trusts(const char *path, rs_text *why) {
  walk at = {.trusted = trusted_users()};
  struct stat root;
  char name[NAME_MAX + 1];
  if (*path != '/' || strlen(path) >= sizeof at.rest) {
    rs_text_add(why, "it is not an absolute path");
    return false;
  }
  snprintf(at.rest, sizeof at.rest, "%s", path);
  if (lstat("/", &root) != 0 || !check_step(&at, &root, false, why))
    return false;
  while (next_component(&at, name))
    if (!step(&at, name, why))
      return false;
  if (is_at_last(&at))
    return true;
  rs_text_add(why, "%s has a component that is too long", path);
  return false;
}
