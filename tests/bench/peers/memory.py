"""Peak memory of this process, for the peers."""


def peak_mib():
    """The largest resident set so far, or since forget_peak(). Not getrusage's, which begins with that of the program
    that started this one."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024


def forget_peak():
    """From here on the peak is that of what is resident now."""
    with open("/proc/self/clear_refs", "w") as references:
        references.write("5")
