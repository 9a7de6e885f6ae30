// SPDX-License-Identifier: MIT
// To which device an address belongs.
#ifndef SIM_ADDRESS_H
#define SIM_ADDRESS_H

#include <stddef.h>

// The device in whose memory an address lies; -1 for every other address.
int sim_device_of(const void *address);

// Describes an address of device memory for a message. Signal handlers may call it: it takes no lock.
void sim_describe(const void *address, char *text, size_t size);

#endif
