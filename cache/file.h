/*
 * file.h - files and directories that may be trusted, read and written whole
 * SPDX-License-Identifier: MIT
 *
 * What is opened here belongs to this user, is writable by no one else, and is what it should be: a directory or a
 * regular file. Nothing blocks: a FIFO or a device is opened without waiting, seen, and closed.
 */
#ifndef RS_FILE_H
#define RS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * A descriptor, or -1 with errno set and, where errno does not tell it, *wrong saying why; else *wrong is NULL.
 * status, wrong: may be NULL. `follow`: a symbolic link as the last component is followed, else it is an error. `flags`
 * are those of open.
 */
int rs_dir_open(int at, const char *name, bool follow, const char **wrong);
int rs_file_open(int dir, const char *name, int flags, struct stat *status, const char **wrong);

/*
 * The same for what is only read, and may be root's as well: what is installed for all users. Others may be allowed to
 * write a directory that is mounted to be read. A directory may be a link. A file may, if all links and directories
 * from the root, or from `dir`, to the file itself are this user's or root's, and no one else can write these; sticky
 * ones others may.
 */
int rs_shared_dir_open(const char *name, const char **wrong);
int rs_shared_file_open(int dir, const char *name, struct stat *status, const char **wrong);

/* All bytes or false; signals and short transfers are gone over. errno: 0 if the file ends before. */
bool rs_file_read(int fd, void *to, size_t bytes);
bool rs_file_read_at(int fd, void *to, size_t bytes, uint64_t offset);

/* The same. More than RLIMIT_FSIZE is EFBIG, and no signal, whatever the program does with SIGXFSZ. */
bool rs_file_write(int fd, const void *from, size_t bytes);
bool rs_file_resize(int fd, uint64_t bytes);

/*
 * Whether an error is one of the file itself (whose it is, what it is, that it ends) and will be so the next time. Else
 * the machine was short of something, or its disk or network failed, which says nothing of the file.
 */
bool rs_file_is_at_fault(int error);

/* Seconds since the file was last written or touched; negative if that lies in the future. Any time that files have. */
int64_t rs_file_age(const struct stat *status);

/* Its time becomes this machine's, which rs_file_age knows: a file server has a clock of its own. */
bool rs_file_touch(int dir, const char *name);

#endif
