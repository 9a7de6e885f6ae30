// SPDX-License-Identifier: MIT
// Compiles a kernel with clang, inlines what it calls, and tells what its instructions are. Accesses become volatile before anything is
// optimized: the optimizer may not remove one of them, not even a read whose value is unused.
#include "prove.h"
#include <llvm-c/BitReader.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

LLVMTargetDataRef layout;

// ---- compilation ----------------------------------------------------------------------------------------------------------

// Why clang did not compile: its first error, without the file's folder.
static const char *first_error(const char *messages) {
  static char line[400];
  FILE *in = fopen(messages, "r");
  char *error = NULL;
  while (in && !error && fgets(line, sizeof line, in))
    error = strstr(line, "error: ");
  if (in)
    fclose(in);
  if (!error)
    return "clang does not compile the kernel for a GPU";
  line[strcspn(line, "\n")] = '\0';
  int number = 0;
  for (char *colon = line; (colon = strchr(colon, ':')) && colon < error && !number; colon++)
    number = atoi(colon + 1);
  if (strstr(error, "-Wunused-value"))
    return text_of("line %d has an expression without effect, which may be an access", number);
  return text_of("clang does not compile the kernel for a GPU: line %d: %.200s", number, error + strlen("error: "));
}

// Includes the file, and names the kernel, of which there may be many instances. Returns where the bitcode is.
static void compile(char bitcode[64]) {
  char folder[] = "/tmp/prove-XXXXXX", wrapper[64], messages[64];
  if (!mkdtemp(folder))
    not_tried("no temporary folder can be made");
  snprintf(wrapper, sizeof wrapper, "%s/kernel.cu", folder);
  snprintf(messages, sizeof messages, "%s/messages", folder);
  snprintf(bitcode, 64, "%s/kernel.bc", folder);
  FILE *out = fopen(wrapper, "w");
  char *path = realpath(options.file, NULL);
  if (!out || !path)
    not_tried("%s cannot be read", options.file);
  fprintf(out, "#include \"%s\"\n__device__ void *ferry_kernel = (void *)&%s;\n", path, options.kernel);
  fclose(out);
  const char *arguments[120] = {
      PROVE_CLANG, "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_70", "-O1",
      "-Xclang", "-disable-llvm-passes", "-fno-discard-value-names", "-g1", "-std=c++17",
      // An access in an expression without effect is not in the code.
      "-Wno-everything", "-Werror=unused-value", "-include", PROVE_FOLDER "/include/prove_cuda.h"};
  int count = 17;
  for (int i = 0; i < options.flag_count; i++)
    arguments[count++] = options.flags[i];
  const char *last[] = {"-isystem",   PROVE_FOLDER "/include",
                        "-isystem",   PROVE_FOLDER "/../../sim/include",
                        "-emit-llvm", "-c",
                        wrapper,      "-o",
                        bitcode,      NULL};
  memcpy(&arguments[count], last, sizeof last);
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    if (!freopen(messages, "w", stderr))
      _exit(127);
    execvp(arguments[0], (char **)(uintptr_t)arguments);
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
    bitcode[0] = '\0';
  const char *error = bitcode[0] ? NULL : first_error(messages);
  unlink(wrapper);
  unlink(messages);
  if (error) {
    rmdir(folder);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
      exit(EXIT_NO_TOOLS);
    not_tried("%s", error);
  }
}

static LLVMModuleRef read_module(char bitcode[64]) {
  LLVMMemoryBufferRef buffer;
  LLVMModuleRef module;
  char *message;
  const bool bad =
      LLVMCreateMemoryBufferWithContentsOfFile(bitcode, &buffer, &message) || LLVMParseBitcode2(buffer, &module);
  unlink(bitcode);
  *strrchr(bitcode, '/') = '\0';
  rmdir(bitcode);
  if (bad)
    not_tried("clang and the LLVM library differ in their versions");
  return module;
}

static void run_passes(LLVMModuleRef module, const char *passes) {
  LLVMPassBuilderOptionsRef how = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(module, passes, NULL, how);
  if (error)
    not_tried("LLVM's passes have changed: %s", LLVMGetErrorMessage(error));
  LLVMDisposePassBuilderOptions(how);
}

static unsigned attribute(const char *name) {
  return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

static void inline_functions(LLVMModuleRef module, LLVMValueRef kernel) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    LLVMRemoveEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute("noinline"));
    LLVMRemoveEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute("optnone"));
    if (f != kernel && !LLVMIsDeclaration(f))
      LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                              LLVMCreateEnumAttribute(LLVMGetGlobalContext(), attribute("alwaysinline"), 0));
  }
  run_passes(module, "always-inline");
}

// The only value that is stored to a variable; NULL: several are, or it is not only loaded and stored.
static LLVMValueRef only_value(LLVMValueRef variable) {
  LLVMValueRef value = NULL;
  for (LLVMUseRef use = LLVMGetFirstUse(variable); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsALoadInst(user) || LLVMIsABitCastInst(user)) // for llvm.lifetime
      continue;
    if (!LLVMIsAStoreInst(user) || LLVMGetOperand(user, 1) != variable || value)
      return NULL;
    value = LLVMGetOperand(user, 0);
  }
  return value;
}

static bool is_local(LLVMValueRef pointer, int depth) {
  LLVMValueRef base = origin_of(pointer);
  if (LLVMIsAAllocaInst(base))
    return true;
  if (!LLVMIsALoadInst(base) || depth == 20 || !LLVMIsAAllocaInst(LLVMGetOperand(base, 0)))
    return false;
  LLVMValueRef value = only_value(LLVMGetOperand(base, 0));
  return value && is_local(value, depth + 1);
}

static void keep_accesses(LLVMValueRef kernel) {
  LLVMValueRef volatile_copy = LLVMConstInt(LLVMInt1Type(), 1, false);
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b; b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
      if (LLVMIsALoadInst(i) && !is_local(LLVMGetOperand(i, 0), 0))
        LLVMSetVolatile(i, true);
      else if (LLVMIsAStoreInst(i) && !is_local(LLVMGetOperand(i, 1), 0))
        LLVMSetVolatile(i, true);
      else if (LLVMIsAMemIntrinsic(i) &&
               !(is_local(LLVMGetOperand(i, 0), 0) && (LLVMIsAMemSetInst(i) || is_local(LLVMGetOperand(i, 1), 0))))
        LLVMSetOperand(i, 3, volatile_copy);
    }
}

LLVMValueRef load_kernel(void) {
  char bitcode[64];
  compile(bitcode);
  LLVMModuleRef module = read_module(bitcode);
  LLVMValueRef named = LLVMGetNamedGlobal(module, "ferry_kernel");
  LLVMValueRef kernel = named ? LLVMGetInitializer(named) : NULL;
  while (kernel && !LLVMIsAFunction(kernel) && LLVMGetNumOperands(kernel) == 1)
    kernel = LLVMGetOperand(kernel, 0);
  if (!kernel || !LLVMIsAFunction(kernel) || LLVMIsDeclaration(kernel))
    not_tried("the kernel is not defined in this file");
  layout = LLVMGetModuleDataLayout(module);
  inline_functions(module, kernel);
  keep_accesses(kernel);
  run_passes(module,
             "function(sroa,early-cse,simplifycfg,instsimplify,sroa,loop-simplify,loop-unroll-full,sroa,early-cse,"
             "instsimplify,simplifycfg,loop-simplify)");
  if (options.verbose)
    LLVMDumpValue(kernel);
  return kernel;
}

// ---- instructions -----------------------------------------------------------------------------------------------------------

int line_of(LLVMValueRef instruction) {
  return (int)LLVMGetDebugLocLine(instruction);
}

// Of "_Z9atomicAddPii" the name atomicAdd.
static const char *plain_name(const char *name) {
  if (strncmp(name, "_Z", 2) != 0)
    return name;
  char *end;
  const long length = strtol(name + 2, &end, 10);
  return length > 0 ? text_of("%.*s", (int)length, end) : name;
}

const char *callee_of(LLVMValueRef call) {
  if (!LLVMIsACallInst(call) || !LLVMIsAFunction(LLVMGetCalledValue(call)))
    return "";
  size_t length;
  return plain_name(LLVMGetValueName2(LLVMGetCalledValue(call), &length));
}

static bool is_among(const char *name, const char *const *names) {
  for (; *names; names++)
    if (strcmp(name, *names) == 0)
      return true;
  return false;
}

bool is_barrier(LLVMValueRef instruction) {
  static const char *const names[] = {"llvm.nvvm.barrier0", "__syncthreads_count", "__syncthreads_and",
                                      "__syncthreads_or", NULL};
  return is_among(callee_of(instruction), names);
}

bool is_atomic(LLVMValueRef instruction) {
  static const char *const names[] = {"atomicAdd", "atomicSub", "atomicExch", "atomicMin", "atomicMax", "atomicAnd",
                                      "atomicOr",  "atomicXor", "atomicCAS",  "atomicInc", "atomicDec", NULL};
  return is_among(callee_of(instruction), names);
}

// Declared with __attribute__((const)): "readnone", or in newer versions "memory(none)".
static bool computes_only(LLVMValueRef function) {
  const unsigned memory = attribute("memory");
  LLVMAttributeRef effects = memory ? LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, memory) : NULL;
  if (effects)
    return LLVMGetEnumAttributeValue(effects) == 0;
  const unsigned none = attribute("readnone");
  return none && LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, none);
}

bool is_pure(LLVMValueRef call) {
  static const char *const names[] = {"__syncwarp",
                                      "__threadfence",
                                      "__threadfence_block",
                                      "__threadfence_system",
                                      "__activemask",
                                      "__ballot_sync",
                                      "__any_sync",
                                      "__all_sync",
                                      "__shfl_sync",
                                      "__shfl_up_sync",
                                      "__shfl_down_sync",
                                      "__shfl_xor_sync",
                                      "clock64",
                                      "printf",
                                      "vprintf",
                                      "__assert_fail",
                                      NULL};
  static const char *const families[] = {"llvm.lifetime.",
                                         "llvm.dbg.",
                                         "llvm.experimental.noalias",
                                         "llvm.fabs.",
                                         "llvm.sqrt.",
                                         "llvm.fma.",
                                         "llvm.fmuladd.",
                                         "llvm.minnum.",
                                         "llvm.maxnum.",
                                         "llvm.floor.",
                                         "llvm.ceil.",
                                         "llvm.ctpop.",
                                         "llvm.ctlz.",
                                         "llvm.cttz.",
                                         "llvm.bswap.",
                                         "llvm.bitreverse.",
                                         "llvm.fshl.",
                                         "llvm.fshr.",
                                         "llvm.assume",
                                         "llvm.expect.",
                                         "llvm.smin.",
                                         "llvm.smax.",
                                         "llvm.umin.",
                                         "llvm.umax.",
                                         "llvm.abs.",
                                         "llvm.nvvm.read.ptx.sreg.",
                                         NULL};
  const char *name = callee_of(call);
  for (const char *const *family = families; *family; family++)
    if (strncmp(name, *family, strlen(*family)) == 0)
      return true;
  return is_among(name, names) || (*name && computes_only(LLVMGetCalledValue(call)));
}

const char *special_register(LLVMValueRef instruction, int *axis) {
  static const char *const registers[4][2] = {{"tid", "tid"}, {"ctaid", "bid"}, {"ntid", "bdim"}, {"nctaid", "gdim"}};
  const char *name = callee_of(instruction), *prefix = "llvm.nvvm.read.ptx.sreg.";
  if (strncmp(name, prefix, strlen(prefix)) != 0)
    return NULL;
  name += strlen(prefix);
  const char *dot = strchr(name, '.');
  for (int i = 0; dot && i < 4; i++)
    if (strncmp(name, registers[i][0], (size_t)(dot - name)) == 0 && registers[i][0][dot - name] == '\0') {
      *axis = dot[1] - 'x';
      return registers[i][1];
    }
  return NULL;
}
