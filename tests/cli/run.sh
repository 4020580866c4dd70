# SPDX-License-Identifier: Apache-2.0
# tests/cli/run.sh: `halo run` on the default device.
# shellcheck shell=bash disable=SC2016

check run-given 'halo run axpy.hlo -i a=2 -i x=1,2,3,4 -i y=iota'
check run-pipe 'mkfifo pipe; halo run pipe; (sleep 0.3; cat axpy.hlo >pipe) & halo run -q pipe -i a=1 -i x=ones -i y=ones; halo run -q <(cat axpy.hlo) -i a=1 -i x=ones -i y=ones -p none'
check run-quiet 'halo run -q axpy.hlo --input a=0.5 --input x=ones --input "2={1,2,3,4}"'
check run-positional 'halo run -q axpy.hlo -i 2 -i zeros -i ones'
check run-made-up 'halo run axpy.hlo --print none; halo run -q axpy.hlo >a; halo run -q axpy.hlo >b; cmp a b; halo run -q axpy.hlo --seed 1 >c; cmp -s a c || echo another seed, another result'
check run-stdin 'cat axpy.hlo | halo run - -q -i a=1 -i x=ones -i y=ones'
check run-tuples 'halo run many.hlo -i state.0=1,2 -i state.1.0=iota -i state.1.1=true,false,true -i scale=1.5 -i big=iota'
check run-shapes 'halo run -q cube.hlo'
check run-summary 'halo run -q cube.hlo --print summary'
check run-special 'halo run -q axpy.hlo -i a=1 -i x=-0.0 -i y=nan,inf,-inf,-0.0'

check run-sized 'halo run sized.hlo -i "{{1,2},{3,4},{5,6}}"; halo run -q sized.hlo -i "{}"; halo run -q sized.hlo -i ones'
check run-sized-files 'halo run -q sized.hlo -p none -i "{{1,2},{3,4}}" -o sized.npz; halo run -q sized.hlo -i x=sized.npz:out0 -o sized; halo run -q sized.hlo -i x=sized/out0.npy'
check run-sized-wrong 'halo run -q sized.hlo -i "{{1,2,3}}"; halo run -q sized.hlo -i "{{1,2},{1,2},{1,2},{1,2},{1,2},{1,2},{1,2},{1,2},{1,2}}"; halo run -q axpy.hlo -p none -o axpy.npy; halo run -q sized.hlo -i axpy.npy'

check run-replicas 'halo run -q shared.hlo --replicas 3 -i 1,2,3,4; halo run shared.hlo --replicas 2 -i zeros -p none -o out.npz >/dev/null; ls out.*; halo run -q shared.hlo --replicas 2 -i x=out.r{replica}.npz:out0 -p none --compare out.npz'
check run-replicas-split 'halo run -q gather.hlo --replicas 2 -p none -i 1,2,3,4 -o {replica}.npz; halo run -q gather.hlo --replicas 2 -i x=split:0:0.npz:out0; halo run -q gather.hlo --replicas 2 -i x=split:0:nowhere.npy; halo run -q gather.hlo --replicas 3'
check run-partitions 'halo run -q sharded.hlo -i iota -i ones -o one.npy; halo run -q sharded.hlo --partitions 4 -i iota -i ones --compare one.npy; halo run sharded.hlo --partitions 4 --replicas 2 -i iota -i ones -p none -o out.npy; ls out*; halo run -q sharded.hlo --partitions 3'
check run-partitions-dynamic 'halo run -q bounded.hlo -i v0=iota -i v1=3'
check run-replicas-wrong 'halo run -q shared.hlo --replicas 2 -i x=split:0:1,2,3,4; halo run -q axpy.hlo -p none -o a.npy; halo run -q shared.hlo --replicas 3 -i x=split:0:a.npy; halo run -q shared.hlo --partitions 0'

check run-output-npz 'halo run many.hlo -q -p none -i state.0=1,2 -i 1=iota -i 2=zeros -i 3=3 -i 4=ones -o out.npz && halo run many.hlo -q -p none -i state.0=1,2 -i 1=iota -i 2=zeros -i 3=3 -i 4=ones --compare out.npz'
check run-output-folder 'halo run many.hlo -q -p none -o a/b && ls a/b && halo run many.hlo -q -p none --compare a/b'
check run-output-npy 'halo run axpy.hlo -i a=2 -i x=ones -i y=zeros -o out.npy && halo run axpy.hlo -q -i a=1 -i x=out.npy -i y=out.npy --compare out.npy'
check run-output-one-of-many 'halo run many.hlo -q -o out.npy; ls *.npy 2>/dev/null'
check run-output-fails 'halo run -q axpy.hlo -p none -o no/such/out.npz'
check run-output-full 'halo run -q axpy.hlo -p none -o full.npy; rm full.npy; ln -s /dev/full full.npy; halo run -q axpy.hlo -p none -o full.npy'

check run-compare-tolerance 'halo run axpy.hlo -q -p none -i a=2 -i x=ones -i y=zeros -o out.npy; halo run axpy.hlo -q -p none -i a=2 -i x=ones -i y=0,0,1e-3,0 --compare out.npy; halo run axpy.hlo -q -p none -i a=2 -i x=ones -i y=0,0,1e-3,0 --compare out.npy --rtol 1e-2'
check run-compare-nan 'halo run axpy.hlo -q -p none -i a=1 -i x=zeros -i y=nan,inf,-inf,0 -o out.npy; halo run axpy.hlo -q -p none -i a=1 -i x=zeros -i y=nan,inf,-inf,0 --compare out.npy; halo run axpy.hlo -q -p none -i a=1 -i x=zeros -i y=1,1,1,0 --compare out.npy --atol 1e30'
check run-compare-shape 'halo run axpy.hlo -q -p none --compare data/type_f4.npy'
check run-compare-count 'halo run axpy.hlo -q -p none --compare data/stored.npz'

check run-input-type 'halo run axpy.hlo -q -i x=data/type_f8.npy'
check run-input-shape 'halo run axpy.hlo -q -i x=data/type_f4.npy --convert'
check run-input-member 'halo run axpy.hlo -q -i a=data/zip64.npz:second -i x=ones -i y=zeros'
check run-input-no-member 'halo run axpy.hlo -q -i a=data/zip64.npz:third'
check run-member-shape 'halo run axpy.hlo -q -i x=data/deflated.npz:long'
check run-inputs-names 'halo run axpy.hlo --inputs data/zip64.npz'
check run-input-unknown 'halo run axpy.hlo -i b=2'
check run-input-value 'halo run axpy.hlo -i a=two'
check run-input-length 'halo run axpy.hlo -i y=1,2,3'
check run-input-twice 'halo run axpy.hlo -i a=1 -i 0=2'
check run-input-many 'halo run axpy.hlo -i 1 -i 2 -i 3 -i 4'
check run-input-missing 'halo run axpy.hlo -i x=nowhere.npy'
check run-convert 'halo run many.hlo -q -p none -i state.1.1=data/type_i4.npy --convert && halo run many.hlo -q -i state.1.1=data/type_i4.npy'

check run-wrong-module 'halo run wrong.hlo'
check run-no-file 'halo run -q'
check run-two-files 'halo run axpy.hlo x.npy'
check run-wrong-option 'halo run axpy.hlo --rept 5'
check run-wrong-number 'halo run axpy.hlo --repeat many'
check run-wrong-print 'halo run axpy.hlo --print all'
check run-wrong-tolerance 'halo run axpy.hlo --rtol -1'
check run-wrong-variable 'HALO_DEVICE=no-such-device halo run axpy.hlo 2>&1 | sed "s/there are:.*/there are: .../"
  HALO_DEVICE=cpu/0 halo run axpy.hlo; HALO_DEVICE=no-such-device halo info 2>&1 | head -1'
check run-no-match 'halo run axpy.hlo --device no-such-device 2>&1 | sed "s/there are:.*/there are: .../"'
check run-no-device 'HALO_CPU=off OCL_ICD_VENDORS=/nonexistent halo run axpy.hlo'
check run-no-loader ': >libOpenCL.so.1; LD_LIBRARY_PATH=$PWD halo run axpy.hlo --quiet -i a=1 -i x=ones -i y=ones'
# What a start opens whose kernels are kept: nothing where PoCL for processors is the only driver.
check run-own-start 'export OCL_ICD_VENDORS=$PWD/one.icd
  HALO_CPU=on halo run -q axpy.hlo -p none >/dev/null 2>why || skip "the own processor device is not there: $(cat why)"
  opened() {
    case $(LD_DEBUG=files HALO_CPU=on "$@" 2>&1 | grep "calling init:") in
      *OpenCL*) echo drivers ;; *LLVM*) echo LLVM ;; *pocl*) echo PoCL ;; *) echo nothing ;;
    esac
  }
  echo libpocl.so.2 >one.icd; opened "$HALO" run -q axpy.hlo -p none; opened "$HALO" info
  POCL_DEVICES=pthread opened "$HALO" run -q axpy.hlo -p none
  echo "$PWD/libpocl.so.2" >one.icd; mkdir pocl; : >pocl/libpocl-devices-cuda.so; opened "$HALO" run -q axpy.hlo -p none'
check run-wrong-processor 'HALO_CPU=skylake halo run axpy.hlo; HALO_CPU=OFF halo info'
# A clang that is killed, that says nothing, that gives no bitcode, and that is no program.
check run-broken-clang 'mkdir bin; export PATH=$PWD/bin:$PATH HALO_DEVICE=Halocline HALO_CACHE_DIR=
  for text in "kill -9 \$\$" "exit 3" "cat >/dev/null" "cat >/dev/null; echo no bitcode" wrong; do
    echo "#!/bin/sh" >bin/clang-15; [ "$text" != wrong ] || printf "\177ELF" >bin/clang-15
    echo "$text" >>bin/clang-15; chmod +x bin/clang-15; halo run axpy.hlo --quiet 2>&1 | sed "1d; s/LLVM [0-9]*/LLVM N/"; done'
check run-without-clang 'HALO_LOG=info PATH=/nonexistent OCL_ICD_VENDORS=/nonexistent "$HALO" run axpy.hlo 2>&1 | sed -n "s/^halo.*own processor/... own processor/p"'
check run-null 'halo run axpy.hlo --device null:null.txt'
check run-compile-only 'halo run axpy.hlo --compile-only'
check run-repeat 'halo run axpy.hlo -p none --repeat 3 -i a=1 -i x=ones -i y=ones | sed "s/memory .*/memory .../"'
check run-no-fusion 'halo run -q axpy.hlo --no-fusion -i a=2 -i x=1,2,3,4 -i y=iota'
check run-no-optimization 'halo run -q axpy.hlo --no-optimization -i a=2 -i x=1,2,3,4 -i y=iota'
check run-strict-order 'echo "f { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] subtract(a, b) } ENTRY e { x = s32[64] parameter(0) z = s32[] constant(0) ROOT c = s32[] reduce(x, z), dimensions={0}, to_apply=f }" >f.hlo; halo run -q f.hlo -i ones --strict-order; HALO_STRICT_ORDER=1 halo run -q f.hlo -i ones; HALO_STRICT_ORDER=1 halo run -e --compile-only f.hlo | grep " no: "; halo run -e --compile-only f.hlo | grep " -> "'
check run-dump 'halo run -q -p none axpy.hlo --dump dumped/here && ls dumped/here | grep -q . && echo something there'
check run-reports 'halo run -q -p none axpy.hlo --explain --plan --source | grep -E "^(Implementations|Plan|OpenCL C)"'
check run-profile 'halo run -q -p none axpy.hlo --profile | grep -oE "^Profile|step +kind +runs +time +each +share +GB/s +GFLOP/s"'
check run-profile-wall 'for n in 0 2; do halo run -q -p none loop.hlo --no-fusion --kernels region:steps --profile -n $n -i n=3 -i x=8 2>/dev/null | grep -A9 "^Wall" | awk "NR > 3 { print \$1, \$5 }"; done; halo run -q -p none loop.hlo --profile -n 2 -i n=3 2>/dev/null | grep "^Wall"'
check run-loop 'for how in --no-fusion --no-optimization "--seed 0"; do halo run -q loop.hlo -i n=3 -i x=8 $how; done'
check run-wrong-files 'halo run ""; halo run axpy.hlo -o ""; halo run axpy.hlo -o none/x.npz; halo run axpy.hlo --compare none.npz'
check run-wrong-null 'halo run axpy.hlo -d null:'
check run-wrong-recipe 'halo run axpy.hlo -i x=random:5:1; halo run axpy.hlo -i x=all.npz'
check run-other-forms 'echo "module { func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { %y = stablehlo.add %x, %x : tensor<2xf32> return %y : tensor<2xf32> } }" >f.mlir; halo run -q f.mlir -i 1,2; sed s/add/sub/ f.mlir >g.mlir; halo run g.mlir; printf "\n\005f\022\004main" >f.pb; halo run f.pb; gzip -c f.mlir >f.mlir.gz; halo run f.mlir.gz; zcat f.mlir.gz | halo run -q - -i 1,2; halo run f.mlir -i "params[0]=1"'
check run-open-hlo 'printf "HloModule m\\nENTRY e {\\n  x = f32[?,2] parameter(0)\\n  ROOT y = f32[?,2] add(x, x)\\n}\\n" >f.hlo; halo run -q f.hlo -i "{{1,2},{3,4},{5,6}}"; halo run f.hlo; halo opt f.hlo -s -i "x=[3,2]"; halo opt f.hlo --verify-only; halo run f.hlo -i "random[3,4]"'
check run-open 'echo "func.func @main(%x: tensor<?x2xf32>) -> tensor<?x2xf32> { %y = stablehlo.add %x, %x : tensor<?x2xf32> return %y : tensor<?x2xf32> }" >f.mlir; halo run -q f.mlir -i "{{1,2},{3,4},{5,6}}"; halo run f.mlir; halo run f.mlir -i 2; halo opt f.mlir'
check run-quiet-repeat 'halo run -q axpy.hlo -i a=1 -i x=ones -i y=ones -n 3 2>times; echo; sed "s/[0-9.]* KiB/SIZE/" times; halo run axpy.hlo -q -p none 2>times; cat times'
check run-heading-first 'halo run axpy.hlo --kernels no:such 2>/dev/null'
check run-log 'HALO_LOG=info HALO_LOG_FILE=log halo run -q axpy.hlo -p none; sed -E "s/^halo\[[0-9]+\] [0-9.]+ (client|compile axpy).*/halo[PID] SECONDS \\1 .../" log; HALO_LOG=yes halo run -q axpy.hlo'

check run-trace 'halo run axpy.hlo -q -p none -n 2 --trace t.json 2>/dev/null; grep -c "\"tid\": 1, \"ts\": [0-9.]*, \"dur\": [0-9.]*, \"name\": \"axpy\"" t.json
  grep -o "\"args\": {\"name\": \"XLA Ops\"}" t.json; tail -1 t.json'
check run-graph 'halo run loop.hlo -q -p none -n 3 --graph g.html 2>/dev/null; python3 - <<"PYTHON"
import json
page = open("g.html").read()
graph, measured = [json.loads(page.split("id=\"%s\" type=\"application/json\">" % part)[1].split("</script>")[0]) for part in ("graph", "measured")]
names = {instr["name"] for computation in graph["computations"] for instr in computation["instrs"]}
assert measured and all(step["seconds"] > 0 and step["name"].split()[0].split("..")[0] in names for step in measured), measured
PYTHON
  halo run loop.hlo --compile-only --graph h.html; grep -c "id=\"measured\" type=\"application/json\">null<" h.html; halo run loop.hlo --graph g.svg'
check run-trace-fails 'halo run axpy.hlo -q -p none --trace no/such/folder.json'
check run-no-program 'echo hello >f.hlo; halo run f.hlo; echo "import jax" | halo run -; halo run /dev/null; halo axpy.hlo; halo bench nothing'
check run-kernels-wrong 'for list in foo dot:bar -loop:lanes,-loop:generic; do halo run -q axpy.hlo --kernels $list; done'

# The program cache: the library's own files count.
check info-cache 'mkdir -p cache/pocl; touch cache/tempfile cache/pocl/tempfile; printf 1234 >cache/one.bin; HALO_CACHE_DIR=cache halo info | grep ^Program'
