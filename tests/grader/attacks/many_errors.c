// status: compile error
#define A what is this, if not an error;
#define B A A A A A A A A A A A A A A A A
#define C B B B B B B B B B B B B B B B B
C C C C C C C C static void attack(void) {
}
