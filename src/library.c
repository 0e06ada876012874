/*
 * library.c - shared libraries that are loaded at run time
 * SPDX-License-Identifier: MIT
 */
#include "library.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

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
      rs_text_add(tried, "  %s: has no %s; it is too old, or another library\n", name, symbols[i].name);
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
