"""Reading, naming and finding source files, and walking folders for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from devlint.configuration import Configurations
from devlint.decoding import decode
from devlint.discovery import Discovery, discover, is_excluded
from devlint.errors import SourceError
from devlint.project import Project, display_path, root_for
from devlint.settings import Settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _write(*names: str, text: str = "") -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _discover(*paths: str, force_exclude: bool = False) -> Discovery:
    configurations = Configurations(Settings(paths))
    return discover(paths, configurations, force_exclude=force_exclude)


def _files(*paths: str, force_exclude: bool = False) -> list[str]:
    return [display_path(path) for path in _discover(*paths, force_exclude=force_exclude).files]


class TestModules:
    def test_a_package_names_its_files_wherever_it_stands(self) -> None:
        _write("pyproject.toml", "linter/pkg/__init__.py", "linter/pkg/sub/__init__.py", "linter/pkg/sub/a.py")
        project = Project(Path())
        names = {
            "linter/pkg/__init__.py": "pkg",
            "linter/pkg/sub/__init__.py": "pkg.sub",
            "linter/pkg/sub/a.py": "pkg.sub.a",
        }
        assert {name: project.source(Path(name)).module for name in names} == names

    def test_a_file_outside_packages_counts_from_the_innermost_root(self) -> None:
        _write("train.py", "src/lib.py", "tools/gen/x.py", "my-script.py")
        project = Project(Path(), [Path("tools")])
        assert project.module_name(Path("train.py")) == "train"
        assert project.module_name(Path("src/lib.py")) == "lib"
        assert project.module_name(Path("tools/gen/x.py")) == "gen.x"
        assert project.module_name(Path("my-script.py")) is None

    def test_find_is_the_inverse_of_the_name(self) -> None:
        _write("pkg/__init__.py", "pkg/a.py", "pkg/sub/__init__.py", "src/lib/b.py", "scripts/c.py")
        project = Project(Path())
        for module, name in {
            "pkg": "pkg/__init__.py",
            "pkg.a": "pkg/a.py",
            "pkg.sub": "pkg/sub/__init__.py",
            "lib.b": "src/lib/b.py",
            "scripts.c": "scripts/c.py",
        }.items():
            found = project.find(module)
            assert found is not None
            assert (found.display, found.module) == (name, module)
            assert project.find(module) is found
            assert found.is_package == name.endswith("__init__.py")

    def test_what_is_not_in_the_project_is_not_found(self) -> None:
        _write("pkg/__init__.py")
        project = Project(Path())
        assert [project.find(name) for name in ("torch", "pkg.none", "", "pkg.", "json", "os.path")] == [None] * 6

    def test_a_package_wins_over_a_file_and_the_configured_root_over_the_others(self) -> None:
        _write("a.py", "a/__init__.py", "lib/b.py", "b.py")
        project = Project(Path(), [Path("lib")])
        for module, name in (("a", "a/__init__.py"), ("b", "lib/b.py")):
            found = project.find(module)
            assert found is not None
            assert found.display == name

    def test_a_script_finds_its_neighbours(self) -> None:
        _write("scripts/run.py", "scripts/near.py", "linter/pkg/__init__.py", "linter/pkg/a.py")
        project = Project(Path())
        for importer, module in (("scripts/run.py", "near"), ("linter/pkg/a.py", "pkg")):
            source = project.source(Path(importer))
            assert project.find(module) is None
            assert project.find(module, source) is not None

    def test_the_folder_of_a_file_comes_before_the_root(self) -> None:
        _write("model.py", "gan/model.py", "gan/train.py", "vae/train.py")
        _write("pkg/__init__.py", "pkg/model.py", "pkg/a.py")
        project = Project(Path())
        imports = {"gan/train.py": "gan/model.py", "vae/train.py": "model.py", "pkg/a.py": "model.py"}
        for importer, name in imports.items():
            found = project.find("model", project.source(Path(importer)))
            assert found is not None
            assert found.display == name

    def test_a_script_finds_what_is_in_its_folder_even_if_that_is_a_package(self) -> None:
        _write("pkg/__init__.py", "pkg/near.py", "pkg/json.py", "pkg/library.py")
        _write("pkg/run.py", text='if __name__ == "__main__":\n    pass\n')
        project = Project(Path())
        script, other = project.source(Path("pkg/run.py")), project.source(Path("pkg/library.py"))
        assert project.find("near", script) is not None
        assert project.find("near", other) is None
        assert project.find("json", script) is None

    def test_an_undecodable_import_counts_as_absent(self) -> None:
        Path("bad.py").write_bytes(b"\xff")
        project = Project(Path())
        assert project.find("bad") is None
        with pytest.raises(SourceError, match=r"bad.py:1: is not utf-8: byte 0xff"):
            project.source(Path("bad.py"))

    def test_put_content_is_what_imports_see(self) -> None:
        _write("a.py", text="old\n")
        project = Project(Path())
        project.put(Path("a.py"), b"new\r\n")
        project.put(Path("unsaved.py"), b"x")
        found, unsaved = project.find("a"), project.find("unsaved")
        assert found is not None
        assert found.text == "new\n"
        assert unsaved is not None

    @pytest.mark.parametrize("marker", ["pyproject.toml", "setup.py", ".git"])
    def test_the_root_is_the_nearest_folder_with_a_marker(self, marker: str, folder: Path) -> None:
        _write("pyproject.toml", f"inner/{marker}", "inner/pkg/deep/a.py", "b.py")
        assert root_for(folder / "inner/pkg/deep/a.py") == folder / "inner"
        assert root_for(folder / "b.py") == folder


CP1252 = "#!/bin/x\n# vim: set fileencoding=cp1252 :\n€"


class TestDecoding:
    @pytest.mark.parametrize(
        ("data", "text"),
        [
            (b"", ""),
            (b"\xef\xbb\xbfx", "x"),
            ("é\r\nü\rö\n".encode(), "é\nü\nö\n"),
            ("# coding: latin-1\né".encode("latin-1"), "# coding: latin-1\né"),
            (CP1252.encode("cp1252"), CP1252),
            (b"a\x0cb\x1cc\xe2\x80\xa8d", "a\x0cb\x1cc\u2028d"),
        ],
    )
    def test_like_python(self, data: bytes, text: str) -> None:
        assert decode(data, "a.py") == text

    def test_a_declaration_on_the_third_line_is_none(self) -> None:
        with pytest.raises(SourceError) as caught:
            decode("\n\n# coding: latin-1\né".encode("latin-1"), "a.py")
        assert caught.value.line == 4


class TestDiscovery:
    def test_files_come_sorted_and_once(self, folder: Path) -> None:
        _write("b.py", "a/z.py", "a/__init__.py", "c.txt", "d.pyi", "e.pyw")
        expected = ["a/__init__.py", "a/z.py", "b.py"]
        assert _files(".") == _files("b.py", ".", "./a", "a/../b.py", str(folder)) == expected

    def test_default_excludes(self) -> None:
        _write("src/a.py", "build/lib/a.py", ".venv/x.py", "sub/node_modules/p/q.py", "x/site-packages/t/a.py")
        _write("rebuild/a.py", "builder.py")
        assert _files(".") == ["builder.py", "rebuild/a.py", "src/a.py"]

    def test_a_named_path_wins_over_excludes(self) -> None:
        _write("pyproject.toml", text='[tool.devlint]\nexclude = ["gen/", "*_pb2.py"]\n')
        _write("build/lib/a.py", "gen/deep/b.py", "c_pb2.py", "build/lib/d_pb2.py")
        assert _files("build", "gen/deep", "c_pb2.py") == ["build/lib/a.py", "c_pb2.py", "gen/deep/b.py"]
        assert _files(".") == []

    def test_force_exclude_treats_named_paths_like_found_ones(self) -> None:
        _write("pyproject.toml", text='[tool.devlint]\nexclude = ["gen/"]\n')
        _write(".gitignore", text="tmp_*.py\n")
        _write(".git/HEAD", "gen/b.py", "build/a.py", "tmp_x.py", "ok.py")
        named = ["gen/b.py", "gen", "build/a.py", "tmp_x.py", "ok.py"]
        assert _files(*named, force_exclude=True) == ["ok.py"]
        assert _files(*named) == ["build/a.py", "gen/b.py", "ok.py", "tmp_x.py"]

    def test_is_excluded_needs_no_file(self, folder: Path) -> None:
        configurations = Configurations(Settings((".",)))
        assert is_excluded(folder / "build" / "new.py", configurations)
        assert not is_excluded(folder / "lib" / "new.py", configurations)

    def test_own_patterns_can_take_back_a_default(self) -> None:
        _write("pyproject.toml", text='[tool.devlint]\nexclude = ["!build/", "build/gen/"]\n')
        _write("build/a.py", "build/gen/b.py", "dist/c.py")
        assert _files(".") == ["build/a.py"]

    def test_gitignore_of_every_folder_counts_and_inner_ones_win(self) -> None:
        _write(".git/HEAD", "a.py", "out/x.py", "sub/keep_tmp.py", "sub/a_tmp.py", "sub/deep/b_tmp.py")
        _write(".gitignore", text="# comment\nout/\n*_tmp.py\n")
        _write("sub/.gitignore", text="!keep_tmp.py\n")
        assert _files(".") == ["a.py", "sub/keep_tmp.py"]
        assert _files("sub") == ["sub/keep_tmp.py"]

    def test_gitignore_above_the_repository_does_not_count(self) -> None:
        _write(".gitignore", text="*.py\n")
        _write("repo/.git/HEAD", "repo/a.py")
        assert _files("repo") == ["repo/a.py"]

    def test_a_folder_that_git_ignores_can_be_named(self) -> None:
        _write(".git/HEAD", "out/x.py")
        _write(".gitignore", text="out/\n")
        assert _files("out") == ["out/x.py"]

    def test_a_gitignore_with_a_broken_pattern_is_a_warning(self) -> None:
        _write("a.py")
        _write(".gitignore", text="!\n")
        found = _discover(".")
        assert [path.name for path in found.files] == ["a.py"]
        assert found.warnings == [".gitignore: not honoured, it has a pattern that is none"]

    def test_links_make_neither_loops_nor_doubles(self, folder: Path) -> None:
        _write("pkg/a.py")
        Path("pkg/again").symlink_to(folder)
        Path("a_link.py").symlink_to("pkg/a.py")
        Path("loop").symlink_to("loop")
        assert _files(".") == ["pkg/a.py"]
        assert _files("a_link.py") == ["a_link.py"]
        assert _files("pkg/again/pkg") == ["pkg/again/pkg/a.py"]

    def test_a_named_file_needs_no_suffix(self) -> None:
        _write("tool", text="#!/usr/bin/env python\n")
        assert _files("tool") == ["tool"]
        assert _files(".") == []

    def test_paths_outside_the_working_directory_go_up(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        _write("a.py", "sub/b.py")
        monkeypatch.chdir(folder / "sub")
        assert _files("..") == ["../a.py", "b.py"]
