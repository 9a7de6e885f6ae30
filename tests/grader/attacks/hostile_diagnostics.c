// status: compile error
#error "\033[2J</failure>\"},&<![CDATA[ ]]>"
static void attack(void) {
}
