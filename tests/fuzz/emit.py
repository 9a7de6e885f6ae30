# SPDX-License-Identifier: MIT
"""Prints a program as C against ferry.h, and as Python for PyTorch."""

import os
import re

from table import ACCESSOR, ROWS, is_variable

HOOKS = """static FyTensor *scale(FyTensor *grad, void *factor) {
  double f = *(double *)factor;
  fy_print(grad);
  return f != 0 ? fy_mul_scalar(grad, f) : NULL;
}

static void look(FyTensor *leaf, void *context) {
  (void)context;
  fy_print(fy_grad(leaf));
}

"""


def c_number(text):
    value = float(text)
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    return text


def c_size(text):
    return "FY_SCALAR" if text == "-" else "fy_shape(%s)" % ", ".join(text.split(","))


def c_device(text):
    return "FY_CPU_DEVICE" if text == "cpu" else "device" if text == "dev" else 'fy_device("%s")' % text


def c_names(text):
    return ", ".join(n for n in text.split(",") if is_variable(n))


C_TEXT = {"T": lambda v: v if is_variable(v) else "NULL", "LIST": lambda v: "fy_list(%s)" % c_names(v), "I": str,
          "N": c_number, "B": lambda v: "true" if v == "1" else "false", "S": c_size, "D": c_device, "Y": lambda v: "FY_" + v.upper(),
          "R": lambda v: "FY_REDUCE_" + v.upper(), "M": str, "O": str, "NAMED": lambda v: "fy_parameters(%s)" % v}


def c_leaf(s):
    options = ", .dtype = FY_%s" % s.args["dtype"].upper()
    if s.args["device"] not in ("cpu",):
        options += ", .device = " + c_device(s.args["device"])
    if s.args.get("requires_grad") == "1":
        options += ", .requires_grad = true"
    shape = c_size(s.args["shape"])
    if not s.values:
        return "fy_zeros(%s%s)" % (shape, options)
    return "fy_tensor(fy_doubles(%s), %s%s)" % (", ".join(map(c_number, s.values)), shape, options)


def c_expression(s):
    row = ROWS[s.name]
    if s.name == "tensor":
        return c_leaf(s)
    text = ACCESSOR.sub(lambda m: C_TEXT[m.group(1)](s.args[m.group(2)]), row.c)
    text = text.replace("gradient_of(", "fy_grad(").replace("give_grad(", "fy_set_grad(")
    text = text.replace("OUT", "out_" + (s.outputs[0] if s.outputs else ""))
    text = re.sub(r", captured\(\w+, fy_list\(.*\).count, \w+\)\)$", ")", text)
    text = re.sub(r"parameter_of\((\w+), (\d+)\)", r"fy_parameters(\1)->items[\2]", text)
    text = re.sub(r"scaling_hook\((\w+), ([^)]+)\)", r"fy_register_hook(\1, scale, &(double){\2}, NULL)", text)
    return re.sub(r"leaf_hook\((\w+)\)", r"fy_register_post_accumulate_grad_hook(\1, look, NULL, NULL)", text)


def c_call(s):
    """The lines of one call."""
    row = ROWS[s.name]
    text = c_expression(s)
    before = []
    if row.types.get("parameters") == "NAMED" and s.args["parameters"][0] == "t":
        before = ["FyTensorList *of_%s = fy_tensor_list_new();" % s.outputs[0]]
        before += ['fy_list_add(of_%s, "p", %s);' % (s.outputs[0], n) for n in s.args["parameters"].split(",")]
        text = text.replace("fy_parameters(%s)" % s.args["parameters"], "of_" + s.outputs[0])
    if row.kind in ("CALL", "VIEW"):
        return before + ["%s = %s;" % (s.outputs[0], text)]
    if row.kind == "PAIR":
        return ["FyValuesIndices of_%s = %s;" % (s.outputs[0], text), "%s = of_%s.values, %s = of_%s.indices;"
                % (s.outputs[0], s.outputs[0], s.outputs[1], s.outputs[0])]
    if row.kind == "SEVERAL":
        return ["FyTensor *out_%s[16] = {NULL};" % s.outputs[0], "(void)%s;" % text] + \
            ["%s = out_%s[%d];" % (n, s.outputs[0], i) for i, n in enumerate(s.outputs)]
    if row.kind in ("MODULE", "OPTIMIZER"):
        lines = before + ["%s = %s;" % (s.outputs[0], text)]
        return lines + (["set_parameters(%s);" % s.outputs[0]] if row.kind == "MODULE" else [])
    return [text + ";"]


SET_PARAMETERS = """static void set_parameters(FyModule *m) {
  FyTensorList *list = fy_parameters(m);
  for (int i = 0; i < list->count; i++) {
    double values[1024];
    for (int k = 0; k < 1024; k++)
      values[k] = (double)((k * 7 + i * 3) % 11 - 5) / 8;
    fy_no_grad fy_copy_(list->items[i], fy_tensor(values, fy_size(list->items[i])));
  }
}

"""


def stream_name(device, number):
    return "fy_default_stream(%s)" % c_device(device) if number == "0" else "s%s_%s" % (re.sub(r"\W", "", device), number)


def block_lines(s):
    if s.name == "no_grad":
        return ["fy_no_grad {"]
    if s.name == "enable_grad":
        return ["fy_enable_grad {"]
    if s.name == "stream":
        return ["fy_stream_guard(%s) {" % stream_name(s.args["device"], s.args["number"])]
    if s.name == "wait":
        return ["fy_stream_wait_stream(%s, %s);" % (stream_name(s.args["device"], s.args["number"]),
                                                    stream_name(s.args["device"], s.args["other"]))]
    if s.name == "record":
        return ["fy_record_stream(%s, %s);" % (s.args["a"], stream_name(s.args["device"], s.args["number"]))]
    if s.name == "synchronize":
        return ["fy_synchronize(%s);" % c_device(s.args["device"])]
    if s.name == "drop":
        return ["fy_drop(%s);" % s.args["a"]]
    return ["}"]


TRAPPED = ["}", "if (error.kind)", '  printf("%s: %s\\n", fy_error_name(error.kind), error.message);']


def c_program(statements, device, failing=(), differences=()):
    """A whole program. `failing` are the indices of the statements that raise in Ferry: they stand in a trap."""
    body, depth = [], 1
    text = '#include "ferry.h"\n#include <math.h>\n\n'
    if os.environ.get("FUZZ_AUTOCAST"):
        text = "// each statement: fy_autocast(FY_CPU, .cache_enabled = false) { ... }\n" + text
    if any(s.name in ("register_hook", "leaf_hook") for s in statements):
        text += HOOKS
    if any(s.name in ROWS and ROWS[s.name].kind == "MODULE" for s in statements):
        text += SET_PARAMETERS
    for i, s in enumerate(statements):
        lines = c_call(s) if s.name in ROWS else block_lines(s)
        if lines == ["}"]:
            depth -= 1
        if i in failing:
            lines = ["fy_trap(error) {"] + ["  " + line for line in lines] + TRAPPED
        body += ["  " * depth + line for line in lines]
        if lines[0].endswith("{") and i not in failing:
            depth += 1
    text += "int main(void) {\n" + declarations(statements, device, failing)
    text += "\n".join(body) + "\n" + "".join("  %s\n" % line for line in shown(differences)) + "}\n"
    return text


def declarations(statements, device, failing):
    names = [n for s in statements for n in s.outputs]
    text = ""
    if failing:
        text += "  FyError error;\n"
    if any("dev" in s.args.values() for s in statements):
        text += "  FyDevice device = fy_device(\"%s\");\n" % device
    for letter, kind in (("t", "FyTensor"), ("m", "FyModule"), ("o", "FyOptimizer")):
        mine = sorted({n for n in names if n[0] == letter}, key=lambda n: int(n[1:]))
        if mine:
            text += "  %s %s;\n" % (kind, ", ".join("*%s" % n + (" = NULL" if failing else "") for n in mine))
    streams = {(s.args["device"], s.args[k]) for s in statements if s.name in ("stream", "wait", "record")
               for k in ("number", "other") if s.args.get(k, "0") != "0"}
    for place, number in sorted(streams):
        text += "  FyStream *%s = fy_stream_new(%s, 0);\n" % (stream_name(place, number), c_device(place))
    return text


def shown(differences):
    lines = []
    for d in differences:
        if not is_variable(d.subject):
            continue
        target = "fy_grad(%s)" % d.subject if d.aspect.startswith("grad") and d.aspect != "grad_fn" else d.subject
        if d.aspect == "version":
            lines.append('printf("%%u\\n", fy_version_of(%s));' % target)
        elif target.startswith("fy_grad"):
            lines.append("if (%s)" % target)
            lines.append("  fy_print(%s);" % target)
        else:
            lines.append("fy_print(%s);" % target)
    return list(dict.fromkeys(lines))


# ---- Python ------------------------------------------------------------------------------------------------------------


def python_value(kind, text):
    if kind == "T":
        return text if is_variable(text) else "None"
    if kind in ("LIST", "NAMED"):
        return "list(%s.parameters())" % text if text[0] == "m" else "[%s]" % ", ".join(text.split(","))
    if kind == "B":
        return str(text == "1")
    if kind == "S":
        return "()" if text == "-" else "(%s,)" % ", ".join(text.split(","))
    if kind == "Y":
        return "torch." + text
    if kind in "DR":
        return '"%s"' % text
    return 'float("%s")' % text if kind == "N" and text.lstrip("-") in ("inf", "nan") else text


def python_leaf(s):
    values = ", ".join(python_value("N", v) for v in s.values)
    text = "torch.tensor([%s], dtype=torch.%s)" % (values, s.args["dtype"])
    if "," in s.args["shape"] or s.args["shape"] == "-":
        text += ".reshape(%s)" % (", ".join(s.args["shape"].split(",")) if s.args["shape"] != "-" else "()")
    return text + (".requires_grad_()" if s.args.get("requires_grad") == "1" else "")


def python_call(s):
    row = ROWS[s.name]
    if s.name == "tensor":
        text = python_leaf(s)
    else:
        names = {k: python_value(row.types[k], v) for k, v in s.args.items() if k in row.types}
        text = re.sub(r"\b(%s)\b(?!=)" % "|".join(names), lambda m: names[m.group(1)], row.python) if names else row.python
        text = re.sub(r"(?<=[(, ])(\w+)=(?=\1)", r"\1=", text)
        text = re.sub(r"scaling_hook\((\w+), ([^)]+)\)", lambda m: "%s.register_hook(lambda g: %s)" % (
            m.group(1), "g * " + m.group(2) if float(m.group(2)) else "print(g)"), text)
        text = re.sub(r"leaf_hook\((\w+)\)", r"\1.register_post_accumulate_grad_hook(lambda t: print(t.grad))", text)
        text = re.sub(r"gradient_of\((\w+)\)", r"\1.grad", text)
        text = re.sub(r"set_grad\((\w+), (\w+)\)", r"\1.grad = \2", text)
        text = re.sub(r"captured\((.*), \w+\)$", r"\1", text)
        text = re.sub(r"bound\(([^()]*(?:\([^()]*\))?)\)", lambda m: "None" if "inf" in m.group(1) else m.group(1), text)
    return ", ".join(s.outputs) + " = " + text if s.outputs else text


def python_program(statements, failing=(), differences=()):
    lines, depth = ["import torch, torch.nn as nn, torch.nn.functional as F",
                    "from torch.utils.checkpoint import checkpoint_sequential"], 0
    for i, s in enumerate(statements):
        if s.name in ("no_grad", "enable_grad", "stream"):
            lines.append("    " * depth + ("with torch.%s():" % s.name if s.name != "stream" else "if True:"))
            depth += 1
        elif s.name == "end":
            depth = max(depth - 1, 0)
        elif s.name == "drop":
            lines.append("    " * depth + "del " + s.args["a"])
        elif s.name in ROWS:
            lines.append("    " * depth + python_call(s) + ("  # raises" if i in failing else ""))
    for line in shown(differences):
        line = re.sub(r"fy_grad\((\w+)\)", r"\1.grad", line.strip().rstrip(";"))
        line = re.sub(r"fy_version_of\((\w+)\)", r"\1._version", line).replace("fy_print", "print")
        line = re.sub(r"printf\(\"[^\"]*\", (.*)\)", r"print(\1)", line)
        if not line.startswith("if "):
            lines.append(line)
    if os.environ.get("FUZZ_AUTOCAST"):
        lines.insert(0, '# each statement: with torch.autocast("cpu", cache_enabled=False):')
    return "\n".join(lines) + "\n"
