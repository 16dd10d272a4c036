package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Neither pattern is met by a plan that reads only the rows that it gives.
const (
	wholeTable = `SCAN [a-z_]+(;|$)`
	sorted     = `TEMP B-TREE`
)

func TestHotStatementsReadOnlyWhatTheyGive(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	for name, query := range store.HotQueries() {
		plan, err := opened.Plan(t.Context(), query)
		require.NoError(t, err, name)
		require.Contains(t, plan, "SEARCH", name)
		require.NotRegexp(t, wholeTable, plan, name)
		require.NotContains(t, plan, sorted, name)
	}
}

func TestEachFilterHasItsIndex(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	who, yes, no, before := &approval.Identity{Account: "ann", Organisation: "acme"}, true, false, store.Cursor{At: monday, ID: "x"}
	for index, queries := range map[string][]store.Query{
		"mcp_session_created":        {store.SessionsQuery(store.SessionFilter{}), store.SessionsQuery(store.SessionFilter{Before: before})},
		"mcp_session_identity":       {store.SessionsQuery(store.SessionFilter{Identity: who}), store.SessionsQuery(store.SessionFilter{Identity: who, Before: before})},
		"mcp_session_organisation":   {store.SessionsQuery(store.SessionFilter{Organisation: "acme", Before: before})},
		"mcp_session_alive":          {store.SessionsQuery(store.SessionFilter{Alive: true, Before: before})},
		"mcp_session_alive_identity": {store.SessionsQuery(store.SessionFilter{Identity: who, Alive: true})},

		"execution_created":      {store.ExecutionsQuery(store.ExecutionFilter{Before: before})},
		"execution_identity":     {store.ExecutionsQuery(store.ExecutionFilter{Identity: who, Before: before})},
		"execution_organisation": {store.ExecutionsQuery(store.ExecutionFilter{Organisation: "acme"})},
		"execution_session":      {store.ExecutionsQuery(store.ExecutionFilter{Session: "s"})},
		"execution_address":      {store.ExecutionsQuery(store.ExecutionFilter{Address: "a.b"})},
		"execution_status":       {store.ExecutionsQuery(store.ExecutionFilter{Status: []string{"waiting"}, Before: before})},

		"execution_pause_created":      {store.PausesQuery(store.PauseFilter{}), store.PausesQuery(store.PauseFilter{Open: &no})},
		"execution_pause_identity":     {store.PausesQuery(store.PauseFilter{Identity: who, Before: before})},
		"execution_pause_organisation": {store.PausesQuery(store.PauseFilter{Organisation: "acme"})},
		"execution_pause_session":      {store.PausesQuery(store.PauseFilter{Session: "s"})},
		"execution_pause_execution":    {store.PausesQuery(store.PauseFilter{Key: "k"})},
		"execution_pause_open":         {store.PausesQuery(store.PauseFilter{Open: &yes, Before: before})},
		"execution_pause_open_identity": {
			store.PausesQuery(store.PauseFilter{Identity: who, Open: &yes}), store.PausesQuery(store.PauseFilter{Identity: who, Open: &yes, Before: before}),
		},
		"execution_pause_open_organisation": {store.PausesQuery(store.PauseFilter{Organisation: "acme", Open: &yes})},

		"gateway_audit_identity":     {store.AuditQuery(store.AuditFilter{Identity: who, Before: 9})},
		"gateway_audit_organisation": {store.AuditQuery(store.AuditFilter{Organisation: "acme"})},
		"gateway_audit_session":      {store.AuditQuery(store.AuditFilter{Session: "s"})},
		"gateway_audit_execution":    {store.AuditQuery(store.AuditFilter{Execution: "k", Before: 9})},
		"gateway_audit_address":      {store.AuditQuery(store.AuditFilter{Address: "a.b"})},
		"INTEGER PRIMARY KEY":        {store.AuditQuery(store.AuditFilter{Before: 9})},
	} {
		for _, each := range queries {
			plan, err := opened.Plan(t.Context(), each)
			require.NoError(t, err, index)
			require.Regexp(t, index+`( |;|$)`, plan, each.Text)
			require.NotContains(t, plan, sorted, each.Text)
		}
	}
}
