package temporalclient

import (
	"context"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// settleTimeout bounds the wait until every part of the server knows a new namespace or attribute: its caches
	// refresh every ten seconds.
	settleTimeout = 45 * time.Second
	settlePause   = 250 * time.Millisecond

	// MinRetention is the shortest retention that a Temporal server accepts.
	MinRetention = 24 * time.Hour
)

// Report tells what [Setup] found and changed. A second run on the same namespace changes nothing.
type Report struct {
	NamespaceCreated bool
	RetentionRaised  bool
	// Retention is what the namespace has now; it is never lowered.
	Retention time.Duration
	// Added are the search attributes that were missing.
	Added []string
	// Strangers are search attributes in the namespace that Holdfast does not own.
	Strangers []Attribute
}

// AttributeClashError says that search attributes exist with another type; nothing was changed.
type AttributeClashError struct {
	Namespace string
	Clashes   []AttributeClash
}

// Error names each clash and the way out.
func (e *AttributeClashError) Error() string {
	parts := make([]string, len(e.Clashes))
	for i, clash := range e.Clashes {
		parts[i] = fmt.Sprintf("%s is %s, must be %s", clash.Name, clash.Have, clash.Want)
	}
	return fmt.Sprintf("prepare search attributes of namespace %s: %s: remove them (`temporal operator search-attribute remove`) or use a namespace of its own",
		e.Namespace, strings.Join(parts, "; "))
}

// AttributeRoomError says that the server refused our search attributes, with the strangers that take their room.
type AttributeRoomError struct {
	Namespace string
	Strangers []Attribute
	Cause     error
}

// Error names the strangers.
func (e *AttributeRoomError) Error() string {
	return fmt.Sprintf("add search attributes to namespace %s: %v: others hold the room (%s); remove them or use a namespace of its own",
		e.Namespace, e.Cause, joinNames(e.Strangers))
}

// Unwrap returns the answer of the server.
func (e *AttributeRoomError) Unwrap() error { return e.Cause }

// Setup prepares a namespace of a self-hosted server: creates it if it is missing, raises its retention to at least
// retention (never lowers it; values under MinRetention count as MinRetention) and adds the missing search attributes. It
// is idempotent, and several processes may run it at once. It fails with [*AttributeClashError] before it changes any
// attribute. Temporal Cloud offers none of this to clients: prepare the namespace there with its own tools and use
// [Inspect].
func Setup(ctx context.Context, svc Services, namespace string, retention time.Duration) (Report, error) {
	retention = max(retention, MinRetention)
	var report Report
	if err := ensureNamespace(ctx, svc, namespace, retention, &report); err != nil {
		return report, err
	}
	attributes, err := settledAttributes(ctx, svc, namespace)
	if err != nil {
		return report, err
	}
	report.Strangers = attributes.strangers
	if len(attributes.clashes) > 0 {
		return report, &AttributeClashError{Namespace: namespace, Clashes: attributes.clashes}
	}
	if len(attributes.missing) == 0 {
		return report, nil
	}
	if err := addAttributes(ctx, svc, namespace, attributes); err != nil {
		return report, err
	}
	for _, attribute := range attributes.missing {
		report.Added = append(report.Added, attribute.Name)
	}
	return report, awaitAttributes(ctx, svc, namespace)
}

// ensureNamespace creates the namespace or raises its retention.
func ensureNamespace(ctx context.Context, svc Services, namespace string, retention time.Duration, report *Report) error {
	state, err := readNamespace(ctx, svc, namespace)
	if err != nil {
		return err
	}
	if !state.exists {
		created, err := registerNamespace(ctx, svc, namespace, retention)
		if err != nil {
			return err
		}
		report.NamespaceCreated = created
		if state, err = readNamespace(ctx, svc, namespace); err != nil {
			return err
		}
	}
	report.Retention = max(state.retention, retention)
	if state.retention >= retention {
		return nil
	}
	report.RetentionRaised = true
	return raiseRetention(ctx, svc, namespace, retention)
}

// registerNamespace creates the namespace and reports whether this call did it.
func registerNamespace(ctx context.Context, svc Services, namespace string, retention time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	_, err := svc.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace:                        namespace,
		Description:                      "Holdfast: agent workspaces and their MCP servers",
		WorkflowExecutionRetentionPeriod: durationpb.New(retention),
	})
	if codeOf(err) == codes.AlreadyExists {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("create namespace %s: %w", namespace, err)
	}
	return true, nil
}

// raiseRetention sets the retention of an existing namespace.
func raiseRetention(ctx context.Context, svc Services, namespace string, retention time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	_, err := svc.WorkflowService().UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: namespace,
		Config:    &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(retention)},
	})
	if err != nil {
		return fmt.Errorf("raise retention of namespace %s to %s: %w", namespace, retention, err)
	}
	return nil
}

// settledAttributes reads the attributes, waiting while the server's cache does not know a new namespace yet.
func settledAttributes(ctx context.Context, svc Services, namespace string) (attributeState, error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for {
		state, err := readAttributes(ctx, svc, namespace)
		if codeOf(err) != codes.NotFound {
			return state, err
		}
		if !sleep(ctx, settlePause) {
			return state, err
		}
	}
}

// addAttributes adds what is missing; another process that was faster is no error.
func addAttributes(ctx context.Context, svc Services, namespace string, state attributeState) error {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	wanted := make(map[string]enumspb.IndexedValueType, len(state.missing))
	for _, attribute := range state.missing {
		wanted[attribute.Name] = attribute.Type
	}
	_, err := svc.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace:        namespace,
		SearchAttributes: wanted,
	})
	switch {
	case err == nil || codeOf(err) == codes.AlreadyExists:
		return nil
	case len(state.crowded()) > 0:
		return &AttributeRoomError{Namespace: namespace, Strangers: state.crowded(), Cause: err}
	default:
		return fmt.Errorf("add search attributes to namespace %s: %w", namespace, err)
	}
}

// awaitAttributes waits until the server lists all of ours, so that a workflow started next does not fail on them.
func awaitAttributes(ctx context.Context, svc Services, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for {
		state, err := readAttributes(ctx, svc, namespace)
		if err == nil && len(state.missing) == 0 {
			return nil
		}
		if sleep(ctx, settlePause) {
			continue
		}
		if err == nil {
			err = fmt.Errorf("namespace %s still lacks %s: run the setup again", namespace, joinNames(state.missing))
		}
		return fmt.Errorf("wait for search attributes: %w", err)
	}
}

// joinNames lists attributes with their types.
func joinNames(attributes []Attribute) string {
	names := make([]string, len(attributes))
	for i, attribute := range attributes {
		names[i] = attribute.Name + " " + attribute.TypeName()
	}
	return strings.Join(names, ", ")
}
