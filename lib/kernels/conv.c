/* kernels/conv.c: convolutions. */
#include "kernels/families.h"

static const halo_implementation conv_implementations[] = {
    {"loop", halo_loop_supports, halo_loop_cost, halo_loop_lower}, {0}};
const halo_family halo_family_conv = {"conv", HALO_OP_CONVOLUTION, conv_implementations};
