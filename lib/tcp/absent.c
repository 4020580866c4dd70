/* SPDX-License-Identifier: Apache-2.0 */
/* tcp/absent.c: the communicator over TCP where this room's sockets are not there. */
#include "tcp/tcp.h"

static const char absent[] =
    "there is no communicator over TCP on this system; the devices of one process can exchange "
    "data";

const char *tcp_connect(const halo_tcp_options *options, bool unix_sockets,
                        halo_communicator **out) {
  (void)options, (void)unix_sockets, (void)out;
  return absent;
}

const char *tcp_make(halo_communicator **out) {
  (void)out;
  return absent;
}
