// versions: 0.19.0 1.13.0 1.14.0 1.17.0
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "my.op" %x {composite_attributes = {n = 1 : i64, f = 2.5 : f32, s = "t", l = [1 : i32, 2 : i32], d = dense<[1, 2]> : tensor<2xi64>, b = true, e = #stablehlo<comparison_direction EQ>}, decomposition = @body, version = 3 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  %1:2 = stablehlo.composite "my.two" %x, %0 {decomposition = @two} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0 : tensor<4xf32>
}
func.func private @body(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @two(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %y : tensor<4xf32>, tensor<4xf32>
}
