"""The entry point: `python -m mlcli` is the same as `mlcli`."""


def main() -> None:
    """Lets signals wait before anything else is imported, so that they find a program that can heed them."""
    try:
        import signal

        from mlcli.errors import STOPPING

        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    except KeyboardInterrupt:  # before that
        raise SystemExit(130) from None
    from mlcli.cli.supervisor import supervise

    supervise()
    import sys

    from mlcli.process.file_hash import hash_early

    hash_early(sys.argv[1:])
    from mlcli.cli.program import main as program

    program()


if __name__ == "__main__":
    main()
