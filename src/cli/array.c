/*
 * array.c - an .npy file as an array in memory
 * SPDX-License-Identifier: MIT
 */
#include "array.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard.h"
#include "say.h"

/* Maps the whole file; one without a byte is not mapped, and left to the parser to refuse. */
static int map(cli_array *array, int file) {
  struct stat facts;
  if (fstat(file, &facts))
    return say_failed("%s: cannot be read: %s", array->name, strerror(errno));
  if (S_ISDIR(facts.st_mode))
    return say_failed("%s: is a directory", array->name);
  if (!S_ISREG(facts.st_mode))
    return say_failed("%s: is not a regular file", array->name);
  if (!facts.st_size)
    return EXIT_OK;
  void *start = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  if (start == MAP_FAILED)
    return say_failed("%s: %lld bytes cannot be mapped: %s", array->name, (long long)facts.st_size, strerror(errno));
  array->map = start;
  array->map_bytes = (size_t)facts.st_size;
  guard_map(start, array->map_bytes, array->name,
            "cannot be read to its end: did it become shorter, or the disk fail?");
  return EXIT_OK;
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
  array->name = name;
  int file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe must not make us wait */
  if (file < 0)
    return say_failed("%s: cannot be opened: %s", name, strerror(errno));
  int status = map(array, file);
  close(file);
  return status == EXIT_OK ? parse(array, allow_bf16) : status;
}

void array_close(cli_array *array) {
  if (array->map)
    munmap(array->map, array->map_bytes);
  if (array->copy)
    munmap(array->copy, array->copy_bytes);
  array->map = array->copy = NULL;
}
