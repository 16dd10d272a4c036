//go:build soak

package chaos_test

import (
	"fmt"
	"testing"
	"time"
)

// TestAHundredCallsOutliveKillsOfEverything prints the table of its scenarios, also where one of them fails.
func TestAHundredCallsOutliveKillsOfEverything(t *testing.T) { //nolint:paralleltest // each scenario wants the machine for itself
	var reports []report
	for seed := uint64(1); seed <= 3; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			got := run(t, scenario{
				seed: seed, executions: 100, kills: 40, arrive: 40 * time.Second, think: 50 * time.Second, late: 15 * time.Minute,
			})
			reports = append(reports, got)
			got.require(t)
		})
	}
	t.Log("\n" + table(reports...))
}
