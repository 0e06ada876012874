/*
 * arch.c - what is known of an architecture
 * SPDX-License-Identifier: MIT
 */
#include "arch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

rowscan_status rs_arch_read(const char *arch, int *number) {
  char *end = NULL;
  bool digits = arch && !strncmp(arch, "sm_", 3) && arch[3] >= '1' && arch[3] <= '9';
  long read = digits ? strtol(arch + 3, &end, 10) : 0;
  if (!digits || *end || read < 10 || read > 9999)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'arch': '%s' is not an architecture such as sm_90",
                   arch ? arch : "(NULL)");
  *number = (int)read;
  return ROWSCAN_OK;
}

/*
 * A CUBIN runs on the later architectures of its generation (CUDA C++ Programming Guide, "Binary Compatibility"), but
 * for those of Jetson: 87, 88.
 */
int rs_arch_generation(int arch) {
  enum { FIRST_OF_8 = 80, FIRST_OF_10 = 100, NEWEST = 120 };
  if (arch >= NEWEST)
    return NEWEST;
  if (arch / 10 == FIRST_OF_10 / 10)
    return FIRST_OF_10;
  return arch == 86 || arch == 89 ? FIRST_OF_8 : arch;
}

/* Source, here and below: CUDA C++ Programming Guide, table of technical specifications per compute capability. */
int rs_arch_shared_bytes(int arch) {
  if (arch < 80)
    return 64 * 1024;
  if (arch == 86 || arch == 89 || arch >= 120)
    return 100 * 1024;
  return arch < 90 ? 164 * 1024 : 228 * 1024;
}

int rs_arch_threads(int arch) {
  if (arch < 80)
    return 1024;
  return arch == 80 || (arch >= 90 && arch < 110) ? 2048 : 1536;
}
