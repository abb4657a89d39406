package longwire.jdbc;

/**
 * Weighs what is alive on the heap at a moment, by collecting all garbage first: tens of milliseconds, so never in a run whose time
 * counts.
 */
final class Heap {
    private final boolean weighs;
    private final long before;
    private long most = -1;

    Heap(boolean weighs) {
        this.weighs = weighs;
        this.before = weighs ? alive() : 0;
    }

    /** A moment at which much may be alive; only the first of a request is weighed. */
    void weigh() {
        if (weighs && most < 0) {
            most = Math.max(0, alive() - before);
        }
    }

    long most() {
        return most;
    }

    private static long alive() {
        System.gc();
        Runtime machine = Runtime.getRuntime();
        return machine.totalMemory() - machine.freeMemory();
    }
}
