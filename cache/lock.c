/*
 * lock.c - one maker of an entry at a time, as far as it goes
 * SPDX-License-Identifier: MIT
 *
 * The lock of a key is one byte of the file `lock` at a place given by the key's hash: a lock for each key, in a file
 * that is never removed. The locks are those of open file descriptions, which hold between threads as well, and which
 * end with their holder.
 */
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "file.h"
#include "inside.h"

void rs_sleep_ms(double milliseconds) {
  double seconds = milliseconds / 1000;
  struct timespec time = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&time, NULL);
}

static bool set_lock(int fd, short type, uint64_t hash) {
  struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(hash >> 33), .l_len = 1};
  int result;
  do
    result = fcntl(fd, F_OFD_SETLK, &range);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

/* Asks again after 1, 2, 4, then 8 ms: a compile takes 40. */
static bool wait_for(int fd, uint64_t hash, int milliseconds) {
  double end = rs_now_ms() + milliseconds;
  for (double pause = 1;; pause = pause < 8 ? 2 * pause : 8) {
    if (set_lock(fd, F_WRLCK, hash))
      return true;
    if (errno != EAGAIN && errno != EACCES)
      return false;
    double left = end - rs_now_ms();
    if (left <= 0)
      return false;
    rs_sleep_ms(pause < left ? pause : left);
  }
}

rs_store_lock rs_store_acquire(rs_store *store, const char *key, int milliseconds) {
  rs_store_lock none = {-1};
  if (store->dir < 0)
    return none;
  const char *wrong;
  int fd = rs_file_open(store->dir, "lock", O_RDWR | O_CREAT, NULL, &wrong);
  if (fd >= 0 && wait_for(fd, rs_entry_hash(key), milliseconds))
    return (rs_store_lock){fd};
  if (wrong)
    rs_log_line(&store->options.log, ROWSCAN_LOG_DEBUG, "continuing without a lock: %s/lock is %s", store->path, wrong);
  else
    rs_log_line(&store->options.log, ROWSCAN_LOG_DEBUG, "continuing without a lock: %m");
  if (fd >= 0)
    close(fd);
  return none;
}

rs_store_lock rs_lock_try(rs_store *store, const char *key, bool *busy) {
  int fd = rs_file_open(store->dir, "lock", O_RDWR | O_CREAT, NULL, NULL);
  *busy = false;
  if (fd < 0 || set_lock(fd, F_WRLCK, rs_entry_hash(key)))
    return (rs_store_lock){fd};
  *busy = errno == EAGAIN || errno == EACCES;
  close(fd);
  return (rs_store_lock){-1};
}

void rs_store_release(rs_store_lock lock) {
  if (lock.fd < 0)
    return;
  /* Closing would do, had no other thread forked meanwhile: the child's copy of the descriptor would go on holding. */
  struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
  fcntl(lock.fd, F_OFD_SETLK, &all);
  close(lock.fd);
}
