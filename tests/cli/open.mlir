module @open {
  func.func public @main(%x: tensor<?x3xf32>, %y: tensor<3xf32>) -> (tensor<?x3xf32>) {
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
    %a = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
    %three = stablehlo.constant dense<3> : tensor<1xi32>
    %s = stablehlo.concatenate %a, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %b = stablehlo.dynamic_broadcast_in_dim %y, %s, dims = [1] : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
    %z = stablehlo.add %x, %b : tensor<?x3xf32>
    return %z : tensor<?x3xf32>
  }
}
