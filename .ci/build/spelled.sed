# How an installed Ferry spells its own name: `ferry` where a clone has `./ferry`.
s@(^|[^.[:alnum:]_/])\./ferry\b@\1ferry@g
# And the workspace, which is not beside the program.
s@(^|[ "`(])work/@\1~/ferry/work/@g
