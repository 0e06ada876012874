/*
 * status.c - what is told: failures and the log
 * SPDX-License-Identifier: MIT
 */
#include "status.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plain.h"

/*
 * A thread's message is made when it has its first one and freed when the thread ends. As thread-local memory it would
 * be part of the stack of every thread of every program that links the library.
 */
enum { MESSAGE_BYTES = 16384 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static atomic_bool usable; /* the key is there */
static atomic_bool lost;   /* some thread could not keep its message */

static void make_key(void) {
  usable = !pthread_key_create(&key, free);
  lost = !usable;
}

/* A plugin that has the library in it may be unloaded before the threads that used it end. */
static __attribute__((destructor)) void delete_key(void) {
  if (atomic_exchange(&usable, false))
    pthread_key_delete(key);
}

/* NULL: there is none. */
static char *message_of_thread(void) {
  return usable ? pthread_getspecific(key) : NULL;
}

static char *make_message(void) {
  pthread_once(&once, make_key);
  char *message = message_of_thread();
  if (message || !usable)
    return message;
  message = malloc(MESSAGE_BYTES);
  if (message && pthread_setspecific(key, message)) {
    free(message);
    message = NULL;
  }
  if (!message)
    lost = true;
  else
    *message = 0;
  return message;
}

/* A message that ends with a list has no empty line after it. */
static void end_message(char *message) {
  size_t length = strlen(message);
  while (length && message[length - 1] == '\n')
    message[--length] = 0;
}

__attribute__((format(printf, 1, 0))) static void tell(const char *format, va_list list, bool lines) {
  char *message = make_message();
  if (!message)
    return;
  vsnprintf(message, MESSAGE_BYTES, format, list);
  end_message(message);
  rs_plain_in_place(message, MESSAGE_BYTES, lines);
}

rowscan_status rs_fail(rowscan_status status, const char *format, ...) {
  va_list list;
  va_start(list, format);
  tell(format, list, false);
  va_end(list);
  return status;
}

rowscan_status rs_fail_lines(rowscan_status status, const char *format, ...) {
  va_list list;
  va_start(list, format);
  tell(format, list, true);
  va_end(list);
  return status;
}

rowscan_status rs_fail_more(rowscan_status status, const char *format, ...) {
  char *message = make_message();
  if (!message)
    return status;
  size_t length = strlen(message);
  va_list list;
  va_start(list, format);
  vsnprintf(message + length, MESSAGE_BYTES - length, format, list);
  va_end(list);
  rs_plain_in_place(message + length, MESSAGE_BYTES - length, false);
  return status;
}

const char *rowscan_last_error(void) {
  const char *message = message_of_thread();
  return message ? message : lost ? "out of memory, even for the error message" : "";
}

const char *rowscan_status_name(rowscan_status status) {
  static const char *const names[] = {
      [ROWSCAN_OK] = "ROWSCAN_OK",
      [ROWSCAN_BAD_ARGUMENT] = "ROWSCAN_BAD_ARGUMENT",
      [ROWSCAN_UNSUPPORTED] = "ROWSCAN_UNSUPPORTED",
      [ROWSCAN_OUT_OF_MEMORY] = "ROWSCAN_OUT_OF_MEMORY",
      [ROWSCAN_NO_DRIVER] = "ROWSCAN_NO_DRIVER",
      [ROWSCAN_NO_DEVICE] = "ROWSCAN_NO_DEVICE",
      [ROWSCAN_NO_COMPILER] = "ROWSCAN_NO_COMPILER",
      [ROWSCAN_COMPILE_FAILED] = "ROWSCAN_COMPILE_FAILED",
      [ROWSCAN_CUDA_FAILED] = "ROWSCAN_CUDA_FAILED",
      [ROWSCAN_CACHE_FAILED] = "ROWSCAN_CACHE_FAILED",
      [ROWSCAN_NOT_CACHED] = "ROWSCAN_NOT_CACHED",
      [ROWSCAN_COMM_FAILED] = "ROWSCAN_COMM_FAILED",
  };
  return (unsigned)status < sizeof names / sizeof *names ? names[status] : "unknown status";
}

/* ---- the log ----------------------------------------------------------------------------------------------------- */

static const char *const names[] = {
    [ROWSCAN_LOG_WARNING] = "warning", [ROWSCAN_LOG_INFO] = "info", [ROWSCAN_LOG_DEBUG] = "debug", NULL};

/* Was there a standard error when the library was loaded? A file that got its number later is the program's data. */
static bool had_stderr;

__attribute__((constructor)) static void look_for_stderr(void) {
  had_stderr = fcntl(STDERR_FILENO, F_GETFD) >= 0;
}

/* A file that is closed by exec is none that was handed down, nor one that took its place by dup2. */
static bool has_stderr(void) {
  int flags = fcntl(fileno(stderr), F_GETFD);
  return had_stderr && flags >= 0 && !(flags & FD_CLOEXEC);
}

/* user: points to the name of the last level that is wanted. One call, so that lines of threads don't mix. */
static void print(void *user, rowscan_log_level level, const char *message) {
  const char *const *wanted = user;
  if (level <= wanted - names && has_stderr())
    fprintf(stderr, "rowscan: %s: %s\n", names[level], message);
}

rs_log rs_log_open(void (*call)(void *user, rowscan_log_level level, const char *message), void *user) {
  rs_log none = {call, user};
  int level = call ? RS_WORD_UNSET : rs_log_word(&none, "ROWSCAN_LOG", names);
  if (level == RS_WORD_UNSET)
    return none;
  return (rs_log){print, (void *)&names[level == RS_WORD_UNKNOWN ? ROWSCAN_LOG_WARNING : level]};
}

__attribute__((format(printf, 4, 0))) static void write_log(const rs_log *log, rowscan_log_level level, bool lines,
                                                            const char *format, va_list list) {
  char message[1024];
  if (!log || !log->call)
    return;
  vsnprintf(message, sizeof message, format, list);
  rs_plain_in_place(message, sizeof message, lines);
  log->call(log->user, level, message);
}

void rs_log_line(const rs_log *log, rowscan_log_level level, const char *format, ...) {
  va_list list;
  va_start(list, format);
  write_log(log, level, false, format, list);
  va_end(list);
}

void rs_log_write(const rs_log *log, rowscan_log_level level, const char *format, ...) {
  va_list list;
  va_start(list, format);
  write_log(log, level, true, format, list);
  va_end(list);
}

void rs_log_tell(const rs_log *log, const char *format, ...) {
  rs_log to = log->call ? *log : (rs_log){print, (void *)&names[ROWSCAN_LOG_WARNING]};
  va_list list;
  va_start(list, format);
  write_log(&to, ROWSCAN_LOG_WARNING, false, format, list);
  va_end(list);
}

static int find_word(const rs_log *log, const char *variable, const char *value, const char *const *words) {
  char list[128] = "";
  for (int i = 0; words[i]; i++) {
    if (rs_is_word(value, words[i]))
      return i;
    size_t length = strlen(list);
    snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "", words[i]);
  }
  rs_log_tell(log, "%s: '%s' is not one of %s", variable, value, list);
  return RS_WORD_UNKNOWN;
}

int rs_log_word(const rs_log *log, const char *variable, const char *const *words) {
  const char *value = secure_getenv(variable);
  return value && *value ? find_word(log, variable, value, words) : RS_WORD_UNSET;
}

unsigned rs_log_words(const rs_log *log, const char *variable, const char *const *words) {
  static const char between[] = ", \t";
  const char *at = secure_getenv(variable);
  unsigned found = 0;
  while (at && *(at += strspn(at, between))) {
    char word[64];
    int length = (int)strcspn(at, between);
    snprintf(word, sizeof word, "%.*s", length, at);
    int place = find_word(log, variable, word, words);
    found |= place < 0 ? 0 : 1u << place;
    at += length;
  }
  return found;
}
