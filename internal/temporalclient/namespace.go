package temporalclient

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"

	"github.com/holdfast-mcp/holdfast/internal/searchattr"
)

// serviceTimeout bounds one administrative call.
const serviceTimeout = 10 * time.Second

// Services are the two raw services that administration needs; client.Client has them.
type Services interface {
	WorkflowService() workflowservice.WorkflowServiceClient
	OperatorService() operatorservice.OperatorServiceClient
}

// namespaceState is what the server says about a namespace.
type namespaceState struct {
	exists    bool
	retention time.Duration
}

// readNamespace asks for the namespace; one that does not exist is no error.
func readNamespace(ctx context.Context, svc Services, namespace string) (namespaceState, error) {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	described, err := svc.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if codeOf(err) == codes.NotFound {
		return namespaceState{}, nil
	}
	if err != nil {
		return namespaceState{}, fmt.Errorf("describe namespace %s: %w", namespace, err)
	}
	return namespaceState{
		exists:    true,
		retention: described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(),
	}, nil
}

// attributeState compares the search attributes of a namespace with those that Holdfast owns.
type attributeState struct {
	missing   []Attribute
	clashes   []AttributeClash
	strangers []Attribute
}

// AttributeClash is a search attribute that exists with a type that is not ours.
type AttributeClash struct {
	Name string
	Want enumspb.IndexedValueType
	Have enumspb.IndexedValueType
}

// readAttributes lists the search attributes of the namespace.
func readAttributes(ctx context.Context, svc Services, namespace string) (attributeState, error) {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	listed, err := svc.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return attributeState{}, fmt.Errorf("list search attributes of namespace %s: %w", namespace, err)
	}
	return compareAttributes(listed.GetCustomAttributes()), nil
}

// compareAttributes sorts what exists into ours, clashing and strange.
func compareAttributes(have map[string]enumspb.IndexedValueType) attributeState {
	var state attributeState
	ours := make(map[string]bool)
	for _, want := range SearchAttributes() {
		ours[want.Name] = true
		switch have, exists := have[want.Name]; {
		case !exists:
			state.missing = append(state.missing, want)
		case have != want.Type:
			state.clashes = append(state.clashes, AttributeClash{Name: want.Name, Want: want.Type, Have: have})
		}
	}
	for name, kind := range have {
		if !ours[name] {
			state.strangers = append(state.strangers, Attribute{Name: name, Type: kind})
		}
	}
	slices.SortFunc(state.strangers, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return state
}

// crowded returns the strangers that leave no room for ours on standard SQL visibility.
func (s attributeState) crowded() []Attribute {
	wanted, strange := make(map[enumspb.IndexedValueType]int), make(map[enumspb.IndexedValueType]int)
	for _, a := range SearchAttributes() {
		wanted[a.Type]++
	}
	for _, a := range s.strangers {
		strange[a.Type]++
	}
	var crowding []Attribute
	for _, a := range s.strangers {
		if wanted[a.Type] > 0 && wanted[a.Type]+strange[a.Type] > searchattr.LimitPerType(a.Type) {
			crowding = append(crowding, a)
		}
	}
	return crowding
}
