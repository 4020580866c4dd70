/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/infer.h: shape inference, the only gate. One function an op or family, named in opcodes.def.
 *
 * Each reads a finished instruction (opcode, operands with shapes, attributes, called computations;
 * for NOINFER ops the written shape too) and gives the result shape in `arena`, or
 * HALO_INVALID_ARGUMENT with a message that names the op, the operand shapes and the broken rule.
 * Pure: no device, no globals. */
#ifndef HALO_HLO_INFER_H
#define HALO_HLO_INFER_H

#include "hlo/hlo.h"

/* Operand count, required attributes, then the op's own function. */
halo_status halo_infer_shape(const halo_instr *instr, halo_arena *arena, const halo_shape **out);

halo_infer_fn halo_infer_abs;
halo_infer_fn halo_infer_add_dependency;
halo_infer_fn halo_infer_after_all;
halo_infer_fn halo_infer_all_gather;
halo_infer_fn halo_infer_all_gather_start;
halo_infer_fn halo_infer_all_reduce;
halo_infer_fn halo_infer_all_reduce_done;
halo_infer_fn halo_infer_all_to_all;
halo_infer_fn halo_infer_async_done;
halo_infer_fn halo_infer_async_start;
halo_infer_fn halo_infer_async_update;
halo_infer_fn halo_infer_batch_norm_grad;
halo_infer_fn halo_infer_batch_norm_inference;
halo_infer_fn halo_infer_batch_norm_training;
halo_infer_fn halo_infer_binary;
halo_infer_fn halo_infer_bitcast;
halo_infer_fn halo_infer_bitcast_convert;
halo_infer_fn halo_infer_broadcast;
halo_infer_fn halo_infer_call;
halo_infer_fn halo_infer_cholesky;
halo_infer_fn halo_infer_clamp;
halo_infer_fn halo_infer_collective_permute;
halo_infer_fn halo_infer_collective_permute_start;
halo_infer_fn halo_infer_collective_root;
halo_infer_fn halo_infer_compare;
halo_infer_fn halo_infer_complex;
halo_infer_fn halo_infer_concatenate;
halo_infer_fn halo_infer_conditional;
halo_infer_fn halo_infer_constant;
halo_infer_fn halo_infer_convert;
halo_infer_fn halo_infer_convolution;
halo_infer_fn halo_infer_copy_done;
halo_infer_fn halo_infer_copy_start;
halo_infer_fn halo_infer_custom_call;
halo_infer_fn halo_infer_declared;
halo_infer_fn halo_infer_dot;
halo_infer_fn halo_infer_dynamic_reshape;
halo_infer_fn halo_infer_dynamic_slice;
halo_infer_fn halo_infer_dynamic_update_slice;
halo_infer_fn halo_infer_fft;
halo_infer_fn halo_infer_gather;
halo_infer_fn halo_infer_get_dimension_size;
halo_infer_fn halo_infer_get_tuple_element;
halo_infer_fn halo_infer_id;
halo_infer_fn halo_infer_identity;
halo_infer_fn halo_infer_infeed;
halo_infer_fn halo_infer_iota;
halo_infer_fn halo_infer_is_finite;
halo_infer_fn halo_infer_map;
halo_infer_fn halo_infer_outfeed;
halo_infer_fn halo_infer_pad;
halo_infer_fn halo_infer_ragged_all_to_all;
halo_infer_fn halo_infer_ragged_dot;
halo_infer_fn halo_infer_real_imag;
halo_infer_fn halo_infer_recv;
halo_infer_fn halo_infer_recv_done;
halo_infer_fn halo_infer_reduce;
halo_infer_fn halo_infer_reduce_precision;
halo_infer_fn halo_infer_reduce_scatter;
halo_infer_fn halo_infer_reduce_window;
halo_infer_fn halo_infer_reshape;
halo_infer_fn halo_infer_reverse;
halo_infer_fn halo_infer_rng;
halo_infer_fn halo_infer_rng_bit_generator;
halo_infer_fn halo_infer_rng_state;
halo_infer_fn halo_infer_scaled_dot;
halo_infer_fn halo_infer_scan;
halo_infer_fn halo_infer_scatter;
halo_infer_fn halo_infer_select;
halo_infer_fn halo_infer_select_and_scatter;
halo_infer_fn halo_infer_send;
halo_infer_fn halo_infer_send_done;
halo_infer_fn halo_infer_set_dimension_size;
halo_infer_fn halo_infer_shuffle;
halo_infer_fn halo_infer_slice;
halo_infer_fn halo_infer_sort;
halo_infer_fn halo_infer_start_done;
halo_infer_fn halo_infer_stochastic_convert;
halo_infer_fn halo_infer_topk;
halo_infer_fn halo_infer_transpose;
halo_infer_fn halo_infer_triangular_solve;
halo_infer_fn halo_infer_tuple;
halo_infer_fn halo_infer_tuple_select;
halo_infer_fn halo_infer_unary;
halo_infer_fn halo_infer_while;

#endif
