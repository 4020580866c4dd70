/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/argument.h: what kernels get by value. Known to those who write kernels and those who run
 * them, and to neither of HLO nor of OpenCL. */
#ifndef HALO_CODEGEN_ARGUMENT_H
#define HALO_CODEGEN_ARGUMENT_H

typedef enum halo_argument_value {
  HALO_VALUE_NONE,        /* a buffer */
  HALO_VALUE_NUMBER,      /* a number known when the plan is made, such as a size */
  HALO_VALUE_REPLICA_ID,  /* of the run: which replica, */
  HALO_VALUE_PARTITION_ID /* and which partition of the program it is */
} halo_argument_value;

#endif
