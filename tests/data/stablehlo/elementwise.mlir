// versions: 0.9.0 0.11.0 0.12.0 0.14.0 0.15.0 1.0.0 1.9.0 1.10.0 1.17.0
module @elementwise {
  func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %u: tensor<4xui16>, %p: tensor<i1>, %q: tensor<i1>, %c: tensor<2xcomplex<f64>>) -> tensor<2x3xf32> {
    %0 = stablehlo.abs %a : tensor<2x3xf32>
    %1 = stablehlo.cbrt %a : tensor<2x3xf32>
    %2 = stablehlo.ceil %a : tensor<2x3xf32>
    %3 = stablehlo.cosine %a : tensor<2x3xf32>
    %4 = stablehlo.exponential %a : tensor<2x3xf32>
    %5 = stablehlo.exponential_minus_one %a : tensor<2x3xf32>
    %6 = stablehlo.floor %a : tensor<2x3xf32>
    %7 = stablehlo.log %a : tensor<2x3xf32>
    %8 = stablehlo.log_plus_one %a : tensor<2x3xf32>
    %9 = stablehlo.logistic %a : tensor<2x3xf32>
    %10 = stablehlo.negate %a : tensor<2x3xf32>
    %11 = stablehlo.round_nearest_afz %a : tensor<2x3xf32>
    %12 = stablehlo.round_nearest_even %a : tensor<2x3xf32>
    %13 = stablehlo.rsqrt %a : tensor<2x3xf32>
    %14 = stablehlo.sign %a : tensor<2x3xf32>
    %15 = stablehlo.sine %a : tensor<2x3xf32>
    %16 = stablehlo.sqrt %a : tensor<2x3xf32>
    %17 = stablehlo.tanh %a : tensor<2x3xf32>
    %18 = stablehlo.is_finite %a : (tensor<2x3xf32>) -> tensor<2x3xi1>
    %19 = stablehlo.reduce_precision %a, format = e5m10 : tensor<2x3xf32>
    %20 = stablehlo.add %a, %b : tensor<2x3xf32>
    %21 = stablehlo.atan2 %a, %b : tensor<2x3xf32>
    %22 = stablehlo.divide %a, %b : tensor<2x3xf32>
    %23 = stablehlo.maximum %a, %b : tensor<2x3xf32>
    %24 = stablehlo.minimum %a, %b : tensor<2x3xf32>
    %25 = stablehlo.multiply %a, %b : tensor<2x3xf32>
    %26 = stablehlo.power %a, %b : tensor<2x3xf32>
    %27 = stablehlo.remainder %a, %b : tensor<2x3xf32>
    %28 = stablehlo.subtract %a, %b : tensor<2x3xf32>
    %29 = stablehlo.complex %a, %b : tensor<2x3xcomplex<f32>>
    %30 = stablehlo.real %c : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
    %31 = stablehlo.imag %c : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
    %32 = stablehlo.and %i, %j : tensor<4xi32>
    %33 = stablehlo.or %i, %j : tensor<4xi32>
    %34 = stablehlo.xor %i, %j : tensor<4xi32>
    %35 = stablehlo.not %i : tensor<4xi32>
    %36 = stablehlo.popcnt %i : tensor<4xi32>
    %37 = stablehlo.count_leading_zeros %i : tensor<4xi32>
    %38 = stablehlo.shift_left %i, %j : tensor<4xi32>
    %39 = stablehlo.shift_right_arithmetic %i, %j : tensor<4xi32>
    %40 = stablehlo.shift_right_logical %i, %j : tensor<4xi32>
    %41 = stablehlo.convert %u : (tensor<4xui16>) -> tensor<4xbf16>
    %42 = stablehlo.bitcast_convert %u : (tensor<4xui16>) -> tensor<4xf16>
    %43 = stablehlo.compare EQ, %i, %j : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %44 = stablehlo.compare NE, %i, %j, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %45 = stablehlo.compare GE, %u, %u, UNSIGNED : (tensor<4xui16>, tensor<4xui16>) -> tensor<4xi1>
    %46 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %47 = stablehlo.compare LE, %a, %b, TOTALORDER : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %48 = stablehlo.compare LT, %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %49 = stablehlo.select %46, %a, %b : tensor<2x3xi1>, tensor<2x3xf32>
    %50 = stablehlo.select %p, %a, %b : tensor<i1>, tensor<2x3xf32>
    %51 = stablehlo.clamp %a, %b, %a : tensor<2x3xf32>
    %52 = stablehlo.and %p, %q : tensor<i1>
    func.return %51 : tensor<2x3xf32>
  }
}
