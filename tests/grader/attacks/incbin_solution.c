// status: compile error
__asm__(".incbin \"@ROOT@/solutions/03_1_create_on_the_device.c\"");
static void attack(void) {
}
