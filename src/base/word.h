/*
 * word.h - words that variables of the environment have
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_WORD_H
#define RS_WORD_H

#include <stdbool.h>

/* Whether a text is a word, which is in small letters, in whichever case; the same in every locale. */
static inline bool rs_is_word(const char *text, const char *word) {
  for (; *text && *word; text++, word++) {
    char small = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
    if (small != *word)
      return false;
  }
  return *text == *word;
}

#endif
