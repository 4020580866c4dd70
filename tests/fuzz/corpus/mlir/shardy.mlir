// versions: 0.9.0 0.15.0 1.10.0 1.17.0
module @shardy {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  sdy.mesh @odd = <["x"=2], device_ids=[1, 0]>
  sdy.mesh @one = <[], device_ids=[3]>
  func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y", ?}p1]>}, %b: tensor<8x16xf32>) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}], replicated={"y"}>}) {
    %0 = sdy.sharding_constraint %a <@mesh, [{"y":(1)2, "x"}, {"y":(2)2}]> : tensor<8x16xf32>
    %1 = stablehlo.add %0, %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x16xf32>
    %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg: tensor<4x16xf32>) {
      %4 = stablehlo.multiply %arg, %arg : tensor<4x16xf32>
      sdy.return %4 : tensor<4x16xf32>
    } : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %3 = sdy.reshard %2 <@odd, [{"x"}, {}]> : tensor<8x16xf32>
    sdy.sharding_group %3 group_id=21 : tensor<8x16xf32>
    return %3 : tensor<8x16xf32>
  }
}
