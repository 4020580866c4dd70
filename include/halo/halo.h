/* SPDX-License-Identifier: Apache-2.0 */
/* halo/halo.h: includes every public header. */
#ifndef HALO_HALO_H
#define HALO_HALO_H

#include "halo/annotations.h"
#include "halo/builder.h"
#include "halo/channels.h"
#include "halo/client.h"
#include "halo/collectives.h"
#include "halo/communicator.h"
#include "halo/custom_call.h"
#include "halo/literal.h"
#include "halo/module.h"
#include "halo/npy.h"
#include "halo/partitioner.h"
#include "halo/passes.h"
#include "halo/reference.h"
#include "halo/status.h"
#include "halo/trace.h"
#include "halo/types.h"

/* The version of these headers. */
#define HALO_VERSION_MAJOR 0
#define HALO_VERSION_MINOR 1
#define HALO_VERSION_PATCH 0

#endif
