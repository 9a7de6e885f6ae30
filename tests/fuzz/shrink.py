# SPDX-License-Identifier: MIT
"""Makes a program shorter while a difference stays."""

from table import ROWS, Statement, is_variable


def pruned(statements):
    """Without statements that use what nothing makes, and without blocks that are empty or not closed."""
    made, kept, open_blocks = set(), [], []
    for s in statements:
        if s.name in ("no_grad", "enable_grad", "stream"):
            open_blocks.append(len(kept))
        elif s.name == "end":
            if not open_blocks:
                continue
            begin = open_blocks.pop()
            if begin == len(kept) - 1:
                kept.pop()
                continue
        elif any(n not in made for n in s.inputs()):
            continue
        made.update(s.outputs)
        if s.name == "drop":
            made.discard(s.args["a"])
        kept.append(s)
    for begin in reversed(open_blocks):
        kept.append(Statement([], "end", {}))
    return kept


def substituted(statements, old, new):
    """Every use of a variable replaced by another."""
    out = []
    for s in statements:
        s = s.copy()
        for key, value in s.args.items():
            words = value.split(",")
            if old in words:
                s.args[key] = ",".join(new if w == old else w for w in words)
        out.append(s)
    return out


class Shrinker:
    def __init__(self, stays, limit=600):
        self.stays, self.tries, self.limit = stays, 0, limit

    def good(self, candidate):
        if self.tries >= self.limit or any(has_twice(s) for s in candidate):
            return False
        self.tries += 1
        return self.stays(candidate)

    def shrink(self, statements):
        best = statements
        while True:
            size = weight(best)
            for step in (self.deletions, self.bypasses, self.leaves, self.extents, self.attributes):
                best = step(best)
            if weight(best) >= size or self.tries >= self.limit:
                return renumbered(best)

    def deletions(self, best):
        n = max(len(best) // 2, 1)
        while n >= 1:
            i = len(best) - n
            while i > -n:
                candidate = pruned(best[:max(i, 0)] + best[max(i + n, 0):])
                if len(candidate) < len(best) and self.good(candidate):
                    best = candidate
                i -= n
            n //= 2
        return self.blocks(best)

    def blocks(self, best):
        """A block's two ends at once."""
        i = 0
        while i < len(best):
            if best[i].name in ("no_grad", "enable_grad", "stream"):
                depth, j = 1, i + 1
                while j < len(best) and depth:
                    depth += 1 if best[j].name in ("no_grad", "enable_grad", "stream") else -1 if best[j].name == "end" else 0
                    j += 1
                candidate = best[:i] + best[i + 1:j - 1] + best[j:]
                if self.good(candidate):
                    best = candidate
                    continue
            i += 1
        return best

    def bypasses(self, best):
        """A call's result replaced by one of the tensors that it takes, or by an earlier one."""
        i = len(best) - 1
        while i >= 0:
            s = best[i]
            for output in s.outputs:
                for other in [n for n in s.inputs() if n[0] == output[0]]:
                    candidate = pruned(best[:i] + substituted(best[i + 1:], output, other))
                    if self.good(candidate):
                        best = candidate
                        break
                else:
                    continue
                break
            i -= 1
            i = min(i, len(best) - 1)
        return best

    def try_each(self, best, index, changes):
        """Tries changed copies of a statement, in order; keeps the first that will do."""
        for change in changes:
            s = best[index].copy()
            change(s)
            if s.line() != best[index].line():
                candidate = best[:index] + [s] + best[index + 1:]
                if self.good(candidate):
                    return candidate
        return best

    def leaves(self, best):
        for i in range(len(best)):
            if best[i].name != "tensor":
                continue
            n = len(best[i].values)

            def put(key, value):
                return lambda s: s.args.__setitem__(key, value)

            def numbers(values):
                return lambda s: setattr(s, "values", values)
            best = self.try_each(best, i, [put("requires_grad", "0")])
            best = self.try_each(best, i, [put("dtype", d) for d in ("float32", "float64") if best[i].args["dtype"] not in
                                           ("float32", "int64", "bool")])
            best = self.try_each(best, i, [numbers(["1"] * n), numbers([str(k + 1) for k in range(n)])])
            if set(best[i].values) - {"0", "1", "2"} and n <= 24:
                for k in range(n):
                    for v in ("1", "0", "2"):
                        changed = best[i].values[:k] + [v] + best[i].values[k + 1:]
                        if best[i].values[k] in ("1", "0", "2"):
                            break
                        best = self.try_each(best, i, [numbers(changed)])
        return best

    def extents(self, best):
        """A size that occurs in the program made smaller wherever it occurs; then a leaf with fewer dimensions."""
        found = sorted({int(n) for s in best if "shape" in s.args and s.args["shape"] != "-"
                        for n in s.args["shape"].split(",")}, reverse=True)
        for old in found:
            for new in (1, 2):
                if new < old and self.good(candidate := resized(best, old, new)):
                    best = candidate
                    break
        for i in range(len(best)):
            if best[i].name == "tensor" and best[i].args["shape"] != "-":
                for shape in smaller(best[i].args["shape"].split(",")):
                    candidate = best[:i] + [reshaped(best[i], shape)] + best[i + 1:]
                    if self.good(candidate):
                        best = candidate
                        break
        return best

    def attributes(self, best):
        for i in range(len(best)):
            if best[i].name not in ROWS or best[i].name == "tensor":
                continue
            for key, value in list(best[i].args.items()):
                kind = ROWS[best[i].name].types.get(key)
                choices = {"N": ("1", "2", "0"), "I": ("0", "1"), "B": ("0",)}.get(kind, ())
                if kind == "T" and key in ("gradient", "c"):
                    choices = ("none",)
                if kind == "LIST" and "," in value:
                    words = value.split(",")
                    if best[i].name == "autograd_grad" or len(words) > 2:
                        choices = words if best[i].name != "autograd_grad" else ()
                if kind == "D" and value not in ("dev", "cpu"):
                    choices = ("cuda:0",)
                if value not in choices and key not in ("step", "lr"):  # where a zero stands for a default
                    best = self.try_each(best, i, [lambda s, v=v, k=key: s.args.__setitem__(k, v) for v in choices])
        return best


def has_twice(s):
    """Does an optimizer get a parameter twice? PyTorch warns, and its results depend on its version."""
    names = s.args.get("parameters", "").split(",")
    return len(set(names)) < len(names)


def smaller(dims):
    if len(dims) > 1:
        yield from (dims[:k] + dims[k + 1:] for k in range(len(dims)))
    for k, d in enumerate(dims):
        if int(d) > 1:
            yield dims[:k] + [str(int(d) - 1)] + dims[k + 1:]


def reshaped(s, dims):
    s = s.copy()
    n = 1
    for d in dims:
        n *= int(d)
    s.args["shape"] = ",".join(map(str, dims)) or "-"
    values = s.values or ["1"]
    s.values = (values * (n // len(values) + 1))[:n]
    return s


def resized(statements, old, new):
    out = []
    for s in statements:
        dims = s.args.get("shape", "").split(",")
        if str(old) in dims:
            dims = [str(new) if d == str(old) else d for d in dims]
            if s.name == "tensor":
                s = reshaped(s, dims)
            else:
                s = s.copy()
                s.args["shape"] = ",".join(dims)
        out.append(s)
    return out


def weight(statements):
    """What shrinking makes smaller: statements first, then numbers, then the text."""
    return (len(statements), sum(len(s.values or ()) for s in statements), sum(len(s.line()) for s in statements))


def renumbered(statements):
    names, counts = {}, {"t": 0, "m": 0, "o": 0}
    for s in statements:
        for n in s.outputs:
            names[n] = "%s%d" % (n[0], counts[n[0]])
            counts[n[0]] += 1
    out = []
    for s in statements:
        s = s.copy()
        s.outputs = [names[n] for n in s.outputs]
        for key, value in s.args.items():
            s.args[key] = ",".join(names.get(w, w) if is_variable(w) else w for w in value.split(","))
        out.append(s)
    return out
