/* SPDX-License-Identifier: Apache-2.0 */
/* linker/main.c: a program that links the kernels that halo-compiler has PoCL compile.
 *
 * PoCL has clang make a shared library of each kernel's object, by the linker of the machine. That reads the C library and
 * some more, mostly for nothing, and takes 12 ms, a quarter of what a short kernel takes as a whole. This program is called
 * as that one is, and calls the other one for all that it does not know. */
#include "linker/link.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void *linker_map(const char *path, size_t *size) {
  struct stat about;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return NULL;
  bool good = fstat(file, &about) == 0 && about.st_size > 0;
  void *bytes =
      good ? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  close(file);
  *size = good ? (size_t)about.st_size : 0;
  return bytes == MAP_FAILED ? NULL : bytes;
}

static bool linker_write(const unsigned char *bytes, size_t size, const char *path) {
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0777);
  if (file < 0) return false;
  size_t at = 0;
  while (at < size) {
    ssize_t written = write(file, bytes + at, size - at);
    if (written <= 0) break;
    at += (size_t)written;
  }
  return close(file) == 0 && at == size;
}

enum { LINKER_OBJECTS = 16 };

static bool linker_link(const char *const *inputs, int count, const char *output) {
  halo_link_object objects[LINKER_OBJECTS];
  size_t library_size;
  unsigned char *library;
  for (int i = 0; i < count; i++) {
    objects[i].bytes = linker_map(inputs[i], &objects[i].size);
    if (!objects[i].bytes) return false;
  }
  if (!halo_link(objects, count, &library, &library_size)) return false;
  bool written = linker_write(library, library_size, output);
  free(library);
  return written;
}

/* ---- How linkers are called ---- */

static bool linker_begins(const char *word, const char *with) {
  return strncmp(word, with, strlen(with)) == 0;
}

static bool linker_is_known(const char *word) {
  static const char *const words[] = {"-lm",        "-lc",           "-lgcc",
                                      "-lgcc_s",    "--as-needed",   "--no-as-needed",
                                      "--build-id", "--eh-frame-hdr"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strcmp(word, words[i]) == 0) return true;
  }
  return linker_begins(word, "-L") || linker_begins(word, "--hash-style=");
}

/* True where it is done. */
static bool linker_try(int count, char **words) {
  const char *inputs[LINKER_OBJECTS], *output = NULL;
  int input_count = 0;
  bool shared = false;
  for (int i = 1; i < count; i++) {
    const char *value = i + 1 < count ? words[i + 1] : "";
    if (strcmp(words[i], "-o") == 0) {
      output = value;
      i++;
    } else if (strcmp(words[i], "-m") == 0) {
      if (strcmp(value, "elf_x86_64") != 0) return false;
      i++;
    } else if (strcmp(words[i], "-z") == 0) {
      i++;
    } else if (strcmp(words[i], "-shared") == 0) {
      shared = true;
    } else if (words[i][0] == '-') {
      if (!linker_is_known(words[i])) return false;
    } else if (input_count < LINKER_OBJECTS) {
      inputs[input_count++] = words[i];
    } else {
      return false;
    }
  }
  return shared && input_count && output && linker_link(inputs, input_count, output);
}

int main(int count, char **words) {
  static char name[] = "ld", usual[] = "/usr/bin/ld";
  if (linker_try(count, words)) return EXIT_SUCCESS;
  words[0] = name;
  execvp(name, words);
  words[0] = usual;
  execv(usual, words);
  return EXIT_FAILURE;
}
