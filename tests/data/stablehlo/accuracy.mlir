// versions: 1.10.0 1.17.0
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.exponential"(%a) {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.tanh"(%0) {result_accuracy = #stablehlo.result_accuracy<atol = 1.5e-05, rtol = 0.25, ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "stablehlo.sqrt"(%1) {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
