package executions_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/executions"
)

// BenchmarkDirect is what a gateway adds to a harmless call: lookup, policy, arguments in their canonical form, audit.
func BenchmarkDirect(b *testing.B) {
	rules := []policy.Rule{{Pattern: "other.*", Effect: policy.Deny}, {Pattern: "src.*", Effect: policy.Allow}}
	now := executions.Policy{Rules: rules, Version: policy.Version(rules, policy.Defaults{})}
	service := executions.New(executions.Params{
		Store: world.store, Audit: world.store, Workflows: world.workflows, Catalog: world.upstream,
		Policy: func(context.Context) executions.Policy { return now }, Log: slog.New(slog.DiscardHandler),
	})
	who := executions.Caller{Identity: approval.Identity{Account: "bench", Organisation: "acme"}, Principal: "token:bench", Via: "mcp"}
	call := executions.Call{Address: "src.echo", Arguments: []byte(`{"name":"bench","list":[1,2,3]}`)}
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := service.Execute(b.Context(), who, call); err != nil {
				b.Error(err)
			}
		}
	})
	b.StopTimer()
	if err := service.Close(context.WithoutCancel(b.Context())); err != nil {
		b.Fatal(err)
	}
}
