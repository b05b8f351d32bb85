"""Run one identity on whatever package is on the path; exit 0 if it holds, 1 if it fails as it should."""

import sys

import identities


def main(name: str) -> int:
    check = {check.__name__: check for check in identities.ALL}[name]
    for case in identities.CASES:
        try:
            check(case)
        except AssertionError:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
