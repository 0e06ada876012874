/*
 * whole.h - a file that appears whole or not at all in the place that a user named
 * SPDX-License-Identifier: MIT
 *
 * It is written under another name in the directory of its target, and renamed when all of it is on the disk. A target
 * that is there must be a regular file that the process may write. The new file has its permissions and its access
 * control list, and its owner and group where the process may give files away; a group that can't be kept may do no
 * more than all others may. A target that is a symbolic link stays one, and the file that it leads to is replaced; but
 * a link that another user made in a directory with the sticky bit that everybody may write is not followed, as under
 * the kernel's protected_symlinks.
 *
 * Several processes, on several hosts, may write one such file: one of them creates it and gives it its size, then all
 * join it. They must write it with pwrite, each its own bytes. Some network file systems keep whole pages of a file
 * that a host has mapped or read, and would write other hosts' bytes back as they were: so it is open for writing
 * alone.
 *
 * The directory is the user's: a temporary there has a name that nobody else gives by chance, and its writer keeps a
 * lock on it until it gets its own. Who writes the next file there removes what is left of others: a file of just such
 * a name, regular, this user's, older than an hour, and held by nobody.
 */
#ifndef RS_WHOLE_H
#define RS_WHOLE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* The name of a temporary is this, process, seconds and nanoseconds with "-" between them, and ".tmp". */
#define RS_BESIDE_BEGIN ".rowscan-"
enum { RS_BESIDE_NAME = 80 };

/* The process in such a name; 0: it is not of this form. */
long rs_beside_process(const char *name);

/* Ends with the descriptor. errno of a failure: EAGAIN or EACCES if another has it. */
bool rs_beside_hold(int fd);

typedef struct rs_whole {
  int dir; /* of the target; -1: nothing is open */
  int file;
  char name[NAME_MAX + 1]; /* of the target, in dir */
  char temporary[RS_BESIDE_NAME];
  bool replaces;
  struct stat old; /* of the target, if it is to be replaced */
  void *acl;       /* its list, as the kernel has it; NULL: none */
  size_t acl_bytes;
  const char *wrong; /* what a call that failed says is wrong; errno, if it is not 0, tells more */
} rs_whole;

#define RS_WHOLE_NONE ((rs_whole){.dir = -1, .file = -1})

/*
 * These return false if they fail, and then all is closed and nothing is left: finds the target; creates the temporary
 * (0666 or 0644 for a new file, less the umask), open for reading and writing.
 */
bool rs_whole_find(rs_whole *whole, const char *path);
bool rs_whole_create(rs_whole *whole, mode_t mode);

/*
 * Opens the temporary that this process or another one has created beside the target, for writing alone. On failure
 * the one that has created it removes it.
 */
bool rs_whole_join(rs_whole *whole, const char *temporary, uint64_t bytes);

/* Waits until what this process has written is on the disk. */
bool rs_whole_flush(rs_whole *whole);

/* Closes all, and leaves the file to the process that commits it. */
void rs_whole_leave(rs_whole *whole);

/* Takes from the group and from others what they might write with. */
bool rs_whole_private(rs_whole *whole);

/*
 * Puts the file, which has so many bytes, in its place, and closes all. One that has another size was changed by
 * somebody else, and is removed.
 */
bool rs_whole_commit(rs_whole *whole, uint64_t bytes);

/* Removes the temporary and closes all; RS_WHOLE_NONE is nothing. errno stays as it is. */
void rs_whole_abandon(rs_whole *whole);

#endif
