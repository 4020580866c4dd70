# SPDX-License-Identifier: Apache-2.0
# tests/cli/basics.sh: the program itself, `halo info` and `halo opt`: what needs no device.
# shellcheck shell=bash disable=SC2016

check main-none 'halo'
check main-help 'halo --help'
check main-wrong-command 'halo rnu'
check main-wrong-command-far 'halo frobnicate'
check main-help-of-command 'halo help info'
check main-full-disk 'halo --help >/dev/full'

check info-no-device 'HALO_CPU=off OCL_ICD_VENDORS=/nonexistent halo info'
check info-no-loader ': >libOpenCL.so.1; export LD_LIBRARY_PATH=$PWD HALO_CPU=off OCL_ICD_VENDORS=/nonexistent; halo info; halo run axpy.hlo'
check info-operand 'halo info all'
check info-null-device 'halo info --device null:null.txt'
check info-null-missing 'halo info --device null:nowhere.txt'
check info-program 'halo info loop.hlo'
check info-artifact 'halo info - <stablehlo/accuracy.1.17.0.mlirbc'
check info-proto 'halo opt --passes dce --emit proto axpy.hlo | halo info -'
check info-shardings 'halo info sharded.hlo'
check info-open 'halo info open.mlir'
check info-open-given 'halo info open.mlir --input "0=[8,3]"'
check info-two-kinds 'halo info axpy.hlo --device cpu'
check info-input-of-nothing 'halo info --input 0=[8,3]'
check info-wrong-program 'halo info wrong.hlo'
check info-null-prices 'halo info --prices --device null:null.txt | head -8; halo info --prices axpy.hlo'
check info-null-capabilities 'halo info -c --device null:null.txt | head -3'

check opt-help 'halo opt --help'
check opt-verify-only 'halo opt --verify-only axpy.hlo'
check opt-no-passes 'halo opt axpy.hlo --passes dce'
check opt-short 'halo opt -sp dce axpy.hlo'
check opt-stdin 'cat axpy.hlo | halo opt - -s --passes=dce'
check opt-emit 'halo opt -p dce --emit proto axpy.hlo -o axpy.pb; halo opt -sp dce axpy.pb'
check opt-wrong-emit 'halo opt --emit dot axpy.hlo'
check opt-dce 'halo opt -s --passes dce dead.hlo'
check opt-open "halo opt -s open.mlir --input '0=[8,3]'"
check opt-open-misfit "halo opt -s open.mlir --input '0=[8,4]'; halo opt -s open.mlir --input '0=random[8,'"
check opt-dump 'halo opt --passes dce dead.hlo --dump some/folder -o out.hlo; ls some/folder; cat out.hlo'
check opt-wrong-module 'halo opt wrong.hlo'
check opt-missing 'halo opt nowhere.hlo'
check opt-no-file 'halo opt'
check opt-two-files 'halo opt axpy.hlo dead.hlo'
check opt-wrong-pass 'halo opt axpy.hlo --passes dec'
check opt-wrong-option 'halo opt axpy.hlo --sohrt'
check opt-wrong-letter 'halo opt axpy.hlo -sq'
check opt-flag-value 'halo opt axpy.hlo --short=yes'
check opt-no-value 'halo opt axpy.hlo --passes'
check opt-output-fails 'halo opt axpy.hlo -o no/such/folder.hlo'

check opt-graph-dot 'halo opt -p dce axpy.hlo --graph g.dot; cat g.dot'
check opt-graph-html 'halo opt -p dce loop.hlo --graph g.html; python3 - <<"PYTHON"
import json
page = open("g.html").read()
graph = json.loads(page.split("type=\"application/json\">")[1].split("</script>")[0])
entry = graph["computations"][graph["entry"]]
assert page.startswith("<!doctype html>") and "http:" not in page.replace("http://www.w3.org/2000/svg", "") and "https:" not in page
for computation in graph["computations"]:
  for number, instr in enumerate(computation["instrs"]):
    assert all(0 <= operand < number for operand in instr["in"]), instr
    assert instr["name"] in instr["text"] and instr["op"] in instr["text"], instr
loop, = [instr for instr in entry["instrs"] if instr["op"] == "while"]
print(graph["name"], loop["shape"], len(loop["calls"]), loop["seconds"] > 0, entry["instrs"][entry["root"]]["op"])
PYTHON'
check opt-graph-other 'halo opt axpy.hlo --graph g.png; halo opt axpy.hlo --graph no/such/g.html'
