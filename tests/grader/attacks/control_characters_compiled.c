// status: compile error
// And in what the compiler repeats.
#warning "[2J›31m Â›31m"
what ›is this;
static void attack(void) {
}
