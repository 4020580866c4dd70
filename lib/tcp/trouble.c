/* SPDX-License-Identifier: Apache-2.0 */
/* tcp/trouble.c: the texts that say why something failed. */
#include "tcp/tcp.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *tcp_say(const char *format, ...) {
  static _Thread_local char text[1024];
  char made[sizeof text]; /* the arguments may be of the last one */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(made, sizeof made, format, arguments);
  va_end(arguments);
  memcpy(text, made, sizeof text);
  return text;
}
