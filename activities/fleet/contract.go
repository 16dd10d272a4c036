package fleet

// ReconcileName is the name of the activity. It is part of recorded histories: never rename it.
const ReconcileName = "fleet.reconcile"

// ReconcileRequest asks for a pass.
type ReconcileRequest struct {
	// Report asks for an answer also where everything is in order. Without it a pass that changes nothing ends with the benign
	// error by which the server tries again after the interval.
	Report bool `json:"report,omitempty"`
}

// ReconcileResult tells what a pass found and did.
type ReconcileResult struct {
	// Wanted is how many connections are.
	Wanted int `json:"wanted"`
	// Started and Closed count workflows of connections, Engines the watches that were started.
	Started int `json:"started"`
	Closed  int `json:"closed"`
	Engines int `json:"engines"`
	// InUse counts connections that are wanted no more, and whose client a session uses: they end later.
	InUse int `json:"inUse,omitempty"`
	// Failed counts what could not be done; Failures names some of them.
	Failed   int       `json:"failed,omitempty"`
	Failures []Failure `json:"failures,omitempty"`
}

// Failure is one thing that a pass could not do.
type Failure struct {
	// Subject is WORKSPACE/NAME, or an engine's id.
	Subject string `json:"subject"`
	// Step is start, close or watch.
	Step  string `json:"step"`
	Error string `json:"error"`
}
