// status: compile error
__asm__(".incbin \"@ROOT@/solutions/10_made_there.c\"");
static void attack(void) {
}
