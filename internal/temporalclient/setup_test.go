package temporalclient_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/holdfast-mcp/holdfast/internal/searchattr"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

const week = 7 * 24 * time.Hour

func TestSetupPreparesANamespaceOnce(t *testing.T) {
	t.Parallel()
	dialed := dialShared(t, "default")
	namespace := unique("setup-once")

	first, err := temporalclient.Setup(t.Context(), dialed, namespace, week)
	require.NoError(t, err)
	require.True(t, first.NamespaceCreated)
	require.Len(t, first.Added, len(temporalclient.SearchAttributes()))
	require.Equal(t, week, first.Retention)
	requireNoErrors(t, temporalclient.Inspect(t.Context(), dialed, namespace, week))

	second, err := temporalclient.Setup(t.Context(), dialed, namespace, week)
	require.NoError(t, err)
	require.Equal(t, temporalclient.Report{Retention: week}, second)
}

func TestSetupMakesAttributesThatWorkflowsCanUseAtOnce(t *testing.T) {
	t.Parallel()
	namespace := unique("setup-usable")
	_, err := temporalclient.Setup(t.Context(), dialShared(t, "default"), namespace, week)
	require.NoError(t, err)

	_, err = dialShared(t, namespace).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "w", TaskQueue: "nobody",
		TypedSearchAttributes: temporal.NewSearchAttributes(
			searchattr.Workspace.ValueSet("w1"),
			searchattr.Deadline.ValueSet(time.Unix(0, 0)),
		),
	}, "some-workflow")

	require.NoError(t, err)
}

func TestSetupRaisesButNeverLowersTheRetention(t *testing.T) {
	t.Parallel()
	dialed := dialShared(t, "default")
	namespace := unique("setup-retention")
	_, err := temporalclient.Setup(t.Context(), dialed, namespace, 0)
	require.NoError(t, err)
	require.Equal(t, temporalclient.LevelError, findingOn(t, temporalclient.Inspect(t.Context(), dialed, namespace, week), "retention").Level)

	raised, err := temporalclient.Setup(t.Context(), dialed, namespace, week)
	require.NoError(t, err)
	require.True(t, raised.RetentionRaised)
	requireNoErrors(t, temporalclient.Inspect(t.Context(), dialed, namespace, week))

	kept, err := temporalclient.Setup(t.Context(), dialed, namespace, 48*time.Hour)
	require.NoError(t, err)
	require.False(t, kept.RetentionRaised)
	require.Equal(t, week, kept.Retention)
}

func TestSetupMayRunInSeveralProcessesAtOnce(t *testing.T) {
	t.Parallel()
	dialed := dialShared(t, "default")
	namespace := unique("setup-race")
	group, ctx := errgroup.WithContext(t.Context())
	for range 4 {
		group.Go(func() error {
			_, err := temporalclient.Setup(ctx, dialed, namespace, week)
			return err
		})
	}
	require.NoError(t, group.Wait())
	requireNoErrors(t, temporalclient.Inspect(t.Context(), dialed, namespace, week))
}

func TestSetupReportsATypeClashAndChangesNothing(t *testing.T) {
	t.Parallel()
	dialed := dialShared(t, "default")
	namespace := emptyNamespace(t, "setup-clash")
	addAttribute(t, dialed, namespace, searchattr.Tool.GetName(), enumspb.INDEXED_VALUE_TYPE_INT)

	report, err := temporalclient.Setup(t.Context(), dialed, namespace, week)

	var clash *temporalclient.AttributeClashError
	require.ErrorAs(t, err, &clash)
	require.Equal(t, []temporalclient.AttributeClash{{
		Name: searchattr.Tool.GetName(), Want: enumspb.INDEXED_VALUE_TYPE_KEYWORD, Have: enumspb.INDEXED_VALUE_TYPE_INT,
	}}, clash.Clashes)
	require.ErrorContains(t, err, "HoldfastTool is Int, must be Keyword")
	require.Empty(t, report.Added)
	require.Contains(t, messages(temporalclient.Inspect(t.Context(), dialed, namespace, week)), "HoldfastTool is Int, must be Keyword")
}

func TestSetupNamesTheStrangersThatTakeTheRoom(t *testing.T) {
	t.Parallel()
	dialed := dialShared(t, "default")
	namespace := emptyNamespace(t, "setup-strangers")
	for i := range 2 {
		addAttribute(t, dialed, namespace, "Stranger"+strconv.Itoa(i), enumspb.INDEXED_VALUE_TYPE_KEYWORD)
	}
	fits, err := temporalclient.Setup(t.Context(), dialed, namespace, week)
	require.NoError(t, err)
	require.Len(t, fits.Strangers, 2)

	full := emptyNamespace(t, "setup-full")
	for i := range 3 {
		addAttribute(t, dialed, full, "Stranger"+strconv.Itoa(i), enumspb.INDEXED_VALUE_TYPE_KEYWORD)
	}
	_, err = temporalclient.Setup(t.Context(), dialed, full, week)
	var room *temporalclient.AttributeRoomError
	require.ErrorAs(t, err, &room)
	require.Len(t, room.Strangers, 3)
	require.ErrorContains(t, err, "Stranger0 Keyword, Stranger1 Keyword, Stranger2 Keyword")
	require.Contains(t, messages(temporalclient.Inspect(t.Context(), dialed, full, week)),
		"others leave too little room for ours: Stranger0 Keyword, Stranger1 Keyword, Stranger2 Keyword")
}

func TestInspectNamesAMissingNamespaceAndAnUnreachableServer(t *testing.T) {
	t.Parallel()
	missing := temporalclient.Inspect(t.Context(), dialShared(t, "default"), "no-such-namespace", week)
	require.Equal(t, temporalclient.Finding{
		Level: temporalclient.LevelError, Subject: "namespace",
		Message: "namespace no-such-namespace does not exist", Action: "run `holdfast setup`",
	}, missing[len(missing)-1])

	lazy, err := temporalclient.NewLazy(plainOptions("127.0.0.1:" + strconv.Itoa(unusedPort(t))))
	require.NoError(t, err)
	defer lazy.Close()
	unreachable := temporalclient.Inspect(t.Context(), lazy, "default", week)
	require.Len(t, unreachable, 1)
	require.Equal(t, "server", unreachable[0].Subject)
	require.Equal(t, temporalclient.LevelError, unreachable[0].Level)
}

// dialShared returns a plain client of the shared server.
func dialShared(t *testing.T, namespace string) client.Client {
	t.Helper()
	options := plainOptions(sharedServer(t).Address())
	options.Namespace = namespace
	dialed, err := temporalclient.Dial(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(dialed.Close)
	return dialed
}

// emptyNamespace makes a namespace without any of our attributes.
func emptyNamespace(t *testing.T, prefix string) string {
	t.Helper()
	name := unique(prefix)
	registerNamespace(t, sharedServer(t).Address(), name)
	return name
}

func addAttribute(t *testing.T, svc temporalclient.Services, namespace, name string, kind enumspb.IndexedValueType) {
	t.Helper()
	add := func() error {
		_, err := svc.OperatorService().AddSearchAttributes(t.Context(), &operatorservice.AddSearchAttributesRequest{
			Namespace: namespace, SearchAttributes: map[string]enumspb.IndexedValueType{name: kind},
		})
		return err
	}
	waitFor(t, 30*time.Second, func() bool { return add() == nil }, "attribute "+name+" is added")
}

func requireNoErrors(t *testing.T, findings []temporalclient.Finding) {
	t.Helper()
	for _, finding := range findings {
		require.Equal(t, temporalclient.LevelOK, finding.Level, finding.Message)
	}
}

func findingOn(t *testing.T, findings []temporalclient.Finding, subject string) temporalclient.Finding {
	t.Helper()
	for _, finding := range findings {
		if finding.Subject == subject {
			return finding
		}
	}
	require.FailNow(t, "no finding on "+subject)
	return temporalclient.Finding{}
}

func messages(findings []temporalclient.Finding) []string {
	var all []string
	for _, finding := range findings {
		all = append(all, finding.Message)
	}
	return all
}

// registerNamespace uses the service itself, since Setup would add the attributes too.
func registerNamespace(t *testing.T, address, name string) {
	t.Helper()
	namespaces, err := client.NewNamespaceClient(client.Options{HostPort: address})
	require.NoError(t, err)
	defer namespaces.Close()
	require.NoError(t, namespaces.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}))
}
