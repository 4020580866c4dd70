// versions: 0.9.0 0.14.0 1.0.0 1.17.0
func.func @main(%x: tensor<4x6xf32>, %i: tensor<4x6xi32>, %z: tensor<f32>, %n: tensor<i32>) -> tensor<4xf32> {
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  %1:2 = stablehlo.reduce(%x init: %z), (%i init: %n) across dimensions = [0, 1] : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
    reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>)  {
    %2 = stablehlo.maximum %a, %c : tensor<f32>
    %3 = stablehlo.add %b, %d : tensor<i32>
    stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
  }
  %4 = "stablehlo.reduce_window"(%x, %z) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %5 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %5 : tensor<f32>
  }) {window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 1>, base_dilations = array<i64: 1, 2>, window_dilations = array<i64: 1, 1>, padding = dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x10xf32>
  %6 = "stablehlo.reduce_window"(%x, %z) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %7 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %7 : tensor<f32>
  }) {window_dimensions = array<i64: 2, 2>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  %8 = "stablehlo.select_and_scatter"(%x, %4, %z) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %9 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %9 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %9 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %9 : tensor<f32>
  }) {window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>, padding = dense<[[1, 0], [2, 2]]> : tensor<2x2xi64>} : (tensor<4x6xf32>, tensor<2x10xf32>, tensor<f32>) -> tensor<4x6xf32>
  %10:2 = "stablehlo.sort"(%x, %i) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %11 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %11 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
  %12 = "stablehlo.map"(%x, %x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %13 = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %13 : tensor<f32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4xf32>
}
