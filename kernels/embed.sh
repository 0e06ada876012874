#!/bin/sh
# embed.sh - writes the C source (declared in src/compile/kernels.h) that holds the files given as arguments
# SPDX-License-Identifier: MIT
set -eu
LC_ALL=C
export LC_ALL

digest() {
  if command -v sha256sum >/dev/null; then
    sha256sum | cut -d ' ' -f 1
  else
    cksum | { read -r sum length && printf '%08x%08x\n' "$sum" "$length"; }
  fi
}

# One line a file, with its digest and its name, sorted by name.
list=$(for file; do printf '%s %s %s\n' "${file##*/}" "$(digest <"$file")" "$file"; done | sort)

echo '/* The files of kernels/, written by kernels/embed.sh. */'
echo '#include "compile/kernels.h"'
echo
echo '#include <stddef.h>'
count=0
table=
while read -r name _ file; do
  [ -n "$name" ] || continue
  printf '\n/* %s */\nstatic const unsigned char text_%d[] = {\n' "$name" "$count"
  od -A n -v -t u1 "$file" | sed 's/  */,/g; s/^,//; s/$/,/'
  printf '0};\n'
  table="$table    {\"$name\", (const char *)text_$count},
"
  count=$((count + 1))
done <<LIST
$list
LIST
printf '\nconst rs_kernel_file rs_kernel_files[] = {\n%s    {NULL, NULL},\n};\n' "$table"
printf 'const int rs_kernel_count = %d;\n' "$count"
printf 'const char rs_kernels_digest[] = "%s";\n' "$(printf '%s\n' "$list" | cut -d ' ' -f 1,2 | digest)"
