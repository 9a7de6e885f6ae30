// SPDX-License-Identifier: MIT
// The packages of this system.
#ifndef TOOL_PACKAGES_H
#define TOOL_PACKAGES_H

// The command that installs what Debian calls `package`, by this system's name for it: "sudo dnf install gcc-c++". The text is valid
// until the next call. On a system that is not known it names Debian's package.
const char *package_install(const char *package);

#endif
