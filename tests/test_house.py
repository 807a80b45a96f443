"""House rules for everything that is tracked: what a stranger's clone may rely on and read."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
HERE = "tests/test_house.py"  # which names what it forbids
DATA_SUFFIXES = {
    *(".bin", ".csv", ".gz", ".jsonl", ".npy", ".npz", ".onnx", ".parquet", ".pt"),
    *(".safetensors", ".zip"),
    *(".gif", ".jpg", ".jpeg", ".mp3", ".mp4", ".ogg", ".png", ".wav", ".webp", ".woff2"),
}
MACHINE_PATH = re.compile(r"(?<![\w.~}$/-])/(?:work|root|home|tmp|mnt|Users)(?=/|\b(?![\w-]))")
REGISTRY = re.compile(
    r"pypi\.org|pythonhosted\.org|pypi\.python\.org|npmjs\.(?:org|com)|crates\.io|rubygems\.org"
    r"|golang\.org|anaconda\.org|anaconda\.com|huggingface\.co|hf\.co|ghcr\.io|docker\.io"
    r"|quay\.io|download\.pytorch\.org|deb\.debian\.org|archive\.ubuntu\.com",
    re.IGNORECASE,
)
LEFTOVER = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b|\bissue #?\d+", re.IGNORECASE)


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    # A file that was removed but not yet committed as removed is no longer there to read.
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def texts(tracked: list[str]) -> dict[str, str]:
    found = {}
    for name in tracked:
        try:
            found[name] = (ROOT / name).read_text()
        except UnicodeDecodeError:
            continue
    return found


def matches(texts: dict[str, str], pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1} has {match.group()!r}"
        for name, text in texts.items()
        if name != HERE
        for match in pattern.finditer(text)
    ]


def test_the_patterns_see_what_they_forbid() -> None:
    for text in ("/work/x", "see /root", "'/tmp/x.json'", "=/home/me", "(/mnt/disk"):
        assert MACHINE_PATH.search(text), text
    for text in ("a/work/b", "https://host/home", "{path}/tmp", "/tmpfs", "/workers", "./root/x"):
        assert not MACHINE_PATH.search(text), text
    assert REGISTRY.search("https://files.pythonhosted.org/x")
    assert not REGISTRY.search("https://docs.python.org/3/")
    assert LEFTOVER.search("# todo: later")
    assert LEFTOVER.search("see issue 12")
    assert not LEFTOVER.search("the issue is that 12")


def test_no_file_knows_a_machine(texts: dict[str, str]) -> None:
    found = matches(texts, MACHINE_PATH)
    assert [place for place in found if not is_of_sandbox(place)] == []


def is_of_sandbox(place: str) -> bool:
    """Inside a sandbox there is one writable folder, and its name is the usual one."""
    return place.endswith("has '/tmp'") and "isolation" in place.partition(":")[0]


def test_no_file_names_a_registry(texts: dict[str, str]) -> None:
    assert matches(texts, REGISTRY) == []


def test_nothing_is_left_to_do_in_passing(texts: dict[str, str]) -> None:
    code = {name: text for name, text in texts.items() if "data" not in Path(name).parts}
    assert matches(code, LEFTOVER) == []


def is_data(name: str) -> bool:
    path = Path(name)
    return path.suffix.lower() in DATA_SUFFIXES or (
        "data" in path.parts[:-1] and path.suffix not in (".py", ".md")
    )


def test_data_names_its_origin(tracked: list[str]) -> None:
    words = set(re.findall(r"[\w.-]+(?:/[\w.-]+)*/?", (ROOT / "NOTICE").read_text()))
    words |= {word.rstrip(".") for word in words}
    unnamed = [
        name
        for name in tracked
        if is_data(name)
        and name not in words
        and Path(name).name not in words
        and not any(f"{parent}/" in words for parent in Path(name).parents)
    ]
    assert unnamed == [], "NOTICE tells of neither these files nor a folder that holds them"


def test_tests_are_flat_modules_without_packages(tracked: list[str]) -> None:
    inside = [name for name in tracked if name.startswith("tests/")]
    assert [name for name in inside if name.endswith("__init__.py")] == []


def test_links_between_pages_lead_somewhere(texts: dict[str, str]) -> None:
    broken = []
    for name, text in texts.items():
        if not name.endswith(".md") or name.startswith("tests/data/"):
            continue
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", prose):
            if "://" not in target and not target.startswith("mailto:"):
                path = (ROOT / name).parent / target
                broken += [f"{name} links to {target}"] if not path.exists() else []
    assert broken == []


def test_every_dependency_has_an_exact_version_in_its_range() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(
        line.split("==")
        for line in (line.split("#")[0].split(";")[0].strip() for line in lines)
        if line
    )
    pins = {normal(name): version.strip() for name, version in pins.items()}
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    for group in project["dependency-groups"].values():
        wanted += [item for item in group if isinstance(item, str)]
    for text in wanted:
        requirement = Requirement(text)
        version = pins.get(normal(requirement.name))
        assert version is not None, f"constraints.txt lacks {requirement.name}"
        assert requirement.specifier.contains(version), f"{text} excludes {version}"


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
