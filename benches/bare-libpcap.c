/* The floor that scripts/bench compares with: libpcap counts the packets of a capture and does nothing else. */
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char error[PCAP_ERRBUF_SIZE];
    struct pcap_pkthdr *header;
    const u_char *bytes;
    uint64_t packets = 0;
    int result;

    if (argc != 2) {
        fprintf(stderr, "usage: %s CAPTURE\n", argv[0]);
        return 2;
    }
    pcap_t *capture = pcap_open_offline(argv[1], error);
    if (capture == NULL) {
        fprintf(stderr, "%s: %s\n", argv[1], error);
        return 1;
    }
    while ((result = pcap_next_ex(capture, &header, &bytes)) == 1)
        packets++;
    if (result != PCAP_ERROR_BREAK) {
        fprintf(stderr, "%s: %s\n", argv[1], pcap_geterr(capture));
        return 1;
    }
    printf("%" PRIu64 "\n", packets);
    pcap_close(capture);
    return 0;
}
