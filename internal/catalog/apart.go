package catalog

import (
	"context"
	"reflect"
	"strings"
)

const sdkPath = "github.com/modelcontextprotocol/go-sdk/"

// apart is a context without what the SDK's server has put there for a request of our own caller: the SDK's client would take the
// protocol's version that it finds there for the one to speak with a source.
type apart struct{ context.Context } //nolint:containedctx // it is a context

// Value implements [context.Context].
func (a apart) Value(key any) any {
	if kind := reflect.TypeOf(key); kind != nil && strings.HasPrefix(kind.PkgPath(), sdkPath) {
		return nil
	}
	return a.Context.Value(key)
}
