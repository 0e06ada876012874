/*
 * library.c - shared libraries that are loaded at run time
 * SPDX-License-Identifier: MIT
 */
#include "library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool fill(void *library, const rs_symbol *symbol, void *table) {
  void *address = dlsym(library, symbol->name);
  memcpy((char *)table + symbol->offset, &address, sizeof address);
  return address != NULL;
}

void *rs_library_load(const char *name, const rs_symbol *symbols, size_t count, void *table, rs_text *tried) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    rs_text_add(tried, "  %s\n", why ? why : name);
    return NULL;
  }
  for (size_t i = 0; i < count; i++)
    if (!fill(library, &symbols[i], table)) {
      rs_text_add(tried, "  %s: lacks %s; it is too old, or a different library\n", name, symbols[i].name);
      return NULL;
    }
  return library;
}

void rs_library_ask(void *library, const rs_symbol *symbols, size_t count, void *table) {
  for (size_t i = 0; i < count; i++)
    (void)fill(library, &symbols[i], table);
}

const char *rs_library_path(void *library) {
  struct link_map *map = NULL;
  return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && *map->l_name ? map->l_name : NULL;
}

/* Whose segments have an address. */
typedef struct owner {
  uintptr_t address;
  char *path;
  size_t room;
} owner;

static bool has_address(const struct dl_phdr_info *info, uintptr_t address) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    uintptr_t start = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_LOAD && address >= start && address - start < segment->p_memsz)
      return true;
  }
  return false;
}

/* The program's own name is empty there, and what it was called by proves nothing. */
static int look_for_owner(struct dl_phdr_info *info, size_t size, void *user) {
  owner *of = user;
  (void)size;
  if (!has_address(info, of->address))
    return 0;
  if (!info->dlpi_name || !*info->dlpi_name) {
    ssize_t length = readlink("/proc/self/exe", of->path, of->room - 1);
    of->path[length > 0 && (size_t)length < of->room - 1 ? length : 0] = 0;
  } else if (strlen(info->dlpi_name) < of->room) {
    memcpy(of->path, info->dlpi_name, strlen(info->dlpi_name) + 1);
  }
  return 1;
}

/* Where the name is not absolute, it counted from a directory that may not be the current one any more. */
bool rs_library_own_path(char *path, size_t room) {
  static const char own;
  owner of = {(uintptr_t)&own, path, room};
  *path = 0;
  dl_iterate_phdr(look_for_owner, &of);
  return *path == '/';
}

bool rs_library_beside(char path[PATH_MAX], const char *name) {
  char own[PATH_MAX], beside[2 * PATH_MAX];
  if (!rs_library_own_path(own, sizeof own))
    return false;
  strrchr(own, '/')[1] = 0;
  return (size_t)snprintf(beside, sizeof beside, "%s%s", own, name) < sizeof beside && realpath(beside, path);
}

bool rs_library_is_loaded(const char *name) {
  void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (library)
    dlclose(library); /* which only undoes this call */
  return library != NULL;
}

typedef struct search {
  bool (*wants)(void *user, const char *path);
  void *user;
  char *found;
} search;

static int look(struct dl_phdr_info *info, size_t size, void *user) {
  search *all = user;
  (void)size;
  if (!info->dlpi_name || *info->dlpi_name != '/' || !all->wants(all->user, info->dlpi_name))
    return 0;
  all->found = strdup(info->dlpi_name);
  return 1;
}

char *rs_library_loaded(bool (*wants)(void *user, const char *path), void *user) {
  search all = {wants, user, NULL};
  dl_iterate_phdr(look, &all);
  return all.found;
}
