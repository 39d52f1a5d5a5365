"""The functions of `shortlist._projects` under their earlier path."""

from shortlist._projects import (
    GLOBAL_INDEX,
    folder_name,
    is_of_another_project,
    project_folders,
    project_index,
    project_root,
)

__all__ = [
    "GLOBAL_INDEX",
    "folder_name",
    "is_of_another_project",
    "project_folders",
    "project_index",
    "project_root",
]
