// versions: 0.9.0 1.11.0 1.12.0 1.17.0
func.func @main(%x: tensor<4xf32>) -> !stablehlo.token {
  %0 = stablehlo.create_token : !stablehlo.token
  %1 = stablehlo.after_all %0, %0 : !stablehlo.token
  %2 = "stablehlo.send"(%x, %1) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true} : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  %3:2 = "stablehlo.recv"(%2) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  %4:2 = "stablehlo.infeed"(%3#1) {infeed_config = "in", layout = [[0]]} : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  %5 = "stablehlo.outfeed"(%x, %4#1) {outfeed_config = "out"} : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return %5 : !stablehlo.token
}
