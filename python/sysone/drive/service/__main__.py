"""``python -m sysone.drive.service``: the model service, with nothing but NumPy."""

import argparse
import sys
from collections.abc import Sequence

from sysone.drive.service.adapters import AdapterError, load_adapter
from sysone.drive.service.loop import CONNECT_TIMEOUT_S, Service, read_config, run
from sysone.drive.service.wire import MAX_TO_MODEL


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a model to an executor; an exit code."""
    parser = argparse.ArgumentParser(prog="drive serve", description="Serve a driving model.")
    parser.add_argument(
        "--adapter", default="stub", help="stub, simlingo, automot or module:Class  [stub]"
    )
    parser.add_argument(
        "--connect", default="127.0.0.1:5555", metavar="HOST:PORT", help="[127.0.0.1:5555]"
    )
    parser.add_argument("--config", metavar="FILE", help="JSON object for the adapter")
    parser.add_argument("--connect-timeout", type=float, default=CONNECT_TIMEOUT_S, metavar="S")
    parser.add_argument("--forever", action="store_true", help="serve one executor after another")
    parser.add_argument("--allow-sensor-mismatch", action="store_true")
    parser.add_argument("--brake-mode", choices=("binary", "float"))
    parser.add_argument("--max-message-bytes", type=int, default=MAX_TO_MODEL, metavar="N")
    options = parser.parse_args(arguments)
    host, _, port = options.connect.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        parser.error(f"--connect is {options.connect!r}, expected HOST:PORT")
    try:
        service = Service(
            load_adapter(options.adapter),
            options.adapter,
            read_config(options.config),
            allow_sensor_mismatch=options.allow_sensor_mismatch,
            brake_mode=options.brake_mode,
            max_message_bytes=options.max_message_bytes,
        )
    except (AdapterError, OSError, ValueError) as error:
        print(f"drive serve: {error}", file=sys.stderr)
        return 2
    try:
        return run(
            service,
            host.strip("[]"),
            int(port),
            connect_timeout_s=options.connect_timeout,
            forever=options.forever,
        )
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
