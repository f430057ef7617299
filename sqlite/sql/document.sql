-- name: document.newest
-- index: document_by_version
SELECT version, canonical FROM document WHERE kind = ?1 AND workspace = ?2 AND name = ?3 ORDER BY version DESC LIMIT 1;

-- name: document.version
-- index: document_by_version
SELECT canonical FROM document WHERE kind = ?1 AND workspace = ?2 AND name = ?3 AND version = ?4;

-- name: document.insert
INSERT INTO document (kind, workspace, name, version, source, canonical, published_at, published_by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

-- name: document.revision
SELECT coalesce(max(seq), 0) FROM document;

-- name: document.all
SELECT d.kind, d.workspace, d.name, d.version, d.source, d.canonical, d.published_at, d.published_by
FROM document AS d
ORDER BY d.seq;
