// versions: 1.17.0
// What no operation of StableHLO has is kept as something that nobody may ask for.
module attributes {a.vector = dense<1> : vector<4xi32>, a.type = vector<4xi32>, a.wide = 5 : i128} {
  func.func @main() {
    return
  }
}
