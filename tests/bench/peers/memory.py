"""Peak memory of this process, for the peers."""


def peak_mib():
    """The largest resident set so far, or since forget_peak(). Not from getrusage, which starts with the peak of the
    parent process."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024


def forget_peak():
    """Resets the peak to the current resident set."""
    with open("/proc/self/clear_refs", "w") as references:
        references.write("5")
