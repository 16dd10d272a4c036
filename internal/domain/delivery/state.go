package delivery

// State is the delivery state of a connection.
type State string

// The delivery states.
const (
	// NotDesired means that nothing is wanted: there is no desired config.
	NotDesired State = "not_desired"
	// Pending means wanted, and not applied yet.
	Pending State = "pending"
	// Registering means that an attempt is under way.
	Registering State = "registering"
	// Ready means that the revision was delivered, read back as connected and verified at the endpoint.
	Ready State = "ready"
	// Failed means that the last attempt or the last look failed.
	Failed State = "failed"
	// Stale means that what was delivered is no longer proven.
	Stale State = "stale"
)

// States lists every state in the order of a life cycle.
func States() []State {
	return []State{NotDesired, Pending, Registering, Ready, Failed, Stale}
}

// Valid reports whether s is one of the six states.
func (s State) Valid() bool {
	switch s {
	case NotDesired, Pending, Registering, Ready, Failed, Stale:
		return true
	default:
		return false
	}
}

// MayRegister reports whether a registration may start from s. Two pushes never overlap because a registration
// starts only from here.
func (s State) MayRegister() bool {
	return s == Pending || s == Stale || s == Failed
}
