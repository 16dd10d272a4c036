package searchattr

import (
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
)

// The search attributes, typed.
var (
	Workspace   = temporal.NewSearchAttributeKeyKeyword("HoldfastWorkspace")
	Name        = temporal.NewSearchAttributeKeyKeyword("HoldfastName")
	Engine      = temporal.NewSearchAttributeKeyKeyword("HoldfastEngine")
	State       = temporal.NewSearchAttributeKeyKeyword("HoldfastState")
	FailureCode = temporal.NewSearchAttributeKeyKeyword("HoldfastFailureCode")
	// Owner holds a hash of the owner, never the account itself.
	Owner      = temporal.NewSearchAttributeKeyKeyword("HoldfastOwner")
	Session    = temporal.NewSearchAttributeKeyKeyword("HoldfastSession")
	Tool       = temporal.NewSearchAttributeKeyKeyword("HoldfastTool")
	StateSince = temporal.NewSearchAttributeKeyTime("HoldfastStateSince")
	Deadline   = temporal.NewSearchAttributeKeyTime("HoldfastDeadline")
)

// All lists every search attribute in a fixed order.
func All() []temporal.SearchAttributeKey {
	return []temporal.SearchAttributeKey{
		Workspace, Name, Engine, State, FailureCode, Owner, Session, Tool, StateSince, Deadline,
	}
}

// LimitPerType is how many attributes of one type a namespace with standard SQL visibility holds.
func LimitPerType(t enumspb.IndexedValueType) int {
	if t == enumspb.INDEXED_VALUE_TYPE_KEYWORD {
		return 10
	}
	return 3
}
