// SPDX-License-Identifier: MIT
// What the server of the live book adds to each page of the static book. All else is in modules: page.js is the first.
import("./page.js").then(page => page.begin());
