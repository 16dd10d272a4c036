package temporalclient

import (
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/holdfast-mcp/holdfast/internal/searchattr"
)

// Attribute is the name and type of one search attribute.
type Attribute struct {
	Name string
	Type enumspb.IndexedValueType
}

// TypeName is the name of the type as the Temporal CLI writes it, such as "Keyword" or "Datetime".
func (a Attribute) TypeName() string { return a.Type.String() }

// SearchAttributes lists every search attribute that Holdfast owns by name and type, in a fixed order.
func SearchAttributes() []Attribute {
	var attributes []Attribute
	for _, key := range searchattr.All() {
		attributes = append(attributes, Attribute{Name: key.GetName(), Type: key.GetValueType()})
	}
	return attributes
}
