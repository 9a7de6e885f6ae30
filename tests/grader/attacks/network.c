// status: fail
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static void attack(void) {
  struct sockaddr_in somewhere = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x08080808), .sin_port = htons(53)};
  int socket_ = socket(AF_INET, SOCK_DGRAM, 0);
  if (socket_ >= 0 && connect(socket_, (struct sockaddr *)&somewhere, sizeof somewhere) == 0)
    printf("got hold of the network\n");
  if (socket(AF_PACKET, SOCK_RAW, 0) >= 0 || socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) >= 0)
    printf("got hold of raw sockets\n");
}
