// status: fail
// And in an error that it raises.
#define attack()                                                                                                       \
  fy_raise(FY_RUNTIME_ERROR, "\033]0;title\a\033[2J\x9b"                                                               \
                             "31m \xc2\x9b"                                                                            \
                             "31m\r\b\x7f\xc2\x90q\xc2\x9c")
