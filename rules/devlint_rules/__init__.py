"""The rules that come with devlint, one file each; the registry finds them by walking this package."""
