func.func @main(%f: tensor<4xf32>, %g: tensor<4xf32>, %s: tensor<f32>, %i: tensor<i32>, %p: tensor<4xi1>, %z: tensor<4xcomplex<f32>>, %k: tensor<4xi32>, %m: tensor<2x3xf32>, %n: tensor<3x4xf32>, %b: tensor<2x3x3xf32>, %image: tensor<1x8x8x4xf32>, %kernel: tensor<3x3x2x6xf32>, %w: tensor<7x1xi32>, %u: tensor<7x3xf32>, %s1: tensor<2xf32>, %pred: tensor<i1>, %shape: tensor<2xi64>, %state: tensor<2xui64>, %t: !stablehlo.token, %tuple: tuple<tensor<4xf32>, tensor<i32>>) {
  %v1_r = stablehlo.abs %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %v4_r = stablehlo.convert %f : tensor<4xf32>
  %v7_r = stablehlo.exponential %f {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
  %v10_r = stablehlo.complex %f, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  %v13_r = stablehlo.select %p, %f, %g : tensor<4xi1>, tensor<4xf32>
  %v16_r = stablehlo.clamp %f, %f, %f : tensor<4xf32>
  %v19_r = stablehlo.constant() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<?xi32>
  %v22_r = stablehlo.broadcast_in_dim %f, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
  %v25_r = stablehlo.reshape %m : (tensor<2x3xf32>) -> tensor<6xf32>
  %v28_r = stablehlo.slice %m [1:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<1x2xf32>
  %v31_r = stablehlo.pad %f, %s, low = [1], high = [-1], interior = [2] : (tensor<4xf32>, tensor<f32>) -> tensor<10xf32>
  %v34_r = stablehlo.dynamic_slice %s, sizes = [] : (tensor<f32>) -> tensor<f32>
  %v37_r = stablehlo.tuple %f, %i : tuple<tensor<4xf32>, tensor<i32>>
  %v40_r:2 = stablehlo.optimization_barrier %f, %i : tensor<4xf32>, tensor<i32>
  %v43_r = stablehlo.dot_general %m, %n, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %v46_r = stablehlo.dot %m, %n, precision = [HIGH, HIGH] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %v49_r = stablehlo.convolution(%m, %n) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %v52_r = "stablehlo.convolution"(%image, %kernel) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x2x6xf32>) -> tensor<1x6x6x6xf32>
  %v55_r = stablehlo.cholesky %b : tensor<2x3x3xf32>
  %v58_r = stablehlo.unary_einsum %m, config = "ij->i" : (tensor<2x3xf32>) -> tensor<2xf32>
  %v61_r = "stablehlo.gather"(%m, %w) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 3>}> : (tensor<2x3xf32>, tensor<7x1xi32>) -> tensor<7x3xf32>
  %v64_r = stablehlo.reduce(%m init: %s) applies stablehlo.add across dimensions = [0, 1] {a.b = 1 : i32} : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32> loc(unknown)
  %v67_r:2 = "stablehlo.sort"(%f, %k) <{dimension = 0 : i64, is_stable = true}> ({ ^bb0(%a: tensor<f32>, %c: tensor<f32>, %d: tensor<i32>, %e: tensor<i32>): %v = stablehlo.compare LT, %a, %c, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1> stablehlo.return %v : tensor<i1> }) {mhlo.sharding = "{replicated}"} : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  %v70_r = "stablehlo.if"(%pred) ({ stablehlo.return %f : tensor<4xf32> }, { stablehlo.return %g : tensor<4xf32> }) : (tensor<i1>) -> tensor<4xf32>
  %v73_r = func.call @f(%f) {a.b} : (tensor<4xf32>) -> tensor<4xf32>
  %v76_r = stablehlo.composite "my.op" %f ({ ^bb0(%a: tensor<f32>): stablehlo.return %a : tensor<f32> }) {decomposition = @f} : (tensor<4xf32>) -> tensor<4xf32>
  %v79_r = stablehlo.get_dimension_size %m, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
  %v82_r = stablehlo.partition_id : tensor<ui32>
  %v85_r = stablehlo.after_all  : !stablehlo.token
  %v88_r:2 = stablehlo.custom_call @"my.target"(%m, %i) {api_version = 2 : i32, backend_config = "cfg", called_computations = [@f], has_side_effect = true, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<> : tensor<0xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2x3xf32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<i32>)
  %v91_r = "stablehlo.all_gather"(%f) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[<name = "a", size = 2>, <name = "b", size = 2>]>, axes = [#stablehlo.axis_ref<name = "b">]>}> : (tensor<4xf32>) -> tensor<8xf32>
  %v94_r = "stablehlo.async_start"(%f) ({ ^bb0(%a: tensor<4xf32>): stablehlo.return %a : tensor<4xf32> }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  %v97_r = stablehlo.dynamic_reshape %f, %shape : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %v100_r = chlo.erf %f : tensor<4xf32> -> tensor<4xf32>
  %v103_r, %v103_r2 = chlo.top_k(%f, k = 3, is_stable = true) : tensor<4xf32> -> (tensor<3xf32>, tensor<3xi32>)
  %v106_r = sdy.reshard %f <mesh<["x"=2], device_ids=[1, 0]>, [{"x"}]> : tensor<4xf32>
  %v109_r = sdy.named_computation<"f">(%f) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] (%a: tensor<4xf32>) { sdy.return %a : tensor<4xf32> } : (tensor<4xf32>) -> tensor<4xf32>
  %v112_r = sdy.data_flow_edge %f : tensor<4xf32>
  %v115_r = sdy.all_to_all [{"x"}: 0->1] %m out_sharding=<@mesh, [{}, {"x"}]> : tensor<2x3xf32>
  "my.unknown"(%f) {a = 1 : i32} : (tensor<4xf32>) -> ()
  return
}
