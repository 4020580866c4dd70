/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/passes.h: LLVM's passes where its own list of them cannot be used. */
#ifndef HALO_CPU_PASSES_H
#define HALO_CPU_PASSES_H

/* clang-format off */
#define PASSES_SIMPLIFY "simplifycfg<bonus-inst-threshold=1;no-forward-switch-cond;switch-range-to-icmp;no-switch-to-lookup;keep-loops;no-hoist-common-insts;no-hoist-loads-stores-with-cond-faulting;no-sink-common-insts;speculate-blocks;simplify-cond-branch;no-speculate-unpredictables>"
#define PASSES_COMBINE "instcombine<max-iterations=1;no-verify-fixpoint>"

/* default<O2> of LLVM 21, as opt -print-pipeline-passes has it, without slp-vectorizer and what serves coroutines, OpenMP and profiles.
 * default<O2> itself has that pass whatever a pipeline's options say, and an option of LLVM would change all of the process. */
static const char cpu_passes_without_slp[] =
    "inferattrs,function<eager-inv>(lower-expect,"
    "simplifycfg<bonus-inst-threshold=1;no-forward-switch-cond;no-switch-range-to-icm"
    "p;no-switch-to-lookup;keep-loops;no-hoist-common-insts;no-hoist-loads-stores-wit"
    "h-cond-faulting;no-sink-common-insts;speculate-blocks;simplify-cond-branch;no-sp"
    "eculate-unpredictables>,sroa<modify-cfg>,early-cse<>),ipsccp,"
    "called-value-propagation,globalopt,function<eager-inv>(mem2reg,"
    PASSES_COMBINE
    ","
    PASSES_SIMPLIFY
    "),always-inline,require<globals-aa>,function(invalidate<aa>),"
    "require<profile-summary>,cgscc(devirt<4>(inline,"
    "function-attrs<skip-non-recursive-function-attrs>,"
    "function<eager-inv;no-rerun>(sroa<modify-cfg>,early-cse<memssa>,"
    "speculative-execution<only-if-divergent-target>,jump-threading,"
    "correlated-propagation,"
    PASSES_SIMPLIFY
    ","
    PASSES_COMBINE
    ",aggressive-instcombine,libcalls-shrinkwrap,tailcallelim,"
    PASSES_SIMPLIFY
    ",reassociate,constraint-elimination,loop-mssa(loop-instsimplify,loop-simplifycfg,"
    "licm<no-allowspeculation>,loop-rotate<header-duplication;no-prepare-for-lto>,"
    "licm<allowspeculation>,simple-loop-unswitch<no-nontrivial;trivial>),"
    PASSES_SIMPLIFY
    ","
    PASSES_COMBINE
    ",loop(loop-idiom,indvars,extra-simple-loop-unswitch-passes,loop-deletion,"
    "loop-unroll-full),sroa<modify-cfg>,vector-combine,"
    "mldst-motion<no-split-footer-bb>,gvn<>,sccp,bdce,"
    PASSES_COMBINE
    ",jump-threading,correlated-propagation,adce,memcpyopt,dse,move-auto-init,"
    "loop-mssa(licm<allowspeculation>),"
    "simplifycfg<bonus-inst-threshold=1;no-forward-switch-cond;switch-range-to-icmp;n"
    "o-switch-to-lookup;keep-loops;hoist-common-insts;no-hoist-loads-stores-with-cond"
    "-faulting;sink-common-insts;speculate-blocks;simplify-cond-branch;no-speculate-u"
    "npredictables>,"
    PASSES_COMBINE
    "),function-attrs,function(require<should-not-run-function-passes>))),deadargelim,"
    "globalopt,globaldce,elim-avail-extern,rpo-function-attrs,recompute-globalsaa,"
    "function<eager-inv>(float2int,lower-constant-intrinsics,"
    "loop(loop-rotate<header-duplication;no-prepare-for-lto>,loop-deletion),"
    "loop-distribute,inject-tli-mappings,"
    "loop-vectorize<no-interleave-forced-only;no-vectorize-forced-only;>,"
    "infer-alignment,loop-load-elim,"
    PASSES_COMBINE
    ",simplifycfg<bonus-inst-threshold=1;forward-switch-cond;switch-range-to-icmp;swi"
    "tch-to-lookup;no-keep-loops;hoist-common-insts;no-hoist-loads-stores-with-cond-f"
    "aulting;sink-common-insts;speculate-blocks;simplify-cond-branch;no-speculate-unp"
    "redictables>,vector-combine,"
    PASSES_COMBINE
    ",loop-unroll<O2>,sroa<preserve-cfg>,infer-alignment,"
    PASSES_COMBINE
    ",loop-mssa(licm<allowspeculation>),alignment-from-assumptions,loop-sink,"
    "instsimplify,div-rem-pairs,tailcallelim,"
    "simplifycfg<bonus-inst-threshold=1;no-forward-switch-cond;switch-range-to-icmp;n"
    "o-switch-to-lookup;keep-loops;no-hoist-common-insts;hoist-loads-stores-with-cond"
    "-faulting;no-sink-common-insts;speculate-blocks;simplify-cond-branch;speculate-u"
    "npredictables>),globaldce,constmerge";
/* clang-format on */

#undef PASSES_SIMPLIFY
#undef PASSES_COMBINE

#endif
