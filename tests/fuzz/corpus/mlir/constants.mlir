// versions: 0.9.0 0.12.0 1.0.0 1.17.0
func.func @main() -> tensor<f32> {
  %0 = stablehlo.constant dense<1.5> : tensor<f32>
  %1 = stablehlo.constant dense<[[1.0, -2.5, 3.25], [0x7FC00000, 0xFF800000, -0.0]]> : tensor<2x3xf32>
  %2 = stablehlo.constant dense<7> : tensor<8x8xi32>
  %3 = stablehlo.constant dense<-7> : tensor<5x13xi8>
  %4 = stablehlo.constant dense<1.0e-300> : tensor<1000x1000x1000xf64>
  %5 = stablehlo.constant dense<> : tensor<0x3xf32>
  %6 = stablehlo.constant dense<true> : tensor<i1>
  %7 = stablehlo.constant dense<false> : tensor<i1>
  %8 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %9 = stablehlo.constant dense<[true, false, true, true, false, false, false, true]> : tensor<8xi1>
  %10 = stablehlo.constant dense<[[true, false, true, true, false], [false, false, true, false, true]]> : tensor<2x5xi1>
  %11 = stablehlo.constant dense<true> : tensor<3xi1>
  %12 = stablehlo.constant dense<false> : tensor<100xi1>
  %13 = stablehlo.constant dense<true> : tensor<100xi1>
  %14 = stablehlo.constant dense<[true]> : tensor<1xi1>
  %15 = stablehlo.constant dense<> : tensor<0xi1>
  %16 = stablehlo.constant dense<[-8, 7, -1, 0]> : tensor<4xi4>
  %17 = stablehlo.constant dense<[15, 7, 8, 0]> : tensor<4xui4>
  %18 = stablehlo.constant dense<[(1.0, -2.0), (0.5, 0x7FC00000)]> : tensor<2xcomplex<f32>>
  %19 = stablehlo.constant dense<(1.0, -2.0)> : tensor<3xcomplex<f64>>
  %20 = stablehlo.constant dense<[-9223372036854775808, 9223372036854775807]> : tensor<2xi64>
  %21 = stablehlo.constant dense<[18446744073709551615, 0]> : tensor<2xui64>
  %22 = stablehlo.constant dense<[-128, 127]> : tensor<2xi8>
  %23 = stablehlo.constant dense<[255, 1]> : tensor<2xui8>
  %24 = stablehlo.constant dense<[-32768, 2]> : tensor<2xi16>
  %25 = stablehlo.constant dense<[65535, 2]> : tensor<2xui16>
  %26 = stablehlo.constant dense<[4294967295, 2]> : tensor<2xui32>
  %27 = stablehlo.constant dense<[1.0, 65504.0, 0x7E00]> : tensor<3xf16>
  %28 = stablehlo.constant dense<[1.0, 3.0e38, 0xFF80]> : tensor<3xbf16>
  %29 = stablehlo.constant dense<[1.0, 448.0]> : tensor<2xf8E4M3FN>
  %30 = stablehlo.constant dense<[1.0, 57344.0]> : tensor<2xf8E5M2>
  %31 = stablehlo.constant dense<5> : tensor<1x1x1xi32>
  return %0 : tensor<f32>
}
