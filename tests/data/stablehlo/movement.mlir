// versions: 0.9.0 0.13.0 1.0.0 1.17.0
func.func @main(%x: tensor<3x4xf32>, %s: tensor<f32>, %i: tensor<i32>) -> tensor<3x4xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3x2xf32>
  %1 = "stablehlo.broadcast"(%s) {broadcast_sizes = array<i64: 2, 3>} : (tensor<f32>) -> tensor<2x3xf32>
  %2 = stablehlo.concatenate %x, %x, dim = 1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x8xf32>
  %3 = stablehlo.reshape %x : (tensor<3x4xf32>) -> tensor<2x6xf32>
  %4 = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %5 = stablehlo.slice %x [0:3:2, 1:4] : (tensor<3x4xf32>) -> tensor<2x3xf32>
  %6 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
  %7 = stablehlo.dynamic_update_slice %x, %6, %i, %i : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
  %8 = stablehlo.pad %x, %s, low = [1, -1], high = [0, 2], interior = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<4x8xf32>
  %9 = stablehlo.reverse %x, dims = [0, 1] : tensor<3x4xf32>
  %10 = stablehlo.iota dim = 1 : tensor<3x4xi64>
  %11 = "stablehlo.torch_index_select"(%x, %i) {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<3x4xf32>, tensor<i32>) -> tensor<4xf32>
  return %x : tensor<3x4xf32>
}
