// versions: 0.9.0 0.11.0 0.15.0 1.17.0
module @control attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4xf32> {jax.arg_info = "x", mhlo.layout_mode = "default"}, %i: tensor<i32>, %p: tensor<i1>) -> (tensor<4xf32> {jax.result_info = "[0]"}, tensor<i32>) {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0:2 = stablehlo.while(%a = %i, %b = %x) : tensor<i32>, tensor<4xf32>
     cond {
      %1 = stablehlo.compare LT, %a, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %a, %one : tensor<i32>
      %2 = func.call @inner(%b) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>
    }
    %3 = "stablehlo.if"(%p) ({
      %5 = "stablehlo.case"(%i) ({
        stablehlo.return %x : tensor<4xf32>
      }, {
        %6 = stablehlo.negate %x : tensor<4xf32>
        stablehlo.return %6 : tensor<4xf32>
      }) : (tensor<i32>) -> tensor<4xf32>
      stablehlo.return %5 : tensor<4xf32>
    }, {
      stablehlo.return %0#1 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    %7:2 = stablehlo.optimization_barrier %3, %i : tensor<4xf32>, tensor<i32>
    %8 = stablehlo.tuple %7#0, %7#1 : tuple<tensor<4xf32>, tensor<i32>>
    %9 = stablehlo.get_tuple_element %8[1] : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<i32>
    return %7#0, %9 : tensor<4xf32>, tensor<i32>
  }
  func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> attributes {no_inline = true} {
    %0 = stablehlo.add %x, %x {mhlo.frontend_attributes = {a = "b", c.d = "\22\\\00\FFe"}, mhlo.sharding = "{replicated}"} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @"odd name"()
}
