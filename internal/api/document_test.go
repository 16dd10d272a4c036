package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/api"
)

func TestTheDocumentIsValidAndHasEveryRouteAndNoOther(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.do(request{method: http.MethodGet, path: "/openapi.json"})
	loaded, err := openapi3.NewLoader().LoadFromData(a.requireOK().body)
	require.NoError(t, err)
	require.Equal(t, "3.1.0", loaded.OpenAPI)
	require.NoError(t, loaded.Validate(t.Context()))
	var documented, served []string
	for path, item := range loaded.Paths.Map() {
		for method := range item.Operations() {
			documented = append(documented, method+" "+path)
		}
	}
	for _, route := range api.Routes() {
		served = append(served, route.Method+" "+route.Path)
	}
	slices.Sort(documented)
	slices.Sort(served)
	require.Equal(t, served, documented)
	require.Len(t, slices.Compact(slices.Clone(served)), len(served))
}

func TestEveryOperationHasAnIDOfItsOwnAndWhatItNeeds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	loaded, err := openapi3.NewLoader().LoadFromData(r.get("/openapi.json").body)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, route := range api.Routes() {
		operation := loaded.Paths.Find(route.Path).GetOperation(route.Method)
		require.False(t, seen[operation.OperationID], operation.OperationID)
		seen[operation.OperationID] = true
		require.NotEmpty(t, operation.Summary)
		if route.Least == "" {
			require.Empty(t, *operation.Security, route.ID)
		} else {
			require.Len(t, *operation.Security, 1, route.ID)
			require.Contains(t, operation.Description, string(route.Least))
			require.NotNil(t, operation.Responses.Status(http.StatusUnauthorized))
			require.NotNil(t, operation.Responses.Status(http.StatusForbidden))
		}
		if route.Operation {
			require.NotNil(t, operation.Responses.Status(http.StatusAccepted), route.ID)
		}
		for part := range strings.SplitSeq(route.Path, "/") {
			if name, ok := strings.CutPrefix(part, "{"); ok {
				require.NotNil(t, operation.Parameters.GetByInAndName("path", strings.TrimSuffix(name, "}")), route.ID)
			}
		}
	}
}

func TestEveryErrorCodeHasAStatusAndAMessage(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, api.Codes())
	for _, code := range api.Codes() {
		require.GreaterOrEqual(t, code.Status(), 400, code)
		require.Regexp(t, `^[a-z_]+$`, string(code))
	}
}
