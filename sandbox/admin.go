package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

func isAdmin(path string) bool { return path == "/admin" || strings.HasPrefix(path, "/admin/") }

// serveAdmin answers the admin API. Its requests are not logged, and no fault touches them.
func (s *Sandbox) serveAdmin(w http.ResponseWriter, r *http.Request) {
	said := s.administer(r, w)
	if err := said.write(w); err != nil {
		s.log.Debug("the admin answer could not be sent", "path", r.URL.Path, "error", err)
	}
}

func (s *Sandbox) administer(r *http.Request, w http.ResponseWriter) answer {
	if said, turned := s.turnAway(r); turned {
		return said
	}
	what := strings.TrimPrefix(r.URL.Path, "/admin/")
	methods, filters := "", []string(nil)
	switch what {
	case "effects", "requests":
		methods, filters = "GET", []string{"reference", "account", "after_seq"}
	case "summary":
		methods, filters = "GET", []string{"account"}
	case "faults":
		methods = "GET, POST, DELETE"
	case "reset":
		methods = "POST"
	default:
		return refusal(http.StatusNotFound, "not_found", "no such path in the admin API")
	}
	if !slices.Contains(strings.Split(methods, ", "), r.Method) {
		return refusal(http.StatusMethodNotAllowed, "method_not_allowed", "allowed: "+methods).with("Allow", methods)
	}
	filter, err := readFilter(r.URL.RawQuery, filters)
	if err != nil {
		return refusal(http.StatusBadRequest, "invalid", err.Error())
	}
	switch what + " " + r.Method {
	case "effects GET":
		effects, err := s.FindEffects(r.Context(), filter)
		return s.listed(effects, err)
	case "requests GET":
		requests, err := s.FindRequests(r.Context(), filter)
		return s.listed(requests, err)
	case "summary GET":
		sum, err := s.summary(r.Context(), filter.Account)
		return s.listed(sum, err)
	case "faults GET":
		faults, err := s.Faults(r.Context())
		return s.listed(faults, err)
	case "faults POST":
		return s.queueFaults(r, w)
	case "faults DELETE":
		cleared, err := s.ClearFaults(r.Context())
		return s.listed(map[string]int64{"cleared": cleared}, err)
	}
	if !s.options.AllowReset {
		return refusal(http.StatusForbidden, "not_enabled", "this sandbox was started without permission to reset it")
	}
	return s.listed(map[string]bool{"reset": true}, s.Reset(r.Context()))
}

func (s *Sandbox) listed(content any, err error) answer {
	var body []byte
	if err == nil {
		body, err = json.Marshal(content)
	}
	if err != nil {
		s.log.Error("the admin API cannot answer", "error", err)
		return refusal(http.StatusInternalServerError, "internal", "the sandbox cannot read or write its file")
	}
	return jsonAnswer(http.StatusOK, append(body, '\n'))
}

func readFilter(query string, allowed []string) (Filter, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return Filter{}, errors.New("the query cannot be read")
	}
	var f Filter
	for name, given := range values {
		switch {
		case !slices.Contains(allowed, name):
			return Filter{}, fmt.Errorf("%q is no parameter here", name)
		case len(given) > 1:
			return Filter{}, fmt.Errorf("%s is given more than once", name)
		case name == "reference":
			f.Reference = &given[0]
		case name == "account":
			f.Account = &given[0]
		default:
			f.AfterSeq, err = strconv.ParseInt(given[0], 10, 64)
			if err != nil || f.AfterSeq < 0 {
				return Filter{}, errors.New("after_seq is a sequence number")
			}
		}
	}
	return f, nil
}

// queueFaults takes one fault or a list, all or none, and answers them as they were queued, in the shape they came in.
func (s *Sandbox) queueFaults(r *http.Request, w http.ResponseWriter) answer {
	body, tooLarge, err := readLimited(w, r)
	switch {
	case err != nil:
		return refusal(http.StatusBadRequest, "invalid", "the body did not arrive whole")
	case tooLarge:
		return refusal(http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("a body has at most %d bytes", MaxBody)).
			with("Connection", "close")
	}
	faults, single, err := readFaults(body)
	var ids []string
	if err == nil {
		ids, err = s.AddFaults(r.Context(), faults)
	}
	var wrong *FaultError
	switch {
	case errors.As(err, &wrong):
		place := wrong.Member
		if single {
			place = strings.TrimPrefix(place, "/0")
		}
		return refusal(http.StatusBadRequest, "invalid", strings.TrimPrefix(place+": "+wrong.Detail, ": "), "member", place)
	case errors.Is(err, ErrQueueFull):
		return refusal(http.StatusConflict, "queue_full", err.Error())
	case err != nil:
		return s.listed(nil, err)
	}
	said := s.queued(r, ids, single)
	if said.status == http.StatusOK {
		said.status = http.StatusCreated
	}
	return said
}

// queued reads back what was queued.
func (s *Sandbox) queued(r *http.Request, ids []string, single bool) answer {
	all, err := s.Faults(r.Context())
	added := slices.DeleteFunc(all, func(f FaultState) bool { return !slices.Contains(ids, f.ID) })
	if single && len(added) == 1 {
		return s.listed(added[0], err)
	}
	return s.listed(added, err)
}

// readFaults reads one fault or a list of them. Places in its errors begin with the index in either case.
func readFaults(body []byte) (faults []Fault, single bool, err error) {
	var raw []json.RawMessage
	if json.Unmarshal(body, &raw) != nil || raw == nil {
		raw, single = []json.RawMessage{body}, true
	}
	if len(raw) == 0 {
		return nil, false, &FaultError{Detail: "the list is empty"}
	}
	for i, one := range raw {
		var f Fault
		var wrong *FaultError
		if err := f.UnmarshalJSON(one); errors.As(err, &wrong) {
			return nil, single, &FaultError{Member: "/" + strconv.Itoa(i) + wrong.Member, Detail: wrong.Detail}
		}
		faults = append(faults, f)
	}
	return faults, single, nil
}
