// versions: 1.3.0 1.17.0
func.func @main(%x: tensor<2x3xf32>, %y: tensor<4xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.custom_call @plain(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.custom_call @old(%x) {api_version = 2 : i32, backend_config = "text\00more", has_side_effect = true, called_computations = [@helper]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2:2 = stablehlo.custom_call @layouts(%x, %y) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[0]> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 1, operand_tuple_indices = []>]} : (tensor<2x3xf32>, tensor<4xf32>) -> (tensor<2x3xf32>, tensor<4xf32>)
  %3 = stablehlo.custom_call @ffi(%x) {api_version = 4 : i32, backend_config = {uplo = 76 : ui8, n = -3 : i64, deep = {x = 1.5 : f64}, t = [true, "s"]}, mhlo.frontend_attributes = {k = "v"}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = stablehlo.custom_call @shapes(%x, %y) {indices_of_shape_operands = dense<1> : tensor<1xi64>} : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  %5 = stablehlo.custom_call @tuple(%x) : (tensor<2x3xf32>) -> tuple<tensor<2xf32>, tuple<tensor<i1>>>
  return %0 : tensor<2x3xf32>
}
func.func private @helper(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  return %x : tensor<2x3xf32>
}
