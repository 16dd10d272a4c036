package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/proxy"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
	"github.com/holdfast-mcp/holdfast/workflows/engine"
)

// The canaries: each is put where a secret may be, and found nowhere.
var canaries = map[string]string{
	"custom header":   "cnry0header7Hq2vXw9Lk",
	"bearer":          "cnry0bearer4Tz8mRp1Jd",
	"url query":       "cnry0query6Bn3cYf5Gs",
	"engine password": "cnry0engine2Wd7kUa8Ve",
}

// parrot stands before an endpoint and, when told to, refuses with an answer that repeats whatever it was sent.
type parrot struct {
	*httptest.Server

	status atomic.Int32
}

func newParrot(t *testing.T, upstream string) *parrot {
	t.Helper()
	target, err := url.Parse(upstream)
	require.NoError(t, err)
	target.Path = ""
	through := httputil.NewSingleHostReverseProxy(target)
	p := &parrot{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := int(p.status.Load())
		if status == 0 {
			through.ServeHTTP(w, r)
			return
		}
		sent := fmt.Sprint(r.URL.String(), " ", r.Header)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer error=%q", r.Header.Get("Authorization")))
		w.Header().Set("X-Request-Id", r.Header.Get("X-Api-Key"))
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": -32603, "message": "cannot serve " + sent},
		})
	}))
	t.Cleanup(p.Close)
	return p
}

// spans keeps every exported span in words, beyond the end of the worker.
type spans struct {
	mu  sync.Mutex
	all strings.Builder
}

func (s *spans) ExportSpans(_ context.Context, batch []sdktrace.ReadOnlySpan) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stub := range tracetest.SpanStubsFromReadOnlySpans(batch) {
		fmt.Fprintf(&s.all, "%s %+v %+v %+v\n", stub.Name, stub.Attributes, stub.Events, stub.Status)
	}
	return nil
}

func (s *spans) Shutdown(context.Context) error { return nil }

func (s *spans) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// findings are all texts in which a secret could have ended up, by the place.
type findings struct {
	t     *testing.T
	codec *temporalclient.Codec
	texts map[string]*strings.Builder
}

func (f *findings) add(place, text string) {
	if f.texts[place] == nil {
		f.texts[place] = &strings.Builder{}
	}
	f.texts[place].WriteString(text + "\n")
}

// message reads a message of Temporal's as anybody does, and again as somebody with the codec does.
func (f *findings) message(place string, m proto.Message) {
	f.t.Helper()
	raw, err := protojson.Marshal(m)
	require.NoError(f.t, err)
	f.add(place+" as stored", string(raw))
	visit := func(_ *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
		for _, p := range payloads {
			f.add(place+" as stored", string(p.GetData()))
		}
		opened, err := f.codec.Decode(payloads)
		for _, p := range opened {
			f.add(place+" through the codec", string(p.GetData()))
		}
		return payloads, err
	}
	require.NoError(f.t, proxy.VisitPayloads(f.t.Context(), proto.Clone(m), proxy.VisitPayloadsOptions{Visitor: visit}))
}

// workflow reads all that Temporal has of a workflow: history, memo, search attributes, pending activities.
func (f *findings) workflow(s *stack.Stack, id string) {
	f.t.Helper()
	events := s.Temporal.GetWorkflowHistory(f.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(f.t, err)
		f.message("history", event)
	}
	described, err := s.Temporal.DescribeWorkflow(f.t.Context(), id, "")
	require.NoError(f.t, err)
	f.message("description", described.RawResponse)
}

func (f *findings) json(place string, v any) {
	f.t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(f.t, err)
	f.add(place, string(raw))
}

// requireClean requires that no canary is in any text, neither as it is nor in the forms in which it travels.
func (f *findings) requireClean() {
	f.t.Helper()
	basic := base64.StdEncoding.EncodeToString([]byte("opencode:" + canaries["engine password"]))
	for _, place := range slices.Sorted(maps.Keys(f.texts)) {
		text := f.texts[place].String()
		for name, canary := range canaries {
			require.Equal(f.t, -1, strings.Index(text, canary), "the canary of the %s is in: %s\n%s", name, place, around(text, canary))
		}
		require.Equal(f.t, -1, strings.Index(text, basic), "the engine's credentials are in: %s", place)
	}
}

func around(text, canary string) string {
	at := strings.Index(text, canary)
	return text[max(0, at-200):min(len(text), at+len(canary)+100)]
}

func TestA20SecretsAreFoundNowhere(t *testing.T) {
	t.Parallel()
	traces := &spans{}
	s := &simulated{Stack: stack.New(t, stack.Options{NoWorker: true, SpanExporter: traces})}
	var err error
	s.engine, err = simulator.NewEngine(simulator.EngineOptions{Password: canaries["engine password"]})
	require.NoError(t, err)
	t.Cleanup(s.engine.Close)
	s.endpoint, err = simulator.NewEndpoint(simulator.EndpointOptions{
		Token: canaries["bearer"], LostStatus: http.StatusBadRequest,
		Tools: []string{tool, "echo-" + canaries["bearer"], canaries["custom header"], "q-" + canaries["url query"]},
	})
	require.NoError(t, err)
	t.Cleanup(s.endpoint.Close)
	between := newParrot(t, s.endpoint.URL())
	stop := s.StartWorker()
	want := s.want()
	want.URL = between.URL + "/mcp?key=" + canaries["url query"]
	want.Headers = map[string]string{
		"Authorization": "Bearer " + canaries["bearer"], "X-Api-Key": canaries["custom header"],
	}
	want.EnginePassword = canaries["engine password"]
	s.key = s.Apply(want)
	f := &findings{t: t, codec: temporalclient.NewCodec(s.Keys.AEAD()), texts: map[string]*strings.Builder{}}
	before := s.AwaitState(s.key, delivery.Ready, soon)
	f.look(s)

	// Everything that could be made to repeat a secret is made to fail, one after the other.
	for _, status := range []int{http.StatusInternalServerError, http.StatusUnauthorized, http.StatusForbidden, http.StatusOK} {
		between.status.Store(int32(status))
		_, err = s.Connections.Reconcile(t.Context(), s.key, testkit.UniqueName(), connection.Request{Trigger: "test"})
		require.NoError(t, err)
		require.NoError(t, s.Connections.MarkStale(t.Context(), s.key, "test"))
		s.AwaitState(s.key, delivery.Failed, soon)
		f.look(s)
		between.status.Store(0)
		_, err = s.Connections.Reconcile(t.Context(), s.key, testkit.UniqueName(), connection.Request{Trigger: "test"})
		require.NoError(t, err)
		before = s.AwaitRepaired(s.key, before, soon)
	}
	s.engineRepeats(want)
	s.AwaitState(s.key, delivery.Failed, soon)
	f.look(s)
	s.engine.ClearFaults()
	between.CloseClientConnections()
	between.Close()
	require.NoError(t, s.Connections.MarkStale(t.Context(), s.key, "endpoint gone"))
	s.AwaitState(s.key, delivery.Failed, soon)
	f.look(s)
	s.engine.Kill()
	s.lookedThatItIsDown()
	f.look(s)
	want.Directory, want.EnginePassword = s.key.Directory, canaries["engine password"]+"-wrong"
	s.Put(want)
	require.NoError(t, s.engine.Restart())
	s.Await(s.key, soon, "refused by the engine", func(got connection.Snapshot) bool {
		return got.Failure != nil && strings.Contains(got.Failure.Cause(), "password")
	})
	f.look(s)

	stop()
	f.workflow(s.Stack, connection.ID(s.key))
	f.workflow(s.Stack, engine.ID(strings.TrimPrefix(s.engine.BaseURL(), "http://")))
	require.NotEmpty(t, traces.String())
	f.add("traces", traces.String())
	require.Contains(t, s.Logs(), "state changed")
	f.add("logs", s.Logs())
	// What was looked through is what it should be, and what was hidden was really sent.
	require.Contains(t, f.texts["history through the codec"].String(), s.key.Directory)
	require.NotContains(t, f.texts["history as stored"].String(), s.key.Directory)
	sent, err := json.Marshal(s.engine.Registrations(s.key.Directory))
	require.NoError(t, err)
	for _, name := range []string{"custom header", "bearer", "url query"} {
		require.Contains(t, string(sent), canaries[name])
	}
	f.requireClean()
}

// engineRepeats makes the engine repeat in its own words all that it was given to deliver.
func (s *simulated) engineRepeats(want stack.Want) {
	text := fmt.Sprintf("SSE error: Non-200 status code (401) %s %v; %s", want.URL, want.Headers,
		strings.Join([]string{canaries["custom header"], canaries["bearer"], canaries["url query"]}, " "))
	body, err := json.Marshal(map[string]any{"cloud": map[string]string{"status": "failed", "error": text}})
	require.NoError(s.TB, err)
	s.engine.Inject(simulator.RouteStatus, simulator.Always, simulator.Fault{Status: http.StatusOK, Body: string(body)})
	s.engine.Inject(simulator.RouteRegister, simulator.Always, simulator.Fault{Status: http.StatusBadRequest, Body: string(body)})
}

func (s *simulated) lookedThatItIsDown() {
	s.TB.Helper()
	s.Await(s.key, soon, "the engine is down", func(got connection.Snapshot) bool {
		return got.Failure != nil && got.Failure.Code == "opencode_engine_unreachable"
	})
}

// look reads what the workflow tells whoever asks.
func (f *findings) look(s *simulated) {
	f.t.Helper()
	f.json("snapshot", s.Snapshot(s.key))
	f.json("health", s.health())
	projection, err := s.Connections.Projection(f.t.Context(), s.key)
	require.NoError(f.t, err)
	f.json("projection", projection)
	history, err := s.Connections.History(f.t.Context(), s.key)
	require.NoError(f.t, err)
	f.json("transitions", history)
}
