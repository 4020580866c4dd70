// versions: 0.9.0 0.15.0 1.17.0
// The attributes of a module travel as they are, whatever they are.
module @attributes attributes {a.array = [1 : i32, "s", unit], a.bool = true, a.dense = dense<[1, 2, 3]> : tensor<3xi16>, a.dict = {x = 1 : i8, y = {}}, a.empty = [], a.f = 1.5 : f64, a.float = -2.5 : bf16, a.i = -5 : i64, a.index = 4 : index, a.list = array<i32: 1, -2>, a.flags = array<i1: true, false>, a.splat = dense<0.5> : tensor<100xf32>, a.symbol = @main, a.type = tensor<2x?xf32>, a.ui = 200 : ui8, a.si = -3 : si16, a.function = (f32, i1) -> (), a.unit, a.wide = 5 : i128, a.nested = @a::@b, a.vector = dense<1> : vector<4xi32>, a.none = none, a.resource = dense_resource<blob> : tensor<2xf32>, a.tuple = tuple<f32, i32>} {
  func.func @main() {
    return
  }
}
{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F00000040"
    }
  }
#-}
