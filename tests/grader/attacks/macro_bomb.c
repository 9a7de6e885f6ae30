// status: compile error
#define A(x) x x x x x x x x x x
#define B(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x)
#define C(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x)
#define D(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x)
#define E(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x)
static volatile int sink;
static void attack(void) {
  D(E(sink++;))
}
