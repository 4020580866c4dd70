func.func @main(%f: tensor<4xf32>, %g: tensor<4xf32>, %s: tensor<f32>, %i: tensor<i32>, %p: tensor<4xi1>, %z: tensor<4xcomplex<f32>>, %k: tensor<4xi32>, %m: tensor<2x3xf32>, %n: tensor<3x4xf32>, %b: tensor<2x3x3xf32>, %image: tensor<1x8x8x4xf32>, %kernel: tensor<3x3x2x6xf32>, %w: tensor<7x1xi32>, %u: tensor<7x3xf32>, %s1: tensor<2xf32>, %pred: tensor<i1>, %shape: tensor<2xi64>, %state: tensor<2xui64>, %t: !stablehlo.token, %tuple: tuple<tensor<4xf32>, tensor<i32>>) {
  %v2_r = stablehlo.is_finite %f : (tensor<4xf32>) -> tensor<4xi1>
  %v5_r = stablehlo.bitcast_convert %k : (tensor<4xi32>) -> tensor<4x4xi8>
  %v8_r = stablehlo.power %f, %g : tensor<4xf32>
  %v11_r = stablehlo.compare LT, %f, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %v14_r = stablehlo.select %p, %f, %g : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %v17_r = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %v20_r = chlo.constant dense<1> : tensor<i32>
  %v23_r = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %v26_r = stablehlo.transpose %m, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %v29_r = stablehlo.slice %s [] : (tensor<f32>) -> tensor<f32>
  %v32_r = stablehlo.dynamic_slice %m, %i, %i, sizes = [2, 3] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  %v35_r = stablehlo.dynamic_update_slice %f, %g, %i : (tensor<4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  %v38_t2 = stablehlo.tuple : tuple<>
  stablehlo.optimization_barrier()
  %v44_r = stablehlo.dot_general %b, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, DEFAULT] : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v47_r = stablehlo.dot %m, %n : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %v50_r = stablehlo.convolution(%image, %kernel) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {reverse = [1, 0], stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x2x6xf32>) -> tensor<1x6x6x6xf32>
  %v53_r = stablehlo.fft %z, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %v56_r = "stablehlo.triangular_solve"(%b, %b) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = true}> : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %v59_r = "stablehlo.torch_index_select"(%f, %k) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  %v62_r = "stablehlo.scatter"(%m, %w, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({ ^bb0(%a: tensor<f32>, %c: tensor<f32>): %d = stablehlo.add %a, %c : tensor<f32> stablehlo.return %d : tensor<f32> }) : (tensor<2x3xf32>, tensor<7x1xi32>, tensor<7x3xf32>) -> tensor<2x3xf32>
  %v65_r:2 = stablehlo.reduce(%f init: %s), (%k init: %i) across dimensions = [0] : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>) reducer(%a: tensor<f32> loc("x"), %c: tensor<f32>) (%d: tensor<i32>, %e: tensor<i32>) { %v = stablehlo.maximum %a, %c : tensor<f32> %q = stablehlo.add %d, %e : tensor<i32> stablehlo.return %v, %q : tensor<f32>, tensor<i32> }
  %v68_r:2 = stablehlo.while(%a = %i, %c = %f) : tensor<i32>, tensor<4xf32> attributes {mhlo.frontend_attributes = {}} cond { %d = stablehlo.compare LT, %a, %i, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %d : tensor<i1> } do { %d = stablehlo.add %a, %i : tensor<i32> stablehlo.return %d, %c : tensor<i32>, tensor<4xf32> }
  %v71_r:2 = "stablehlo.case"(%i) ({ stablehlo.return %f, %g : tensor<4xf32>, tensor<4xf32> }, { ^bb0: stablehlo.return %g, %f : tensor<4xf32>, tensor<4xf32> }) : (tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>)
  call @g() : () -> ()
  %v77_r = stablehlo.rng %s, %s, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x3xf32>
  %v80_r = stablehlo.set_dimension_size %m, %i, dim = 0 : (tensor<2x3xf32>, tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<2, ?>>
  %v83_r = stablehlo.create_token : !stablehlo.token
  %v86_r:2 = "stablehlo.infeed"(%t) <{infeed_config = "c", layout = [[0]]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  stablehlo.custom_call @plain() : () -> ()
  %v92_r = "stablehlo.collective_permute"(%f) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  %v95_r = stablehlo.dynamic_broadcast_in_dim %f, %shape, dims = [1] {known_expanding_dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %v98_r = stablehlo.dynamic_pad %m, %s, %shape, %shape, %shape : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  %v101_r = chlo.zeta %f, %g {a.b} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %v104_r = chlo.broadcast_add %f, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v107_r = sdy.manual_computation(%f) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}], unreduced={"y"}>] manual_axes={"x"} (%a: tensor<2xf32>) { sdy.return %a : tensor<2xf32> } : (tensor<4xf32>) -> tensor<4xf32>
  sdy.sharding_group %f group_id=7 : tensor<4xf32>
  %v113_r = sdy.all_gather [{}, {"x"}] %m out_sharding=<@mesh, [{}, {}]> : tensor<2x3xf32>
  %v116_r = sdy.collective_permute %f out_sharding=<@mesh, [{"y"}]> : tensor<4xf32>
  return
}
