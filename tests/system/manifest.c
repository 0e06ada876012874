/*
 * manifest.c - which kernels were compiled without spills, from which text, and how many registers each took
 * SPDX-License-Identifier: MIT
 */
#include "manifest.h"

#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "compile/digest.h"
#include "compile/kernels.h"

static const char title[] =
    "# kernels.txt - kernels that were compiled without spills, and their registers. `make manifest` writes it.\n"
    "# SPDX-License-Identifier: MIT\n";

static void *must(void *memory) {
  if (!memory)
    abort();
  return memory;
}

/* ---- digests ----------------------------------------------------------------------------------------------------- */

/* The end of a string or character literal that begins at `at`. */
static const char *after_literal(const char *at) {
  char quote = *at++;
  while (*at && *at != quote && *at != '\n')
    at += at[0] == '\\' && at[1] ? 2 : 1;
  return *at == quote ? at + 1 : at;
}

/* The end of the comment that begins at `at`; `at` itself if none does. */
static const char *after_comment(const char *at) {
  if (at[0] == '/' && at[1] == '/')
    return at + strcspn(at, "\n");
  if (at[0] != '/' || at[1] != '*')
    return at;
  const char *end = strstr(at + 2, "*/");
  return end ? end + 2 : at + strlen(at);
}

/* Removes blanks at the ends of lines, and lines without text. */
static size_t end_line(char *text, size_t length) {
  while (length && text[length - 1] == ' ')
    length--;
  if (length && text[length - 1] != '\n')
    text[length++] = '\n';
  return length;
}

void manifest_digest(char digest[MANIFEST_DIGEST], const char *text) {
  char *kept = must(malloc(strlen(text) + 2)), full[RS_DIGEST_ROOM];
  size_t length = 0;
  for (const char *at = text; *at;) {
    const char *next = after_comment(at);
    if (next > at) {
      at = next;
    } else if (*at == '"' || *at == '\'') {
      next = after_literal(at);
      memcpy(kept + length, at, (size_t)(next - at));
      length += (size_t)(next - at);
      at = next;
    } else if (*at == '\n') {
      length = end_line(kept, length);
      at++;
    } else {
      kept[length++] = *at++;
    }
  }
  length = end_line(kept, length);
  rs_digest(full, kept, length);
  free(kept);
  snprintf(digest, MANIFEST_DIGEST, "%.16s", full);
}

/* ---- files of kernels/ ------------------------------------------------------------------------------------------- */

static int file_named(const char *name, size_t length) {
  for (int i = 0; i < rs_kernel_count; i++)
    if (strlen(rs_kernel_files[i].name) == length && memcmp(rs_kernel_files[i].name, name, length) == 0)
      return i;
  return -1;
}

/* Whether all files that a text includes are as they were; `seen`: those that were looked at. */
static bool includes_same(const manifest *manifest, const char *text, bool *seen) {
  static const char include[] = "#include \"";
  for (const char *at = text; (at = strstr(at, include));) {
    at += sizeof include - 1;
    int file = file_named(at, strcspn(at, "\""));
    if (file < 0 || seen[file])
      continue;
    seen[file] = true;
    if (!manifest->same[file] || !includes_same(manifest, rs_kernel_files[file].text, seen))
      return false;
  }
  return true;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

manifest manifest_new(const char *nvrtc, const int *archs, int count) {
  return (manifest){
      .nvrtc = nvrtc, .archs = archs, .arch_count = count, .same = must(calloc((size_t)rs_kernel_count, sizeof(bool)))};
}

void manifest_free(manifest *manifest) {
  for (int i = 0; i < manifest->specs; i++)
    free(manifest->spec[i].text);
  free(manifest->spec);
  free(manifest->same);
}

static manifest_spec *find_spec(const manifest *manifest, const char *text) {
  for (int i = 0; i < manifest->specs; i++)
    if (strcmp(manifest->spec[i].text, text) == 0)
      return &manifest->spec[i];
  return NULL;
}

manifest_spec *manifest_add(manifest *manifest, const char *text) {
  manifest_spec *spec = find_spec(manifest, text);
  if (spec)
    return spec;
  manifest->spec = must(realloc(manifest->spec, (size_t)(manifest->specs + 1) * sizeof *manifest->spec));
  spec = &manifest->spec[manifest->specs++];
  memset(spec, 0, sizeof *spec);
  spec->text = must(strdup(text));
  return spec;
}

static int arch_index(const manifest *manifest, int arch) {
  int i = 0;
  while (i < manifest->arch_count && manifest->archs[i] != arch)
    i++;
  return i;
}

manifest_kernel *manifest_find(manifest *manifest, const char *spec, int module, int arch, const char *source) {
  manifest_spec *found = find_spec(manifest, spec);
  int index = arch_index(manifest, arch);
  if (!found || module >= MANIFEST_KERNELS || index == manifest->arch_count)
    return NULL;
  manifest_kernel *kernel = &found->kernel[module][index];
  char digest[MANIFEST_DIGEST];
  bool *seen = must(calloc((size_t)rs_kernel_count, sizeof *seen));
  bool same = includes_same(manifest, source, seen);
  free(seen);
  manifest_digest(digest, source);
  kernel->seen = kernel->digest[0] != 0;
  return same && strcmp(kernel->digest, digest) == 0 ? kernel : NULL;
}

int manifest_unseen(const manifest *manifest) {
  int count = 0;
  for (int i = 0; i < manifest->specs; i++)
    for (int module = 0; module < MANIFEST_KERNELS; module++)
      for (int arch = 0; arch < manifest->arch_count; arch++) {
        const manifest_kernel *kernel = &manifest->spec[i].kernel[module][arch];
        count += kernel->digest[0] && !kernel->seen;
      }
  return count;
}

/* ---- its text ---------------------------------------------------------------------------------------------------- */

static void options_line(char *line, size_t room) {
  int length = snprintf(line, room, "options");
  for (const char *const *option = rs_compile_options; *option && (size_t)length < room; option++)
    length += snprintf(line + length, room - (size_t)length, " %s", *option);
}

static void read_kernels(const manifest *manifest, manifest_spec *spec, const char *line) {
  int module, used, arch, registers;
  char digest[MANIFEST_DIGEST];
  if (!spec || sscanf(line, " %d %16s%n", &module, digest, &used) != 2 || module < 0 || module >= MANIFEST_KERNELS)
    return;
  for (line += used; sscanf(line, " %d:%d%n", &arch, &registers, &used) == 2; line += used) {
    int index = arch_index(manifest, arch), spilled = 0, more = 0;
    if (sscanf(line + used, "/%d%n", &spilled, &more) == 1)
      used += more;
    if (index == manifest->arch_count)
      continue;
    manifest_kernel *kernel = &spec->kernel[module][index];
    *kernel = (manifest_kernel){.registers = registers, .spilled = spilled};
    memcpy(kernel->digest, digest, sizeof digest);
  }
}

static void read_file(const manifest *manifest, const char *line) {
  char name[64], digest[MANIFEST_DIGEST], now[MANIFEST_DIGEST];
  if (sscanf(line, "file %63s %16s", name, digest) != 2)
    return;
  int file = file_named(name, strlen(name));
  if (file < 0)
    return;
  manifest_digest(now, rs_kernel_files[file].text);
  manifest->same[file] = strcmp(now, digest) == 0;
}

bool manifest_read(manifest *manifest, FILE *file) {
  char *line = NULL, nvrtc[128], options[512];
  size_t room = 0;
  int agreed = 0;
  manifest_spec *spec = NULL;
  snprintf(nvrtc, sizeof nvrtc, "nvrtc %s", manifest->nvrtc);
  options_line(options, sizeof options);
  while (file && getline(&line, &room, file) >= 0) {
    line[strcspn(line, "\n")] = 0;
    agreed += strcmp(line, nvrtc) == 0 || strcmp(line, options) == 0;
    if (strncmp(line, "file ", 5) == 0)
      read_file(manifest, line);
    else if (strncmp(line, "spec ", 5) == 0)
      spec = manifest_add(manifest, line + 5);
    else
      read_kernels(manifest, spec, line[0] == ' ' ? line : "");
  }
  free(line);
  return agreed == 2;
}

/* A line for all architectures from `first` on that have the same source; what is written is marked as seen. */
static void write_line(const manifest *manifest, manifest_kernel *kernels, int module, int first, FILE *file) {
  fprintf(file, "  %d %s", module, kernels[first].digest);
  for (int arch = first; arch < manifest->arch_count; arch++) {
    manifest_kernel *kernel = &kernels[arch];
    if (kernel->seen || strcmp(kernel->digest, kernels[first].digest) != 0)
      continue;
    kernel->seen = true;
    fprintf(file, " %d:%d", manifest->archs[arch], kernel->registers);
    if (kernel->spilled)
      fprintf(file, "/%d", kernel->spilled);
  }
  fprintf(file, "\n");
}

void manifest_write(const manifest *manifest, FILE *file) {
  char options[512], digest[MANIFEST_DIGEST];
  options_line(options, sizeof options);
  fprintf(file, "%snvrtc %s\n%s\n", title, manifest->nvrtc, options);
  for (int i = 0; i < rs_kernel_count; i++) {
    manifest_digest(digest, rs_kernel_files[i].text);
    fprintf(file, "file %s %s\n", rs_kernel_files[i].name, digest);
  }
  for (int i = 0; i < manifest->specs; i++) {
    fprintf(file, "spec %s\n", manifest->spec[i].text);
    for (int module = 0; module < MANIFEST_KERNELS; module++) {
      manifest_kernel *kernels = manifest->spec[i].kernel[module];
      for (int arch = 0; arch < manifest->arch_count; arch++)
        if (kernels[arch].digest[0] && !kernels[arch].seen)
          write_line(manifest, kernels, module, arch, file);
    }
  }
}
