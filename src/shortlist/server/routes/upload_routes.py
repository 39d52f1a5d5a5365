"""The routes that take files and build a corpus of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from shortlist._settings import Settings
from shortlist.errors import InputError
from shortlist.index.corpus import Corpus
from shortlist.library.build import build
from shortlist.library.uploads import Uploads, is_uploaded, upload_folder
from shortlist.safety.principals import require
from shortlist.server.catalog_store import NAME
from shortlist.server.http_errors import describe_responses
from shortlist.server.jobs import READ, WRITE, Endpoints, Job, JobKind, describe_stream
from shortlist.server.routes import schemas
from shortlist.server.routes.corpora_routes import describe_changes
from shortlist.server.routes.job_routes import Reporter

FilePath = Annotated[
    str,
    Query(
        min_length=1,
        max_length=2000,
        description="The path of the file below the folder of the corpus, such as guides/returns.md.",
    ),
]
BODY = {"requestBody": {"required": True, "content": {"application/octet-stream": {}}}}
NO_TEXT = "No text was found in it."


def list_skipped(corpus: Corpus, folder: Path) -> list[dict[str, str]]:
    """The files of a folder that gave no document, each with the reason."""
    failed = {problem.id: problem.reason for problem in corpus.changes.failed}
    known = {document.source for document in corpus.browse()[0]}
    files = sorted(path for path in folder.rglob("*") if path.is_file() and str(path) not in known)
    names = [path.relative_to(folder).as_posix() for path in files]
    reasons = {name: failed.get(name, NO_TEXT) for name in names} | failed
    return [{"id": name, "reason": reason} for name, reason in reasons.items()]


def add_uploads(endpoints: Endpoints, settings: Settings, uploads: Uploads) -> JobKind:
    """Add the routes; their jobs end with the application."""
    app: FastAPI = endpoints.app
    jobs = JobKind(1, settings.limits.build_seconds, "limits.build_seconds")

    def check(name: str) -> None:
        require(name)
        if not settings.server.uploads:
            raise HTTPException(403, "This service takes no files. Set server.uploads to true to allow uploads.")
        only = settings.server.corpora
        if name == NAME or (only is not None and name not in only):
            reason = "the catalog takes documents, not files" if name == NAME else "it is not in server.corpora"
            raise InputError(f"Files cannot be uploaded to {name!r}: {reason}. Choose another name.")

    def describe(answer: str) -> dict[str, Any]:
        return {"tags": ["corpora"], "responses": describe_responses(404, 409, answer=answer)}

    @app.post("/v1/corpora/{name:path}/files", openapi_extra=BODY, response_model=None, **describe("UploadedFile"))
    async def upload_file(name: str, path: FilePath, request: Request) -> Response:
        """Save a file for a corpus of uploaded files, which a new name creates. Build the corpus to search it."""
        check(name)
        content = await request.body()

        def save() -> dict[str, Any]:
            return {"corpus": name, "path": uploads.save(name, path, content), "bytes": len(content)}

        return await endpoints.run(WRITE, save)

    @endpoints.add("POST /v1/corpora/{name:path}/files/compare", "FileComparison", 404, 409, tag="corpora", pool=READ)
    def compare_files(name: str, body: schemas.FilesBody) -> dict[str, Any]:
        """Compare files with those that are uploaded: which are missing or differ, and which others there are."""
        check(name)
        missing, extra = uploads.compare(name, {file.path: file.sha256 for file in body.files})
        return {"missing": missing, "extra": extra}

    @endpoints.add("POST /v1/corpora/{name:path}/files/delete", "FileDeletion", 404, 409, tag="corpora")
    def delete_files(name: str, body: schemas.FilePathsBody) -> dict[str, Any]:
        """Delete uploaded files. Their documents are removed when the corpus is built."""
        check(name)
        return {"deleted": uploads.delete_paths(name, body.paths)}

    events = describe_stream("BuildReport", progress="ProgressEvent")
    responses = describe_responses(404, 409) | events

    @app.post("/v1/corpora/{name:path}/build", tags=["corpora"], responses=responses, response_model=None)
    async def build_uploaded(name: str, request: Request) -> Response:
        """Index the uploaded files of a corpus; unchanged ones are not read again."""
        check(name)

        def work(job: Job) -> dict[str, Any]:
            if not is_uploaded(name):
                raise InputError(f"{name!r} has no uploaded files. Upload some first.")
            progress = Reporter(job).part("Indexing")
            corpus = build(name, learning=settings.usage.learn, progress=progress)
            try:
                skipped = list_skipped(corpus, upload_folder(name).resolve())
                return {**describe_changes(corpus.changes, corpus), "corpus": name, "skipped": skipped}
            finally:
                corpus.close()

        return await jobs.answer(request, work, stream=False)

    return jobs
