/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/llvm.h: LLVM through its C functions, opened at run time. Only functions are used whose declarations are alike in LLVM 15
 * to 22. */
#ifndef HALO_CPU_LLVM_H
#define HALO_CPU_LLVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LLVM's objects; only their addresses are known here. Their owners and lifetimes are as in LLVM's own headers (llvm-c),
 * which nothing here includes: functions keep their form from one version to the next. */
typedef struct llvm_context llvm_context;
typedef struct llvm_module llvm_module;
typedef struct llvm_value llvm_value;
typedef struct llvm_type llvm_type;
typedef struct llvm_use llvm_use;
typedef struct llvm_block llvm_block;
typedef struct llvm_bytes llvm_bytes;
typedef struct llvm_metadata llvm_metadata;
typedef struct llvm_attribute llvm_attribute;
typedef struct llvm_target llvm_target;
typedef struct llvm_machine llvm_machine;
typedef struct llvm_options llvm_options;
typedef struct llvm_passes llvm_passes;
typedef struct llvm_error llvm_error;
typedef struct llvm_builder llvm_builder;
typedef struct llvm_diagnostic llvm_diagnostic;
typedef void llvm_diagnose(llvm_diagnostic *, void *);

/* Numbers of its enumerations. */
enum {
  LLVM_LINK_EXTERNAL = 0,
  LLVM_LINK_INTERNAL = 8,
  LLVM_LEVEL_AGGRESSIVE = 3,
  LLVM_RELOC_PIC = 2,
  LLVM_MODEL_SMALL = 3,
  LLVM_FILE_OBJECT = 1,
  LLVM_LESS = 40, /* of numbers with signs */
  LLVM_KIND_HALF = 1,
  LLVM_KIND_FLOAT = 2,
  LLVM_KIND_DOUBLE = 3,
  LLVM_KIND_INTEGER = 8,
  LLVM_KIND_STRUCT = 10,
  LLVM_KIND_ARRAY = 11,
  LLVM_KIND_POINTER = 12,
  LLVM_KIND_VECTOR = 13
};

/* Each: the field's name, what the function is called behind "LLVM", what it gives, what it takes. */
#define HALO_LLVM_FUNCTIONS(F)                                                                     \
  F(context_create, ContextCreate, llvm_context *, (void))                                         \
  F(context_dispose, ContextDispose, void, (llvm_context *))                                       \
  F(set_diagnostics, ContextSetDiagnosticHandler, void, (llvm_context *, llvm_diagnose *, void *)) \
  F(bytes_of, CreateMemoryBufferWithMemoryRangeCopy, llvm_bytes *,                                 \
    (const char *, size_t, const char *))                                                          \
  F(bytes_start, GetBufferStart, const char *, (llvm_bytes *))                                     \
  F(bytes_size, GetBufferSize, size_t, (llvm_bytes *))                                             \
  F(bytes_dispose, DisposeMemoryBuffer, void, (llvm_bytes *))                                      \
  F(parse, GetBitcodeModuleInContext2, int, (llvm_context *, llvm_bytes *, llvm_module **))        \
  F(module_dispose, DisposeModule, void, (llvm_module *))                                          \
  F(module_triple, GetTarget, const char *, (llvm_module *))                                       \
  F(find_function, GetNamedFunction, llvm_value *, (llvm_module *, const char *))                  \
  F(first_function, GetFirstFunction, llvm_value *, (llvm_module *))                               \
  F(next_function, GetNextFunction, llvm_value *, (llvm_value *))                                  \
  F(add_function, AddFunction, llvm_value *, (llvm_module *, const char *, llvm_type *))           \
  F(value_type, GlobalGetValueType, llvm_type *, (llvm_value *))                                   \
  F(parameter_count, CountParams, unsigned, (llvm_value *))                                        \
  F(convention, GetFunctionCallConv, unsigned, (llvm_value *))                                     \
  F(name, GetValueName2, const char *, (llvm_value *, size_t *))                                   \
  F(delete_function, DeleteFunction, void, (llvm_value *))                                         \
  F(find_global, GetNamedGlobal, llvm_value *, (llvm_module *, const char *))                      \
  F(delete_global, DeleteGlobal, void, (llvm_value *))                                             \
  F(is_declaration, IsDeclaration, int, (llvm_value *))                                            \
  F(set_linkage, SetLinkage, void, (llvm_value *, int))                                            \
  F(first_use, GetFirstUse, llvm_use *, (llvm_value *))                                            \
  F(next_use, GetNextUse, llvm_use *, (llvm_use *))                                                \
  F(user, GetUser, llvm_value *, (llvm_use *))                                                     \
  F(is_instruction, IsAInstruction, llvm_value *, (llvm_value *))                                  \
  F(is_call, IsACallInst, llvm_value *, (llvm_value *))                                            \
  F(instruction_block, GetInstructionParent, llvm_block *, (llvm_value *))                         \
  F(block_function, GetBasicBlockParent, llvm_value *, (llvm_block *))                             \
  F(first_block, GetFirstBasicBlock, llvm_block *, (llvm_value *))                                 \
  F(next_block, GetNextBasicBlock, llvm_block *, (llvm_block *))                                   \
  F(block_end, GetBasicBlockTerminator, llvm_value *, (llvm_block *))                              \
  F(first_instruction, GetFirstInstruction, llvm_value *, (llvm_block *))                          \
  F(next_instruction, GetNextInstruction, llvm_value *, (llvm_value *))                            \
  F(is_alloca, IsAAllocaInst, llvm_value *, (llvm_value *))                                        \
  F(allocated_type, GetAllocatedType, llvm_type *, (llvm_value *))                                 \
  F(type_kind, GetTypeKind, int, (llvm_type *))                                                    \
  F(replace, ReplaceAllUsesWith, void, (llvm_value *, llvm_value *))                               \
  F(erase, InstructionEraseFromParent, void, (llvm_value *))                                       \
  F(int64, Int64TypeInContext, llvm_type *, (llvm_context *))                                      \
  F(constant, ConstInt, llvm_value *, (llvm_type *, unsigned long long, int))                      \
  F(attribute_kind, GetEnumAttributeKindForName, unsigned, (const char *, size_t))                 \
  F(attribute_create, CreateEnumAttribute, llvm_attribute *, (llvm_context *, unsigned, uint64_t)) \
  F(attribute_add, AddAttributeAtIndex, void, (llvm_value *, unsigned, llvm_attribute *))          \
  F(attribute_get, GetEnumAttributeAtIndex, llvm_attribute *, (llvm_value *, unsigned, unsigned))  \
  F(attribute_remove, RemoveEnumAttributeAtIndex, void, (llvm_value *, unsigned, unsigned))        \
  F(metadata_kind, GetMDKindIDInContext, unsigned, (llvm_context *, const char *, unsigned))       \
  F(metadata_get, GetMetadata, llvm_value *, (llvm_value *, unsigned))                             \
  F(metadata_set, SetMetadata, void, (llvm_value *, unsigned, llvm_value *))                       \
  F(metadata_of, ValueAsMetadata, llvm_metadata *, (llvm_value *))                                 \
  F(metadata_value, MetadataAsValue, llvm_value *, (llvm_context *, llvm_metadata *))              \
  F(metadata_node, MDNodeInContext2, llvm_metadata *, (llvm_context *, llvm_metadata **, size_t))  \
  F(target_find, GetTargetFromTriple, int, (const char *, llvm_target **, char **))                \
  F(machine_create, CreateTargetMachine, llvm_machine *,                                           \
    (llvm_target *, const char *, const char *, const char *, int, int, int))                      \
  F(machine_dispose, DisposeTargetMachine, void, (llvm_machine *))                                 \
  F(machine_emit, TargetMachineEmitToMemoryBuffer, int,                                            \
    (llvm_machine *, llvm_module *, int, char **, llvm_bytes **))                                  \
  F(options_create, CreatePassBuilderOptions, llvm_options *, (void))                              \
  F(options_set_slp, PassBuilderOptionsSetSLPVectorization, void, (llvm_options *, int))           \
  F(options_dispose, DisposePassBuilderOptions, void, (llvm_options *))                            \
  F(passes_create, CreateFunctionPassManagerForModule, llvm_passes *, (llvm_module *))             \
  F(passes_run, RunFunctionPassManager, int, (llvm_passes *, llvm_value *))                        \
  F(passes_dispose, DisposePassManager, void, (llvm_passes *))                                     \
  F(run_passes, RunPasses, llvm_error *,                                                           \
    (llvm_module *, const char *, llvm_machine *, llvm_options *))                                 \
  F(error_drop, ConsumeError, void, (llvm_error *))                                                \
  F(features_of_host, GetHostCPUFeatures, char *, (void))                                          \
  F(name_of_host, GetHostCPUName, char *, (void))                                                  \
  F(set_source_name, SetSourceFileName, void, (llvm_module *, const char *, size_t))               \
  F(first_global, GetFirstGlobal, llvm_value *, (llvm_module *))                                   \
  F(next_global, GetNextGlobal, llvm_value *, (llvm_value *))                                      \
  F(linkage, GetLinkage, int, (llvm_value *))                                                      \
  F(attribute_text_create, CreateStringAttribute, llvm_attribute *,                                \
    (llvm_context *, const char *, unsigned, const char *, unsigned))                              \
  F(attribute_text_remove, RemoveStringAttributeAtIndex, void,                                     \
    (llvm_value *, unsigned, const char *, unsigned))                                              \
  F(parameter, GetParam, llvm_value *, (llvm_value *, unsigned))                                   \
  F(type_of, TypeOf, llvm_type *, (llvm_value *))                                                  \
  F(integer_width, GetIntTypeWidth, unsigned, (llvm_type *))                                       \
  F(void_type, VoidTypeInContext, llvm_type *, (llvm_context *))                                   \
  F(int8, Int8TypeInContext, llvm_type *, (llvm_context *))                                        \
  F(pointer_type, PointerType, llvm_type *, (llvm_type *, unsigned))                               \
  F(function_type, FunctionType, llvm_type *, (llvm_type *, llvm_type **, unsigned, int))          \
  F(add_block, AppendBasicBlockInContext, llvm_block *,                                            \
    (llvm_context *, llvm_value *, const char *))                                                  \
  F(builder_create, CreateBuilderInContext, llvm_builder *, (llvm_context *))                      \
  F(builder_dispose, DisposeBuilder, void, (llvm_builder *))                                       \
  F(builder_at_end, PositionBuilderAtEnd, void, (llvm_builder *, llvm_block *))                    \
  F(build_alloca, BuildAlloca, llvm_value *, (llvm_builder *, llvm_type *, const char *))          \
  F(build_load, BuildLoad2, llvm_value *,                                                          \
    (llvm_builder *, llvm_type *, llvm_value *, const char *))                                     \
  F(build_store, BuildStore, llvm_value *, (llvm_builder *, llvm_value *, llvm_value *))           \
  F(build_element, BuildInBoundsGEP2, llvm_value *,                                                \
    (llvm_builder *, llvm_type *, llvm_value *, llvm_value **, unsigned, const char *))            \
  F(build_call, BuildCall2, llvm_value *,                                                          \
    (llvm_builder *, llvm_type *, llvm_value *, llvm_value **, unsigned, const char *))            \
  F(build_phi, BuildPhi, llvm_value *, (llvm_builder *, llvm_type *, const char *))                \
  F(add_incoming, AddIncoming, void, (llvm_value *, llvm_value **, llvm_block **, unsigned))       \
  F(build_add, BuildAdd, llvm_value *, (llvm_builder *, llvm_value *, llvm_value *, const char *)) \
  F(build_sub, BuildSub, llvm_value *, (llvm_builder *, llvm_value *, llvm_value *, const char *)) \
  F(build_compare, BuildICmp, llvm_value *,                                                        \
    (llvm_builder *, int, llvm_value *, llvm_value *, const char *))                               \
  F(build_jump, BuildBr, llvm_value *, (llvm_builder *, llvm_block *))                             \
  F(build_branch, BuildCondBr, llvm_value *,                                                       \
    (llvm_builder *, llvm_value *, llvm_block *, llvm_block *))                                    \
  F(successor_count, GetNumSuccessors, unsigned, (llvm_value *))                                   \
  F(successor, GetSuccessor, llvm_block *, (llvm_value *, unsigned))                               \
  F(called, GetCalledValue, llvm_value *, (llvm_value *))                                          \
  F(is_function, IsAFunction, llvm_value *, (llvm_value *))                                        \
  F(parse_text, ParseIRInContext, int, (llvm_context *, llvm_bytes *, llvm_module **, char **))    \
  F(build_return, BuildRetVoid, llvm_value *, (llvm_builder *))                                    \
  F(set_call_convention, SetInstructionCallConv, void, (llvm_value *, unsigned))                   \
  F(message_dispose, DisposeMessage, void, (char *))

typedef struct halo_llvm {
  int version; /* major; 0: unknown */
#define HALO_LLVM_FIELD(NAME, SYMBOL, RESULT, PARAMETERS) RESULT(*NAME) PARAMETERS;
  HALO_LLVM_FUNCTIONS(HALO_LLVM_FIELD)
#undef HALO_LLVM_FIELD
} halo_llvm;

/* Fills the functions of a table from a library. False: it lacks one. */
bool halo_llvm_fill(void *library, halo_llvm *out);

/* Opens the oldest libLLVM that reads bitcode of version `least` (major), where the system looks for libraries, or in a folder
 * ("": nowhere else). The first success counts. NULL: there is none. Any thread. */
const halo_llvm *halo_llvm_open(int least, const char *folder);
/* The table that was opened; NULL: none was yet. */
const halo_llvm *halo_llvm_opened(void);

#endif
