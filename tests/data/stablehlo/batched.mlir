// versions: 1.1.0 1.17.0
func.func @main(%x: tensor<3x5x4xf32>, %i: tensor<3x2x1xi32>, %u: tensor<3x2x4xf32>) -> (tensor<3x2x4xf32>, tensor<3x5x4xf32>) {
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>} : (tensor<3x5x4xf32>, tensor<3x2x1xi32>) -> tensor<3x2x4xf32>
  %1:2 = "stablehlo.scatter"(%x, %x, %i, %u, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    stablehlo.return %c, %d : tensor<f32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_dims_to_operand_dims = [1], scatter_indices_batching_dims = [0], index_vector_dim = 2>} : (tensor<3x5x4xf32>, tensor<3x5x4xf32>, tensor<3x2x1xi32>, tensor<3x2x4xf32>, tensor<3x2x4xf32>) -> (tensor<3x5x4xf32>, tensor<3x5x4xf32>)
  return %0, %1#1 : tensor<3x2x4xf32>, tensor<3x5x4xf32>
}
