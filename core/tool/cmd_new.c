// SPDX-License-Identifier: MIT
// `ferry new`: a folder with a program of one's own that builds and runs against the library.
#include "tool/commands.h"
#include "tool/compile/config.h"
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char PROGRAM[] =
    "// A model of one layer that learns y = 3 x + 1, on a GPU if there is one, otherwise on the CPU.\n"
    "#include \"ferry.h\"\n"
    "#include <stdio.h>\n"
    "\n"
    "int main(void) {\n"
    "  FyDevice device = fy_cuda_is_available() ? fy_cuda_device(0) : FY_CPU_DEVICE;\n"
    "  FyModule *model = fy_nn_linear(1, 1); // PyTorch: model = torch.nn.Linear(1, 1).to(device)\n"
    "  fy_module_to(model, device);\n"
    "  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = 0.02);\n"
    "  for (int step = 0; step < 200; step++)\n"
    "    fy_scope { // tensors that are created here are freed at the end of the scope\n"
    "      FyTensor *x = fy_randn(fy_shape(64, 1), .device = device);\n"
    "      FyTensor *y = fy_add_scalar(fy_mul_scalar(x, 3), 1);\n"
    "      FyTensor *loss = fy_mse_loss(fy_forward(model, x), y);\n"
    "      fy_zero_grad(optimizer);\n"
    "      fy_backward(loss);\n"
    "      fy_step(optimizer);\n"
    "      if (step % 50 == 49)\n"
    "        printf(\"step %3d  loss %.6f\\n\", step + 1, fy_item(loss));\n"
    "    }\n"
    "  return 0;\n"
    "}\n";

// pkg-config finds an installed library (make install PREFIX=...); without one the clone that made the folder is used.
static const char MAKEFILE[] =
    "# `make run` builds and runs it. With an installed library (make install PREFIX=DIR in Ferry's clone, and\n"
    "# PKG_CONFIG_PATH=DIR/lib/pkgconfig) that is used, else the clone's own build.\n"
    "FERRY ?= %s\n"
    "INSTALLED := $(shell pkg-config --exists ferry 2>/dev/null && echo yes)\n"
    "FERRY_CFLAGS := $(if $(INSTALLED),$(shell pkg-config --cflags ferry),-fopenmp -D_GNU_SOURCE -I$(FERRY)/core "
    "-I$(FERRY)/build/include %s)\n"
    "FERRY_LIBS := $(if $(INSTALLED),$(shell pkg-config --libs --static ferry),$(FERRY)/%s/libferry.a %s)\n"
    "CFLAGS ?= -O2 -g -Wall -Wextra\n"
    "CC ?= cc\n" // another make around this one may have switched off what make knows by itself
    "CXX ?= c++\n"
    "\n"
    "%s: main.o\n"
    "\t$(CXX) -o $@ $^ $(FERRY_LIBS)\n"
    "\n"
    "main.o: main.c\n"
    "\t$(CC) -std=c17 $(CFLAGS) $(FERRY_CFLAGS) -c main.c\n"
    "\n"
    ".PHONY: run clean\n"
    "run: %s\n"
    "\t./%s\n"
    "clean:\n"
    "\trm -f %s main.o\n";

// For clangd.
static const char FLAGS[] = "-std=c17\n-D_GNU_SOURCE\n-Wall\n-Wextra\n-I%s/core\n-I%s/build/include\n";

static bool write_new_file(const char *folder, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool write_new_file(const char *folder, const char *name, const char *format, ...) {
  char path[4096];
  va_list arguments;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wx");
  if (!file) {
    perror(path);
    return false;
  }
  va_start(arguments, format);
  vfprintf(file, format, arguments);
  va_end(arguments);
  return fclose(file) == 0;
}

int cmd_new(int argc, char **argv) {
  if (argc != 2 || argv[1][0] == '-')
    return usage_error(argv[0], "give the program a name: ./ferry new NAME");
  const char *folder = argv[1], *slash = strrchr(folder, '/'), *name = slash ? slash + 1 : folder;
  for (const char *c = name; *c || c == name; c++)
    if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-')
      return usage_error(argv[0], "a program's name may contain only letters, digits, _ and -");
  if (mkdir(folder, 0777) != 0) {
    fprintf(stderr, "ferry new: %s: %s\n", folder, errno == EEXIST ? "it already exists" : strerror(errno));
    return EXIT_USAGE;
  }
  if (!write_new_file(folder, "main.c", "%s", PROGRAM) ||
      !write_new_file(folder, "Makefile", MAKEFILE, root_folder(), rooted(CONFIG_INCLUDES), CONFIG_BUILD,
                      rooted(CONFIG_LINK), name, name, name, name) ||
      !write_new_file(folder, "compile_flags.txt", FLAGS, root_folder(), root_folder()) ||
      !write_new_file(folder, ".gitignore", "/%s\n*.o\n", name))
    return EXIT_GRADER;
  printf("%s has a program that trains a model of one layer. Build and run it:\n\n  make -C %s run\n\n", folder,
         folder);
  printf("To run it without make and count its launches and copies: ./ferry play %s/main.c\n", folder);
  return EXIT_PASS;
}
