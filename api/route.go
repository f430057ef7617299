package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/onefold-dev/onefold"
)

// condition says what a route does with If-Match.
type condition uint8

const (
	noCondition condition = iota
	mayCondition
	needsCondition
)

// route is one call of the interface: everything that serving and describing it
// needs.
type route struct {
	method string
	path   string
	name   string // operationId in the document
	title  string
	doc    string
	// roles of which one is needed; nil is open to everybody.
	roles []onefold.Role
	// deployment: also a token without a workspace may call it.
	deployment bool
	key        bool // takes Idempotency-Key, and answers with claim
	prefer     bool // takes Prefer: wait
	ifMatch    condition
	query      []parameter
	// body lists the body's members, nil where the call has no body.
	body []member
	// bodyLimit is the longest body in bytes; 0 is maxAction.
	bodyLimit int
	answers   []answer
	// codes are those that the route may answer beside the ones that every route
	// of its kind may.
	codes []onefold.Code
	serve func(*Server, *call) (*reply, error)

	segments []string
}

// answer is one success of a route: its status, what it means, and a value of the
// type of its body (nil where there is none worth describing).
type answer struct {
	status int
	doc    string
	shape  any
	media  string // "" is application/json
}

const (
	// maxAction is the longest body of an action: a decision and its reason.
	maxAction = 64 << 10
	// maxEvidenceBody is the longest body of delivered evidence, an answer of a
	// target with room for escapes.
	maxEvidenceBody = 1 << 20
	// maxBatchBody is the longest body of a batch: 8 KiB for each of maxBatch
	// submissions, four times what a bill needs. It is read whole before the first
	// of them is admitted.
	maxBatchBody = 8 << 20
	// maxBatch is how many submissions one call may have (section 4).
	maxBatch = 1000
	// maxDocuments is the longest body of a publication.
	maxDocuments = 8 << 20
	// submissionBody marks a body whose limit follows from Config.MaxRequest.
	submissionBody = -1
)

func (rt *route) maxBody(s *Server) int {
	switch rt.bodyLimit {
	case submissionBody:
		return s.cfg.MaxRequest + envelopeRoom
	case 0:
		return maxAction
	}
	return rt.bodyLimit
}

func (rt *route) bodyOptional() bool {
	return !slices.ContainsFunc(rt.body, func(m member) bool { return m.required })
}

// routes is the table of everything that is served.
func routes() []route {
	all := slices.Concat(submitRoutes(), observeRoutes(), actRoutes(), catalogRoutes(), publicRoutes())
	for i := range all {
		all[i].segments = strings.Split(all[i].path, "/")
	}
	return all
}

var (
	observers = []onefold.Role{onefold.RoleSubmit, onefold.RoleRead, onefold.RoleOperate}
	operators = []onefold.Role{onefold.RoleOperate}
	readers   = []onefold.Role{onefold.RoleRead}
	reviewers = []onefold.Role{onefold.RoleRead, onefold.RoleOperate}
	everybody = []onefold.Role{onefold.RoleSubmit, onefold.RoleRead, onefold.RoleOperate, onefold.RoleAdmin}
	pausers   = []onefold.Role{onefold.RoleOperate, onefold.RoleAdmin}
	watchers  = []onefold.Role{onefold.RoleRead, onefold.RoleOperate, onefold.RoleAdmin}
	admins    = []onefold.Role{onefold.RoleAdmin}
)

// Limits on texts, in bytes. They bound what a row and a page have to hold.
const (
	maxName      = 200  // of capabilities, connections, sources
	maxKeyLength = 255  // I1
	maxRevision  = 255  // a version number or digest of somebody's document
	maxReference = 1024 // a target's own id: some are URLs
	maxOwner     = 320  // an e-mail address at its longest
	maxReason    = 4096 // a paragraph or two
	maxFileText  = 1 << 20
	maxFiles     = 500
)

func reason(required bool) member {
	m := member{name: "reason", required: required, max: maxReason, doc: "Why, in the actor's own words."}
	if required {
		m.visible, m.doc = true, "Why, in the actor's own words; not blank."
	}
	return m
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = string(list[i])
	}
	return out
}

func success(doc string, shape any) []answer { return []answer{{http.StatusOK, doc, shape, ""}} }
