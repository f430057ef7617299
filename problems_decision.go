package onefold

import "net/http"

func findingProblems() []Problem {
	return []Problem{
		{
			CodeOperationUnknown, "Unknown operation", http.StatusNotFound, RetryNever,
			"There is no such operation for this token. An id that is malformed or belongs to somebody else answers alike.",
			"Check the id and the token's workspace.",
		},
		{
			CodeReviewUnknown, "Unknown review", http.StatusNotFound, RetryChanged,
			"The operation has no open review of this id.",
			"Read the operation again: somebody may have settled it.",
		},
		{
			CodeNotFound, "Not found", http.StatusNotFound, RetryNever,
			"There is nothing at this address.",
			"See `/openapi.json` for what there is.",
		},
		{
			CodeMethodNotAllowed, "Method not allowed", http.StatusMethodNotAllowed, RetryChanged,
			"The address exists, but does not take this method.",
			"Use one of the methods that `Allow` names.",
		},
	}
}

func decisionProblems() []Problem {
	return []Problem{
		{
			CodeIfMatchRequired, "If-Match is required", http.StatusPreconditionRequired, RetryChanged,
			"A decision must name the version of the operation that it was made on.",
			"Read the operation, and send its `ETag` as `If-Match`.",
		},
		{
			CodeStaleVersion, "The operation has changed", http.StatusPreconditionFailed, RetryChanged,
			"The operation is no longer the version that the decision was made on; `changes` says what happened since and who did it. Nothing was changed.",
			"Read the operation again, and decide anew.",
		},
		{
			CodeAlreadySettled, "Already settled", http.StatusConflict, RetryNever,
			"The operation is confirmed, rejected or canceled. Nothing is ever sent for it again.",
			"Read its result. To do the business action again, see `new_key_safe`.",
		},
		{
			CodeHeld, "The operation is held", http.StatusConflict, RetryChanged,
			"The operation waits for a decision about a hold.",
			"Decide the hold with `release`.",
		},
		{
			CodePayloadNotRetained, "The payload is not retained", http.StatusConflict, RetryNever,
			"Only the fingerprint of the request is kept, and a request cannot be rebuilt from it.",
			"The submitter sends the same request with the same key again.",
		},
		{
			CodeRetryUnsafe, "Sending again is not safe", http.StatusConflict, RetryNever,
			"Sending the request again could cause a second effect; `reason` says why.",
			"Look the effect up at the target, and record what you find with `resolve`.",
		},
		{
			CodeAttemptOpen, "An attempt is still open", http.StatusConflict, RetrySame,
			"An attempt went silent and may still reach the target, so that \"not applied\" cannot be known yet.",
			"Decide again when the attempt is closed; its line says when.",
		},
		{
			CodeBarred, "Barred", http.StatusConflict, RetryNever,
			"Something is known that forbids this decision; `barred` names it.",
			"Resolve with the outcome that the evidence shows.",
		},
		{
			CodeNotDecidable, "Nothing to decide", http.StatusConflict, RetryNever,
			"The operation is neither uncertain nor contradicted, so there is nothing for a person to resolve.",
			"Read the operation: its `next` says what will happen.",
		},
		{
			CodeHoldUnknown, "No such hold", http.StatusConflict, RetryChanged,
			"The operation has no hold of this name; it may have been decided meanwhile.",
			"Read the operation again.",
		},
		{
			CodeOriginalUnsettled, "The original is not settled", http.StatusConflict, RetrySame,
			"The operation that this one may duplicate is not settled yet.",
			"Settle the original first, or release as `not_a_duplicate`.",
		},
	}
}

func documentProblems() []Problem {
	return []Problem{
		{
			CodeDocumentInvalid, "The document is invalid", http.StatusUnprocessableEntity, RetryChanged,
			"A published document has faults; each names its file, line and column. Nothing was published.",
			"Mend the documents and apply them again.",
		},
		{
			CodeVersionImmutable, "A published version does not change", http.StatusConflict, RetryChanged,
			"This version of the document was published with other content. Nothing was published.",
			"Publish the change under a new version.",
		},
		{
			CodeNotSupportedYet, "Not supported yet", http.StatusUnprocessableEntity, RetryChanged,
			"The request asks for something that this release does not do. It is refused rather than ignored.",
			"Leave out the member that `pointer` names.",
		},
		{
			CodeWorkspaceUnknown, "Unknown workspace", http.StatusNotFound, RetryChanged,
			"There is no workspace of this name.",
			"Create it with `onefold workspace create`.",
		},
		{
			CodeWorkspaceExists, "The workspace exists", http.StatusConflict, RetryNever,
			"There is a workspace of this name already. Nothing was changed.",
			"Use it, or choose another name.",
		},
		{
			CodeTokenUnknown, "Unknown token", http.StatusNotFound, RetryNever,
			"The workspace has no token of this id.",
			"See `onefold token list`.",
		},
	}
}

func engineProblems() []Problem {
	return []Problem{
		{
			CodeLeaseLost, "The lease is lost", http.StatusConflict, RetryNever,
			"A worker acted under a lease that it no longer holds. What it learnt is kept as evidence.",
			"Nothing: the operation goes on without it.",
		},
		{
			CodeNotDue, "Not due", http.StatusConflict, RetrySame,
			"The step is planned for later.",
			"Wait until the operation's `next.at`.",
		},
		{
			CodeLeased, "Being worked on", http.StatusConflict, RetrySame,
			"A worker is carrying the operation on just now.",
			"Wait for it to finish, with `?wait=`.",
		},
		{
			CodePaused, "The connection is paused", http.StatusConflict, RetrySame,
			"The connection is paused or disabled, so nothing is sent through it. Look-ups go on.",
			"Resume the connection, or publish it in another mode where it is disabled, then ask again.",
		},
		{
			CodeReplay, "A replay is not safe", http.StatusConflict, RetryNever,
			"Repeating the request under its identity is not safe now; `reason` says why.",
			"Look the effect up at the target, and record what you find with `resolve`.",
		},
		{
			CodeNotAllowed, "Not allowed in this state", http.StatusConflict, RetryNever,
			"The operation's state does not take this step. Nothing was changed.",
			"Read the operation: its `next` says what will happen.",
		},
		{
			CodeRecordUnreadable, "The record cannot be read", http.StatusInternalServerError, RetryNever,
			"What is stored of this one operation is damaged: the file was written to by something else, or the disk lost something. The operation is there and holds its key; what became of it cannot be told from here. Other operations are not touched by it.",
			"Do not start the action again under another key. Whoever runs the server: `onefold doctor` names what is damaged; compare with the last good backup, and look at the target.",
		},
		{
			CodeInternal, "Internal error", http.StatusInternalServerError, RetrySame,
			"Something went wrong inside onefold. Details are in the server's log under the request's id, and in no answer.",
			"A submission with its key is safe to send again. If it happens twice, report the request's id.",
		},
	}
}
