/* SPDX-License-Identifier: Apache-2.0 */
/* proto/proto.h: HLO modules as XLA's protocol buffers: what its own tools (hlo-opt, run_hlo_module, xprof) read
 * and write. Messages HloModuleProto, and HloProto and HloSnapshot, which hold one. */
#ifndef HALO_PROTO_PROTO_H
#define HALO_PROTO_PROTO_H

#include "base/strbuf.h"
#include "halo/module.h"

/* Whether bytes look like one of these messages: well-formed as far as that can be seen at the start, with a module
 * in them. Text never does. */
bool halo_proto_is_module(const void *bytes, size_t size);
/* The module, verified. HALO_INVALID_ARGUMENT with "name: byte N: ..." for broken messages, HALO_UNIMPLEMENTED for what is
 * not known. Broken input never crashes, and takes memory in proportion to its size. */
halo_status halo_proto_read(const void *bytes, size_t size, const char *name, halo_module **out);
/* Appends the module as an HloModuleProto. HALO_UNIMPLEMENTED for what has no form there. */
halo_status halo_proto_write(const halo_module *module, halo_strbuf *out);

#endif
