"""The entry point: `python -m mlcli` is the same as `mlcli`."""

OBJECTS = 200_000  # made before garbage is collected; start-up makes half as many, and they all stay


def main() -> None:
    """Lets signals wait before anything else is imported, so that they find a program that can heed them.

    Likewise no garbage is collected among the values of modules, of which none is.
    """
    try:
        import gc
        import signal

        gc.set_threshold(OBJECTS)
        from mlcli.errors import STOPPING

        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    except KeyboardInterrupt:  # before that
        raise SystemExit(130) from None
    try:
        from mlcli.cli.supervisor import supervise

        supervise()
        import sys

        from mlcli.process.file_hash import hash_early

        hash_early(sys.argv[1:])
        from mlcli.cli.program import main as program
    except (ImportError, MemoryError, OSError, SystemError) as error:  # before the program can report it
        from mlcli.cli.screen.failure import ErrorForm, tell

        raise SystemExit(tell(error, ErrorForm())) from None
    program()


if __name__ == "__main__":
    main()
