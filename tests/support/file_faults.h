/*
 * file_faults.h - the calls on files that a test program makes, watched, and failing when told to
 * SPDX-License-Identifier: MIT
 *
 * The linker leads the calls of the whole program here (file_faults in Makefile.am), the library's and the test's; the
 * C library's own, and those of sanitizers, it leaves alone. A hook sees each before it is made.
 */
#ifndef RS_FILE_FAULTS_H
#define RS_FILE_FAULTS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* X(call, result, result of a failure, parameters, arguments, directory, name): name is NULL where there is none. */
#define FILE_CALLS(X)                                                                                                  \
  X(close, int, -1, (int fd), (fd), fd, NULL)                                                                          \
  X(fstat, int, -1, (int fd, struct stat *status), (fd, status), fd, NULL)                                             \
  X(fstatat, int, -1, (int dir, const char *name, struct stat *status, int flags), (dir, name, status, flags), dir,    \
    name)                                                                                                              \
  X(ftruncate, int, -1, (int fd, off_t bytes), (fd, bytes), fd, NULL)                                                  \
  X(mkdir, int, -1, (const char *name, mode_t mode), (name, mode), AT_FDCWD, name)                                     \
  X(mkdirat, int, -1, (int dir, const char *name, mode_t mode), (dir, name, mode), dir, name)                          \
  X(pread, ssize_t, -1, (int fd, void *to, size_t bytes, off_t at), (fd, to, bytes, at), fd, NULL)                     \
  X(read, ssize_t, -1, (int fd, void *to, size_t bytes), (fd, to, bytes), fd, NULL)                                    \
  X(readdir, struct dirent *, NULL, (DIR * list), (list), dirfd(list), NULL)                                           \
  X(renameat, int, -1, (int dir, const char *name, int to, const char *as), (dir, name, to, as), dir, name)            \
  X(unlinkat, int, -1, (int dir, const char *name, int flags), (dir, name, flags), dir, name)                          \
  X(utimensat, int, -1, (int dir, const char *name, const struct timespec *times, int flags),                          \
    (dir, name, times, flags), dir, name)                                                                              \
  X(write, ssize_t, -1, (int fd, const void *from, size_t bytes), (fd, from, bytes), fd, NULL)

typedef enum file_call {
#define X(call, ...) CALL_##call,
  FILE_CALLS(X)
#undef X
      CALL_fsync,
  CALL_open,
  CALL_openat,
  CALL_fcntl,
  FILE_CALL_COUNT
} file_call;

static const char *const file_call_names[FILE_CALL_COUNT] = {
#define X(call, ...) [CALL_##call] = #call,
    FILE_CALLS(X)
#undef X
        [CALL_fsync] = "fsync",
    [CALL_open] = "open", [CALL_openat] = "openat", [CALL_fcntl] = "fcntl"};

/* Answers 0, or the errno that the call fails with. `flags` are those of open, and the command of fcntl. NULL: none. */
static int (*file_hook)(file_call call, int dir, const char *name, int flags);

static inline bool file_call_fails(file_call call, int dir, const char *name, int flags) {
  int before = errno, error = file_hook ? file_hook(call, dir, name, flags) : 0;
  errno = error ? error : before;
  return error != 0;
}

/* A close that fails has closed all the same. */
#define X(call, type, failure, parameters, arguments, dir, name)                                                       \
  extern type __real_##call parameters;                                                                                \
  type __wrap_##call parameters;                                                                                       \
  type __wrap_##call parameters {                                                                                      \
    if (!file_call_fails(CALL_##call, dir, name, 0))                                                                   \
      return __real_##call arguments;                                                                                  \
    int error = errno;                                                                                                 \
    if (CALL_##call == CALL_close)                                                                                     \
      (void)!__real_##call arguments;                                                                                  \
    errno = error;                                                                                                     \
    return failure;                                                                                                    \
  }
FILE_CALLS(X)
#undef X

/* It takes a real disk milliseconds, and no test can see what it does: here it does nothing. */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd) {
  return file_call_fails(CALL_fsync, fd, NULL, 0) ? -1 : 0;
}

extern int __real_open(const char *name, int flags, ...);
extern int __real_openat(int dir, const char *name, int flags, ...);
extern int __real_fcntl(int fd, int command, ...);
int __wrap_open(const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...);
int __wrap_fcntl(int fd, int command, ...);

int __wrap_open(const char *name, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  return file_call_fails(CALL_open, AT_FDCWD, name, flags) ? -1 : __real_open(name, flags, mode);
}

int __wrap_openat(int dir, const char *name, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  return file_call_fails(CALL_openat, dir, name, flags) ? -1 : __real_openat(dir, name, flags, mode);
}

/* The library's are all about locks. */
int __wrap_fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  struct flock *range = va_arg(list, struct flock *);
  va_end(list);
  return file_call_fails(CALL_fcntl, fd, NULL, command) ? -1 : __real_fcntl(fd, command, range);
}

#endif
