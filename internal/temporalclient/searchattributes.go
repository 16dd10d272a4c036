package temporalclient

import (
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
)

// Names of the search attributes that Holdfast owns. They are plain text on the server: filters only, never anything secret.
const (
	AttrWorkspace   = "HoldfastWorkspace"
	AttrName        = "HoldfastName"
	AttrEngine      = "HoldfastEngine"
	AttrState       = "HoldfastState"
	AttrFailureCode = "HoldfastFailureCode"
	AttrOwner       = "HoldfastOwner"
	AttrSession     = "HoldfastSession"
	AttrTool        = "HoldfastTool"
	AttrStateSince  = "HoldfastStateSince"
	AttrDeadline    = "HoldfastDeadline"
)

// Typed keys of the same attributes, for start options and upserts.
var (
	WorkspaceKey   = temporal.NewSearchAttributeKeyKeyword(AttrWorkspace)
	NameKey        = temporal.NewSearchAttributeKeyKeyword(AttrName)
	EngineKey      = temporal.NewSearchAttributeKeyKeyword(AttrEngine)
	StateKey       = temporal.NewSearchAttributeKeyKeyword(AttrState)
	FailureCodeKey = temporal.NewSearchAttributeKeyKeyword(AttrFailureCode)
	// OwnerKey holds a hash of the owner, never the account itself.
	OwnerKey      = temporal.NewSearchAttributeKeyKeyword(AttrOwner)
	SessionKey    = temporal.NewSearchAttributeKeyKeyword(AttrSession)
	ToolKey       = temporal.NewSearchAttributeKeyKeyword(AttrTool)
	StateSinceKey = temporal.NewSearchAttributeKeyTime(AttrStateSince)
	DeadlineKey   = temporal.NewSearchAttributeKeyTime(AttrDeadline)
)

// Attribute is the name and type of one search attribute.
type Attribute struct {
	Name string
	Type enumspb.IndexedValueType
}

// TypeName is the name of the type as the Temporal CLI writes it, such as "Keyword" or "Datetime".
func (a Attribute) TypeName() string { return a.Type.String() }

// SearchAttributes lists every search attribute that Holdfast owns, in a fixed order.
func SearchAttributes() []Attribute {
	const (
		keyword  = enumspb.INDEXED_VALUE_TYPE_KEYWORD
		datetime = enumspb.INDEXED_VALUE_TYPE_DATETIME
	)
	return []Attribute{
		{AttrWorkspace, keyword},
		{AttrName, keyword},
		{AttrEngine, keyword},
		{AttrState, keyword},
		{AttrFailureCode, keyword},
		{AttrOwner, keyword},
		{AttrSession, keyword},
		{AttrTool, keyword},
		{AttrStateSince, datetime},
		{AttrDeadline, datetime},
	}
}

// limitPerType is how many attributes of one type a namespace with standard SQL visibility holds.
func limitPerType(t enumspb.IndexedValueType) int {
	if t == enumspb.INDEXED_VALUE_TYPE_KEYWORD {
		return 10
	}
	return 3
}
