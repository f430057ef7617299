package api

import (
	"net/http"

	"github.com/onefold-dev/onefold"
)

func submitRoutes() []route {
	return []route{{
		method: http.MethodPost, path: "/v1/operations", name: "submit", title: "Submit an operation",
		doc: "Admits an operation durably, or finds the one that the key has. Judged in the order: token, key, strict parse, claim; " +
			"where the key is known, the answer is a replay, a conflict or its expiry, and nothing else is checked.",
		roles: []onefold.Role{onefold.RoleSubmit}, key: true, prefer: true, bodyLimit: submissionBody,
		query: []parameter{{name: "dry_run", kind: kindBoolean, doc: "All checks and the rendered request; nothing is stored."}},
		body:  submissionMembers(),
		answers: []answer{
			{http.StatusCreated, "Admitted, perhaps held. Location names the operation.", operationView{}, ""},
			{http.StatusOK, "The key is known with the same intent: the original operation as it is now (Idempotent-Replayed: true); or, with dry_run, the preview.", anyOf{operationView{}, operationBrief{}, previewView{}}, ""},
		},
		codes: submissionCodes(),
		serve: (*Server).submit,
	}, {
		method: http.MethodPost, path: "/v1/operations:batch", name: "submitBatch", title: "Submit many operations",
		doc: "Up to 1,000 submissions in one call of at most 8 MiB. Each is judged by itself, as if it had been submitted alone, and one result " +
			"for each comes back in the order of the submissions; what happens to one says nothing about the others, and the whole is no transaction. " +
			"Of several with one key the first in order is admitted, and the others are repeats of it or conflict with it. " +
			"After no answer, or a lost one, the same call is safe to make again. What is wrong in the text of one submission, a member twice, bytes " +
			"that are no UTF-8, a syntax error, is that one's problem as well, with the offset in the whole body. Only where it cannot be told for sure where each " +
			"submission ends (a quote or bracket too many or too few, a comma missing between two), and where the body has another shape or is too long, the whole " +
			"is refused, and then nothing of it was admitted.",
		roles: []onefold.Role{onefold.RoleSubmit}, bodyLimit: maxBatchBody,
		body: []member{{
			name: "items", kind: kindList, required: true, min: 1, max: maxBatch, apart: true, doc: "The submissions.",
			items: itemMembers(),
		}},
		answers: success("What became of each submission, in their order.", batchView{}),
		serve:   (*Server).submitBatch,
	}}
}

// keyMember is the key of a submission that has no header of its own.
func keyMember() member {
	return member{name: "idempotency_key", required: true, max: maxKeyLength, doc: "The caller key, bare: visible ASCII without white space, and no quote at the beginning. It is the same key as in the header Idempotency-Key."}
}

// itemMembers are what a submission of a batch consists of.
func itemMembers() []member { return append([]member{keyMember()}, submissionMembers()...) }

// submissionMembers are what a submission consists of, beside its key.
func submissionMembers() []member {
	return []member{
		{name: "capability", required: true, max: maxName, doc: "What is asked for."},
		{name: "contract_version", kind: kindInteger, min: 1, doc: "The newest, where it is left out."},
		{name: "connection", min: 1, max: maxName, doc: "The workspace's only one that serves the capability, where it is left out."},
		{name: "request", kind: kindAny, required: true, doc: "Any JSON value that the contract allows, at most 64 levels deep."},
		{name: "revision", max: maxRevision, doc: "The revision of the approved document."},
		{name: "amends", max: maxName, doc: "Not supported yet."},
		{name: "not_before", kind: kindInstant, doc: "Nothing is sent before."},
		{name: "start_deadline", kind: kindInstant, doc: "Nothing is sent from then on."},
		{name: "metadata", kind: kindObject, doc: "Labels; not part of the intent. At most 16 KiB."},
	}
}

// submissionCodes are what a submission that could be read may be refused with.
func submissionCodes() []onefold.Code {
	return []onefold.Code{
		onefold.CodeKeyConflict, onefold.CodeKeyExpired, onefold.CodeDraining, onefold.CodeCapabilityUnknown,
		onefold.CodeContractVersionUnknown, onefold.CodeConnectionUnknown, onefold.CodeConnectionAmbiguous, onefold.CodeContractUnavailable,
		onefold.CodeConnectionDisabled, onefold.CodeRequestInvalid, onefold.CodeDeadlinePast,
		onefold.CodeAdmissionLimited, onefold.CodeNotSupportedYet,
	}
}

func observeRoutes() []route {
	lists := page()
	one := []onefold.Code{onefold.CodeOperationUnknown}
	get := func(path, name, title, doc string, roles []onefold.Role, query []parameter, answers []answer, serve func(*Server, *call) (*reply, error)) route {
		return route{
			method: http.MethodGet, path: path, name: name, title: title, doc: doc, roles: roles, query: query,
			answers: answers, codes: one, serve: serve,
		}
	}
	ops := get("/v1/operations", "listOperations", "List operations",
		"Newest first. A token that may submit but not read sees its own submissions.", observers,
		append([]parameter{
			{name: "capability", max: maxName},
			{name: "connection", max: maxName},
			{name: "state", enum: words(onefold.States())},
			{name: "key", max: maxKeyLength, key: true, doc: "The caller key, bare."},
			{name: "reference", max: maxReference, doc: "The operation's own reference, or its result's."},
			{name: "identity", max: maxReference, doc: "The request identity."},
			{name: "review", max: maxName, doc: "The id of a review."},
			{name: "contradicted", kind: kindBoolean},
			{name: "created_from", kind: kindInstant, doc: "From then on."},
			{name: "created_to", kind: kindInstant, doc: "Before then."},
		}, lists...), success("A page of operations.", listView[operationView]{}), (*Server).listOperations)
	ops.codes = nil
	reviews := get("/v1/reviews", "listReviews", "List reviews", "Newest first.", reviewers, append([]parameter{
		{name: "owner", max: maxOwner},
		{name: "reason", max: maxName},
		{name: "status", enum: []string{string(onefold.ReviewOpen), string(onefold.ReviewResolved)}},
		{name: "age", kind: kindDuration, doc: "Opened at least so long ago, such as 8h."},
	}, lists...), success("A page of reviews.", listView[reviewView]{}), (*Server).listReviews)
	reviews.codes = nil
	changes := get("/v1/changes", "listChanges", "Follow all changes",
		"Every change of every operation of the workspace, in the order in which they were committed, oldest first, for whoever keeps a copy or reacts: "+
			"keep the cursor of what was worked off and ask for what comes after it. Nothing is skipped and nothing comes twice, however slow the reader is and "+
			"however many write meanwhile. next_cursor is never null: at the end it is where later changes will be found. "+
			"It needs the role read or operate, because it shows the work of all submitters.",
		reviewers, lists, success("A page of changes.", changesView{}), (*Server).listChanges)
	changes.codes = nil
	explain := get("/v1/operations/{id}/explain", "explain", "Explain it", "What happened, what is known, what would settle it, what is next, in plain language.", observers, nil,
		success("The explanation.", explanationView{}), (*Server).explain)
	explain.codes = []onefold.Code{onefold.CodeOperationUnknown, onefold.CodeContractUnavailable}
	return []route{
		ops, reviews, changes,
		get("/v1/operations/{id}", "getOperation", "Read an operation", "ETag is its version.", observers, []parameter{
			{name: "wait", kind: kindInteger, max: maxWait, doc: "Seconds to wait until it is settled."},
			{name: "after_version", kind: kindInteger, min: 1, doc: "With wait: or until its version is higher than this."},
		}, success("The operation; to whoever may submit but not read, of others id and state.", anyOf{operationView{}, operationBrief{}}), (*Server).getOperation),
		get("/v1/operations/{id}/timeline", "getTimeline", "Read its timeline", "Everything that changed it, oldest first.", observers, lists,
			success("A page of entries.", pageView[entryView]{}), (*Server).getTimeline),
		get("/v1/operations/{id}/attempts", "getAttempts", "Read its attempts", "In the order of their numbers.", observers, lists,
			success("A page of attempts.", pageView[attemptView]{}), (*Server).getAttempts),
		get("/v1/operations/{id}/evidence", "getEvidence", "Read its evidence", "Oldest first.", observers, lists,
			success("A page of evidence.", pageView[evidenceView]{}), (*Server).getEvidence),
		get("/v1/operations/{id}/request", "getRequest", "Read its request", "The approved request and the frozen outgoing one, credentials never.", readers, nil,
			success("Both requests.", requestView{}), (*Server).getRequest),
		explain,
	}
}

func actRoutes() []route {
	act := func(action, title, doc string, roles []onefold.Role, match condition, body []member, codes []onefold.Code, serve func(*Server, *call) (*reply, error)) route {
		return route{
			method: http.MethodPost, path: "/v1/operations/{id}/" + action, name: action, title: title, doc: doc, roles: roles,
			ifMatch: match, body: body, answers: success("The operation after it.", operationView{}),
			codes: append([]onefold.Code{onefold.CodeOperationUnknown, onefold.CodeStaleVersion}, codes...), serve: serve,
		}
	}
	cancel := act("cancel", "Withdraw it",
		"Canceled, if nothing is out; otherwise nothing is sent again, and the withdrawal is recorded (M24).",
		[]onefold.Role{onefold.RoleSubmit, onefold.RoleOperate}, mayCondition,
		[]member{reason(false), {name: "release", kind: kindBoolean, doc: "Let the key go, where nothing was ever attempted; true where it is left out."}},
		[]onefold.Code{onefold.CodeAlreadySettled}, (*Server).cancel)
	cancel.answers = append(cancel.answers, answer{http.StatusAccepted, "The withdrawal is recorded; an effect may exist.", operationView{}, ""})
	evidence := act("evidence", "Deliver evidence",
		"Records late evidence. The same source and event id again changes nothing. A no_effect delivered here is shown in the review and moves nothing; of a confirmed operation it is a contradiction. What a token of the role evidence alone delivers is an event, not a person's decision.",
		[]onefold.Role{onefold.RoleOperate, onefold.RoleEvidence}, mayCondition,
		[]member{
			{name: "asserts", required: true, enum: []string{string(onefold.AssertsEffect), string(onefold.AssertsNoEffect), string(onefold.AssertsNothing)}},
			{name: "reference", min: 1, max: maxReference, visible: true, doc: "The target's reference of the effect; not blank."},
			{name: "source", min: 1, max: maxName, visible: true, named: true, doc: "Who says so, on one visible line; the token's name, where it is left out."},
			{name: "event_id", min: 1, max: maxKeyLength, visible: true, doc: "The source's own id of the event; not blank."},
			{name: "occurred_at", kind: kindInstant, doc: "When it happened, by the source's clock; an effect older than the operation does not confirm."},
			{name: "body", kind: kindAny, doc: "What was said; its beginning and a digest are kept. Of an effect it is read as a record: the contract's verify fields in it are held against the approved request, and what differs, or does not show them all, does not confirm (M15)."},
			reason(false),
		}, nil, (*Server).deliver)
	evidence.bodyLimit, evidence.name = maxEvidenceBody, "deliverEvidence"
	evidence.answers = success("The operation after it; to a token of the role evidence alone, id and state.", anyOf{operationView{}, operationBrief{}})
	return []route{
		cancel,
		act("retry", "Make the next attempt now", "The due attempt, or a safe replay.", operators, needsCondition, []member{reason(false)},
			[]onefold.Code{onefold.CodeIfMatchRequired, onefold.CodeAlreadySettled, onefold.CodeHeld, onefold.CodePaused, onefold.CodePayloadNotRetained, onefold.CodeRetryUnsafe, onefold.CodeContractUnavailable}, (*Server).retry),
		act("resolve", "Decide it", "A person's decision on an uncertain or contradicted operation.", operators, needsCondition, []member{
			{name: "outcome", required: true, enum: []string{string(onefold.ResolveConfirmed), string(onefold.ResolveRejected), string(onefold.ResolveNotApplied)}},
			{name: "reference", min: 1, max: maxReference, visible: true, doc: "The target's reference, not blank; needed for confirmed, and for it alone."},
			reason(true),
		}, []onefold.Code{onefold.CodeIfMatchRequired, onefold.CodeNotDecidable, onefold.CodeAttemptOpen, onefold.CodeBarred}, (*Server).resolve),
		act("release", "Decide a hold", "One hold at a time.", operators, needsCondition, []member{
			{name: "hold", required: true, enum: words(onefold.HoldReasons())},
			{name: "decision", required: true, enum: []string{"proceed", "decline"}},
			{name: "exception", min: 1, max: maxName, doc: "Not supported yet."},
			reason(true),
		}, []onefold.Code{onefold.CodeIfMatchRequired, onefold.CodeHoldUnknown, onefold.CodeNotSupportedYet}, (*Server).release),
		act("assign", "Hand a review on", "A review always has an owner (M16).", operators, needsCondition, []member{
			{name: "owner", required: true, max: maxOwner, visible: true, named: true, doc: "Who owns it from now on, on one visible line."}, {name: "review", min: 1, max: maxName, doc: "Its id; may be left out where one is open."}, reason(false),
		}, []onefold.Code{onefold.CodeIfMatchRequired, onefold.CodeReviewUnknown}, (*Server).assign),
		evidence,
	}
}

func catalogRoutes() []route {
	get := func(path, name, title string, roles []onefold.Role, query []parameter, answers []answer, serve func(*Server, *call) (*reply, error), codes ...onefold.Code) route {
		return route{method: http.MethodGet, path: path, name: name, title: title, roles: roles, query: query, answers: answers, codes: codes, serve: serve}
	}
	pause := func(path, name, title, doc string, shape any, serve func(*Server, *call) (*reply, error), codes ...onefold.Code) route {
		return route{
			method: http.MethodPost, path: path, name: name, title: title, doc: doc, roles: pausers, body: []member{reason(false)},
			answers: success("As it is now.", shape), codes: codes, serve: serve,
		}
	}
	const stops = "Stops every begin at once, replays included; look-ups go on."
	tokens := get("/v1/tokens", "listTokens", "List tokens", admins, page(), success("A page of tokens, without their secrets.", pageView[tokenView]{}), (*Server).listTokens)
	tokens.deployment = true
	agreement := success("The agreement.", onefold.Agreement{})
	agreement = append(agreement, answer{http.StatusOK, "The agreement as a page.", nil, "text/markdown"})
	return []route{
		get("/v1/capabilities", "listCapabilities", "List capabilities", everybody, page(), success("A page of capabilities.", pageView[onefold.CapabilityInfo]{}), (*Server).listCapabilities),
		get("/v1/targets", "listTargets", "List targets", everybody, page(), success("A page of targets.", pageView[onefold.TargetInfo]{}), (*Server).listTargets),
		get("/v1/connections", "listConnections", "List connections", everybody, page(), success("A page of connections.", pageView[connectionView]{}), (*Server).listConnections),
		get("/v1/connections/{name}", "getConnection", "Read a connection", everybody, nil, success("The connection.", connectionView{}), (*Server).getConnection, onefold.CodeConnectionUnknown, onefold.CodeContractUnavailable),
		pause("/v1/connections/{name}/pause", "pauseConnection", "Pause a connection", stops, connectionView{}, setPause(true), onefold.CodeConnectionUnknown, onefold.CodeContractUnavailable),
		pause("/v1/connections/{name}/resume", "resumeConnection", "Resume a connection", "", connectionView{}, setPause(false), onefold.CodeConnectionUnknown, onefold.CodeContractUnavailable),
		pause("/v1/connections:pause", "pauseWorkspace", "Pause the whole workspace", "Every connection that the workspace has now. "+stops, switchedView{}, setPauses(true)),
		pause("/v1/connections:resume", "resumeWorkspace", "Resume the whole workspace", "Every connection, whoever paused it.", switchedView{}, setPauses(false)),
		get("/v1/agreements/{capability}/{connection}", "getAgreement", "Read an agreement", everybody, nil, agreement, (*Server).getAgreement, onefold.CodeCapabilityUnknown, onefold.CodeConnectionUnknown, onefold.CodeContractUnavailable),
		get("/v1/stats", "getStats", "Count the work", watchers, nil, success("The counts.", statsView{}), (*Server).getStats),
		tokens, documentsRoute(),
	}
}

func documentsRoute() route {
	return route{
		method: http.MethodPost, path: "/v1/documents", name: "publish", title: "Publish documents",
		doc:   "All or none. A workspace's admin publishes connections; capabilities and targets belong to the deployment.",
		roles: admins, deployment: true, bodyLimit: maxDocuments,
		query: []parameter{{name: "dry_run", kind: kindBoolean, doc: "Check, and store nothing."}},
		body: []member{{name: "files", kind: kindList, required: true, min: 1, max: maxFiles, items: []member{
			{name: "name", required: true, max: maxReference, doc: "For messages; its ending tells YAML from JSON."},
			{name: "text", required: true, max: maxFileText},
		}}},
		answers: success("What was stored.", Publication{}),
		codes:   []onefold.Code{onefold.CodeDocumentInvalid, onefold.CodeVersionImmutable, onefold.CodeNotSupportedYet, onefold.CodeWorkspaceUnknown, onefold.CodeNotFound},
		serve:   (*Server).publish,
	}
}

func publicRoutes() []route {
	get := func(path, name, title string, answers []answer, serve func(*Server, *call) (*reply, error), codes ...onefold.Code) route {
		return route{method: http.MethodGet, path: path, name: name, title: title, answers: answers, codes: codes, serve: serve}
	}
	html := answer{http.StatusOK, "The page.", nil, "text/html"}
	return []route{
		get("/livez", "livez", "Is the process alive?", success("It is.", healthView{}), (*Server).livez),
		get("/readyz", "readyz", "Can it serve?", success("It can.", healthView{}), (*Server).readyz, onefold.CodeDraining, onefold.CodeStoreUnavailable, onefold.CodeNotReady),
		get("/openapi.json", "getOpenAPI", "This document", success("An OpenAPI 3.1 document.", nil), (*Server).getOpenAPI),
		get("/problems", "listProblems", "All problems", append(success("As JSON, to whoever asks for it.", pageView[problemEntry]{}), html), (*Server).listProblems),
		get("/problems/{code}", "getProblem", "The page of a problem", append(success("As JSON, to whoever asks for it.", problemEntry{}), html), (*Server).getProblem, onefold.CodeNotFound),
	}
}
