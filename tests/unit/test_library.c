/*
 * test_library.c - what is loaded at run time: where it is looked for, how it is told apart, what a failure says
 * SPDX-License-Identifier: MIT
 *
 * Libraries that are looked at without being loaded are made here, byte by byte: a header, one program header, one
 * note. Damaged ones must be told from sound ones and never read past. `test_library where` prints which NVRTC is
 * found: tests run copies of this program by names that Python may have.
 */
#include "../support/cache_help.h"

#include <dlfcn.h>
#include <elf.h>
#include <math.h>
#include <sys/wait.h>

#include "base/library.h"
#include "compile/buildid.h"
#include "compile/digest.h"
#include "compile/nvrtc.h"
#include "compile/places.h"
#include "compile/trust.h"
#include "gpu/cuda.h"

/* ---- loading ----------------------------------------------------------------------------------------------------- */

typedef struct table {
  int unused;
  double (*cosine)(double x);
  double (*power)(double x, double y);
} table;

static const rs_symbol of_libm[] = {{"cos", offsetof(table, cosine)}, {"pow", offsetof(table, power)}};

START_TEST(a_library_fills_its_table) {
  table filled = {0};
  rs_text tried = {0};
  void *library = rs_library_load("libm.so.6", of_libm, 2, &filled, &tried);
  ck_assert_ptr_nonnull(library);
  ck_assert_ptr_null(tried.data);
  ck_assert_double_eq(filled.cosine(0), 1);
  ck_assert_double_eq(filled.power(2, 10), 1024);
  ck_assert_int_eq(filled.unused, 0);
  const char *path = rs_library_path(library);
  ck_assert_ptr_nonnull(path);
  ck_assert_int_eq(*path, '/');
  ck_assert_ptr_nonnull(strstr(path, "libm.so.6"));
}
END_TEST

START_TEST(each_failure_adds_its_line) {
  static const rs_symbol missing[] = {{"cos", offsetof(table, cosine)}, {"no_such_call", offsetof(table, power)}};
  table filled = {0};
  rs_text tried = {0};
  ck_assert_ptr_null(rs_library_load("libno_such_library.so.9", of_libm, 2, &filled, &tried));
  ck_assert_ptr_null(rs_library_load("libm.so.6", missing, 2, &filled, &tried));
  ck_assert_ptr_nonnull(strstr(tried.data, "libno_such_library.so.9"));
  ck_assert_ptr_nonnull(strstr(tried.data, "  libm.so.6: lacks no_such_call; it is too old, or a different library"));
  int lines = 0;
  for (const char *at = tried.data; *at; at++)
    lines += *at == '\n';
  ck_assert_int_eq(lines, 2);
  rs_text_free(&tried);
}
END_TEST

START_TEST(a_library_may_lack_what_is_asked_of_it) {
  static const rs_symbol asked[] = {{"no_such_call", offsetof(table, cosine)}, {"pow", offsetof(table, power)}};
  table filled = {0};
  rs_text tried = {0};
  void *library = rs_library_load("libm.so.6", of_libm, 2, &filled, &tried);
  ck_assert_ptr_nonnull(library);
  filled.power = NULL;
  rs_library_ask(library, asked, 2, &filled);
  ck_assert(!filled.cosine);
  ck_assert_double_eq(filled.power(2, 10), 1024);
}
END_TEST

/* ---- build-ids --------------------------------------------------------------------------------------------------- */

/* A library's file: Elf64_Ehdr, Elf64_Phdr, the note and what `room` adds. */
typedef struct image {
  Elf64_Ehdr header;
  Elf64_Phdr segment;
  Elf64_Nhdr note;
  char owner[4];
  unsigned char id[20];
  char rest[64];
} image;

static image sound_image(int seed) {
  image made = {0};
  int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ck_assert_int_eq(read(fd, &made.header, sizeof made.header), (ssize_t)sizeof made.header);
  close(fd);
  made.header.e_type = ET_DYN;
  made.header.e_phoff = offsetof(image, segment);
  made.header.e_phnum = 1;
  made.header.e_phentsize = sizeof made.segment;
  made.header.e_shnum = 0;
  made.segment = (Elf64_Phdr){.p_type = PT_NOTE,
                              .p_offset = offsetof(image, note),
                              .p_filesz = sizeof made.note + sizeof made.owner + sizeof made.id,
                              .p_align = 4};
  made.note = (Elf64_Nhdr){.n_namesz = sizeof made.owner, .n_descsz = sizeof made.id, .n_type = NT_GNU_BUILD_ID};
  memcpy(made.owner, "GNU", 4);
  for (int i = 0; i < 20; i++)
    made.id[i] = (unsigned char)(seed + i);
  return made;
}

static const char sound_id[] = "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3";

static const char *read_bytes(const void *bytes, size_t count, char *id) {
  FILE *file = tmpfile();
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
  ck_assert_int_eq(fflush(file), 0);
  const char *wrong = rs_buildid_read(fileno(file), id);
  fclose(file);
  ck_assert_uint_lt(strlen(id), RS_BUILDID_ROOM);
  return wrong;
}

START_TEST(a_buildid_is_read) {
  char id[RS_BUILDID_ROOM];
  image made = sound_image(0xa0);
  ck_assert_ptr_null(read_bytes(&made, sizeof made, id));
  ck_assert_str_eq(id, sound_id);
  made.segment.p_align = 8; /* as in older NVRTCs */
  ck_assert_ptr_null(read_bytes(&made, sizeof made, id));
  ck_assert_str_eq(id, sound_id);
  made.segment.p_type = PT_LOAD;
  ck_assert_ptr_null(read_bytes(&made, sizeof made, id));
  ck_assert_str_eq(id, "");
}
END_TEST

/* As patchelf leaves it: the program header leads elsewhere, a section header to the note. */
START_TEST(a_section_leads_to_it_as_well) {
  char id[RS_BUILDID_ROOM];
  struct {
    image at;
    Elf64_Shdr section[2];
  } moved = {.at = sound_image(0xa0)};
  moved.section[1] =
      (Elf64_Shdr){.sh_type = SHT_NOTE, .sh_offset = offsetof(image, note), .sh_size = 36, .sh_addralign = 8};
  moved.at.segment.p_offset = offsetof(image, id);
  moved.at.header.e_shoff = sizeof moved.at;
  moved.at.header.e_shnum = 2;
  moved.at.header.e_shentsize = sizeof *moved.section;
  ck_assert_ptr_null(read_bytes(&moved, sizeof moved, id));
  ck_assert_str_eq(id, sound_id);
  for (size_t count = sizeof moved.at; count < sizeof moved; count++) {
    ck_assert_ptr_null(read_bytes(&moved, count, id));
    ck_assert_str_eq(id, "");
  }
  for (size_t i = 0; i < sizeof moved; i++)
    for (int flip = 1; flip < 256; flip = 2 * flip + 1) {
      unsigned char bytes[sizeof moved];
      memcpy(bytes, &moved, sizeof moved);
      bytes[i] ^= (unsigned char)flip;
      read_bytes(bytes, sizeof bytes, id);
      ck_assert_uint_eq(strspn(id, "0123456789abcdef"), strlen(id));
    }
}
END_TEST

START_TEST(notes_before_it_are_passed_over) {
  char id[RS_BUILDID_ROOM];
  image made = sound_image(0xa0);
  struct {
    image at;
    Elf64_Nhdr note;
    char owner[8];
    char value[4];
    Elf64_Nhdr second;
    char name[4];
    unsigned char id[20];
  } two = {made, {6, 3, 7}, "Other", "abc", made.note, "GNU", {0}};
  memcpy(two.id, made.id, sizeof two.id);
  two.at.segment.p_offset = offsetof(__typeof__(two), note);
  two.at.segment.p_filesz = sizeof two - two.at.segment.p_offset;
  ck_assert_ptr_null(read_bytes(&two, sizeof two, id));
  ck_assert_str_eq(id, sound_id);
}
END_TEST

/* Further than what is read at once. */
START_TEST(a_note_may_lie_far_off) {
  char id[RS_BUILDID_ROOM];
  struct {
    image at;
    char gap[5000];
    image far;
  } made = {.at = sound_image(0x10), .far = sound_image(0xa0)};
  for (size_t gap = 900; gap < sizeof made.gap; gap += 1) {
    made.at.segment.p_offset = sizeof made.at + gap;
    memcpy(made.gap + gap, &made.far.note, 36);
    ck_assert_ptr_null(read_bytes(&made, sizeof made, id));
    ck_assert_str_eq(id, sound_id);
    if (gap == 1200)
      gap = 4000;
  }
  ck_assert_ptr_null(read_bytes(&made, (size_t)made.at.segment.p_offset + 35, id));
  ck_assert_str_eq(id, "");
}
END_TEST

START_TEST(what_is_no_library_is_told) {
  char id[RS_BUILDID_ROOM];
  image made = sound_image(0);
  made.header.e_machine ^= 0x40;
  ck_assert_str_eq(read_bytes(&made, sizeof made, id), "built for another kind of machine");
  made = sound_image(0);
  made.header.e_ident[EI_CLASS] = ELFCLASS32;
  ck_assert_str_eq(read_bytes(&made, sizeof made, id), "built for another kind of machine");
  made = sound_image(0);
  made.header.e_type = ET_REL;
  ck_assert_str_eq(read_bytes(&made, sizeof made, id), "not a shared library");
  ck_assert_str_eq(read_bytes("GROUP ( libnvrtc.so.13 )", 24, id), "not an ELF file");
  ck_assert_str_eq(read_bytes(&made, 0, id), "not an ELF file");
  int fd = open("/", O_RDONLY | O_DIRECTORY);
  ck_assert_str_eq(rs_buildid_read(fd, id), "not an ELF file");
  close(fd);
}
END_TEST

START_TEST(lengths_and_offsets_are_not_trusted) {
  char id[RS_BUILDID_ROOM];
  static const uint64_t odd[] = {
      1, 3, 63, 64, 65, 0x7fffffff, 0xfffffffd, 0xffffffff, INT64_MAX, UINT64_MAX - 55, UINT64_MAX};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    image made = sound_image(0xa0);
    made.segment.p_offset = odd[i];
    read_bytes(&made, sizeof made, id);
    made = sound_image(0xa0);
    made.segment.p_filesz = odd[i];
    read_bytes(&made, sizeof made, id);
    made = sound_image(0xa0);
    made.header.e_phoff = odd[i];
    read_bytes(&made, sizeof made, id);
    made = sound_image(0xa0);
    made.header.e_phnum = (uint16_t)odd[i];
    read_bytes(&made, sizeof made, id);
    made = sound_image(0xa0);
    made.note.n_namesz = (uint32_t)odd[i];
    ck_assert_ptr_null(read_bytes(&made, sizeof made, id));
    ck_assert_str_eq(id, "");
    made = sound_image(0xa0);
    made.note.n_descsz = (uint32_t)odd[i];
    made.segment.p_filesz = sizeof made.note + sizeof made.owner + (odd[i] & 0xffffffff);
    read_bytes(&made, sizeof made, id);
    ck_assert(strlen(id) == 0 || strlen(id) == 2 * odd[i]);
  }
}
END_TEST

START_TEST(a_file_cut_short_has_no_id) {
  char id[RS_BUILDID_ROOM];
  image made = sound_image(0xa0);
  size_t whole = offsetof(image, rest);
  for (size_t count = 0; count < whole; count++) {
    const char *wrong = read_bytes(&made, count, id);
    ck_assert_str_eq(id, "");
    ck_assert_int_eq(wrong != NULL, count < offsetof(image, note));
  }
  ck_assert_ptr_null(read_bytes(&made, whole, id));
  ck_assert_str_eq(id, sound_id);
}
END_TEST

START_TEST(a_note_ends_with_its_segment) {
  char id[RS_BUILDID_ROOM];
  image made = sound_image(0xa0);
  while (made.segment.p_filesz-- > 0) {
    ck_assert_ptr_null(read_bytes(&made, sizeof made, id));
    ck_assert_str_eq(id, "");
  }
}
END_TEST

/* dlopen maps what isn't there, and the process dies of SIGBUS. */
START_TEST(what_would_be_loaded_must_be_there) {
  char id[RS_BUILDID_ROOM];
  struct {
    image at;
    Elf64_Phdr load;
  } made = {sound_image(0xa0), {.p_type = PT_LOAD, .p_offset = 64, .p_filesz = sizeof made - 64}};
  made.at.header.e_phoff = offsetof(__typeof__(made), load);
  ck_assert_ptr_null(read_bytes(&made, sizeof made, id));
  made.load.p_filesz++;
  ck_assert_str_eq(read_bytes(&made, sizeof made, id), "truncated");
  made.load.p_offset = sizeof made + 1;
  made.load.p_filesz = 0;
  ck_assert_str_eq(read_bytes(&made, sizeof made, id), "truncated");
  made.load.p_filesz = UINT64_MAX;
  ck_assert_str_eq(read_bytes(&made, sizeof made, id), "truncated");
}
END_TEST

/* The id or none, whichever byte is another, and whatever it is. */
START_TEST(flipped_bytes_do_no_harm) {
  char id[RS_BUILDID_ROOM];
  for (size_t i = 0; i < offsetof(image, rest); i++)
    for (int flip = 1; flip < 256; flip = 2 * flip + 1) {
      image made = sound_image(0xa0);
      ((unsigned char *)&made)[i] ^= (unsigned char)flip;
      read_bytes(&made, sizeof made, id);
      ck_assert_uint_eq(strspn(id, "0123456789abcdef"), strlen(id));
    }
}
END_TEST

START_TEST(digests_are_xxh3) {
  char digest[RS_DIGEST_ROOM], other[RS_DIGEST_ROOM];
  rs_digest(digest, "", 0);
  ck_assert_str_eq(digest, "99aa06d3014798d86001c324468d497f");
  size_t count = (3 << 20) + 5;
  char *bytes = malloc(count);
  for (size_t i = 0; i < count; i++)
    bytes[i] = (char)(i * i >> 7);
  char *path = fresh();
  spill(path, bytes, count);
  rs_digest(digest, bytes, count);
  int fd = open(path, O_RDONLY);
  ck_assert(rs_digest_file(other, fd));
  ck_assert_str_eq(digest, other);
  close(fd);
  fd = open("/", O_RDONLY);
  ck_assert(!rs_digest_file(other, fd));
  close(fd);
  free(bytes);
}
END_TEST

/* ---- where NVRTC is looked for ----------------------------------------------------------------------------------- */

/* Makes all directories on the way to a file. */
static char *file_in(const char *dir, const char *below) {
  char *path = path_of("%s/%s", dir, below);
  for (char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
    *at = 0;
    mkdir(path, 0755);
    *at = '/';
  }
  return path;
}

static char *plant_lone(const char *dir, const char *below, int seed) {
  char *path = file_in(dir, below);
  image made = sound_image(seed);
  spill(path, &made, sizeof made);
  return path;
}

/* With its builtins beside it. */
static char *plant(const char *dir, const char *below, int seed) {
  char *path = plant_lone(dir, below, seed);
  const char *digits = strstr(path, ".so.");
  spill(path_of("%s/libnvrtc-builtins.so.%d.0", parent_of(path), digits ? atoi(digits + 4) : 12), "", 0);
  return path;
}

/* The two first digits of the id that is found. */
static int found(const char *name, int driver) {
  const char *id = NULL;
  rs_nvrtc *nvrtc = rs_nvrtc_open(name, NULL);
  rs_nvrtc_prefer(nvrtc, driver);
  rowscan_status status = rs_nvrtc_id(nvrtc, &id);
  ck_assert_msg(status == ROWSCAN_OK, "%s", rowscan_last_error());
  int seed = (int)strtol(path_of("%.2s", id), NULL, 16);
  ck_assert_int_eq(*rs_nvrtc_path(nvrtc), '/');
  rs_nvrtc_close(nvrtc);
  return seed;
}

START_TEST(the_newest_is_taken_that_the_driver_serves) {
  char *dir = fresh();
  plant(dir, "old/libnvrtc.so.11.2", 11);
  plant(dir, "old/libnvrtc.so.12", 12);
  plant(dir, "new/libnvrtc.so.13", 13);
  setenv("LD_LIBRARY_PATH", path_of(":%s/old:relative;%s/none:%s/new", dir, dir, dir), 1);
  ck_assert_int_eq(found(NULL, 0), 13);
  ck_assert_int_eq(found(NULL, 13020), 13);
  ck_assert_int_eq(found(NULL, 14000), 13);
  ck_assert_int_eq(found(NULL, 12020), 12);
  ck_assert_int_eq(found(NULL, 11080), 11);
  ck_assert_int_eq(found(NULL, 10000), 13);
}
END_TEST

START_TEST(places_are_looked_at_in_order) {
  char *dir = fresh();
  static const char *const places[][2] = {
      {"libs", "libs/libnvrtc.so.13"},
      {"venv", "venv/lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.13"},
      {"ve[n]v*", "ve[n]v*/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.13"},
      {"conda", "conda/lib/libnvrtc.so.13"},
      {"home", "home/.local/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13"},
      {"home", "toolkit/lib64/libnvrtc.so.13"},
      {"path", "path/targets/any-linux/lib/libnvrtc.so.13"},
  };
  static const char *const variables[] = {"LD_LIBRARY_PATH", "VIRTUAL_ENV", "VIRTUAL_ENV", "CONDA_PREFIX", "HOME",
                                          "CUDA_HOME",       "CUDA_PATH"};
  for (int i = 6; i >= 0; i--) {
    plant(dir, places[i][1], 20 + i);
    setenv(variables[i], path_of("%s/%s", dir, i == 5 ? "toolkit" : places[i][0]), 1);
    /* A toolkit comes after wheels, which this machine may have of its own. */
    if (i < 5)
      ck_assert_int_eq(found(NULL, 13000), 20 + i);
  }
}
END_TEST

/* A relative directory would be another one after a chdir. */
START_TEST(relative_places_are_passed_over) {
  char *dir = fresh();
  plant(dir, "libs/libnvrtc.so.13", 1);
  plant(dir, "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13", 2);
  plant(dir, "last/libnvrtc.so.12", 3);
  ck_assert_int_eq(chdir(dir), 0);
  setenv("VIRTUAL_ENV", "venv", 1);
  setenv("LD_LIBRARY_PATH", path_of("libs:%s/last", dir), 1);
  ck_assert_int_eq(found(NULL, 12000), 3);
  int any = found(NULL, 13000); /* this machine may have one */
  ck_assert(any != 1 && any != 2);
}
END_TEST

START_TEST(the_newest_python_comes_first) {
  char *dir = fresh();
  plant(dir, "lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.13", 9);
  plant(dir, "lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13", 12);
  plant(dir, "lib/python3.10/site-packages/nvidia/cu13/lib/libnvrtc.so.13", 10);
  plant(dir, "lib/.python3.99/site-packages/nvidia/cu13/lib/libnvrtc.so.13", 99);
  setenv("VIRTUAL_ENV", dir, 1);
  ck_assert_int_eq(found(NULL, 0), 12);
}
END_TEST

START_TEST(a_name_is_looked_for_and_a_path_is_not) {
  char *dir = fresh();
  char *other = plant(dir, "elsewhere/libmy_nvrtc.so", 33);
  plant(dir, "libs/libmy_nvrtc.so", 34);
  setenv("LD_LIBRARY_PATH", path_of("%s/libs", dir), 1);
  ck_assert_int_eq(found("libmy_nvrtc.so", 0), 34);
  ck_assert_int_eq(found(other, 0), 33);
  setenv("ROWSCAN_NVRTC", other, 1);
  ck_assert_int_eq(found(NULL, 0), 33);
  ck_assert_int_eq(found("libmy_nvrtc.so", 0), 34);
  ck_assert_int_eq(chdir(dir), 0);
  ck_assert_int_eq(found("elsewhere/libmy_nvrtc.so", 0), 33);
}
END_TEST

START_TEST(what_can_not_be_one_is_passed_over) {
  char *dir = fresh();
  image made = sound_image(1);
  made.header.e_machine ^= 0x40;
  spill(file_in(dir, "a/libnvrtc.so.13"), &made, sizeof made);
  spill(file_in(dir, "b/libnvrtc.so.13"), "INPUT ( libnvrtc.so.13 )", 24);
  mkdir(path_of("%s/c", dir), 0755);
  ck_assert_int_eq(symlink("nowhere", path_of("%s/c/libnvrtc.so.13", dir)), 0);
  plant(dir, "d/libnvrtc.so.13", 44);
  setenv("LD_LIBRARY_PATH", path_of("%s/a:%s/b:%s/c:%s/d", dir, dir, dir, dir), 1);
  ck_assert_int_eq(found(NULL, 0), 44);
}
END_TEST

/* The time limit of the suite is an assertion: a FIFO without a writer blocks who opens it plainly. */
START_TEST(what_is_no_file_is_told) {
  char *dir = fresh(), *fifo = file_in(dir, "a/libnvrtc.so.13"), *folder = parent_of(fifo);
  const char *const paths[] = {fifo, folder, "/dev/zero"};
  const char *id = NULL;
  ck_assert_int_eq(mkfifo(fifo, 0600), 0);
  for (int i = 0; i < 3; i++) {
    rs_nvrtc *nvrtc = rs_nvrtc_open(paths[i], NULL);
    ck_assert_int_eq(rs_nvrtc_id(nvrtc, &id), ROWSCAN_NO_COMPILER);
    ck_assert_ptr_nonnull(strstr(rowscan_last_error(), path_of("  %s: not a regular file", paths[i])));
    rs_nvrtc_close(nvrtc);
  }
  plant(dir, "b/libnvrtc.so.13", 55);
  setenv("LD_LIBRARY_PATH", path_of("%s/a:%s/b", dir, dir), 1);
  ck_assert_int_eq(found(NULL, 0), 55);
}
END_TEST

/* A search in each process that finds its kernels in the cache: it must not look where it need not. */
START_TEST(a_search_stops_where_it_may) {
  char *dir = fresh();
  rs_places places = {0};
  const rs_place *place;
  plant(dir, "libs/libnvrtc.so.13", 1);
  plant(dir, "venv/lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.13", 2);
  setenv("LD_LIBRARY_PATH", path_of("%s/libs", dir), 1);
  setenv("VIRTUAL_ENV", path_of("%s/venv", dir), 1);
  ck_assert(rs_places_get(&places, 0, &place));
  ck_assert_str_eq(place->dir, path_of("%s/libs", dir));
  ck_assert_int_eq(places.count, 1);
  ck_assert(rs_places_get(&places, 1, &place));
  ck_assert_str_eq(place->dir, path_of("%s/venv/lib/python3.9/site-packages/nvidia/cu13/lib", dir));
  ck_assert_int_eq(places.count, 2);
  ck_assert(rs_places_get(&places, 9999, &place));
  ck_assert_ptr_null(place);
  ck_assert_int_gt(places.count, 2); /* the system's */
  rs_places_free(&places);
}
END_TEST

/* The search goes on where it was, and an id that was handed out stays as it is. */
START_TEST(one_that_does_not_load_gives_way_to_the_next) {
  char *dir = fresh();
  const rs_nvrtc_calls *calls;
  const char *first, *second = NULL;
  plant(dir, "a/libno_such_nvrtc.so.12.3", 11);
  plant(dir, "b/libno_such_nvrtc.so.12.3", 22);
  setenv("LD_LIBRARY_PATH", path_of("%s/a:%s/b", dir, dir), 1);
  rs_nvrtc *nvrtc = rs_nvrtc_open("libno_such_nvrtc.so.12.3", NULL);
  ck_assert_int_eq(rs_nvrtc_id(nvrtc, &first), ROWSCAN_OK);
  ck_assert_int_eq(rs_nvrtc_major(nvrtc), 12);
  ck_assert_int_eq(rs_nvrtc_load(nvrtc, &calls), ROWSCAN_NO_COMPILER);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), path_of("  %s/a/libno_such", dir)));
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), path_of("  %s/b/libno_such", dir)));
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), path_of("directories searched:\n  %s/a\n  %s/b\n", dir, dir)));
  ck_assert_int_eq(rs_nvrtc_id(nvrtc, &second), ROWSCAN_NO_COMPILER);
  ck_assert_ptr_null(second);
  ck_assert_int_eq(strncmp(first, "0b0c0d", 6), 0);
  rs_nvrtc_close(nvrtc);
}
END_TEST

/* By its name, else by what a link leads to. */
START_TEST(a_name_tells_the_version) {
  char *dir = fresh();
  plant(dir, "libnvrtc.so.11.8.89", 1);
  char *plain = plant(dir, "libother.so", 1), *other = plant(dir, "libc.so.6", 1),
       *link = path_of("%s/libnvrtc.so", dir);
  ck_assert_int_eq(symlink("libnvrtc.so.11.8.89", link), 0);
  struct {
    const char *path;
    int major;
  } cases[] = {
      {path_of("%s/libnvrtc.so.11.8.89", dir), 11}, {link, 11}, {plain, 0}, {other, 0}, {"/no/such/libnvrtc.so.13", 0}};
  for (int i = 0; i < 5; i++) {
    rs_nvrtc *nvrtc = rs_nvrtc_open(cases[i].path, NULL);
    ck_assert_int_eq(rs_nvrtc_major(nvrtc), cases[i].major);
    rs_nvrtc_close(nvrtc);
  }
}
END_TEST

START_TEST(without_a_buildid_a_digest_serves) {
  char *dir = fresh();
  image made = sound_image(1);
  made.note.n_type = 5;
  char *path = file_in(dir, "libnvrtc.so");
  spill(path, &made, sizeof made);
  char digest[RS_DIGEST_ROOM];
  rs_digest(digest, &made, sizeof made);
  rs_nvrtc *nvrtc = rs_nvrtc_open(path, NULL);
  const char *id = NULL;
  ck_assert_int_eq(rs_nvrtc_id(nvrtc, &id), ROWSCAN_OK);
  ck_assert_str_eq(id, path_of("xxh3-%s", digest));
  ck_assert_str_eq(rs_nvrtc_path(nvrtc), path);
  rs_nvrtc_close(nvrtc);
}
END_TEST

START_TEST(a_story_lists_what_was_tried) {
  char *dir = fresh();
  char *path = plant(dir, "libnvrtc.so.13", 1);
  const rs_nvrtc_calls *calls = NULL;
  const char *id = NULL;
  setenv("ROWSCAN_NVRTC", "/no/such/libnvrtc.so.13", 1);
  rs_nvrtc *nvrtc = rs_nvrtc_open(NULL, NULL);
  for (int again = 0; again < 2; again++) {
    ck_assert_int_eq(rs_nvrtc_id(nvrtc, &id), ROWSCAN_NO_COMPILER);
    ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "ROWSCAN_NVRTC names /no/such/libnvrtc.so.13"));
    ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "  /no/such/libnvrtc.so.13: No such file"));
    ck_assert_int_eq(rs_nvrtc_load(nvrtc, &calls), ROWSCAN_NO_COMPILER);
  }
  ck_assert_str_eq(rs_nvrtc_path(nvrtc), "");
  rs_nvrtc_close(nvrtc);

  nvrtc = rs_nvrtc_open(path, NULL); /* it has an id, but is no library */
  ck_assert_int_eq(rs_nvrtc_id(nvrtc, &id), ROWSCAN_OK);
  ck_assert_int_eq(rs_nvrtc_load(nvrtc, &calls), ROWSCAN_NO_COMPILER);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "the program's options names"));
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), path));
  ck_assert_int_eq(rs_nvrtc_id(nvrtc, &id), ROWSCAN_NO_COMPILER);
  rs_nvrtc_close(nvrtc);

  setenv("LD_LIBRARY_PATH", dir, 1);
  nvrtc = rs_nvrtc_open("libno_such_nvrtc.so.1", NULL);
  ck_assert_int_eq(rs_nvrtc_load(nvrtc, &calls), ROWSCAN_NO_COMPILER);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "  libno_such_nvrtc.so.1: cannot open"));
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), path_of("directories searched:\n  %s\n", dir)));
  rs_nvrtc_close(nvrtc);
}
END_TEST

/* ---- whom to trust ----------------------------------------------------------------------------------------------- */

enum { NOBODY = 65534 };

/* Where NVRTC is found; "" for nowhere. */
static char *where(void) {
  rs_nvrtc *nvrtc = rs_nvrtc_open(NULL, NULL);
  ck_assert_ptr_nonnull(nvrtc);
  char *path = path_of("%s", rs_nvrtc_path(nvrtc));
  rs_nvrtc_close(nvrtc);
  return path;
}

#define WHEEL "lib/python3.11/site-packages/nvidia/cu13/lib"

/* What of a path is changed, and how, and whether what it leads to is opened after that. */
typedef struct change {
  const char *of;
  int mode;
  uid_t user;
  gid_t group;
  bool opened;
} change;

static const change changes[] = {
    {".local", 0755, 0, 0, true},
    {".local", 01777, 0, 0, true}, /* nobody can replace what is in it */
    {".local", 0777, 0, 0, false},
    {".local", 0775, 0, 0, true},
    {".local", 0775, 0, NOBODY, false},
    {".local", 0755, NOBODY, 0, false},
    {".local/lib/python3.11", 0757, 0, 0, false},
    {".local/" WHEEL, 01777, 0, 0, false}, /* a companion of the library can be put beside it */
    {".local/" WHEEL, 0755, NOBODY, 0, false},
    {".local/" WHEEL "/libnvrtc.so.13", 0646, 0, 0, false},
    {".local/" WHEEL "/libnvrtc.so.13", 0664, 0, NOBODY, false},
    {".local/" WHEEL "/libnvrtc.so.13", 0644, NOBODY, 0, false},
};

/* HOME is what sudo may keep of another user. */
START_TEST(what_others_can_change_is_not_opened) {
  const change *of = &changes[_i];
  char *dir = parent_of(fresh()), *path = plant(dir, ".local/" WHEEL "/libnvrtc.so.13", 1),
       *changed = path_of("%s/%s", dir, of->of);
  bool root = geteuid() == 0;
  if ((of->user || of->group) && !root)
    return;
  setenv("HOME", dir, 1);
  ck_assert_str_eq(where(), path);
  ck_assert(!root || !chown(changed, of->user, of->group));
  ck_assert_int_eq(chmod(changed, (mode_t)of->mode), 0);
  if (!root && (of->mode & 0020)) /* whether others are members of this user's group is not known here */
    return;
  ck_assert_msg(!strcmp(where(), path) == of->opened, "%s, mode %o, %u:%u: found %s", of->of, of->mode, of->user,
                of->group, where());
  setenv("VIRTUAL_ENV", path_of("%s/.local", dir), 1); /* whoever named it may have it */
  ck_assert_str_eq(where(), path);
}
END_TEST

/* What a path leads to counts, and each link on the way. */
START_TEST(links_are_looked_at_as_what_they_lead_to) {
  char *dir = parent_of(fresh()), *path = plant(dir, "real/lib/libnvrtc.so.13", 1), *link = path_of("%s/link", dir),
       *through = path_of("%s/link/../lib/./libnvrtc.so.13", dir), *loop = path_of("%s/loop", dir);
  rs_text why = {0};
  ck_assert_int_eq(symlink("real/lib", link), 0);
  ck_assert(rs_trusts(path, &why));
  ck_assert(rs_trusts(through, &why));
  ck_assert(rs_trusts(path_of("%s//link///libnvrtc.so.13", dir), &why));
  ck_assert_ptr_null(why.data);
  ck_assert_int_eq(chmod(path_of("%s/real", dir), 0757), 0);
  ck_assert(!rs_trusts(through, &why));
  ck_assert_str_eq(why.data, path_of("%s/real is writable by everybody", dir));
  rs_text_free(&why);
  ck_assert_int_eq(chmod(path_of("%s/real", dir), 0755), 0);
  ck_assert_int_eq(symlink("loop", loop), 0);
  ck_assert(!rs_trusts(loop, &why));
  ck_assert_str_eq(why.data, path_of("%s cannot be followed", loop));
  rs_text_free(&why);
  ck_assert(!rs_trusts("libnvrtc.so.13", &why));
  ck_assert(!rs_trusts(path_of("%s/none", dir), &why));
  rs_text_free(&why);
  if (geteuid() != 0)
    return;
  ck_assert_int_eq(lchown(link, NOBODY, NOBODY), 0);
  ck_assert(!rs_trusts(through, &why));
  ck_assert_str_eq(why.data, path_of("%s belongs to user 65534", link));
  rs_text_free(&why);
}
END_TEST

/* With umask 002 and a group for each user all that a user makes is writable by that group. */
START_TEST(a_group_without_other_members_does_no_harm) {
  char *dir = parent_of(fresh()), *path = plant(dir, "lib/libnvrtc.so.13", 1), line[256];
  unsigned user, group, free_user = 0;
  rs_text why = {0};
  if (geteuid() != 0)
    return;
  FILE *users = fopen("/etc/passwd", "r");
  while (users && fgets(line, sizeof line, users))
    if (sscanf(line, "%*[^:]:%*[^:]:%u:%u", &user, &group) == 2 && user == group && user > 0 && user < 1000)
      free_user = user;
  if (users)
    fclose(users);
  if (!free_user) /* with a group of its own, as system users have one */
    return;
  ck_assert_int_eq(chown(dir, free_user, free_user), 0);
  ck_assert_int_eq(chmod(dir, 0775), 0);
  ck_assert(!rs_trusts(path, &why));
  rs_text_free(&why);
  pid_t child = fork();
  if (child == 0) {
    bool good = !seteuid(free_user) && rs_trusts(path, &why) && !seteuid(0) && !chown(dir, free_user, NOBODY) &&
                !seteuid(free_user) && !rs_trusts(path, &why);
    _exit(good ? 0 : 1);
  }
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(a_story_says_what_was_not_opened) {
  char *dir = parent_of(fresh()), *path = plant(dir, ".local/" WHEEL "/libmy_nvrtc.so", 1);
  const char *id;
  setenv("HOME", dir, 1);
  ck_assert_int_eq(chmod(path_of("%s/.local", dir), 0777), 0);
  rs_nvrtc *nvrtc = rs_nvrtc_open("libmy_nvrtc.so", NULL);
  ck_assert_int_eq(rs_nvrtc_id(nvrtc, &id), ROWSCAN_NO_COMPILER);
  ck_assert_ptr_nonnull(
      strstr(rowscan_last_error(), path_of("  %s: not opened: %s/.local is writable by everybody\n", path, dir)));
  rs_nvrtc_close(nvrtc);
}
END_TEST

/* ---- environments ------------------------------------------------------------------------------------------------ */

/* A copy of this program, which may run by any name. */
static char *copy_self(const char *dir, const char *below) {
  char *to = file_in(dir, below), *command = path_of("cp /proc/%d/exe '%s'", (int)getpid(), to);
  ck_assert_int_eq(system(command), 0);
  return to;
}

/* What a program finds that is called so. */
static char *where_of(const char *program, const char *name) {
  char path[PATH_MAX] = "";
  int ends[2];
  ck_assert_int_eq(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    execl(program, name, "where", (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t count; (count = read(ends[0], path + length, sizeof path - 1 - length)) > 0;)
    length += (size_t)count;
  close(ends[0]);
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  return path_of("%s", path);
}

/* The directory above a program's is a prefix only if it is bin's and the program a Python. */
START_TEST(only_a_python_has_a_prefix) {
  char *dir = parent_of(fresh()), *path = plant(dir, WHEEL "/libnvrtc.so.13", 1);
  setenv("HOME", "/no/such/home", 1);
  static const char *const others[] = {"user/prog", "bin/prog", "user/python3"};
  for (int i = 0; i < 3; i++) {
    char *program = copy_self(dir, others[i]);
    ck_assert_str_ne(where_of(program, program), path);
  }
  char *python = copy_self(dir, "bin/python3.11");
  ck_assert_str_eq(where_of(python, python), path);
  ck_assert_str_eq(where_of(python, "another name"), path);
  ck_assert_int_eq(chmod(path_of("%s/lib/python3.11", dir), 0777), 0);
  ck_assert_str_ne(where_of(python, python), path);
}
END_TEST

/* As containers, services and cron run them: no variable names them. */
START_TEST(an_environment_need_not_be_activated) {
  char *dir = parent_of(fresh()), *base = copy_self(dir, "base/bin/python3.11"),
       *of_base = plant(dir, "base/" WHEEL "/libnvrtc.so.13", 1),
       *path = plant(dir, "venv/" WHEEL "/libnvrtc.so.13", 2), *python = file_in(dir, "venv/bin/python"),
       *config = path_of("%s/venv/pyvenv.cfg", dir);
  setenv("HOME", "/no/such/home", 1);
  ck_assert_int_eq(symlink(base, python), 0);
  ck_assert_str_eq(where_of(base, base), of_base);
  ck_assert_str_eq(where_of(python, python), of_base); /* a link is no environment */
  char *text = path_of("home = %s/base/bin\nversion = 3.11.2\n", dir);
  spill(config, text, strlen(text));
  ck_assert_str_eq(where_of(python, python), path);
  ck_assert_str_eq(where_of(python, "python"), path); /* found by PATH */
  ck_assert_int_eq(chdir(path_of("%s/venv", dir)), 0);
  ck_assert_str_eq(where_of("bin/python", "bin/python"), path);
  ck_assert_int_eq(chdir(path_of("%s/venv/bin", dir)), 0);
  ck_assert_str_eq(where_of("./python", "./python"), path);
  ck_assert_str_eq(where_of(base, python), path); /* it does not matter how the system found it */
  char *prog = copy_self(dir, "other/bin/python3");
  ck_assert_str_ne(where_of(prog, python), path); /* another program */

  /* One that has a copy of its Python, and what it needs where that came from. */
  char *copy = copy_self(dir, "copied/bin/python");
  ck_assert_str_ne(where_of(copy, copy), of_base);
  spill(path_of("%s/copied/pyvenv.cfg", dir), text, strlen(text));
  ck_assert_str_eq(where_of(copy, copy), of_base);
  text = path_of("version = 3.11\nhome=%s/base/bin\r\n", dir);
  spill(path_of("%s/copied/pyvenv.cfg", dir), text, strlen(text));
  ck_assert_str_eq(where_of(copy, copy), of_base);
}
END_TEST

/* One of conda has libraries of its own, besides wheels. */
START_TEST(an_environment_of_conda_is_told_by_its_list) {
  char *dir = parent_of(fresh()), *python = copy_self(dir, "bin/python3.11"),
       *path = plant(dir, "lib/libnvrtc.so.13", 1);
  setenv("HOME", "/no/such/home", 1);
  ck_assert_str_ne(where_of(python, python), path);
  ck_assert_int_eq(mkdir(path_of("%s/conda-meta", dir), 0755), 0);
  ck_assert_str_eq(where_of(python, python), path);
}
END_TEST

/* The shared library, elsewhere than it was built; NULL: it was not built. */
static char *copy_library(const char *dir, const char *below) {
  const char *command = getenv("ROWSCAN");
  char *built = path_of("%s/.libs/librowscan.so", command ? parent_of(command) : ".");
  if (access(built, F_OK) != 0)
    return NULL;
  char *to = file_in(dir, below);
  ck_assert_int_eq(system(path_of("cp -L '%s' '%s'", built, to)), 0);
  return to;
}

static char told[PATH_MAX];

static void keep_what_was_found(void *user, rowscan_log_level level, const char *message) {
  (void)user, (void)level;
  if (!strncmp(message, "found ", 6))
    snprintf(told, sizeof told, "%s", message);
}

/* Of the Python that imports it, of an application that embeds one, or beside what an application ships. */
START_TEST(what_is_beside_the_library_is_found) {
  static const char *const cases[][2] = {
      {"any/site-packages/rowscan/lib/librowscan.so", "any/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.13"},
      {"lib/python3/dist-packages/librowscan.so", "lib/python3/dist-packages/nvidia/cu13/lib/libnvrtc.so.13"},
      {"venv/lib/librowscan.so", "venv/" WHEEL "/libnvrtc.so.13"},
      {"app/librowscan.so", "app/libnvrtc.so.13"},
  };
  char *dir = parent_of(fresh()), *library = copy_library(dir, cases[_i][0]), *path = plant(dir, cases[_i][1], 1);
  rowscan_context *context;
  rowscan_plan *plan;
  if (!library)
    return;
  setenv("HOME", "/no/such/home", 1);
  file_in(dir, "venv/x");
  spill(path_of("%s/venv/pyvenv.cfg", dir), "home = /no/such/python/bin\n", 27);
  void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(loaded != NULL, "%s", dlerror());
  __typeof__(&rowscan_open) open_it;
  __typeof__(&rowscan_close) close_it;
  __typeof__(&rowscan_plan_compile) compile;
  *(void **)&open_it = dlsym(loaded, "rowscan_open");
  *(void **)&close_it = dlsym(loaded, "rowscan_close");
  *(void **)&compile = dlsym(loaded, "rowscan_plan_compile");
  ck_assert_int_eq(open_it(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .cache_off = 1, .cache_only = 1,
                                                     .log = keep_what_was_found)),
                   ROWSCAN_OK);
  ck_assert_int_eq(compile(&plan, context, ROWSCAN_SPEC(.length = 5), "sm_90"), ROWSCAN_NOT_CACHED);
  close_it(context);
  ck_assert_msg(strstr(told, path_of("found %s in", path)) != NULL, "%s", told);
}
END_TEST

/* One whose builtins are not beside it is taken where there is no other. */
START_TEST(one_without_builtins_comes_last) {
  char *dir = fresh();
  plant_lone(dir, "a/libmy_nvrtc.so.12", 1);
  plant_lone(dir, "b/libmy_nvrtc.so.12", 2);
  setenv("LD_LIBRARY_PATH", path_of("%s/a:%s/b:%s/c", dir, dir, dir), 1);
  ck_assert_int_eq(found("libmy_nvrtc.so.12", 0), 1);
  plant(dir, "c/libmy_nvrtc.so.12", 3);
  ck_assert_int_eq(found("libmy_nvrtc.so.12", 0), 3);
  ck_assert_int_eq(found(path_of("%s/a/libmy_nvrtc.so.12", dir), 0), 1);
  spill(path_of("%s/b/libnvrtc-builtins.so.13.0", dir), "", 0); /* another version's */
  ck_assert_int_eq(found("libmy_nvrtc.so.12", 0), 3);
  spill(path_of("%s/b/libnvrtc-builtins.so.12.9", dir), "", 0);
  ck_assert_int_eq(found("libmy_nvrtc.so.12", 0), 2);
  mkdir(path_of("%s/links", dir), 0755); /* beside what a link leads to */
  ck_assert_int_eq(symlink("../c/libmy_nvrtc.so.12", path_of("%s/links/libmy_nvrtc.so.12", dir)), 0);
  setenv("LD_LIBRARY_PATH", path_of("%s/links:%s/b", dir, dir), 1);
  ck_assert_int_eq(found("libmy_nvrtc.so.12", 0), 3);
}
END_TEST

/* ---- the driver -------------------------------------------------------------------------------------------------- */

START_TEST(a_missing_driver_is_told) {
  const rs_cuda *cuda = NULL, *again = NULL;
  rowscan_status status = rs_cuda_open(&cuda);
  ck_assert_int_eq(rs_cuda_open(&again), status);
  ck_assert_ptr_eq(cuda, again);
  if (status == ROWSCAN_OK) {
    ck_assert_int_ge(cuda->version, 10000);
    return;
  }
  ck_assert_ptr_null(cuda);
  ck_assert(status == ROWSCAN_NO_DRIVER || status == ROWSCAN_NO_DEVICE);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "libcuda.so.1"));
}
END_TEST

static CUresult tell_name(CUresult error, const char **name) {
  *name = error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : NULL;
  return *name ? CUDA_SUCCESS : 1;
}

static CUresult tell_text(CUresult error, const char **text) {
  *text = error == 2 ? "out of memory" : NULL;
  return *text ? CUDA_SUCCESS : 1;
}

START_TEST(a_failed_call_is_told) {
  rs_cuda cuda = {.cuGetErrorName = tell_name, .cuGetErrorString = tell_text};
  ck_assert_int_eq(rs_cuda_failed(&cuda, 2, "cuMemAlloc_v2(64)"), ROWSCAN_OUT_OF_MEMORY);
  ck_assert_str_eq(rowscan_last_error(), "cuMemAlloc_v2(64) failed: CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
  ck_assert_int_eq(rs_cuda_failed(&cuda, 700, "cuLaunchKernel"), ROWSCAN_CUDA_FAILED);
  ck_assert_str_eq(rowscan_last_error(), "cuLaunchKernel failed: CUDA_ERROR_ILLEGAL_ADDRESS (no description)");
  ck_assert_int_eq(rs_cuda_failed(&cuda, 12345, "cuInit"), ROWSCAN_CUDA_FAILED);
  ck_assert_str_eq(rowscan_last_error(), "cuInit failed: CUDA error 12345");
}
END_TEST

static void no_places(void) {
  static const char *const variables[] = {"LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX",
                                          "CUDA_HOME",       "CUDA_PATH",   "ROWSCAN_NVRTC"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    unsetenv(variables[i]);
}

int main(int count, char **arguments) {
  if (count == 2 && !strcmp(arguments[1], "where")) {
    rs_nvrtc *nvrtc = rs_nvrtc_open(NULL, NULL);
    fputs(rs_nvrtc_path(nvrtc), stdout);
    rs_nvrtc_close(nvrtc);
    return 0;
  }
  Suite *suite = suite_create("library");
  TCase *cases = add_case(suite, "loading");
  tcase_add_test(cases, a_library_fills_its_table);
  tcase_add_test(cases, each_failure_adds_its_line);
  tcase_add_test(cases, a_library_may_lack_what_is_asked_of_it);
  cases = add_case(suite, "build-ids");
  tcase_add_test(cases, a_buildid_is_read);
  tcase_add_test(cases, a_section_leads_to_it_as_well);
  tcase_add_test(cases, notes_before_it_are_passed_over);
  tcase_add_test(cases, a_note_may_lie_far_off);
  tcase_add_test(cases, what_is_no_library_is_told);
  tcase_add_test(cases, lengths_and_offsets_are_not_trusted);
  tcase_add_test(cases, a_file_cut_short_has_no_id);
  tcase_add_test(cases, a_note_ends_with_its_segment);
  tcase_add_test(cases, what_would_be_loaded_must_be_there);
  tcase_add_test(cases, flipped_bytes_do_no_harm);
  tcase_add_test(cases, digests_are_xxh3);
  cases = add_case(suite, "places");
  tcase_add_checked_fixture(cases, no_places, NULL);
  tcase_add_test(cases, the_newest_is_taken_that_the_driver_serves);
  tcase_add_test(cases, places_are_looked_at_in_order);
  tcase_add_test(cases, relative_places_are_passed_over);
  tcase_add_test(cases, the_newest_python_comes_first);
  tcase_add_test(cases, a_search_stops_where_it_may);
  tcase_add_test(cases, one_that_does_not_load_gives_way_to_the_next);
  tcase_add_test(cases, a_name_tells_the_version);
  tcase_add_test(cases, a_name_is_looked_for_and_a_path_is_not);
  tcase_add_test(cases, what_can_not_be_one_is_passed_over);
  tcase_add_test(cases, what_is_no_file_is_told);
  tcase_add_test(cases, without_a_buildid_a_digest_serves);
  tcase_add_test(cases, a_story_lists_what_was_tried);
  tcase_add_loop_test(cases, what_others_can_change_is_not_opened, 0, sizeof changes / sizeof *changes);
  tcase_add_test(cases, links_are_looked_at_as_what_they_lead_to);
  tcase_add_test(cases, a_group_without_other_members_does_no_harm);
  tcase_add_test(cases, a_story_says_what_was_not_opened);
  tcase_add_test(cases, only_a_python_has_a_prefix);
  tcase_add_test(cases, an_environment_need_not_be_activated);
  tcase_add_test(cases, an_environment_of_conda_is_told_by_its_list);
  tcase_add_loop_test(cases, what_is_beside_the_library_is_found, 0, 4);
  tcase_add_test(cases, one_without_builtins_comes_last);
  cases = add_case(suite, "driver");
  tcase_add_test(cases, a_missing_driver_is_told);
  tcase_add_test(cases, a_failed_call_is_told);
  return run_suite(suite);
}
