// SPDX-License-Identifier: MIT
// Reads of a vector's members by name (members.c).
#ifndef INSPECT_INSTRUMENT_MEMBERS_H
#define INSPECT_INSTRUMENT_MEMBERS_H

// Takes each line of an assembly file in order. If the line calls the inspector for the read of a vector's member, returns the bytes of
// the vector and sets those of the member; else returns 0.
int members_line(const char *line, int *bytes);
// Forgets the files of the last assembly file.
void members_end(void);

#endif
