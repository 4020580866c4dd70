/* SPDX-License-Identifier: Apache-2.0 */
/* os/library_windows.c: dynamic libraries by LoadLibrary. */
#include "os/library.h"

#include <stdio.h>
#include <string.h>
#include <windows.h>

const char halo_os_opencl_library[] = "OpenCL.dll";

static _Thread_local char library_error[512];

static void library_note(const char *name, DWORD code) {
  char text[400] = "";
  DWORD length = FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL,
                                code, 0, text, sizeof text, NULL);
  while (length > 0 &&
         (text[length - 1] == '\n' || text[length - 1] == '\r' || text[length - 1] == '.'))
    text[--length] = '\0';
  snprintf(library_error, sizeof library_error, "%s: %s (Windows error %lu)", name, text,
           (unsigned long)code);
}

void *halo_os_library_open(const char *name, int how) {
  bool loaded = !name || (how & HALO_OS_LIBRARY_LOADED);
  HMODULE library = loaded ? GetModuleHandleA(name) : LoadLibraryA(name);
  if (!library) library_note(name ? name : "the program", GetLastError());
  return library;
}

void *halo_os_library_symbol(void *library, const char *name) {
  FARPROC found = GetProcAddress(library ? (HMODULE)library : GetModuleHandleA(NULL), name);
  void *address;
  memcpy(&address, &found, sizeof address);
  return address;
}

const char *halo_os_library_error(void) { return library_error; }

bool halo_os_library_path(const void *address, char *out, size_t size) {
  HMODULE library;
  DWORD how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  out[0] = '\0';
  if (!GetModuleHandleExA(how, (LPCSTR)address, &library)) return false;
  if (GetModuleFileNameA(library, out, (DWORD)size) == 0) return false;
  out[size - 1] = '\0';
  for (char *at = out; *at; at++) {
    if (*at == '\\') *at = '/';
  }
  return true;
}

bool halo_os_library_any(bool (*fits)(const char *path)) {
  (void)fits;
  return false;
}
