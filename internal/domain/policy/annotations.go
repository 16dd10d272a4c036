package policy

// Annotations are what a tool says of itself. A hint that is absent is nil.
type Annotations struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// Default is what applies to a tool that no rule matches, and why. An absent hint means what the protocol says: not read-only,
// destructive, not idempotent.
//
//	readOnly | destructive    | idempotent | effect
//	true     | any            | any        | allow
//	else     | true or absent | any        | ask
//	else     | false          | true       | allow
//	else     | false          | else       | ask: made twice, it would happen twice
func (a Annotations) Default() (effect Effect, reason string) {
	switch {
	case isTrue(a.ReadOnly):
		return Allow, "annotation: read-only"
	case a == Annotations{}:
		return Ask, "no annotation"
	case isTrue(a.Destructive):
		return Ask, "annotation: destructive"
	case a.Destructive == nil:
		return Ask, "annotation: not said to be harmless"
	case isTrue(a.Idempotent):
		return Allow, "annotation: idempotent, not destructive"
	default:
		return Ask, "annotation: not idempotent"
	}
}

// Over gives the hints of a where it has any, and those of below elsewhere.
func (a Annotations) Over(below Annotations) Annotations {
	return Annotations{
		ReadOnly:    hintOver(a.ReadOnly, below.ReadOnly),
		Destructive: hintOver(a.Destructive, below.Destructive),
		Idempotent:  hintOver(a.Idempotent, below.Idempotent),
		OpenWorld:   hintOver(a.OpenWorld, below.OpenWorld),
	}
}

func hintOver(above, below *bool) *bool {
	if above != nil {
		return above
	}
	return below
}

func isTrue(hint *bool) bool { return hint != nil && *hint }

// Override is what an operator says of a source's tools, in place of what the source says: its hints may be lies.
type Override struct {
	// HonoursKey says that the source makes a call once for an idempotency key, however often it comes.
	HonoursKey bool
	// Annotations are by the tool's name; "*" is for all of the source that are not named.
	Annotations map[string]Annotations
}

// For gives what the operator says of a tool.
func (o Override) For(tool string) Annotations {
	if own, named := o.Annotations[tool]; named {
		return own
	}
	return o.Annotations[wildcard]
}
