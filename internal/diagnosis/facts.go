package diagnosis

import (
	"slices"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/denies"
	domain "github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
)

// canaries are tools that the plugins of the openwork profile bring: without them the engine has not loaded them.
var canaries = []string{"openwork_docs_search", "openwork_query"}

// facts is all that one read has learnt.
type facts struct {
	key     delivery.Key
	options Options

	want *desired.Resolved
	// At most one of these is set: nothing is wanted or it cannot be read; it breaks a rule; its engine is not known.
	noDesired *health.Failure
	invalid   *health.Failure
	noEngine  *health.Failure
	engine    *askedEngine

	expected []string // direct names

	ledger  ledger
	live    live
	denials []denies.Denial
	unknown []denies.Unknown
}

func (f *facts) revision() string {
	if f.want == nil {
		return ""
	}
	return f.want.Revision
}

func (f *facts) expectedIDs() []string { return engineIDs(f.key.Name, f.expected) }

func (f *facts) openwork() bool { return f.want != nil && f.want.Profile == domain.ProfileOpenWork }

// first is the failure that the connection is shown with.
func (f *facts) first() *health.Failure {
	var denied *health.Failure
	if len(f.denials) > 0 {
		failure := health.ToolsDenied(f.denials)
		denied = &failure
	}
	var directory *health.Failure
	validation := f.invalid
	if validation != nil && validation.Code == health.CodeDirectoryAmbiguous {
		validation, directory = nil, validation
	}
	return health.First(f.noDesired, validation, directory, f.noEngine, denied, f.inspection())
}

// inspection is what engine, endpoint and ledger say against the connection, in the order in which one explains the next. The
// ledger comes last, but where it knows the cause of what the engine shows: no token to deliver with, a delivery that the
// endpoint answered, a delivery that is under way.
func (f *facts) inspection() []health.Failure {
	if f.want == nil || f.engine == nil {
		return nil
	}
	var found []health.Failure
	add := func(failure *health.Failure) {
		if failure != nil {
			found = append(found, *failure)
		}
	}
	ledger := f.ledger.failure(f.want.Revision)
	if f.ledgerExplains(ledger) {
		add(ledger)
		ledger = nil
	}
	if stop := f.live.stop(f.key.Name); stop != nil {
		add(stop)
	} else {
		add(f.live.directFailure())
		add(f.live.projection.failure(f.options, f.expectedIDs()))
		if missing := f.canaryList().Missing; len(missing) > 0 {
			failure := health.PluginMissing(missing)
			add(&failure)
		}
	}
	add(ledger)
	return found
}

func (f *facts) ledgerExplains(failure *health.Failure) bool {
	if failure == nil {
		return false
	}
	if failure.Stage == health.StageTokenMint {
		return true
	}
	status := f.live.statuses[f.key.Name].Status
	if f.live.statusesErr != nil || !f.ledger.knows(f.want.Revision) {
		return false
	}
	switch f.ledger.snapshot.State {
	case delivery.Failed:
		return status == engineapi.StatusFailed
	case delivery.Registering:
		return status != engineapi.StatusConnected
	case delivery.NotDesired, delivery.Pending, delivery.Ready, delivery.Stale:
		return false
	default:
		return false
	}
}

// engineFaults are the codes of a ledger's failure that a live "connected" speaks against. What is wrong with the endpoint
// is not among them: "connected" says nothing of it, and each look that is asked for costs the endpoint a probe.
var engineFaults = []health.Code{
	health.CodeEngineUnreachable, health.CodeCloudMissing, health.CodeDisabled, health.CodeSyncFailed, health.CodeNeedsAuth,
}

// disagrees reports whether this read saw something else than the workflow tells, so that the workflow should look.
func (f *facts) disagrees() bool {
	if f.engine == nil || f.ledger.source == FromNowhere {
		return false
	}
	if !f.ledger.knows(f.want.Revision) {
		return true
	}
	ready := f.ledger.snapshot.State == delivery.Ready
	failure := f.ledger.snapshot.Failure
	connected := f.live.connected(f.key.Name)
	switch {
	case ready && !connected:
		return true
	case connected && f.ledger.snapshot.State == delivery.Failed && failure != nil && slices.Contains(engineFaults, failure.Code):
		return true
	case f.live.probe == nil:
		return false
	case f.live.probe.Failure != nil:
		return ready && f.ledger.snapshot.Degraded == nil
	default:
		return f.ledger.snapshot.State == delivery.Failed || f.ledger.snapshot.Degraded != nil
	}
}
