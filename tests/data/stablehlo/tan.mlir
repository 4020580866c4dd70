// versions: 1.4.0 1.10.0
module {
  func.func public @main(%a: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.tan %a : tensor<f32>
    return %0 : tensor<f32>
  }
}
