/*
 * array.c - an .npy file as an array in memory
 * SPDX-License-Identifier: MIT
 */
#include "array.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard.h"
#include "say.h"

enum { FIRST_BYTES = 1 << 20, MOST_BYTES = 1 << 30 }; /* of what is read: room at first, and at a time */

/* Maps the whole file; one without a byte is not mapped, and left to the parser to refuse. */
static int map(cli_array *array, int file, off_t bytes) {
  if (!bytes)
    return EXIT_OK;
  void *start = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (start == MAP_FAILED)
    return say_failed("%s: %lld bytes cannot be mapped: %s", array->name, (long long)bytes, strerror(errno));
  array->map = start;
  array->map_bytes = (size_t)bytes;
  guard_map(start, array->map_bytes, array->name,
            "cannot be read to its end: did it become shorter, or the disk fail?");
  return EXIT_OK;
}

/* Twice as much room as there was. */
static int grow(cli_array *array) {
  size_t room = array->map_bytes ? 2 * array->map_bytes : FIRST_BYTES;
  void *start = array->map ? mremap(array->map, array->map_bytes, room, MREMAP_MAYMOVE)
                           : mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    return say_failed("%s: no memory for more than %zu bytes: %s", array->name, array->map_bytes, strerror(errno));
  array->map = start;
  array->map_bytes = room;
  return EXIT_OK;
}

/* Gives back the room behind the bytes that were read: as many are then mapped as there are. */
static int fit(cli_array *array, size_t bytes) {
  if (!bytes) {
    array_close(array);
    return EXIT_OK;
  }
  void *start = mremap(array->map, array->map_bytes, bytes, MREMAP_MAYMOVE);
  if (start == MAP_FAILED)
    return say_failed("%s: no memory for %zu bytes: %s", array->name, bytes, strerror(errno));
  array->map = start;
  array->map_bytes = bytes;
  return EXIT_OK;
}

/* To the end of what comes. */
static int read_all(cli_array *array, int file) {
  for (size_t bytes = 0;;) {
    if (bytes == array->map_bytes && grow(array) != EXIT_OK)
      return EXIT_FAILED;
    size_t room = array->map_bytes - bytes;
    ssize_t got = read(file, (char *)array->map + bytes, room < MOST_BYTES ? room : MOST_BYTES);
    if (got == 0)
      return fit(array, bytes);
    if (got < 0 && errno == EAGAIN)
      poll(&(struct pollfd){.fd = file, .events = POLLIN}, 1, -1);
    else if (got < 0 && errno != EINTR)
      return say_failed("%s: cannot be read: %s", array->name, strerror(errno));
    bytes += got > 0 ? (size_t)got : 0;
  }
}

/* Of a file with a name nothing but regular ones: a pipe would make us wait for who knows what. */
static int take(cli_array *array, int file, bool is_standard) {
  struct stat facts;
  if (fstat(file, &facts))
    return say_failed("%s: cannot be read: %s", array->name, strerror(errno));
  if (S_ISDIR(facts.st_mode))
    return say_failed("%s: is a directory", array->name);
  if (is_standard && isatty(file))
    return say_failed("%s: is a terminal, where no array comes from", array->name);
  if (S_ISREG(facts.st_mode) && (!is_standard || lseek(file, 0, SEEK_CUR) == 0))
    return map(array, file, facts.st_size);
  return is_standard ? read_all(array, file)
                     : say_failed("%s: is not a regular file; a pipe is read as standard input, -", array->name);
}

/* Engines want elements aligned to their size. NumPy pads headers to 64 bytes (16 in old versions), others need not. */
static int align(cli_array *array) {
  size_t bytes = (size_t)array->header.bytes;
  if (!((uintptr_t)array->data % rowscan_type_bytes(array->header.type)))
    return EXIT_OK;
  if (!bytes) {
    array->data = array->map; /* never read, but a page is aligned */
    return EXIT_OK;
  }
  array->copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (array->copy == MAP_FAILED) {
    array->copy = NULL;
    return say_failed("%s: the data starts at byte %zu, which is not a multiple of its element's size, and there is no "
                      "memory for a copy of %zu bytes",
                      array->name, array->header.data_start, bytes);
  }
  array->copy_bytes = bytes;
  memcpy(array->copy, array->data, bytes);
  array->data = array->copy;
  return EXIT_OK;
}

static int parse(cli_array *array, bool allow_bf16) {
  char why[NPY_WHY_MAX];
  if (!npy_parse(&array->header, array->map, array->map_bytes, allow_bf16, why))
    return say_failed("%s: %s", array->name, why);
  npy_strides(array->strides, array->header.rank, array->header.shape, array->header.fortran);
  array->data = (const char *)array->map + array->header.data_start;
  return align(array);
}

int array_open(cli_array *array, const char *name, bool allow_bf16) {
  bool is_standard = !strcmp(name, "-");
  array->name = is_standard ? "standard input" : name;
  int file = is_standard ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0)
    return say_failed("%s: cannot be opened: %s", name, strerror(errno));
  int status = take(array, file, is_standard);
  if (!is_standard)
    close(file);
  return status == EXIT_OK ? parse(array, allow_bf16) : status;
}

void array_close(cli_array *array) {
  if (array->map)
    munmap(array->map, array->map_bytes);
  if (array->copy)
    munmap(array->copy, array->copy_bytes);
  array->map = array->copy = NULL;
  array->map_bytes = array->copy_bytes = 0;
}
