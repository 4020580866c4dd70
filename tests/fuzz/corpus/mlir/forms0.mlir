func.func @main(%f: tensor<4xf32>, %g: tensor<4xf32>, %s: tensor<f32>, %i: tensor<i32>, %p: tensor<4xi1>, %z: tensor<4xcomplex<f32>>, %k: tensor<4xi32>, %m: tensor<2x3xf32>, %n: tensor<3x4xf32>, %b: tensor<2x3x3xf32>, %image: tensor<1x8x8x4xf32>, %kernel: tensor<3x3x2x6xf32>, %w: tensor<7x1xi32>, %u: tensor<7x3xf32>, %s1: tensor<2xf32>, %pred: tensor<i1>, %shape: tensor<2xi64>, %state: tensor<2xui64>, %t: !stablehlo.token, %tuple: tuple<tensor<4xf32>, tensor<i32>>) {
  %v0_r = stablehlo.negate %f : tensor<4xf32>
  %v3_r = stablehlo.convert %f : (tensor<4xf32>) -> tensor<4xi8>
  %v6_r = stablehlo.reduce_precision %f, format = e5m10 : tensor<4xf32>
  %v9_r = stablehlo.complex %f, %g : tensor<4xcomplex<f32>>
  %v12_r = stablehlo.compare  GE, %f, %g,  TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %v15_r = stablehlo.clamp %s, %f, %s : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v18_r = stablehlo.constant {a.b = 1 : i32} dense<1> : tensor<i32>
  %v21_r = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %v24_r = stablehlo.broadcast %f, sizes = [4] : (tensor<4xf32>) -> tensor<4x4xf32>
  %v27_r = stablehlo.reverse %f, dims = [0] : tensor<4xf32>
  %v30_r = stablehlo.concatenate %f, %g, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %v33_r = stablehlo.dynamic_slice %s, , sizes = [] : (tensor<f32>) -> tensor<f32>
  %v36_r = stablehlo.dynamic_update_slice %s, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v39_r = stablehlo.get_tuple_element %tuple[1] : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<i32>
  stablehlo.optimization_barrier ()
  %v45_r = stablehlo.dot_general %m, %n, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %v48_r = stablehlo.convolution(%image, %kernel) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 2], rhs_dilate = [1, 1], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x4xf32>, tensor<3x3x2x6xf32>) -> tensor<1x4x15x6xf32>
  %v51_r = "stablehlo.convolution"(%image, %kernel) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 2 : i64, padding = dense<0> : tensor<2x2xi64>, window_strides = dense<1> : tensor<2xi64>}> : (tensor<1x8x8x4xf32>, tensor<3x3x2x6xf32>) -> tensor<1x6x6x6xf32>
  %v54_r = stablehlo.cholesky %b, lower = true : tensor<2x3x3xf32>
  %v57_r = stablehlo.einsum %m, %n, config = "ij,jk->ik" : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %v60_r:3 = "stablehlo.batch_norm_training"(%m, %s1, %s1) <{epsilon = 1.000000e-03 : f32, feature_index = 0 : i64}> : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>)
  %v63_r = stablehlo.reduce(%m init: %s) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %v66_r = "stablehlo.reduce_window"(%m, %s) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>}> ({ ^bb0(%a: tensor<f32>, %c: tensor<f32>): stablehlo.return %a : tensor<f32> }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x2xf32>
  stablehlo.while() cond { stablehlo.return %pred : tensor<i1> } do { stablehlo.return }
  %v72_r = call @f(%f) : (tensor<4xf32>) -> tensor<4xf32>
  %v75_r = stablehlo.composite "my.op" %f, %g {composite_attributes = {n = 5 : i64}, decomposition = @f, version = 2 : i32} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %v78_r, %v78_r2 = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>)
  %v81_r = stablehlo.replica_id : tensor<ui32>
  %v84_r = stablehlo.after_all %t, %t : !stablehlo.token
  %v87_r = "stablehlo.send"(%f, %t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  %v90_r = "stablehlo.all_reduce"(%f) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({ ^bb0(%a: tensor<f32>, %c: tensor<f32>): %d = stablehlo.add %a, %c : tensor<f32> stablehlo.return %d : tensor<f32> }) : (tensor<4xf32>) -> tensor<4xf32>
  %v93_r = "stablehlo.cross-replica-sum"(%f) <{replica_groups = dense<> : tensor<0x0xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  %v96_r = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi32>
  %v99_r = stablehlo.real_dynamic_slice %m, %shape, %shape, %shape : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  %v102_r, %v102_r2 = chlo.top_k(%f, k = 3) : tensor<4xf32> -> (tensor<3xf32>, tensor<3xi32>)
  %v105_r = sdy.sharding_constraint %m <@mesh, [{"x", ?}, {}p1], replicated={"y":(1)2}> : tensor<2x3xf32>
  %v108_r = sdy.named_computation<"f">(%f) (%a: tensor<4xf32>) { sdy.return %a : tensor<4xf32> } : (tensor<4xf32>) -> tensor<4xf32>
  %v111_r = sdy.propagation_barrier %f allowed_direction=NONE : tensor<4xf32>
  %v114_r = sdy.all_reduce {"x"} %f out_sharding=<@mesh, [{}]> : tensor<4xf32>
  %v117_r = builtin.unrealized_conversion_cast %f : tensor<4xf32> to tensor<?xf32>
  return
}
