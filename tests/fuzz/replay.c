/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/replay.c: runs a fuzz target once on every file of the folders given, without libFuzzer:
 * for the ordinary tests. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) {
    perror(path);
    if (file) fclose(file);
    return 1;
  }
  size_t size = (size_t)ftell(file);
  rewind(file);
  uint8_t *data = malloc(size ? size : 1);
  if (!data || fread(data, 1, size, file) != size) {
    perror(path);
    abort();
  }
  fclose(file);
  /* The last line of a crash's output names the input. */
  fprintf(stderr, "%s\n", path);
  LLVMFuzzerTestOneInput(data, size);
  free(data);
  return 0;
}

int main(int argc, char **argv) {
  int failures = 0, files = 0;
  for (int i = 1; i < argc; i++) {
    DIR *folder = opendir(argv[i]);
    if (!folder) {
      perror(argv[i]);
      return 1;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
      char path[4096];
      if (entry->d_name[0] == '.') continue;
      snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
      failures += replay_file(path);
      files++;
    }
    closedir(folder);
  }
  printf("%d inputs replayed\n", files);
  return failures || !files;
}
