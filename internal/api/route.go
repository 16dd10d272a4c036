package api

import (
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/auth"
)

// route is everything about one route: what the mux, the checks and the OpenAPI document are made from.
type route struct {
	method, path string // the path as the standard library's mux writes it
	id           string // operationId
	tag          string
	summary      string

	// least is the least role that may use it; empty: anybody.
	least auth.Role
	// writes holds for what a read-only gateway refuses.
	writes bool
	// keyed holds for what takes an Idempotency-Key and is no operation.
	keyed bool
	// deadline bounds the handler; 0: readDeadline.
	deadline time.Duration

	params []param
	body   *body
	ok     answer
	fails  []Code // beside those that its kind always has

	// One of these.
	read    func(*API, *call) (*reply, error)      // answers at once
	operate func(*API, *call) (*job, error)        // work that may take long: may be answered later, and is done once for a key
	raw     func(*API, http.ResponseWriter, *call) // writes its answer itself
}

// param is a query parameter.
type param struct {
	name, about string
	enum        []string
}

// body is what a route takes.
type body struct {
	of       reflect.Type
	optional bool
}

// answer is what a route answers when all is well.
type answer struct {
	status int
	of     reflect.Type
	media  string // empty: application/json
	about  string
}

const eventStream = "text/event-stream"

const (
	// readDeadline bounds what only reads: a health document asks engine and endpoint, each with deadlines of its own.
	readDeadline = 60 * time.Second
	// operationDeadline is longer than a workflow takes to answer an update, and a look after it.
	operationDeadline = 100 * time.Second
)

func (r *route) limit() time.Duration {
	switch {
	case r.deadline > 0:
		return r.deadline
	case r.operate != nil:
		return operationDeadline
	default:
		return readDeadline
	}
}

// streams holds for an answer that has no end.
func (r *route) streams() bool { return r.ok.media == eventStream }

// pathParams are the names in the path, in order.
func (r *route) pathParams() []string {
	var names []string
	for part := range strings.SplitSeq(r.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// codes are all errors that the route may answer with.
func (r *route) codes() []Code {
	codes := []Code{CodeForbidden, CodeInternal}
	if r.least != "" {
		codes = append(codes, CodeUnauthorized, CodeStoreUnavailable, CodeProviderUnavailable, CodeInvalidPayload)
	}
	if r.writes {
		codes = append(codes, CodeReadOnly)
	}
	if r.body != nil || r.operate != nil {
		codes = append(codes, CodeTooLarge, CodeInvalidPayload)
	}
	if r.body != nil {
		codes = append(codes, CodeInvalidJSON)
	}
	if r.operate != nil {
		codes = append(codes, CodeKeyReused, CodeBusy, CodeStopping)
	}
	return append(codes, r.fails...)
}

// byPath groups routes: a path may take several methods.
func byPath(all []*route) map[string][]*route {
	paths := map[string][]*route{}
	for _, r := range all {
		paths[r.path] = append(paths[r.path], r)
	}
	return paths
}

func of[T any]() reflect.Type { return reflect.TypeFor[T]() }

// RouteInfo is what others may know of a route: its place, the least role that may use it (empty: anybody), whether a read-only
// gateway refuses it, whether it may be answered later, and whether its answer has no end.
type RouteInfo struct {
	ID, Method, Path string
	Least            auth.Role
	Writes           bool
	Operation        bool
	Stream           bool // the answer has no end
}

// Routes lists every route.
func Routes() []RouteInfo {
	var all []RouteInfo
	for _, r := range routes() {
		all = append(all, RouteInfo{
			ID: r.id, Method: r.method, Path: r.path, Least: r.least, Writes: r.writes, Operation: r.operate != nil,
			Stream: r.streams(),
		})
	}
	return all
}
