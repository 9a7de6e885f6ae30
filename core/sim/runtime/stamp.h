// What orders the nodes, for an inspector that asks whether one of two launches is ordered before the other. Nodes of which each
// is ordered before the next make a chain: a stream is one, and branches of a graph are some. A node's stamp says how far it is
// behind each chain. All of it is left out where no inspector is linked in.
#ifndef SIM_STAMP_H
#define SIM_STAMP_H

#include "sim/runtime/node.h"

// All of these but the last: sim.lock is held. `node` waits for `on`, which is done; what it waits for besides is asked for when it
// is submitted.
void sim_stamp_after(struct sim_node *node, const struct sim_node *on);
void sim_stamp_submitted(struct sim_node *node);
void sim_stamp_completed(const struct sim_node *node);
void sim_stamp_free(struct sim_node *node);
// The host knows that it is done: what is submitted from now on comes behind it. Not with sim.lock.
void sim_stamp_waited(const struct sim_node *node);

#endif
