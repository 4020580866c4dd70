// Adds a row to each row of a matrix whose number of rows is open, as jax.export writes a function of symbolic
// dimensions:
//     halo run examples/add_row.mlir -i '0={{1,2,3},{4,5,6}}' -i '1={10,20,30}'
module @add_row {
  func.func public @main(%x: tensor<?x3xf32>, %row: tensor<3xf32>) -> (tensor<?x3xf32>) {
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
    %rows = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
    %columns = stablehlo.constant dense<3> : tensor<1xi32>
    %shape = stablehlo.concatenate %rows, %columns, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %all = stablehlo.dynamic_broadcast_in_dim %row, %shape, dims = [1] : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
    %sum = stablehlo.add %x, %all : tensor<?x3xf32>
    return %sum : tensor<?x3xf32>
  }
}
