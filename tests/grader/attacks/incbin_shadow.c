// status: compile error
__asm__(".incbin \"/etc/shadow\"");
static void attack(void) {
}
